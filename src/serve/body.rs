//! Reads the body of a request, within limits of size and time: JSON, plain text or CoNLL-U.

use super::client::{Client, Doing};
use super::limits::Limits;
use super::problem::Problem;
use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http_body_util::LengthLimitError;
use serde::de::DeserializeOwned;

/// A request whose body can also be bare text.
pub(super) trait FromText: DeserializeOwned + Default {
    fn of_text(text: String) -> Self;
    fn of_conllu(text: String) -> Self;
}

/// Reads the body of a request as JSON, plain text or CoNLL-U, according to its content type.
pub(super) async fn read<T: FromText>(request: Request, limits: &Limits) -> Result<T, Problem> {
    let kind = kind(&request);
    if !matches!(kind.as_str(), "application/json" | "text/plain" | "text/x-conllu") {
        let detail = "send Content-Type application/json, text/plain (running text) or text/x-conllu";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    let body = body(request, limits).await?;
    let text = || String::from_utf8(body.to_vec()).map_err(|_| Problem::bad("the body is not UTF-8"));
    match kind.as_str() {
        "text/plain" => Ok(T::of_text(text()?)),
        "text/x-conllu" => Ok(T::of_conllu(text()?)),
        _ => json(&body),
    }
}

/// Reads the body of a request that must be JSON.
pub(super) async fn read_json<T: DeserializeOwned>(request: Request, limits: &Limits) -> Result<T, Problem> {
    if kind(&request) != "application/json" {
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send Content-Type application/json"));
    }
    json(&body(request, limits).await?)
}

/// The content type of a request.
fn kind(request: &Request) -> String {
    let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    // serde also takes an array for an object, as its values in the order of the fields.
    if body.trim_ascii_start().first().is_some_and(|first| *first != b'{') {
        return Err(Problem::bad("the body is not such a request: it must be a JSON object"));
    }
    serde_json::from_slice(body).map_err(|error| Problem::bad(format!("the body is not such a request: {error}")))
}

/// Reads the whole body within the limits of size and time.
async fn body(request: Request, limits: &Limits) -> Result<Bytes, Problem> {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limits.body as u64) {
        return Err(too_large(limits));
    }
    let client = request.extensions().get::<Client>().cloned();
    let read = tokio::time::timeout(limits.body_time, to_bytes(request.into_body(), limits.body)).await;
    if let Some(client) = client {
        client.does(Doing::Waiting);
    }
    match read {
        Err(_) => {
            let detail = format!("the body did not come within {} s", limits.body_time.as_secs());
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, detail))
        }
        Ok(Err(error)) => {
            let cause = std::error::Error::source(&error);
            match cause.is_some_and(|cause| cause.is::<LengthLimitError>()) {
                true => Err(too_large(limits)),
                false => Err(Problem::bad("the connection ended before the end of the body")),
            }
        }
        Ok(Ok(bytes)) => Ok(bytes),
    }
}

fn too_large(limits: &Limits) -> Problem {
    let detail = format!("a body has at most {} bytes on this server; send fewer sentences at a time", limits.body);
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail)
}
