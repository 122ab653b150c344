//! A client's connection: where it comes from, what it is doing, and how the server ends it.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It has not sent the whole head of a request.
    Opening,
    /// It is between two requests.
    Idle,
    /// It is sending the body of a request.
    Sending,
    /// It is reading an answer.
    Reading,
    /// Its request waits or is computed.
    Waiting,
}

impl Doing {
    /// A time that is long for a client in this state; `None` if the client waits for us.
    fn long(self) -> Option<Duration> {
        match self {
            Self::Opening => Some(Duration::from_millis(100)),
            Self::Idle | Self::Sending => Some(Duration::from_secs(1)),
            Self::Reading => Some(Duration::from_secs(10)),
            Self::Waiting => None,
        }
    }
}

/// A connection. Handlers take it as an argument to say whose request they queue.
#[derive(Clone, Debug)]
pub(super) struct Client(Arc<Connection>);

#[derive(Debug)]
struct Connection {
    address: IpAddr,
    doing: Mutex<(Doing, Instant)>,
    end: Notify,
    refuse: Notify,
}

impl Client {
    pub(super) fn new(address: IpAddr) -> Self {
        let doing = Mutex::new((Doing::Opening, Instant::now()));
        Self(Arc::new(Connection { address: shared(address), doing, end: Notify::new(), refuse: Notify::new() }))
    }

    /// The address that its limits are for.
    pub(super) fn address(&self) -> IpAddr {
        self.0.address
    }

    /// Notes what it does from now on.
    pub(super) fn does(&self, doing: Doing) {
        *self.doing() = (doing, Instant::now());
    }

    /// Notes that everything that was written to it is sent.
    pub(super) fn flushed(&self) {
        let mut state = self.doing();
        if state.0 == Doing::Reading {
            *state = (Doing::Idle, Instant::now());
        }
    }

    /// How long it has done what it does, in proportion to what is long for that. `None` if it must not be ended.
    pub(super) fn lingers(&self, now: Instant) -> Option<f64> {
        let (doing, since) = *self.doing();
        Some(now.saturating_duration_since(since).as_secs_f64() / doing.long()?.as_secs_f64())
    }

    /// Ends it: with a 503 if it is sending a body, otherwise without an answer. If its request was complete in the last
    /// moment, it stays.
    pub(super) fn end(&self) {
        match self.doing().0 {
            Doing::Sending => self.0.refuse.notify_one(),
            Doing::Opening | Doing::Idle | Doing::Reading => self.0.end.notify_one(),
            Doing::Waiting => {}
        }
    }

    /// Returns when it has to be closed.
    pub(super) async fn ended(&self) {
        self.0.end.notified().await;
    }

    /// Returns when its request has to be refused.
    pub(super) async fn refused(&self) {
        self.0.refuse.notified().await;
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn doing(&self) -> MutexGuard<'_, (Doing, Instant)> {
        self.0.doing.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Client {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let unknown = || Self::new(Ipv4Addr::UNSPECIFIED.into());
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_else(unknown))
    }
}

/// The address that stands for a client. One subscriber usually has a whole /64 of IPv6.
fn shared(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_an_address_of_ipv4_or_a_network_of_ipv6() {
        let of = |text: &str| text.parse().map(shared);
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.1"));
        assert_eq!(of("2001:db8:0:1::1"), of("2001:db8:0:1:ffff::2"));
        assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:2::1"));
    }

    #[test]
    fn what_takes_longer_than_usual_lingers_and_a_request_that_is_computed_does_not() {
        let client = Client::new(Ipv4Addr::LOCALHOST.into());
        let lingers = |doing| {
            client.does(doing);
            let later = Instant::now() + Duration::from_secs(10);
            client.lingers(later).map(f64::round)
        };
        let all = [Doing::Opening, Doing::Idle, Doing::Sending, Doing::Reading, Doing::Waiting].map(lingers);
        assert_eq!(all, [Some(100.0), Some(10.0), Some(10.0), Some(1.0), None]);
        client.flushed();
        assert_eq!(client.lingers(Instant::now()), None, "nothing was read");
    }
}
