//! The HTML fragments that the page requests. They belong to the page and change with it; programs use the API.

use super::App;
use super::body;
use super::client::Client;
use super::compute::{Context, QueuedRequest, Reply};
use super::problem::Problem;
use super::request::{self, ExplainRequest};
use super::training::{self, Find};
use crate::evidence::EdgeId;
use crate::explain::html::Tree;
use crate::explain::html::view::{self, Neighborhood};
use crate::explain::{Expected, NeighborQuery, Question};
use crate::task::Task;
use axum::extract::{Query, Request, State};
use axum::response::Response;
use citree_index::Hit;
use serde::Deserialize;

/// Alternatives listed besides the chosen one.
const OTHERS: usize = 4;
/// Arguments for and against a decision, each shown above the rest of the explanation.
const ARGUMENTS: usize = 4;

/// The cost of the neighbours of an edge under both models, in words.
const NEIGHBORS: usize = 10;

/// A training sentence, identified by an edge, a `sent_id` or a number.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrainingQuery {
    /// The number of an edge in it, and the generation that the number refers to.
    edge: Option<u32>,
    generation: Option<u64>,
    /// Its `sent_id`.
    sent_id: Option<String>,
    /// Its number.
    sentence: Option<u32>,
    /// The word whose edge is selected.
    word: Option<usize>,
    /// The number of neighbours to show.
    count: Option<usize>,
}

/// A sentence as a tree.
pub(super) async fn sentence(State(app): State<App>, client: Client, http: Request) -> Result<Response, Problem> {
    let request: ExplainRequest = body::read(http, app.limits()).await?;
    let snapshot = app.snapshot();
    let sentences = request.sentences(snapshot.explainer.parser(), app.limits())?;
    let rule = request.rule(snapshot.explainer.rule())?;
    let changes = app.allows_changes();
    let answer = move |context: &Context<'_>| {
        let mut html: String = context.explanations().map(|explanation| view::sentence(&explanation)).collect();
        // What the page corrects: the parse that it shows, with all columns of the sentence.
        for (sentence, analysis) in context.analysed().filter(|_| changes) {
            let mut parsed = sentence.clone();
            analysis.parse.annotate(&mut parsed, false);
            html.push_str(&view::conllu(&parsed)?);
        }
        Ok(numbered(context, &html))
    };
    app.submit(client, QueuedRequest::new(snapshot, sentences, rule, answer).coming_again()).await
}

/// The explanation of one edge, with a contrast if one is requested.
pub(super) async fn edge(State(app): State<App>, client: Client, http: Request) -> Result<Response, Problem> {
    let request: ExplainRequest = body::read(http, app.limits()).await?;
    let snapshot = app.snapshot();
    let sentences = request.sentences(snapshot.explainer.parser(), app.limits())?;
    let rule = request.rule(snapshot.explainer.rule())?;
    let question = request.question(&sentences, &rule, app.limits())?;
    let more = request::cost(&question, &sentences);
    let answer = move |context: &Context<'_>| explained(context, &question);
    app.submit(client, QueuedRequest::new(snapshot, sentences, rule, answer).with_more(more).coming_again()).await
}

fn explained(context: &Context<'_>, question: &Question) -> Result<Reply, Problem> {
    let mut html = String::new();
    for (sentence, analysis) in context.analysed() {
        // A link can ask about an edge that this rule chose, and then there is nothing to contrast.
        let predicted = |asked: &Expected| {
            analysis.parse.heads.get(asked.dependent) == Some(&asked.head)
                && asked.label.as_ref().is_none_or(|label| analysis.parse.labels.get(asked.dependent) == Some(label))
        };
        let (same, other): (Vec<_>, Vec<_>) = question.why_not.iter().cloned().partition(predicted);
        let mut answer =
            context.explainer.answer(sentence, analysis, &Question { why_not: other, ..question.clone() }, None)?;
        for contrast in answer.why_not.iter_mut().flat_map(|why| why.head.iter_mut().chain(&mut why.label)) {
            contrast.arguments_for.truncate(ARGUMENTS);
            contrast.arguments_against.truncate(ARGUMENTS);
        }
        html.extend(answer.why_not.iter().map(|why| view::why_not(&answer.explanation.words, why)));
        if !same.is_empty() {
            html.push_str("<p class=\"contrast\">This rule chooses that alternative.</p>\n");
        }
        for edge in &answer.explanation.edges {
            let [heads, labels] = context.explainer.others(analysis, edge.dependent, OTHERS)?;
            html.push_str(&view::edge(&answer.explanation, edge, &heads, &labels));
        }
    }
    Ok(numbered(context, &html))
}

