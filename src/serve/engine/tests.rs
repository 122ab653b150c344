//! Tests of the engine with simple work: it doubles numbers, panics at 13 and gives no answer to 0.

#![allow(clippy::unwrap_used)]

use super::*;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

struct Doubling {
    /// Blocks every batch until a message is received.
    gate: Option<Mutex<mpsc::Receiver<()>>>,
    largest: Arc<AtomicUsize>,
    worked: Arc<AtomicUsize>,
}

impl Work for Doubling {
    type Request = usize;
    type Answer = Result<usize, &'static str>;
    fn size(&self, request: &usize) -> usize {
        1 + *request
    }
    fn sentences(&self, _: &usize) -> usize {
        1
    }
    fn work(&self, requests: &[&usize], done: &mut dyn FnMut(usize, Self::Answer)) {
        if let Some(gate) = &self.gate {
            let _ = gate.lock().unwrap().recv();
        }
        self.largest.fetch_max(requests.len(), Ordering::SeqCst);
        for (place, request) in requests.iter().enumerate() {
            self.worked.fetch_add(1, Ordering::SeqCst);
            assert!(**request != 13, "unlucky");
            if **request != 0 {
                done(place, Ok(**request * 2));
            }
        }
    }
    fn failed(&self, panicked: bool) -> Self::Answer {
        Err(if panicked { "panicked" } else { "left out" })
    }
    fn taken(&self, _: usize) {}
    fn waits(&self, _: usize) {}
}

struct Setup {
    engine: Arc<Engine<Doubling>>,
    open: mpsc::Sender<()>,
    largest: Arc<AtomicUsize>,
    worked: Arc<AtomicUsize>,
}

