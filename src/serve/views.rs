//! What the page asks for while it is used: parts of it, as HTML. They belong to the page and change with it; programs use
//! the API.

use super::App;
use super::compute::{Ask, Context, Reply};
use super::problem::Problem;
use super::request::{self, ExplainRequest};
use super::training::{self, Find};
use crate::explain::html::Tree;
use crate::explain::html::view::{self, Neighborhood};
use crate::explain::{Alternative, Explanation, Question};
use crate::support::Task;
use axum::extract::{Query, Request, State};
use axum::response::Response;
use citree_index::Hit;
use serde::Deserialize;

/// Alternatives listed beside what was chosen.
const OTHERS: usize = 4;
/// Training edges that argue for a decision, and against it, above the rest of its explanation.
const ARGUMENTS: usize = 4;

/// A training sentence, by whatever is known of it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Wanted {
    /// The number of an edge in it, and the generation that the number is of.
    edge: Option<u32>,
    generation: Option<u64>,
    /// Its `sent_id`.
    sent_id: Option<String>,
    /// Its number.
    sentence: Option<u32>,
    /// The word whose edge is looked at.
    word: Option<usize>,
    /// Neighbours to show.
    count: Option<usize>,
}

/// A sentence as a tree.
pub(super) async fn sentence(State(app): State<App>, http: Request) -> Result<Response, Problem> {
    let request: ExplainRequest = request::read(http, app.limits()).await?;
    let sentences = request.sentences(app.current().explainer.parser(), app.limits())?;
    let answer = |context: &Context<'_>| {
        let trees: String = read(context).map(|explanation| view::sentence(&explanation)).collect();
        Ok(numbered(context, &trees))
    };
    app.ask(Ask::new(sentences, request.inference()?, answer).coming_again()).await
}

/// The explanation of one edge, and why not another, if that was asked.
pub(super) async fn edge(State(app): State<App>, http: Request) -> Result<Response, Problem> {
    let request: ExplainRequest = request::read(http, app.limits()).await?;
    let sentences = request.sentences(app.current().explainer.parser(), app.limits())?;
    let question = request.question(&sentences, app.limits())?;
    let answer = move |context: &Context<'_>| explained(context, &question);
    app.ask(Ask::new(sentences, request.inference()?, answer).coming_again()).await
}

fn explained(context: &Context<'_>, question: &Question) -> Result<Reply, Problem> {
    let mut html = String::new();
    for (sentence, reading) in context.read() {
        // What a link asks may be what another rule decided, and then there is nothing to set against.
        let predicted = |asked: &Alternative| {
            reading.parse.heads.get(asked.dependent) == Some(&asked.head)
                && asked.label.as_ref().is_none_or(|label| reading.parse.labels.get(asked.dependent) == Some(label))
        };
        let (same, other): (Vec<_>, Vec<_>) = question.why_not.iter().cloned().partition(predicted);
        let mut told =
            context.explainer.tell(sentence, reading, &Question { why_not: other, ..question.clone() }, None)?;
        for contrast in told.why_not.iter_mut().flat_map(|why| why.head.iter_mut().chain(&mut why.label)) {
            contrast.arguments_for.truncate(ARGUMENTS);
            contrast.arguments_against.truncate(ARGUMENTS);
        }
        html.extend(told.why_not.iter().map(|why| view::why_not(&told.explanation.words, why)));
        if !same.is_empty() {
            html.push_str("<p class=\"contrast\">By this rule, that is what was chosen.</p>\n");
        }
        for edge in &told.explanation.edges {
            let heads = context.explainer.other_heads(reading, edge.dependent, OTHERS);
            let labels = context.explainer.other_labels(reading, edge.dependent, OTHERS);
            html.push_str(&view::edge(&told.explanation, edge, &heads, &labels));
        }
    }
    Ok(numbered(context, &html))
}

