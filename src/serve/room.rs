//! Which connections are open, and which one ends when there is no room for another.
//!
//! Every connection is accepted. If too many are open, or too many of one address, the one ends that lingers most: that
//! takes longest to send its request, to read its answer or to ask again, in proportion to what is usual. If all wait for
//! answers, the new one is *beyond the limit*: it gets answers about the health of the server, and 503 otherwise.

use super::client::Client;
use super::limits::Limits;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard};
use std::time::Instant;

/// The most connections beyond the limit. They live for a short time, and the oldest ends first.
const BEYOND: usize = 64;

/// The open connections of a server.
#[derive(Debug)]
pub(super) struct Room {
    most: usize,
    most_of_address: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    within: Vec<Client>,
    beyond: Vec<Client>,
}

/// The place of a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Within,
    /// Beyond the limit: it can ask about the health of the server only.
    Beyond,
}

impl Room {
    pub(super) fn new(limits: &Limits) -> Self {
        let most_of_address = limits.address_connections.min(limits.connections);
        Self { most: limits.connections, most_of_address, open: Mutex::default() }
    }

    /// Takes in a connection. Ends another one if that makes room. Returns its place, and whether another one ended.
    pub(super) fn enter(&self, client: &Client) -> (Place, bool) {
        let mut open = self.lock();
        let mut of_address: HashMap<IpAddr, usize> = HashMap::new();
        for other in &open.within {
            *of_address.entry(other.address()).or_default() += 1;
        }
        let own = of_address.get(&client.address()).copied().unwrap_or_default();
        let crowded = own >= self.most_of_address;
        if !crowded && open.within.len() < self.most {
            open.within.push(client.clone());
            return (Place::Within, false);
        }
        // Of the address with the most connections, or of this one if it has as many as it may have.
        let crowd = |other: &Client| match crowded {
            true => usize::from(other.address() == client.address()),
            false => of_address.get(&other.address()).copied().unwrap_or_default(),
        };
        if let Some(place) = most_lingering(&open.within, crowd).filter(|place| crowd(&open.within[*place]) > 0) {
            open.within.remove(place).end();
            open.within.push(client.clone());
            return (Place::Within, true);
        }
        let full = open.beyond.len() >= BEYOND;
        if full {
            open.beyond.remove(0).end();
        }
        open.beyond.push(client.clone());
        (Place::Beyond, full)
    }

    /// Ends the connection that lingers most. For when the process has no more file descriptors.
    pub(super) fn shrink(&self) {
        let mut open = self.lock();
        if let Some(place) = most_lingering(&open.within, |_| 0) {
            open.within.remove(place).end();
        }
    }

    /// Forgets a connection that has ended.
    pub(super) fn leave(&self, client: &Client) {
        let mut open = self.lock();
        open.within.retain(|other| !other.is(client));
        open.beyond.retain(|other| !other.is(client));
    }

    /// The number of open connections.
    pub(super) fn open(&self) -> usize {
        let open = self.lock();
        open.within.len() + open.beyond.len()
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The place of the connection that lingers most, among those of the greatest crowd.
fn most_lingering(clients: &[Client], crowd: impl Fn(&Client) -> usize) -> Option<usize> {
    let now = Instant::now();
    let lingering =
        clients.iter().enumerate().filter_map(|(place, client)| Some((place, crowd(client), client.lingers(now)?)));
    let most = lingering.max_by(|one, other| one.1.cmp(&other.1).then(one.2.total_cmp(&other.2)));
    most.map(|(place, ..)| place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::client::Doing;

    fn client(last: u8, doing: Doing) -> Client {
        let client = Client::new([192, 0, 2, last].into());
        client.does(doing);
        client
    }

    fn room(connections: usize, address_connections: usize) -> Room {
        Room::new(&Limits { connections, address_connections, ..Limits::default() })
    }

    fn has(room: &Room, client: &Client) -> bool {
        room.lock().within.iter().any(|other| other.is(client))
    }

    #[test]
    fn a_full_room_ends_the_connection_that_lingers_most_of_the_address_that_has_most() {
        let room = room(4, 3);
        let [idle, busy] = [client(1, Doing::Idle), client(1, Doing::Waiting)];
        let [other, another] = [client(1, Doing::Idle), client(2, Doing::Idle)];
        for client in [&another, &idle, &busy, &other] {
            assert_eq!(room.enter(client), (Place::Within, false));
        }
        let new = client(3, Doing::Opening);
        assert_eq!(room.enter(&new), (Place::Within, true));
        assert!(!has(&room, &idle), "the oldest idle one of the address with most");
        assert!(has(&room, &busy) && has(&room, &other) && has(&room, &another) && has(&room, &new));
    }

    #[test]
    fn an_address_at_its_limit_ends_its_own_connections_and_no_others() {
        let room = room(10, 2);
        let [idle, first] = [client(2, Doing::Idle), client(1, Doing::Waiting)];
        let [second, third] = [client(1, Doing::Idle), client(1, Doing::Waiting)];
        for client in [&idle, &first, &second] {
            assert_eq!(room.enter(client), (Place::Within, false));
        }
        assert_eq!(room.enter(&third), (Place::Within, true));
        assert!(has(&room, &idle) && has(&room, &first) && !has(&room, &second));
        assert_eq!(room.enter(&client(1, Doing::Opening)), (Place::Beyond, false), "both of its connections work");
        assert_eq!(room.enter(&client(2, Doing::Opening)), (Place::Within, false));
    }

    #[test]
    fn connections_beyond_the_limit_are_bounded_and_give_way_to_newer_ones() {
        let room = room(1, 1);
        room.enter(&client(1, Doing::Waiting));
        for number in 0..3 * BEYOND {
            assert_eq!(room.enter(&client(2, Doing::Opening)), (Place::Beyond, number >= BEYOND));
        }
        assert_eq!(room.open(), 1 + BEYOND);
    }
}
