//! The API handlers for the evidence: what it consists of, and changes of it.

use super::App;
use super::body;
use super::changes::Changes;
use super::input::sentences;
use super::problem::Problem;
use super::training;
use crate::evidence::{Changed, EvidenceEditor, LogEntry, SegmentFacts, treebank_name};
use axum::Json;
use axum::extract::{Query, Request, State};
use serde::{Deserialize, Serialize};
use std::time::{Duration, UNIX_EPOCH};
use utoipa::{IntoParams, ToSchema};

/// The default number of changes in a list.
const USUAL: usize = 100;
/// The most bytes of a text for the log, which keeps thousands of them.
const LONGEST: usize = 500;
/// Who makes a change if the request does not say.
const SOMEBODY: &str = "http";

/// Sentences to add, or to put in the place of others.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeRequest {
    /// Sentences in CoNLL-U. Each has a `sent_id` and a tree.
    conllu: String,
    /// Whether their `sent_id`s are new, or those of sentences to replace.
    #[serde(default)]
    action: Action,
    /// The treebank to add them to, new or known; by default `added`, or the treebank of the sentences that they replace.
    name: Option<String>,
    /// Whether to take in labels that the model was not trained with.
    #[serde(default)]
    new_labels: bool,
    /// How many times every edge of that treebank counts from now on; as before by default, and 1 in a new treebank.
    weight: Option<f64>,
    /// Why, for the log.
    #[serde(default)]
    message: String,
    /// Who, for the log; `http` by default.
    who: Option<String>,
    /// The generation that must be current. Any other is refused, because somebody else changed the evidence.
    generation: Option<u64>,
}

/// What to do with sentences.
#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    /// Add them. Their `sent_id`s must be new.
    #[default]
    Add,
    /// Replace the sentences that have the same `sent_id`s.
    Replace,
}

/// Sentences to remove.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RemoveRequest {
    /// Their `sent_id`s. One that ends with `*` stands for all that begin so.
    sent_ids: Vec<String>,
    /// Why, for the log.
    #[serde(default)]
    message: String,
    /// Who, for the log; `http` by default.
    who: Option<String>,
    /// The generation that must be current. Any other is refused, because somebody else changed the evidence.
    generation: Option<u64>,
}

/// How to take back the last change.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct UndoRequest {
    /// Why, for the log.
    message: String,
    /// Who, for the log; `http` by default.
    who: Option<String>,
    /// The generation of the change. Any other that is current is refused, because somebody else made it.
    generation: Option<u64>,
}

/// A change that was made. Requests that begin now see it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ChangeMade {
    /// The generation of the index that is now current.
    generation: u64,
    /// Sentences added, those that replace others included.
    added: usize,
    /// Sentences removed, those that were replaced included.
    removed: usize,
    /// Edges of the added sentences.
    edges: u64,
    /// Labels that no edge had before and the model was not trained with.
    new_labels: Vec<String>,
}

/// A change that was taken back.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Undone {
    /// The generation of the index that is now current.
    generation: u64,
}

/// What the evidence consists of, and how it came to be so.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EvidenceFacts {
    /// The generation of the index.
    generation: u64,
    /// Its parts: the treebank, and what was added.
    parts: Vec<Part>,
    /// Labels that added sentences can have.
    labels: Vec<String>,
    /// The latest changes, oldest first.
    log: Vec<LoggedChange>,
}

/// A part of the evidence.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Part {
    /// The treebank that it belongs to; `treebank` if nobody named it.
    name: String,
    /// Sentences that count.
    sentences: u64,
    /// Gold edges that count.
    edges: u64,
    /// Rejected edges that count.
    rejected: u64,
    /// Sentences that were removed from it.
    removed: u64,
    /// How many times its edges count.
    weight: f64,
}

/// A change in the log.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LoggedChange {
    /// The generation that it made.
    generation: u64,
    /// When, in UTC as in RFC 3339.
    time: String,
    /// Who made it.
    who: String,
    /// What was done.
    what: String,
    /// Why; can be empty.
    message: String,
}

/// How much of the log to list.
#[derive(Clone, Copy, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Log {
    /// How many of the latest changes to list; 100 by default.
    count: Option<usize>,
}

