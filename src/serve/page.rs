//! The page: five files that are compiled into the program and load nothing from elsewhere.

use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, IF_NONE_MATCH};
use axum::response::{IntoResponse, Response};

/// A file of the page.
struct File {
    path: &'static str,
    kind: &'static str,
    text: &'static str,
}

const FILES: &[File] = &[
    File { path: "/", kind: "text/html; charset=utf-8", text: include_str!("page/index.html") },
    File { path: "/page.js", kind: "text/javascript; charset=utf-8", text: include_str!("page/page.js") },
    File { path: "/correct.js", kind: "text/javascript; charset=utf-8", text: include_str!("page/correct.js") },
    File {
        path: "/page.css",
        kind: "text/css; charset=utf-8",
        // The page shares the style of exported explanations.
        text: concat!(include_str!("../explain/html/page.css"), include_str!("page/page.css")),
    },
    File { path: "/icon.svg", kind: "image/svg+xml", text: include_str!("page/icon.svg") },
];

/// The paths of all files.
pub(super) fn paths() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|file| file.path)
}

/// Serves a file of the page. Browsers revalidate it each time and download it only if it has changed.
pub(super) async fn file(uri: axum::http::Uri, headers: HeaderMap) -> Response {
    let Some(file) = FILES.iter().find(|file| file.path == uri.path()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let tag = format!("\"{}\"", &blake3::hash(file.text.as_bytes()).to_hex()[..16]);
    let fresh = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let head = [(CONTENT_TYPE, file.kind), (CACHE_CONTROL, "no-cache"), (ETAG, tag.as_str())];
    match fresh {
        true => (StatusCode::NOT_MODIFIED, head).into_response(),
        false => (head, file.text).into_response(),
    }
}
