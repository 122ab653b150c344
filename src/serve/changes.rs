//! Changes that clients make to the evidence: the token that allows them, and one after another off the connection
//! threads.

use super::App;
use super::engine::Overloaded;
use super::problem::Problem;
use crate::error::{Error, Result};
use crate::evidence::EvidenceEditor;
use axum::http::header::{AUTHORIZATION, HeaderMap};
use axum::http::{HeaderValue, StatusCode};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Mutex, oneshot};

/// The fewest characters of a token, so that it cannot be guessed.
const SHORTEST: usize = 16;

/// What clients need for changes, and what keeps them apart.
pub(super) struct Changes {
    token: Token,
    /// Held while a change is made.
    turn: Arc<Mutex<()>>,
    /// A large change computes on one thread, so that it leaves the others to requests.
    alone: rayon::ThreadPool,
}

/// A token that is not kept: only its hash is. Two hashes are compared in constant time.
struct Token(blake3::Hash);

impl Changes {
    /// Allows changes to clients that have a token.
    pub(super) fn new(token: &str) -> Result<Self> {
        let failed = |message: String| Error::Serve { message };
        if token.len() < SHORTEST || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(failed(format!(
                "a token has {SHORTEST} or more ASCII characters without spaces; `openssl rand -hex 16` makes one"
            )));
        }
        let alone =
            rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|error| failed(error.to_string()))?;
        Ok(Self { token: Token::of(token.as_bytes()), turn: Arc::default(), alone })
    }

    /// The way to make changes, if the server allows them and the request has the token.
    pub(super) fn permitted<'a>(app: &'a App, headers: &HeaderMap) -> Result<&'a Self, Problem> {
        let changes = app.0.changes.as_ref().ok_or_else(|| {
            let detail = "this server does not let clients change its evidence; start it with --allow-changes";
            Problem::new(StatusCode::FORBIDDEN, detail)
        })?;
        let given = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes).and_then(bearer);
        match given {
            Some(given) if Token::of(given).0 == changes.token.0 => Ok(changes),
            Some(_) => {
                Err(Problem::new(StatusCode::UNAUTHORIZED, "this is not the token that the server started with"))
            }
            None => Err(Problem::new(
                StatusCode::UNAUTHORIZED,
                "changes need the token that the server started with: send Authorization: Bearer TOKEN",
            )),
        }
    }

    /// Makes a change, and switches to the generation that it returns before it answers. Requests that begin then see it.
    /// If the client goes away meanwhile, the change is made all the same.
    pub(super) async fn make<T: Send + 'static>(
        &self,
        app: &App,
        change: impl FnOnce(EvidenceEditor<'_>) -> Result<(u64, T)> + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = tokio::time::timeout(app.limits().waiting_time, self.turn.clone().lock_owned());
        let turn = turn.await.map_err(|_| Overloaded)?;
        let own = app.clone();
        let (reply, made) = oneshot::channel();
        // On the thread that exists already: a server under load may get no other.
        self.alone.spawn(move || {
            let _turn = turn;
            let made = catch_unwind(AssertUnwindSafe(|| {
                let (generation, made) = change(own.snapshot().explainer.bundle().evidence()).map_err(unmade)?;
                own.0.snapshots.refresh(Instant::now());
                let served = own.snapshot().generation;
                own.metrics().serving(served);
                match served >= generation {
                    true => Ok(made),
                    false => Err(Problem::new(
                        StatusCode::INTERNAL_SERVER_ERROR,
                        format!("the change is saved as generation {generation}, but cannot be served yet"),
                    )),
                }
            }));
            let _ = reply.send(made.unwrap_or_else(|_| {
                own.metrics().panicked();
                Err(Problem::internal())
            }));
        });
        made.await.unwrap_or_else(|_| Err(Problem::internal()))
    }
}

/// Why a change was not made. Who has the token may know what is wrong with the files.
fn unmade(error: Error) -> Problem {
    let reason = error.to_string();
    match Problem::from(error) {
        problem if problem.status() == StatusCode::INTERNAL_SERVER_ERROR => {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, format!("nothing was changed: {reason}"))
        }
        problem => problem,
    }
}

impl Token {
    fn of(text: &[u8]) -> Self {
        Self(blake3::hash(text))
    }
}

/// The token of a header such as `Bearer TOKEN`.
fn bearer(header: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = header.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_enough_and_fits_a_header() {
        assert!(Changes::new("0123456789abcdef").is_ok());
        for unfit in ["", "0123456789abcde", "0123456789 abcdef", "0123456789abcdef\n", "0123456789abcdéé"] {
            assert!(Changes::new(unfit).is_err(), "{unfit:?}");
        }
    }

    #[test]
    fn the_token_is_what_follows_the_scheme() {
        assert_eq!(bearer(b"Bearer abc"), Some(&b"abc"[..]));
        assert_eq!(bearer(b"bearer  abc "), Some(&b"abc"[..]));
        for other in [&b"abc"[..], b"Basic abc", b"Bearer", b""] {
            assert_eq!(bearer(other), None);
        }
    }
}