fn gated(bounds: Bounds) -> Setup {
    let (open, gate) = mpsc::channel();
    let (largest, worked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let work = Doubling { gate: Some(Mutex::new(gate)), largest: largest.clone(), worked: worked.clone() };
    Setup { engine: Arc::new(Engine::start(work, bounds).unwrap()), open, largest, worked }
}

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

fn bounds() -> Bounds {
    Bounds { threads: 1, together: 64, batch: 1000, short: 0, waiting: 1000, patience: Duration::from_secs(60) }
}

type Answered = Result<<Doubling as Work>::Answer, Overloaded>;

/// Submits a request from its own task.
fn asking(engine: &Arc<Engine<Doubling>>, request: usize) -> tokio::task::JoinHandle<Answered> {
    let engine = engine.clone();
    tokio::spawn(async move { engine.submit(CLIENT, request).await })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Waits until a spawned request is queued and the engine has started on it.
async fn begin(engine: &Engine<Doubling>) {
    tokio::task::yield_now().await;
    settle(engine, 0).await;
}

/// Waits until this number of requests is in the queue.
async fn settle(engine: &Engine<Doubling>, waiting: usize) {
    while engine.shared.lock().queue.len() != waiting {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[test]
fn queued_requests_are_batched_and_each_gets_its_own_answer() {
    let Setup { engine, open, largest, .. } = gated(bounds());
    runtime().block_on(async {
        let first = asking(&engine, 1);
        begin(&engine).await;
        let requests: Vec<_> = (2..12).map(|request| (request, asking(&engine, request))).collect();
        settle(&engine, 10).await;
        (0..2).for_each(|_| open.send(()).unwrap());
        assert_eq!(first.await.unwrap(), Ok(Ok(2)));
        for (request, answer) in requests {
            assert_eq!(answer.await.unwrap(), Ok(Ok(request * 2)));
        }
        assert_eq!(largest.load(Ordering::SeqCst), 10);
    });
}

#[test]
fn a_panic_does_not_affect_other_requests_or_stop_the_thread() {
    let Setup { engine, open, .. } = gated(bounds());
    runtime().block_on(async {
        let first = asking(&engine, 1);
        begin(&engine).await;
        let requests = [5, 13, 0, 6].map(|request| asking(&engine, request));
        settle(&engine, 4).await;
        (0..9).for_each(|_| open.send(()).unwrap());
        first.await.unwrap().unwrap().unwrap();
        let mut answers = Vec::new();
        for request in requests {
            answers.push(request.await.unwrap().unwrap());
        }
        assert_eq!(answers, [Ok(10), Err("panicked"), Err("left out"), Ok(12)]);
        assert_eq!(engine.submit(CLIENT, 7).await, Ok(Ok(14)));
    });
}

#[test]
fn requests_beyond_the_bound_are_refused_until_the_queue_has_room() {
    let Setup { engine, open, .. } = gated(Bounds { waiting: 10, ..bounds() });
    runtime().block_on(async {
        let spawn = |request| asking(&engine, request);
        let working = spawn(1);
        begin(&engine).await;
        let large = spawn(50);
        settle(&engine, 1).await;
        assert_eq!(engine.submit(CLIENT, 1).await, Err(Overloaded), "50 wait already");
        (0..9).for_each(|_| open.send(()).unwrap());
        assert_eq!((working.await.unwrap(), large.await.unwrap()), (Ok(Ok(2)), Ok(Ok(100))));
        assert_eq!(engine.submit(CLIENT, 3).await, Ok(Ok(6)));
    });
}

#[test]
fn abandoned_requests_are_dropped_and_late_ones_get_an_error() {
    let Setup { engine, open, worked, .. } = gated(Bounds { patience: Duration::ZERO, ..bounds() });
    runtime().block_on(async {
        let spawn = |request| asking(&engine, request);
        let late = spawn(4);
        settle(&engine, 0).await;
        assert_eq!(late.await.unwrap(), Err(Overloaded));
        assert_eq!(worked.load(Ordering::SeqCst), 0);
    });
    let Setup { engine, open: open_again, worked, .. } = gated(bounds());
    runtime().block_on(async {
        let spawn = |request| asking(&engine, request);
        let working = spawn(1);
        begin(&engine).await;
        let gone = spawn(2);
        settle(&engine, 1).await;
        gone.abort();
        assert!(gone.await.unwrap_err().is_cancelled());
        open_again.send(()).unwrap();
        working.await.unwrap().unwrap().unwrap();
        drop(open_again);
        assert_eq!(engine.submit(CLIENT, 3).await, Ok(Ok(6)));
        assert_eq!(worked.load(Ordering::SeqCst), 2, "1 and 3, not 2");
    });
    drop(open);
}

#[test]
fn dropping_the_engine_processes_the_queue() {
    let Setup { engine, open, worked, .. } = gated(bounds());
    let runtime = runtime();
    let requests: Vec<_> = runtime.block_on(async {
        let requests = (1..4)
            .map(|request| {
                let shared = engine.shared.clone();
                let (reply, answer) = oneshot::channel();
                let task = Task { request, reply };
                let job = Job { client: CLIENT, size: request, sentences: 1, since: Instant::now(), task };
                assert!(shared.lock().queue.add(job, &shared.bounds).is_some());
                shared.changed.notify_all();
                answer
            })
            .collect();
        drop(open);
        requests
    });
    drop(Arc::into_inner(engine));
    assert_eq!(worked.load(Ordering::SeqCst), 3);
    runtime.block_on(async {
        for answer in requests {
            answer.await.unwrap().unwrap().unwrap();
        }
    });
}

#[test]
fn a_short_request_is_answered_while_every_other_thread_computes_a_long_one() {
    let (open, gate) = mpsc::channel();
    let work = Sleeping { gate: Mutex::new(gate) };
    let engine = Arc::new(Engine::start(work, Bounds { threads: 2, short: 5, waiting: 10_000, ..bounds() }).unwrap());
    runtime().block_on(async {
        let asking = |request| {
            let engine = engine.clone();
            tokio::spawn(async move { engine.submit(CLIENT, request).await })
        };
        let long: Vec<_> = (0..8).map(|_| asking(100)).collect();
        // Two are being computed.
        while engine.shared.lock().queue.len() != 6 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let short = tokio::time::timeout(Duration::from_secs(20), asking(5)).await;
        assert_eq!(short.expect("it waits for long ones").unwrap(), Ok(5));
        (0..8).for_each(|_| open.send(()).unwrap());
        for long in long {
            assert_eq!(long.await.unwrap(), Ok(100));
        }
    });
}

/// Work that returns its request. Requests over 10 each take until a message is received.
struct Sleeping {
    gate: Mutex<mpsc::Receiver<()>>,
}

impl Work for Sleeping {
    type Request = usize;
    type Answer = usize;
    fn size(&self, request: &usize) -> usize {
        *request
    }
    fn sentences(&self, _: &usize) -> usize {
        64
    }
    fn work(&self, requests: &[&usize], done: &mut dyn FnMut(usize, usize)) {
        for (place, request) in requests.iter().enumerate() {
            if **request > 10 {
                let _ = self.gate.lock().unwrap().recv();
            }
            done(place, **request);
        }
    }
    fn failed(&self, _: bool) -> usize {
        0
    }
    fn taken(&self, _: usize) {}
    fn waits(&self, _: usize) {}
}
