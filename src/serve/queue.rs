//! The order in which requests are computed: short ones first, clients in turn, and none waits for ever.
//!
//! A request counts as many words as it is estimated to cost. Next comes the one with the least sum of its own cost and
//! of what its client got lately. So a short request overtakes long ones, and a client that asks for much falls back behind
//! the others. Short requests and long ones have threads of their own. Every fourth batch begins with the request that has
//! waited longest, so that nothing is overtaken for ever.

use super::engine::Bounds;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;

/// One batch in this many begins with the oldest request.
const OLDEST: u64 = 4;
/// The share of the queue that one client can have is one in this many.
const CLIENT_SHARE: usize = 2;
/// The most clients whose use is remembered.
const CLIENTS: usize = 4096;

/// The requests that a thread takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    Short,
    Long,
}

impl Lane {
    /// Where a request of this cost belongs.
    fn of(size: usize, bounds: &Bounds) -> Self {
        if size <= bounds.short { Self::Short } else { Self::Long }
    }
}

/// A request in the queue.
pub(super) struct Job<T> {
    /// The address that it came from.
    pub(super) client: IpAddr,
    /// Its cost, in words.
    pub(super) size: usize,
    pub(super) sentences: usize,
    pub(super) since: Instant,
    pub(super) task: T,
}

/// Waiting requests, oldest first.
pub(super) struct Queue<T> {
    jobs: Vec<Job<T>>,
    /// What clients got, in words. A client that was away resumes at `clock`, so it cannot save up.
    used: HashMap<IpAddr, u64>,
    /// What the client had used whose turn came last.
    clock: u64,
    /// The batches taken, of short requests and of long ones.
    batches: [u64; 2],
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { jobs: Vec::new(), used: HashMap::new(), clock: 0, batches: [0; 2] }
    }
}

impl<T> Queue<T> {
    /// The total cost of all requests.
    pub(super) fn size(&self) -> usize {
        self.jobs.iter().map(|job| job.size).sum()
    }

    /// The number of requests.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Removes requests that nobody waits for any more.
    pub(super) fn retain(&mut self, wanted: impl Fn(&T) -> bool) {
        self.jobs.retain(|job| wanted(&job.task));
    }

    /// Adds a request, and returns those that it displaced. `None` if there is no room. A full queue gives room to a client
    /// that has less in it than another one. An empty queue accepts a request of any cost. Short requests and others have
    /// queues of their own in this, so that long ones cannot shut short ones out.
    pub(super) fn add(&mut self, job: Job<T>, bounds: &Bounds) -> Option<Vec<T>> {
        let alike = |other: &Job<T>| Lane::of(other.size, bounds) == Lane::of(job.size, bounds);
        let mut waiting: HashMap<IpAddr, usize> = HashMap::new();
        for other in self.jobs.iter().filter(|other| alike(other)) {
            *waiting.entry(other.client).or_default() += other.size;
        }
        let own = waiting.get(&job.client).copied().unwrap_or_default();
        if own > 0 && own + job.size > bounds.waiting / CLIENT_SHARE {
            return None;
        }
        // From the newest on, those of the client that has most.
        let mut displaced = Vec::new();
        let mut all: usize = waiting.values().sum();
        while all > 0 && all + job.size > bounds.waiting {
            let (&client, most) = waiting.iter_mut().max_by_key(|(client, size)| (**size, **client))?;
            let of_client = |at: &usize| self.jobs[*at].client == client && alike(&self.jobs[*at]);
            let newest = (0..self.jobs.len()).rev().find(|at| of_client(at) && !displaced.contains(at))?;
            if *most <= own + job.size {
                return None;
            }
            *most -= self.jobs[newest].size;
            all -= self.jobs[newest].size;
            displaced.push(newest);
        }
        displaced.sort_unstable();
        let displaced = displaced.into_iter().rev().map(|place| self.jobs.remove(place).task).collect();
        if !self.jobs.iter().any(|other| other.client == job.client) {
            let used = self.used.entry(job.client).or_default();
            *used = self.clock.max(*used);
        }
        self.jobs.push(job);
        Some(displaced)
    }

    /// Takes the next batch of one thread: its share of the requests that it can take. Empty if there are none.
    pub(super) fn take(&mut self, lane: Lane, bounds: &Bounds) -> Vec<Job<T>> {
        let fits = |job: &Job<T>| lane == Lane::of(job.size, bounds);
        let share = self.jobs.iter().filter(|job| fits(job)).count().div_ceil(bounds.threads.max(1));
        let (mut batch, mut size, mut sentences): (Vec<Job<T>>, usize, usize) = (Vec::new(), 0, 0);
        while batch.len() < share {
            let fitting = self.jobs.iter().enumerate().filter(|(_, job)| fits(job));
            let oldest = batch.is_empty() && self.batches[lane as usize] % OLDEST == OLDEST - 1;
            let next = match oldest {
                true => fitting.map(|(place, _)| place).next(),
                false => fitting.min_by_key(|(_, job)| self.used(job.client) + job.size as u64).map(|(place, _)| place),
            };
            let Some(place) = next else { break };
            (size, sentences) = (size + self.jobs[place].size, sentences + self.jobs[place].sentences);
            if !batch.is_empty() && (size > bounds.batch || sentences > bounds.together) {
                break;
            }
            let job = self.jobs.remove(place);
            let before = self.used(job.client);
            if !oldest {
                self.clock = self.clock.max(before);
            }
            self.used.insert(job.client, before + job.size as u64);
            batch.push(job);
        }
        self.batches[lane as usize] += u64::from(!batch.is_empty());
        if self.used.len() > CLIENTS {
            self.used.clear();
        }
        batch
    }

    fn used(&self, client: IpAddr) -> u64 {
        self.used.get(&client).copied().unwrap_or(self.clock)
    }
}

#[cfg(test)]
mod tests;
