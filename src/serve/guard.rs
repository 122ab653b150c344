//! The middleware of every request: metrics, security headers, and refusal of requests for other hosts or from other
//! sites.

use super::App;
use super::problem::Problem;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{HOST, HeaderName, HeaderValue};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::Instant;

/// Allows only resources of this server, and no inline scripts or styles.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HEADERS: [(&str, &str); 6] = [
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
];

/// Counts and times a request, refuses requests for other hosts, turns a panic of the handler into an answer, and adds the
/// security headers.
pub(super) async fn guard(
    State(app): State<App>,
    route: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let start = Instant::now();
    let route = route.map_or_else(|| "other".to_string(), |route| route.as_str().to_string());
    let mut response = match refused(&app, request.headers(), request.uri()) {
        Some(problem) => problem.into_response(),
        None => answered(next.run(request)).await.unwrap_or_else(|| {
            app.metrics().panicked();
            Problem::internal().into_response()
        }),
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    app.metrics().answered(&route, response.status().as_u16(), start.elapsed());
    response
}

/// The answer of a handler; `None` if it panics.
async fn answered(handler: impl Future<Output = Response>) -> Option<Response> {
    let mut handler = Box::pin(handler);
    std::future::poll_fn(move |context| {
        let poll = catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(context)));
        poll.map_or(Poll::Ready(None), |poll| poll.map(Some))
    })
    .await
}

/// A page of another site must not use a visitor's browser to read from this server: neither by a host name that
/// resolves to our address (DNS rebinding), nor by cross-site requests.
fn refused(app: &App, headers: &HeaderMap, uri: &Uri) -> Option<Problem> {
    // A proxy may have looked at the other one.
    if headers.get_all(HOST).iter().count() > 1 {
        return Some(Problem::bad("the request has two Host headers"));
    }
    let host = uri.authority().map(|authority| authority.as_str().to_string());
    let host = host.or_else(|| headers.get(HOST)?.to_str().ok().map(str::to_string)).unwrap_or_default();
    if !app.hosts().allow(&host) {
        return Some(Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "this server answers to its own address only; start it with --host NAME to give it a name",
        ));
    }
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let own = |origin: &str| {
        let of = origin.split_once("://").map_or("", |(_, of)| of);
        of.eq_ignore_ascii_case(&host) || app.hosts().is_named(of)
    };
    let foreign = text("origin").is_some_and(|origin| !own(origin));
    // Links from other sites are allowed; requests that their pages send are not.
    let fetched = text("sec-fetch-site") == Some("cross-site") && text("sec-fetch-mode") != Some("navigate");
    (foreign || fetched).then(|| Problem::new(StatusCode::FORBIDDEN, "this request was sent by a page of another site"))
}

/// The host names of the server.
#[derive(Clone, Debug)]
pub(super) struct Hosts {
    /// Whether the server listens on the loopback address, so that only this machine's names are allowed.
    local: bool,
    names: Vec<String>,
}

impl Hosts {
    pub(super) fn new(address: IpAddr, names: &[String]) -> Self {
        Self { local: address.is_loopback(), names: names.iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// Whether a request for `host`, with or without a port, is for this server.
    fn allow(&self, host: &str) -> bool {
        // A server that is reachable from elsewhere accepts any name, unless names were given.
        if !self.local && self.names.is_empty() {
            return true;
        }
        let name = name(host);
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let own = name == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        own || self.is_named(host)
    }

    /// Whether the server was given this name. `host` can include a port.
    fn is_named(&self, host: &str) -> bool {
        self.names.contains(&name(host))
    }
}

/// A host without its port.
fn name(host: &str) -> String {
    match host.rfind(':') {
        Some(at) if host[at + 1..].chars().all(|c| c.is_ascii_digit()) => host[..at].to_ascii_lowercase(),
        _ => host.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_that_panics_has_no_answer_and_others_have() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let runs = async { StatusCode::OK.into_response() };
        assert!(runtime.block_on(answered(runs)).is_some());
        assert!(runtime.block_on(answered(async { panic!("a flaw in a handler") })).is_none());
    }

    #[test]
    fn on_loopback_only_local_names_and_given_names_are_allowed() {
        let loopback: IpAddr = [127, 0, 0, 1].into();
        let hosts = Hosts::new(loopback, &["Citree.example".to_string()]);
        for host in ["localhost", "localhost:8080", "127.0.0.1:9", "[::1]:80", "LOCALHOST", "citree.example:443"] {
            assert!(hosts.allow(host), "{host}");
        }
        for host in ["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", "[::2]"] {
            assert!(!hosts.allow(host), "{host}");
        }
    }

    #[test]
    fn elsewhere_any_name_is_allowed_unless_some_are_given() {
        let everywhere: IpAddr = [0, 0, 0, 0].into();
        assert!(Hosts::new(everywhere, &[]).allow("anything.example"));
        let named = Hosts::new(everywhere, &["a.example".to_string()]);
        assert!(named.allow("a.example:80") && named.allow("127.0.0.1") && !named.allow("b.example"));
    }
}
