//! The threads that compute. Requests wait in one queue; each thread takes its share of them and processes it as a
//! batch. No thread waits for a batch to fill, so a single client loses no time.
//!
//! After a panic or a failure in a batch, each unanswered request is retried alone, so that the others get their
//! answers.

use std::collections::VecDeque;
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
    /// Number of threads. Each processes its own batches.
    pub(super) threads: usize,
    /// The most sentences in a batch.
    pub(super) together: usize,
    /// The most words in the queue.
    pub(super) waiting: usize,
    /// The longest time that a request can wait in the queue.
    pub(super) patience: Duration,
}

/// The error of a request that was not processed: the queue was full, or it waited too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overloaded;

/// A queue and the threads that work on it. Dropping it processes the queue, then ends the threads.
pub(super) struct Engine<W: Work> {
    queue: Arc<Queue<W>>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

struct Queue<W: Work> {
    work: W,
    bounds: Bounds,
    state: Mutex<State<W>>,
    changed: Condvar,
}

struct State<W: Work> {
    jobs: VecDeque<Job<W>>,
    /// The total cost of queued jobs.
    size: usize,
    closed: bool,
}

struct Job<W: Work> {
    request: W::Request,
    reply: oneshot::Sender<Result<W::Answer, Overloaded>>,
    since: Instant,
}

/// The channel of an answer; `None` after it is sent.
type Reply<T> = Option<oneshot::Sender<Result<T, Overloaded>>>;

impl<W: Work> Engine<W> {
    pub(super) fn start(work: W, bounds: Bounds) -> std::io::Result<Self> {
        let state = Mutex::new(State { jobs: VecDeque::new(), size: 0, closed: false });
        let queue = Arc::new(Queue { work, bounds, state, changed: Condvar::new() });
        let mut engine = Self { queue: queue.clone(), threads: Vec::new() };
        for number in 0..bounds.threads.max(1) {
            let queue = queue.clone();
            let thread = std::thread::Builder::new().name(format!("citree-engine-{number}"));
            engine.threads.push(thread.spawn(move || queue.run())?);
        }
        Ok(engine)
    }

    /// Queues a request and waits for the answer. If the caller stops waiting before work starts, the request is
    /// dropped.
    pub(super) async fn submit(&self, request: W::Request) -> Result<W::Answer, Overloaded> {
        let size = self.queue.work.size(&request);
        let (reply, answer) = oneshot::channel();
        {
            let mut state = self.queue.lock();
            // An empty queue accepts a request of any size.
            if state.closed || state.size > 0 && state.size + size > self.queue.bounds.waiting {
                return Err(Overloaded);
            }
            state.size += size;
            self.queue.work.waits(state.size);
            state.jobs.push_back(Job { request, reply, since: Instant::now() });
        }
        self.queue.changed.notify_one();
        answer.await.unwrap_or(Err(Overloaded))
    }
}

impl<W: Work> Drop for Engine<W> {
    fn drop(&mut self) {
        self.queue.lock().closed = true;
        self.queue.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl<W: Work> Queue<W> {
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn run(&self) {
        // Each thread has its own rayon pool of one thread, so that its work stays on it and batches run in parallel.
        let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        while let Some(jobs) = self.take() {
            match &alone {
                Ok(alone) => alone.install(|| self.finish(jobs)),
                Err(_) => self.finish(jobs),
            }
        }
    }

    /// The next batch of one thread: its share of the queue. `None` when the queue is closed and empty.
    fn take(&self) -> Option<Vec<Job<W>>> {
        let mut state = self.lock();
        loop {
            if !state.jobs.is_empty() {
                break;
            }
            if state.closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
        let share = state.jobs.len().div_ceil(self.bounds.threads.max(1));
        let (mut jobs, mut sentences) = (Vec::with_capacity(share), 0);
        while jobs.len() < share {
            let Some(next) = state.jobs.front() else { break };
            sentences += self.work.sentences(&next.request);
            if !jobs.is_empty() && sentences > self.bounds.together {
                break;
            }
            let Some(job) = state.jobs.pop_front() else { break };
            state.size = state.size.saturating_sub(self.work.size(&job.request));
            jobs.push(job);
        }
        self.work.taken(jobs.len());
        self.work.waits(state.size);
        Some(jobs)
    }

    fn finish(&self, jobs: Vec<Job<W>>) {
        let (wanted, late): (Vec<Job<W>>, Vec<Job<W>>) = jobs
            .into_iter()
            .filter(|job| !job.reply.is_closed())
            .partition(|job| job.since.elapsed() <= self.bounds.patience);
        for job in late {
            let _ = job.reply.send(Err(Overloaded));
        }
        let (requests, mut replies): (Vec<W::Request>, Vec<Option<oneshot::Sender<_>>>) =
            wanted.into_iter().map(|job| (job.request, Some(job.reply))).unzip();
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
