//! Tests of the order of requests: what overtakes what, and what is refused.

#![allow(clippy::unwrap_used)]

use super::*;
use std::time::Duration;

const BOUNDS: Bounds =
    Bounds { threads: 1, together: 64, batch: 0, short: 0, waiting: 2000, patience: Duration::from_secs(60) };
/// The same, with threads for short requests.
const LANES: Bounds = Bounds { short: 10, ..BOUNDS };

/// Adds a request of the client with this number. Returns the requests that it displaced; `None` if it is refused.
fn add(queue: &mut Queue<usize>, client: u8, size: usize) -> Option<Vec<usize>> {
    add_within(&BOUNDS, queue, client, size)
}

fn add_within(bounds: &Bounds, queue: &mut Queue<usize>, client: u8, size: usize) -> Option<Vec<usize>> {
    let client = [192, 0, 2, client].into();
    queue.add(Job { client, size, sentences: 1, since: Instant::now(), task: size }, bounds)
}

/// The clients and costs of requests in the order in which they are taken, each as a batch.
fn taken(queue: &mut Queue<usize>, batches: usize) -> Vec<(u8, usize)> {
    let one = |job: Job<usize>| match job.client {
        IpAddr::V4(address) => (address.octets()[3], job.task),
        IpAddr::V6(_) => unreachable!(),
    };
    (0..batches).flat_map(|_| queue.take(Lane::Long, &BOUNDS)).map(one).collect()
}

#[test]
fn a_short_request_overtakes_longer_ones_even_of_its_own_client() {
    let mut queue = Queue::default();
    for (client, size) in [(1, 400), (1, 300), (2, 350), (1, 5)] {
        assert_eq!(add(&mut queue, client, size), Some(vec![]));
    }
    assert_eq!(taken(&mut queue, 1), [(1, 5)]);
    assert_eq!(taken(&mut queue, 1), [(1, 300)], "5 + 300 are less than 350");
    assert_eq!(taken(&mut queue, 1), [(2, 350)]);
}

#[test]
fn clients_take_turns_however_many_requests_one_of_them_has() {
    let mut queue = Queue::default();
    (0..9).for_each(|_| assert!(add(&mut queue, 1, 100).is_some()));
    taken(&mut queue, 1);
    (0..3).for_each(|_| assert!(add(&mut queue, 2, 100).is_some()));
    let clients: Vec<u8> = taken(&mut queue, 6).into_iter().map(|(client, _)| client).collect();
    assert_eq!(clients.iter().filter(|client| **client == 2).count(), 3, "{clients:?}");
}

#[test]
fn a_client_that_was_away_has_not_saved_up_turns() {
    let mut queue = Queue::default();
    for _ in 0..50 {
        add(&mut queue, 1, 100).unwrap();
        taken(&mut queue, 1);
    }
    (0..4).for_each(|_| assert!(add(&mut queue, 1, 100).is_some() && add(&mut queue, 2, 100).is_some()));
    let clients: Vec<u8> = taken(&mut queue, 4).into_iter().map(|(client, _)| client).collect();
    assert!(clients.contains(&1), "{clients:?}");
}

#[test]
fn a_long_request_is_not_overtaken_for_ever() {
    let mut queue = Queue::default();
    add(&mut queue, 1, 900).unwrap();
    let mut waited = 0;
    loop {
        (0..2).for_each(|_| assert!(add(&mut queue, 1, 5).is_some()));
        waited += 1;
        if taken(&mut queue, 1).contains(&(1, 900)) {
            break;
        }
        assert!(waited < 10, "short ones of its own client always come first");
    }
}

#[test]
fn short_and_long_requests_have_threads_of_their_own() {
    let mut queue = Queue::default();
    add_within(&LANES, &mut queue, 1, 11).unwrap();
    assert!(queue.take(Lane::Short, &LANES).is_empty());
    add_within(&LANES, &mut queue, 1, 10).unwrap();
    assert_eq!(queue.take(Lane::Short, &LANES)[0].size, 10);
    assert_eq!(queue.take(Lane::Long, &LANES)[0].size, 11);
}

#[test]
fn a_batch_has_a_bounded_cost() {
    let bounds = Bounds { batch: 25, ..BOUNDS };
    let mut queue = Queue::default();
    (0..6).for_each(|_| assert!(add(&mut queue, 1, 10).is_some()));
    assert_eq!(queue.take(Lane::Long, &bounds).len(), 2);
    let halves = Bounds { threads: 2, batch: 1000, ..BOUNDS };
    assert_eq!(queue.take(Lane::Long, &halves).len(), 2, "half of what waits");
}

#[test]
fn one_client_has_half_of_the_queue_and_long_requests_leave_room_for_short_ones() {
    let mut queue = Queue::default();
    (0..10).for_each(|_| assert!(add(&mut queue, 1, 100).is_some()));
    assert_eq!(add(&mut queue, 1, 100), None);
    assert_eq!(add(&mut queue, 1, 10), None);
    assert!(add_within(&LANES, &mut queue, 1, 10).is_some(), "a short one");
    assert!(add(&mut queue, 2, 900).is_some(), "another client");
}

#[test]
fn a_full_queue_gives_room_to_a_client_that_has_less_in_it() {
    let mut queue = Queue::default();
    (0..10).for_each(|_| assert!(add(&mut queue, 1, 100).is_some()));
    (0..5).for_each(|_| assert!(add(&mut queue, 2, 200).is_some()));
    assert_eq!(add(&mut queue, 3, 150), Some(vec![200]), "the newest of a client that has most");
    assert_eq!(queue.size(), 1000 + 800 + 150);
    assert_eq!(add(&mut queue, 3, 1500), None, "it would have most itself");
    assert_eq!(queue.size(), 1950, "and nothing was displaced for it");
}
