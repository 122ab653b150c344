//! Errors of a request as problem JSON (RFC 9457): a status, and a sentence with a remedy.

use super::engine::Overloaded;
use crate::error::Error;
use axum::http::StatusCode;
use axum::http::header::{CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use citree_index::Error as Index;
use serde::Serialize;
use utoipa::ToSchema;

/// The response to a request that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct Problem {
    /// The kind of problem. It is always `about:blank`, because there are no pages about kinds.
    r#type: &'static str,
    /// The reason phrase of the status.
    title: String,
    /// The HTTP status.
    status: u16,
    /// What is wrong, and the remedy.
    detail: String,
    /// The current generation of the index, if the request gave another.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    generation: Option<u64>,
}

/// The seconds after which a refused client may retry.
pub(super) const RETRY_SECONDS: u64 = 1;

impl Problem {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Problem").to_string();
        Self { r#type: "about:blank", title, status: status.as_u16(), detail: detail.into(), generation: None }
    }

    /// The request is about another generation of the index than the current one.
    pub(super) fn stale(current: u64, detail: impl Into<String>) -> Self {
        Self { generation: Some(current), ..Self::new(StatusCode::CONFLICT, detail) }
    }

    /// The request is malformed.
    pub(super) fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// The request is well-formed but asks for something unsupported.
    pub(super) fn unfit(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    pub(super) fn missing(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// An error of the server. Clients do not get the details.
    pub(super) fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the server failed, not the request; other requests are not affected",
        )
    }

    /// A file of the served bundle is damaged, or was truncated while it was in use. The operator is told which.
    pub(super) fn damaged() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "a file of the bundle is damaged, or was truncated while it was served; the server answers again when its \
             operator has restored it, or built the index again",
        )
    }

    pub(super) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl From<Overloaded> for Problem {
    fn from(_: Overloaded) -> Self {
        let detail = format!("the server is overloaded; try again in {RETRY_SECONDS} s");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Explanation { message } => Self::unfit(message),
            error @ (Error::Treebank { .. } | Error::SentenceTooLong { .. } | Error::Evidence { .. }) => {
                Self::unfit(error.to_string())
            }
            Error::Stale { found, .. } => Self::stale(found, error.to_string()),
            Error::Index(Index::Busy { .. }) => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                format!("another program changes the evidence; try again in {RETRY_SECONDS} s"),
            ),
            Error::Index(Index::NothingToUndo { remedy, .. }) => {
                Self::new(StatusCode::CONFLICT, format!("there is no change to undo: {remedy}"))
            }
            Error::Index(Index::Damaged { .. } | Index::Length { .. }) => Self::damaged(),
            // All other errors are about files and tensors.
            _ => Self::internal(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_string(&self).unwrap_or_default();
        let status = self.status();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from(RETRY_SECONDS));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"citree\""));
        }
        if matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE) {
            // Closes the connection, so that the rest of the body is not read as another request.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