/// A training sentence, with the neighbours of one of its edges.
pub(super) async fn training(
    State(app): State<App>,
    client: Client,
    query: Result<Query<TrainingQuery>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Problem> {
    let wanted = training::checked(query)?;
    let count = request::count(wanted.count, app.limits())?;
    training::look(&app, client, NEIGHBORS, move |context| shown(context, &wanted, count)).await
}

fn shown(context: &Context<'_>, wanted: &TrainingQuery, count: usize) -> Result<Reply, Problem> {
    let edges = context.explainer.edges();
    let number = match (wanted.edge, wanted.generation, &wanted.sent_id, wanted.sentence) {
        (Some(edge), generation, ..) if generation == Some(context.snapshot.generation) => {
            training::known(context.snapshot, edge, generation)?;
            edges.edge(edge)?.0.sentence
        }
        (_, _, Some(sent_id), _) if !sent_id.is_empty() => {
            let missing = || Problem::missing(format!("no training sentence has the sent_id {sent_id}"));
            edges.sentence_named(sent_id)?.ok_or_else(missing)?
        }
        (_, generation, _, Some(number)) if generation.is_none_or(|one| one == context.snapshot.generation) => number,
        _ => {
            return Err(Problem::missing(
                "this link belongs to an earlier index, whose numbers are no longer valid: search for the sentence again",
            ));
        }
    };
    let sentence = training::found(context.snapshot, number)?;
    let words: Vec<String> = sentence.words.iter().map(|word| word.form.clone()).collect();
    let heads: Vec<usize> = sentence.words.iter().map(|word| word.head).collect();
    let labels: Vec<String> = sentence.words.iter().map(|word| word.label.clone()).collect();
    let tree =
        Tree { words: &words, heads: &heads, labels: &labels, tokens: &[], probabilities: None, corrections: &[] };
    let mut html = view::training(&tree, number, &sentence.sent_id, &sentence.document);
    if let Some(word) = wanted.word {
        let edge = word.checked_sub(1).and_then(|at| sentence.words.get(at)?.edge);
        let Some(edge) = edge else {
            html.push_str(&format!(
                "<p class=\"warning\">Word {word} of this sentence has no edge in the index.</p>\n"
            ));
            return Ok(numbered(context, &html));
        };
        let mut found = Vec::new();
        for (similar_to, space) in
            [("to the model that finds heads", Task::Heads), ("to the model that names edges", Task::Labels)]
        {
            let near = context
                .explainer
                .neighbors_of(edge, NeighborQuery { space, count, gold: true, exact: false, others: true })?;
            let words_of = |hit: &Hit| Ok(edges.source(EdgeId::Accepted(hit.record))?.2.words.clone());
            let sentences = near.hits.iter().map(words_of).collect::<crate::error::Result<_>>()?;
            let form = |id: usize| id.checked_sub(1).map_or("ROOT", |at| words[at].as_str());
            let edge = near.named(edges, &sentence.sent_id, form)?;
            found.push(Neighborhood { similar_to, edge, sentences, recall: edges.recall(space) });
        }
        html.push_str(&format!("<section class=\"panel open\">{}</section>", view::neighbors(&tree, &found)));
    }
    Ok(numbered(context, &html))
}

/// The training sentences that match a search, as a list of links.
pub(super) async fn find(
    State(app): State<App>,
    client: Client,
    query: Result<Query<Find>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Problem> {
    let find = training::checked(query)?;
    let cost = training::search_cost(&app);
    training::look(&app, client, cost, move |context| {
        let found = training::list(context.snapshot, &find)?;
        let list: Vec<(u32, &str, &str)> =
            found.sentences.iter().map(|one| (one.sentence, one.sent_id.as_str(), one.text.as_str())).collect();
        Ok(numbered(context, &view::found(&list, find.from, found.total, training::USUAL)))
    })
    .await
}

/// Wraps the HTML with the generation that its edge and sentence numbers refer to.
fn numbered(context: &Context<'_>, html: &str) -> Reply {
    Reply::html(format!("<div data-generation=\"{}\">\n{html}</div>\n", context.snapshot.generation))
}
