//! The API handlers for sentences: parses, explanations and neighbours.

use super::App;
use super::answers::{Explained, Neighbors, Parsed, ParsedSentence};
use super::body;
use super::client::Client;
use super::compute::{COMPARING, Context, QueuedRequest, Reply};
use super::problem::Problem;
use super::request::{self, ExplainRequest, NeighborsRequest, ParseRequest};
use crate::explain::{NeighborQuery, Question, html};
use crate::rule::Rule;
use crate::treebank::{Sentence, write_sentence};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{ACCEPT, HeaderMap};
use axum::response::Response;

/// The formats of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Conllu,
    Html,
    Svg,
}

impl Format {
    fn kind(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Conllu => "text/x-conllu",
            Self::Html => "text/html",
            Self::Svg => "image/svg+xml",
        }
    }

    /// The first offered format that the client accepts; JSON if it has no preference.
    pub(super) fn accepted(headers: &HeaderMap, offered: &[Self]) -> Result<Self, Problem> {
        let accepts: Vec<&str> = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
        let accepts = accepts.join(",");
        let mut wanted = accepts.split(',').map(|kind| kind.split(';').next().unwrap_or_default().trim());
        if accepts.trim().is_empty() {
            return Ok(Self::Json);
        }
        let chosen = wanted.find_map(|kind| match kind.to_ascii_lowercase().as_str() {
            "*/*" | "application/*" => Some(Self::Json),
            kind => offered.iter().copied().find(|format| format.kind() == kind),
        });
        chosen.ok_or_else(|| {
            let kinds: Vec<&str> = offered.iter().map(|format| format.kind()).collect();
            Problem::new(StatusCode::NOT_ACCEPTABLE, format!("there are {}", kinds.join(", ")))
        })
    }
}

/// Parse sentences.
///
/// Uses the rule of the bundle, like `citree parse`. The body can also be plain text or CoNLL-U, with `Content-Type` `text/plain`
/// or `text/x-conllu`. With `Accept: text/x-conllu` the response is CoNLL-U, with the probabilities in MISC.
#[utoipa::path(
    post, path = "/v1/parse", tag = "sentences", operation_id = "parse",
    request_body(content((ParseRequest = "application/json"), (String = "text/plain"), (String = "text/x-conllu"))),
    responses(
        (status = 200, description = "The parses", content((Parsed = "application/json"), (String = "text/x-conllu"))),
        (status = "4XX", description = "The request is invalid or beyond a limit", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The server is overloaded; retry after Retry-After", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn parse(State(app): State<App>, client: Client, http: Request) -> Result<Response, Problem> {
    let format = Format::accepted(http.headers(), &[Format::Json, Format::Conllu])?;
    let request: ParseRequest = body::read(http, app.limits()).await?;
    let snapshot = app.snapshot();
    let sentences = request.sentences(snapshot.explainer.parser(), app.limits())?;
    let answer = move |context: &Context<'_>| match format {
        Format::Conllu => conllu(context.analysed().map(|(sentence, analysis)| {
            let mut sentence = sentence.clone();
            analysis.parse.annotate(&mut sentence, true);
            sentence
        })),
        _ => Reply::json(&Parsed {
            generation: context.snapshot.generation,
            sentences: context.explanations().map(ParsedSentence::from).collect(),
        }),
    };
    let rule = snapshot.explainer.rule().clone();
    app.submit(client, QueuedRequest::new(snapshot, sentences, rule, answer)).await
}

