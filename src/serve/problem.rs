//! Errors of a request as problem JSON (RFC 9457): a status, and a sentence with a remedy.

use super::engine::Overloaded;
use crate::error::Error;
use axum::http::StatusCode;
use axum::http::header::{CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
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
}

/// The seconds after which a refused client may retry.
pub(super) const RETRY_SECONDS: u64 = 1;

impl Problem {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Problem").to_string();
        Self { r#type: "about:blank", title, status: status.as_u16(), detail: detail.into() }
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
            error @ (Error::Treebank { .. } | Error::SentenceTooLong { .. }) => Self::unfit(error.to_string()),
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
        if matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE) {
            // Closes the connection, so that the rest of the body is not read as another request.
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}
