//! The API handlers for the training treebank: edges and sentences by number, and search in sentences.

use super::App;
use super::answers::{FoundSentence, FoundSentences, TrainingEdge, TrainingSentence};
use super::api::{Format, conllu};
use super::client::Client;
use super::compute::{Context, QueuedRequest, Reply};
use super::problem::Problem;
use super::snapshot::Snapshot;
use crate::rule::Rule;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

/// The default number of sentences in a list.
pub(super) const USUAL: usize = 20;
/// The most sentences in a list.
const MOST: usize = 100;
/// The training sentences whose search costs as much as parsing a word.
const SEARCHED_PER_WORD: usize = 500;

/// The generation that a number refers to.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Of {
    /// The generation of the index that the number refers to. Any other is refused, because its numbers differ.
    pub(super) generation: Option<u64>,
}

/// A search in training sentences, and the part of its result to list.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Find {
    /// The start of a `sent_id`, or a part of the text, ignoring case; everything if empty.
    #[serde(default)]
    pub(super) find: String,
    /// How many to skip.
    #[serde(default)]
    pub(super) from: usize,
    /// How many to list; 20 by default, 100 at most.
    pub(super) count: Option<usize>,
}

/// Show a training edge.
#[utoipa::path(
    get, path = "/v1/edges/{id}", tag = "treebank", operation_id = "edge",
    params(("id" = u32, Path, description = "The number of the edge, as in citations"), Of),
    responses(
        (status = 200, description = "The edge in its sentence", body = TrainingEdge),
        (status = "4XX", description = "There is no such edge", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn edge(
    State(app): State<App>,
    client: Client,
    Path(id): Path<String>,
    query: Result<Query<Of>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Problem> {
    let (edge, of) = (number(&id, "edge")?, checked(query)?);
    look(&app, client, 0, move |context| {
        known(context.snapshot, edge, of.generation)?;
        Reply::json(&TrainingEdge::new(context.snapshot, edge)?)
    })
    .await
}

/// Show a training sentence with its gold tree.
///
/// With `Accept: text/x-conllu` the response is CoNLL-U with the fields that the index stores: forms, heads and labels.
#[utoipa::path(
    get, path = "/v1/sentences/{id}", tag = "treebank", operation_id = "sentence",
    params(("id" = u32, Path, description = "The number of the sentence, from 0"), Of),
    responses(
        (status = 200, description = "The sentence", content((TrainingSentence = "application/json"), (String = "text/x-conllu"))),
        (status = "4XX", description = "There is no such sentence", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn sentence(
    State(app): State<App>,
    client: Client,
    Path(id): Path<String>,
    query: Result<Query<Of>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (number, of) = (number(&id, "sentence")?, checked(query)?);
    let format = Format::accepted(&headers, &[Format::Json, Format::Conllu])?;
    look(&app, client, 0, move |context| {
        same(context.snapshot, of.generation)?;
        let sentence = found(context.snapshot, number)?;
        if format == Format::Json {
            return Reply::json(&sentence);
        }
        conllu(std::iter::once(sentence.conllu()))
    })
    .await
}

/// Search training sentences.
#[utoipa::path(
    get, path = "/v1/sentences", tag = "treebank", operation_id = "sentences",
    params(Find),
    responses(
        (status = 200, description = "The matching sentences, in treebank order", body = FoundSentences),
        (status = "4XX", description = "The request is invalid or beyond a limit", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn sentences(
    State(app): State<App>,
    client: Client,
    query: Result<Query<Find>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Problem> {
    let find = checked(query)?;
    let cost = search_cost(&app);
    look(&app, client, cost, move |context| Reply::json(&list(context.snapshot, &find)?)).await
}

/// The cost of searching all training sentences, in words.
pub(super) fn search_cost(app: &App) -> usize {
    app.snapshot().explainer.edges().sentences() as usize / SEARCHED_PER_WORD
}

/// Responds from the treebank alone, at a cost in words. Runs on the engine's threads, because a search takes a while.
pub(super) async fn look(
    app: &App,
    client: Client,
    cost: usize,
    answer: impl Fn(&Context<'_>) -> Result<Reply, Problem> + Send + Sync + 'static,
) -> Result<Response, Problem> {
    let request = QueuedRequest::new(app.snapshot(), Vec::new(), Rule::sum(), answer);
    app.submit(client, request.with_more(cost)).await
}

/// The training sentences that match a search.
pub(super) fn list(snapshot: &Snapshot, find: &Find) -> Result<FoundSentences, Problem> {
    let edges = snapshot.explainer.edges();
    let wanted = find.find.trim().to_lowercase();
    let count = find.count.unwrap_or(USUAL).min(MOST);
    let (mut sentences, mut total) = (Vec::new(), 0);
    for number in 0..edges.sentences() {
        let sentence = edges.sentence(number)?;
        let text = match sentence.text {
            "" => sentence.words.iter().map(|word| word.form).collect::<Vec<_>>().join(" "),
            text => text.to_string(),
        };
        if sentence.sent_id.to_lowercase().starts_with(&wanted) || text.to_lowercase().contains(&wanted) {
            if total >= find.from && sentences.len() < count {
                sentences.push(FoundSentence { sentence: number, sent_id: sentence.sent_id.to_string(), text });
            }
            total += 1;
        }
    }
    Ok(FoundSentences { generation: snapshot.generation, total, sentences })
}

/// The training sentence with this number.
pub(super) fn found(snapshot: &Snapshot, number: u32) -> Result<TrainingSentence, Problem> {
    let sentences = snapshot.explainer.edges().sentences();
    match number < sentences {
        true => TrainingSentence::new(snapshot, number),
        false => Err(Problem::missing(format!("no sentence {number}; there are 0 to {}", sentences.saturating_sub(1)))),
    }
}

/// Refuses a training edge that does not exist or is of another generation.
pub(super) fn known(snapshot: &Snapshot, edge: u32, generation: Option<u64>) -> Result<(), Problem> {
    same(snapshot, generation)?;
    let edges = snapshot.explainer.edges().index().manifest().records;
    match u64::from(edge) < edges {
        true => Ok(()),
        false => Err(Problem::missing(format!("no training edge {edge}; there are 0 to {}", edges.saturating_sub(1)))),
    }
}

fn same(snapshot: &Snapshot, generation: Option<u64>) -> Result<(), Problem> {
    match generation {
        Some(other) if other != snapshot.generation => Err(Problem::stale(
            snapshot.generation,
            format!(
                "that number belongs to generation {other} of the index, but generation {} is served: look the number up again",
                snapshot.generation
            ),
        )),
        _ => Ok(()),
    }
}

fn number(text: &str, what: &str) -> Result<u32, Problem> {
    text.parse().map_err(|_| {
        Problem::bad(format!("the {what} must be a number, 0 or more; /v1/sentences?find= searches sentences"))
    })
}

pub(super) fn checked<T>(query: Result<Query<T>, axum::extract::rejection::QueryRejection>) -> Result<T, Problem> {
    query.map(|Query(query)| query).map_err(|error| Problem::bad(error.body_text()))
}
