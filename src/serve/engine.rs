//! The threads that compute. Requests wait in one queue ([`queue`](super::queue)); each thread takes its share of them
//! and processes it as a batch. No thread waits for a batch to fill, so a single client loses no time.
//!
//! Beside each thread for long requests there is one for short ones. All cores can be busy with long requests, and the
//! operating system still gives a short one its time at once. So no work has to be cut in slices.
//!
//! After a panic or a failure in a batch, each unanswered request is retried alone, so that the others get their
//! answers.

use super::priority;
use super::queue::{Job, Lane, Queue};
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The work of an engine's threads.
pub(super) trait Work: Send + Sync + 'static {
    /// A request.
    type Request: Send;
    /// An answer.
    type Answer: Send;

    /// The cost of a request, in words.
    fn size(&self, request: &Self::Request) -> usize;

    /// The number of sentences of a request.
    fn sentences(&self, request: &Self::Request) -> usize;

    /// Processes a batch of requests and calls `done` with the index and the answer of each, as soon as it is ready.
    /// Requests without an answer are retried, each alone.
    fn work(&self, requests: &[&Self::Request], done: &mut dyn FnMut(usize, Self::Answer));

    /// The answer to a request that failed alone, by a panic or otherwise.
    fn failed(&self, panicked: bool) -> Self::Answer;

    /// Called for every batch with its number of requests.
    fn taken(&self, requests: usize);

    /// Called with the total cost of queued requests, whenever it changes.
    fn waits(&self, size: usize);
}

/// The bounds of an engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Number of threads for short requests, and again for long ones. Each processes its own batches.
    pub(super) threads: usize,
    /// The most sentences in a batch.
    pub(super) together: usize,
    /// The most cost of a batch of several requests, in words.
    pub(super) batch: usize,
    /// The most cost of a short request, in words.
    pub(super) short: usize,
    /// The most words in the queue: of short requests, and again of others. One client can have half of each.
    pub(super) waiting: usize,
    /// The longest time that a request can wait in the queue.
    pub(super) patience: Duration,
}

/// The error of a request that was not processed: the queue was full, or it waited too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overloaded;

/// A queue and the threads that work on it. Dropping it processes the queue, then ends the threads.
pub(super) struct Engine<W: Work> {
    shared: Arc<Shared<W>>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

struct Shared<W: Work> {
    work: W,
    bounds: Bounds,
    state: Mutex<State<W>>,
    changed: Condvar,
}

struct State<W: Work> {
    queue: Queue<Task<W>>,
    closed: bool,
}

/// What the queue holds of a request.
struct Task<W: Work> {
    request: W::Request,
    reply: oneshot::Sender<Result<W::Answer, Overloaded>>,
}

/// The channel of an answer; `None` after it is sent.
type Reply<T> = Option<oneshot::Sender<Result<T, Overloaded>>>;

impl<W: Work> Engine<W> {
    /// Starts the threads.
    ///
    /// # Errors
    /// If a thread cannot be started. Those that were started end.
    pub(super) fn start(work: W, bounds: Bounds) -> std::io::Result<Self> {
        let state = Mutex::new(State { queue: Queue::default(), closed: false });
        let shared = Arc::new(Shared { work, bounds, state, changed: Condvar::new() });
        let mut engine = Self { shared: shared.clone(), threads: Vec::new() };
        for (lane, name) in [(Lane::Long, "long"), (Lane::Short, "short")] {
            for number in 0..bounds.threads.max(1) {
                let shared = shared.clone();
                // Each thread has its own rayon pool of one thread, so that its work stays on it and batches run in
                // parallel.
                let alone = rayon::ThreadPoolBuilder::new().num_threads(1).start_handler(move |_| {
                    if lane == Lane::Long {
                        priority::lower();
                    }
                });
                let alone = alone.build().map_err(std::io::Error::other)?;
                let thread = std::thread::Builder::new().name(format!("citree-{name}-{number}"));
                engine.threads.push(thread.spawn(move || {
                    while let Some(jobs) = shared.take(lane) {
                        alone.install(|| shared.finish(jobs));
                    }
                })?);
            }
        }
        Ok(engine)
    }

    /// Queues a request of a client and waits for the answer. If the caller stops waiting before work starts, the request
    /// is dropped.
    pub(super) async fn submit(&self, client: IpAddr, request: W::Request) -> Result<W::Answer, Overloaded> {
        let (size, sentences) = (self.shared.work.size(&request), self.shared.work.sentences(&request));
        let (reply, answer) = oneshot::channel();
        {
            let mut state = self.shared.lock();
            state.queue.retain(|task| !task.reply.is_closed());
            let job = Job { client, size, sentences, since: Instant::now(), task: Task { request, reply } };
            let displaced = match state.closed {
                true => return Err(Overloaded),
                false => state.queue.add(job, &self.shared.bounds).ok_or(Overloaded)?,
            };
            for task in displaced {
                let _ = task.reply.send(Err(Overloaded));
            }
            self.shared.work.waits(state.queue.size());
        }
        // Which threads can take it depends on its cost.
        self.shared.changed.notify_all();
        answer.await.unwrap_or(Err(Overloaded))
    }
}

impl<W: Work> Drop for Engine<W> {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl<W: Work> Shared<W> {
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The next batch of one thread. `None` when the queue is closed and has nothing for it.
    fn take(&self, lane: Lane) -> Option<Vec<Job<Task<W>>>> {
        let mut state = self.lock();
        loop {
            let jobs = state.queue.take(lane, &self.bounds);
            if !jobs.is_empty() {
                self.work.taken(jobs.len());
                self.work.waits(state.queue.size());
                return Some(jobs);
            }
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    fn finish(&self, jobs: Vec<Job<Task<W>>>) {
        let (wanted, late): (Vec<_>, Vec<_>) = jobs
            .into_iter()
            .filter(|job| !job.task.reply.is_closed())
            .partition(|job| job.since.elapsed() <= self.bounds.patience);
        for job in late {
            let _ = job.task.reply.send(Err(Overloaded));
        }
        let (requests, mut replies): (Vec<W::Request>, Vec<Option<oneshot::Sender<_>>>) =
            wanted.into_iter().map(|job| (job.task.request, Some(job.task.reply))).unzip();
        let requests: Vec<&W::Request> = requests.iter().collect();
        let together = self.guarded(&requests, &mut replies);
        for (request, reply) in requests.iter().zip(&mut replies).filter(|(_, reply)| reply.is_some()) {
            let alone = match requests.len() {
                1 => together,
                _ => self.guarded(&[request], std::slice::from_mut(reply)),
            };
            send(reply, self.work.failed(alone.is_err()));
        }
    }

    /// Processes requests and sends their answers. An error means a panic.
    fn guarded(&self, requests: &[&W::Request], replies: &mut [Reply<W::Answer>]) -> Result<(), ()> {
        let mut done = |place: usize, answer: W::Answer| {
            if let Some(reply) = replies.get_mut(place) {
                send(reply, answer);
            }
        };
        catch_unwind(AssertUnwindSafe(|| self.work.work(requests, &mut done))).map_err(|_| ())
    }
}

fn send<T>(reply: &mut Reply<T>, answer: T) {
    // The caller can have stopped waiting.
    let _ = reply.take().map(|reply| reply.send(Ok(answer)));
}

#[cfg(test)]
mod tests;