/// The sentences of a request as they were read, with no edge explained.
fn read<'a>(context: &'a Context<'_>) -> impl Iterator<Item = Explanation> + 'a {
    context.read().map(|(sentence, reading)| {
        let parse = &reading.parse;
        let probabilities = parse.head_probabilities.iter().zip(&parse.label_probabilities);
        Explanation {
            sent_id: sentence.sent_id().map(str::to_string),
            words: sentence.forms().map(str::to_string).collect(),
            heads: parse.heads[1..].to_vec(),
            labels: parse.labels[1..].to_vec(),
            probabilities: probabilities.skip(1).map(|(head, label)| [*head, *label]).collect(),
            inference: context.explainer.inference(),
            edges: Vec::new(),
        }
    })
}

/// A training sentence, and the neighbours of one of its edges.
pub(super) async fn training(
    State(app): State<App>,
    query: Result<Query<Wanted>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Problem> {
    let wanted = training::checked(query)?;
    let count = request::count(wanted.count, app.limits())?;
    training::look(&app, move |context| shown(context, &wanted, count)).await
}

fn shown(context: &Context<'_>, wanted: &Wanted, count: usize) -> Result<Reply, Problem> {
    let edges = context.explainer.edges();
    let number = match (wanted.edge, wanted.generation, &wanted.sent_id, wanted.sentence) {
        (Some(edge), generation, ..) if generation == Some(context.current.generation) => {
            training::known(context.current, edge, generation)?;
            edges.edge(edge)?.0.sentence
        }
        (_, _, Some(sent_id), _) if !sent_id.is_empty() => {
            let missing = || Problem::missing(format!("no training sentence has the sent_id {sent_id}"));
            edges.sentence_named(sent_id)?.ok_or_else(missing)?
        }
        (_, generation, _, Some(number)) if generation.is_none_or(|one| one == context.current.generation) => number,
        _ => {
            return Err(Problem::missing(
                "the index was built again since this link was made, and the treebank does not name its sentences: look for it again",
            ));
        }
    };
    let sentence = training::found(context.current, number)?;
    let words: Vec<String> = sentence.words.iter().map(|word| word.form.clone()).collect();
    let heads: Vec<usize> = sentence.words.iter().map(|word| word.head).collect();
    let labels: Vec<String> = sentence.words.iter().map(|word| word.label.clone()).collect();
    let tree = Tree { words: &words, heads: &heads, labels: &labels, probabilities: None };
    let mut html = view::training(&tree, number, &sentence.sent_id, &sentence.document);
    if let Some(word) = wanted.word {
        let edge = word.checked_sub(1).and_then(|at| sentence.words.get(at)?.edge);
        let missing = || Problem::missing(format!("word {word} of this sentence has no edge in the index"));
        let edge = edge.ok_or_else(missing)?;
        let mut found = Vec::new();
        for (similar_to, space) in
            [("to the model that finds heads", Task::Heads), ("to the model that names edges", Task::Labels)]
        {
            let near = context.explainer.neighbors_of(edge, space, count, true)?;
            let words_of = |hit: &Hit| Ok(edges.source(hit.edge)?.1.words.clone());
            let sentences = near.hits.iter().map(words_of).collect::<crate::error::Result<_>>()?;
            let form = |id: usize| id.checked_sub(1).map_or("ROOT", |at| words[at].as_str());
            let edge = near.named(edges, &sentence.sent_id, form)?;
            found.push(Neighborhood { similar_to, edge, sentences, recall: context.explainer.recall(space) });
        }
        html.push_str(&format!(
            "<section class=\"panel open\" id=\"panel\">{}</section>",
            view::neighbors(&tree, &found)
        ));
    }
    Ok(numbered(context, &html))
}

/// Training sentences that contain something, as a list of links.
pub(super) async fn find(
    State(app): State<App>,
    query: Result<Query<Find>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Problem> {
    let find = training::checked(query)?;
    training::look(&app, move |context| {
        let found = training::list(context.current, &find)?;
        let list: Vec<(u32, &str, &str)> =
            found.sentences.iter().map(|one| (one.sentence, one.sent_id.as_str(), one.text.as_str())).collect();
        Ok(numbered(context, &view::found(&list, find.from, found.total)))
    })
    .await
}

/// Numbers of edges and sentences in the HTML are of this generation.
fn numbered(context: &Context<'_>, html: &str) -> Reply {
    Reply::html(format!("<div data-generation=\"{}\">\n{html}</div>\n", context.current.generation))
}