/// Show what the evidence consists of.
#[utoipa::path(
    get, path = "/v1/evidence", tag = "evidence", operation_id = "evidence",
    params(Log),
    responses(
        (status = 200, description = "The parts of the evidence and the log of changes", body = EvidenceFacts),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn list(
    State(app): State<App>,
    query: Result<Query<Log>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<EvidenceFacts>, Problem> {
    let count = training::checked(query)?.count.unwrap_or(USUAL);
    let snapshot = app.snapshot();
    let index = snapshot.explainer.edges().index();
    let log = index.log();
    Ok(Json(EvidenceFacts {
        generation: snapshot.generation,
        parts: index.segments().into_iter().map(Part::from).collect(),
        labels: snapshot.explainer.parser().labels().to_vec(),
        log: log[log.len().saturating_sub(count)..].iter().map(LoggedChange::from).collect(),
    }))
}

/// Add or replace training sentences.
///
/// The next request decides by them and cites them. Needs a server that allows changes, and its token.
#[utoipa::path(
    post, path = "/v1/evidence", tag = "evidence", operation_id = "change",
    request_body = ChangeRequest, security(("token" = [])),
    responses(
        (status = 200, description = "The change is made", body = ChangeMade),
        (status = 401, description = "The token is missing or wrong", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "The server does not allow changes", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "Another generation is current", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "The sentences are refused; nothing is changed", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid or beyond a limit", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Another change is being made; retry after Retry-After", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn change(State(app): State<App>, http: Request) -> Result<Json<ChangeMade>, Problem> {
    let changes = Changes::permitted(&app, http.headers())?;
    let request: ChangeRequest = body::read_json(http, app.limits()).await?;
    loggable(&[("message", Some(&request.message)), ("who", request.who.as_ref()), ("name", request.name.as_ref())])?;
    let snapshot = app.snapshot();
    let some = sentences(None, false, Some(&request.conllu), None, snapshot.explainer.parser(), app.limits())?;
    let made = changes.make(&app, move |editor| {
        let editor = attributed(editor, request.who.as_deref(), request.generation);
        let editor = match &request.name {
            Some(name) => editor.to_treebank(name),
            None => editor,
        };
        let editor = if request.new_labels { editor.with_new_labels() } else { editor };
        let editor = request.weight.into_iter().fold(editor, EvidenceEditor::with_weight);
        let editor = match request.action {
            Action::Add => editor.add(&some)?,
            Action::Replace => editor.replace(&some)?,
        };
        let made = ChangeMade::from(editor.commit(&request.message)?);
        Ok((made.generation, made))
    });
    made.await.map(Json)
}

/// Remove training sentences.
///
/// The next request cites none of them. Needs a server that allows changes, and its token.
#[utoipa::path(
    delete, path = "/v1/evidence", tag = "evidence", operation_id = "remove",
    request_body = RemoveRequest, security(("token" = [])),
    responses(
        (status = 200, description = "The change is made", body = ChangeMade),
        (status = 401, description = "The token is missing or wrong", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "The server does not allow changes", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "Another generation is current", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "A sentence is not there; nothing is changed", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid or beyond a limit", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Another change is being made; retry after Retry-After", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn remove(State(app): State<App>, http: Request) -> Result<Json<ChangeMade>, Problem> {
    let changes = Changes::permitted(&app, http.headers())?;
    let request: RemoveRequest = body::read_json(http, app.limits()).await?;
    loggable(&[("message", Some(&request.message)), ("who", request.who.as_ref())])?;
    let most = app.limits().sentences;
    if request.sent_ids.len() > most {
        return Err(Problem::unfit(format!("`sent_ids` has at most {most} at a time here")));
    }
    let made = changes.make(&app, move |editor| {
        let editor = attributed(editor, request.who.as_deref(), request.generation);
        let made = ChangeMade::from(editor.remove(&request.sent_ids).commit(&request.message)?);
        Ok((made.generation, made))
    });
    made.await.map(Json)
}

/// Take back the last change.
///
/// Repeated, it takes back the one before. Needs a server that allows changes, and its token.
#[utoipa::path(
    post, path = "/v1/evidence/undo", tag = "evidence", operation_id = "undo",
    request_body = UndoRequest, security(("token" = [])),
    responses(
        (status = 200, description = "The change is taken back", body = Undone),
        (status = 401, description = "The token is missing or wrong", body = Problem, content_type = "application/problem+json"),
        (status = 403, description = "The server does not allow changes", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "Another generation is current, or there is no change to undo", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid or beyond a limit", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "Another change is being made; retry after Retry-After", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn undo(State(app): State<App>, http: Request) -> Result<Json<Undone>, Problem> {
    let changes = Changes::permitted(&app, http.headers())?;
    let request: UndoRequest = body::read_json(http, app.limits()).await?;
    loggable(&[("message", Some(&request.message)), ("who", request.who.as_ref())])?;
    let undone = changes.make(&app, move |editor| {
        let editor = attributed(editor, request.who.as_deref(), request.generation);
        let generation = editor.undo(&request.message)?;
        Ok((generation, Undone { generation }))
    });
    undone.await.map(Json)
}

/// An editor for a change by somebody, of a generation if one is given.
fn attributed<'a>(editor: EvidenceEditor<'a>, who: Option<&str>, generation: Option<u64>) -> EvidenceEditor<'a> {
    let editor = editor.by(who.unwrap_or(SOMEBODY));
    match generation {
        Some(generation) => editor.since(generation),
        None => editor,
    }
}

/// Refuses texts that do not fit a line of the log.
fn loggable(texts: &[(&str, Option<&String>)]) -> Result<(), Problem> {
    let unfit = |text: &String| text.len() > LONGEST || text.chars().any(char::is_control);
    match texts.iter().find(|(_, text)| text.is_some_and(unfit)) {
        Some((field, _)) => Err(Problem::unfit(format!("`{field}` is one line of at most {LONGEST} bytes"))),
        None => Ok(()),
    }
}

impl From<Changed> for ChangeMade {
    fn from(Changed { generation, added, removed, edges, new_labels }: Changed) -> Self {
        Self { generation, added, removed, edges, new_labels }
    }
}

impl From<SegmentFacts> for Part {
    fn from(SegmentFacts { name, sources, records, contrasts, removed, weight, .. }: SegmentFacts) -> Self {
        let name = treebank_name(&name).to_string();
        Self { name, sentences: sources, edges: records, rejected: contrasts, removed, weight }
    }
}

impl From<&LogEntry> for LoggedChange {
    fn from(LogEntry { generation, time, who, what, message, .. }: &LogEntry) -> Self {
        // A damaged time could be beyond what the format can write.
        let time = UNIX_EPOCH + Duration::from_secs((*time).min(u64::from(u32::MAX)));
        Self {
            generation: *generation,
            time: humantime::format_rfc3339_seconds(time).to_string(),
            who: who.clone(),
            what: what.clone(),
            message: message.clone(),
        }
    }
}