/// Explain the edges of sentences.
///
/// For every edge: the most similar training edges, how much of its head and label decisions they account for, and
/// everything else that `citree explain` reports. Each sentence is the object that `citree explain --format json`
/// prints. With `Accept` the response can also be `text/x-conllu` (citations in MISC), `text/html` (a self-contained
/// page) or `image/svg+xml` (the tree of the first sentence).
#[utoipa::path(
    post, path = "/v1/explain", tag = "sentences", operation_id = "explain",
    request_body(content((ExplainRequest = "application/json"), (String = "text/plain"), (String = "text/x-conllu"))),
    responses(
        (status = 200, description = "The explanations", content(
            (Explained = "application/json"), (String = "text/x-conllu"), (String = "text/html"), (String = "image/svg+xml"),
        )),
        (status = "4XX", description = "The request is invalid or beyond a limit", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The server is overloaded; retry after Retry-After", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn explain(State(app): State<App>, client: Client, http: Request) -> Result<Response, Problem> {
    let offered = [Format::Json, Format::Conllu, Format::Html, Format::Svg];
    let format = Format::accepted(http.headers(), &offered)?;
    let request: ExplainRequest = body::read(http, app.limits()).await?;
    let snapshot = app.snapshot();
    let sentences = request.sentences(snapshot.explainer.parser(), app.limits())?;
    let rule = request.rule(snapshot.explainer.rule())?;
    let question = request.question(&sentences, &rule, app.limits())?;
    let title = format!("Explained by {}", app.name());
    let more = request::cost(&question, &sentences);
    let answer = move |context: &Context<'_>| explained(context, &question, format, &title);
    app.submit(client, QueuedRequest::new(snapshot, sentences, rule, answer).with_more(more)).await
}

fn explained(context: &Context<'_>, question: &Question, format: Format, title: &str) -> Result<Reply, Problem> {
    let explain = |(sentence, analysis)| context.explainer.answer(sentence, analysis, question, None);
    let answer = context.analysed().map(explain).collect::<crate::error::Result<Vec<_>>>()?;
    match format {
        Format::Json => Reply::json(&Explained { generation: context.snapshot.generation, sentences: answer }),
        Format::Conllu => conllu(context.analysed().zip(answer).map(|((sentence, _), answer)| {
            let mut sentence = sentence.clone();
            answer.explanation.annotate(&mut sentence);
            sentence
        })),
        Format::Html => Ok(Reply::html(html::report(&answer, title))),
        Format::Svg => {
            let first = answer.first().ok_or_else(|| Problem::unfit("the request has no words"))?;
            let kind = "image/svg+xml";
            Ok(Reply { kind, body: html::svg(&first.explanation).into_bytes() })
        }
    }
}

/// Find the training edges nearest to edges.
///
/// The edges are those of some sentences, predicted or given, or one training edge. Each edge is the object that
/// `citree neighbors` prints.
#[utoipa::path(
    post, path = "/v1/neighbors", tag = "sentences", operation_id = "neighbors",
    request_body(content((NeighborsRequest = "application/json"), (String = "text/plain"), (String = "text/x-conllu"))),
    responses(
        (status = 200, description = "The edges with their neighbours", body = Neighbors),
        (status = "4XX", description = "The request is invalid or beyond a limit", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The server is overloaded; retry after Retry-After", body = Problem, content_type = "application/problem+json"),
    )
)]
pub(super) async fn neighbors(State(app): State<App>, client: Client, http: Request) -> Result<Response, Problem> {
    Format::accepted(http.headers(), &[Format::Json])?;
    let request: NeighborsRequest = body::read(http, app.limits()).await?;
    let snapshot = app.snapshot();
    let (space, count) = (request.space(), request.count(app.limits())?);
    let query = NeighborQuery { space, count, gold: request.gold, exact: request.exact, others: request.others };
    if let Some(edge) = request.training_edge()? {
        let answer = move |context: &Context<'_>| {
            super::training::known(context.snapshot, edge, request.generation)?;
            let edges = context.explainer.edges();
            let found = context.explainer.neighbors_of(edge, query)?;
            let (_, sentence) = edges.edge(edge)?;
            let named = found.named(edges, sentence.sent_id, |id| sentence.form(id))?;
            Reply::json(&Neighbors { generation: context.snapshot.generation, edges: vec![named] })
        };
        return app.submit(client, QueuedRequest::new(snapshot, Vec::new(), Rule::sum(), answer)).await;
    }
    let sentences = request.sentences(snapshot.explainer.parser(), app.limits())?;
    let words = sentences.iter().map(|sentence| sentence.words().len()).sum::<usize>();
    let more = words * if request.exact { COMPARING } else { 1 };
    // The lookup parses the sentences itself if it needs to, so they are not analysed in advance.
    let answer = move |context: &Context<'_>| {
        let found = context.explainer.neighbors(&sentences, query)?;
        let mut edges = Vec::new();
        for (number, (sentence, found)) in (1..).zip(sentences.iter().zip(&found)) {
            let name = sentence.sent_id().map_or_else(|| i32::to_string(&number), str::to_string);
            let words = sentence.words();
            let form = |id: usize| id.checked_sub(1).map_or("ROOT", |at| words[at].form.as_str());
            for edge in found {
                edges.push(edge.named(context.explainer.edges(), &name, form)?);
            }
        }
        Reply::json(&Neighbors { generation: context.snapshot.generation, edges })
    };
    app.submit(client, QueuedRequest::new(snapshot, Vec::new(), Rule::sum(), answer).with_more(more)).await
}

pub(super) fn conllu(sentences: impl Iterator<Item = Sentence>) -> Result<Reply, Problem> {
    let mut body = Vec::new();
    for sentence in sentences {
        write_sentence(&mut body, &sentence).map_err(|_| Problem::internal())?;
    }
    Ok(Reply { kind: "text/x-conllu; charset=utf-8", body })
}
