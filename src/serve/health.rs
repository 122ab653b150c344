//! The endpoints for monitoring: liveness, readiness and metrics.

use super::App;
use super::answers::Ready;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use citree_index::container::check_mapped;

/// Whether the process responds.
#[utoipa::path(get, path = "/livez", tag = "watching", operation_id = "livez",
    responses((status = 200, description = "The process responds", body = String, content_type = "text/plain")))]
pub(super) async fn livez() -> &'static str {
    "alive\n"
}

/// Whether the server accepts requests, and which bundle it serves.
#[utoipa::path(get, path = "/readyz", tag = "watching", operation_id = "readyz",
    responses(
        (status = 200, description = "The server accepts requests", body = Ready),
        (status = 503, description = "The server is stopping and finishes open requests; or a file of the bundle was \
            truncated, and requests get 503 too", body = Ready),
    ))]
pub(super) async fn readyz(State(app): State<App>) -> Response {
    let stopping = app.is_stopping();
    let status = if stopping || check_mapped().is_err() { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    let ready = Ready::new(&app.snapshot(), app.name().to_string(), app.allows_changes(), stopping);
    (status, Json(ready)).into_response()
}

/// Metrics for Prometheus.
#[utoipa::path(get, path = "/metrics", tag = "watching", operation_id = "metrics",
    responses((status = 200, description = "In the text format of OpenMetrics", body = String,
        content_type = "application/openmetrics-text")))]
pub(super) async fn metrics(State(app): State<App>) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(CONTENT_TYPE, kind)], app.metrics().text()).into_response()
}
