//! Runs the library on threads of its own, without the interpreter lock, so that Ctrl-C is noticed and forks are safe.
//!
//! The threads of a pool do not exist in a forked child, and work sent to them would wait for ever. So nothing here uses
//! the global pool: each process has its own pools, found by its id. candle has one more pool for element-wise
//! operations, which [`start`] makes empty.

use crate::errors::exception;
use citree::bundle::check_mapped;
use citree::{Error, Flow, Result};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// How often a signal is looked for.
const POLL: Duration = Duration::from_millis(50);

/// The most threads of a pool. A system that has fewer to give refuses them one by one.
const MOST_THREADS: usize = 1024;

/// By process and number of threads. Locked only by threads that hold the interpreter lock, which a thread that forks
/// holds too, so it is never locked in a new child.
static POOLS: LazyLock<Mutex<Pools>> = LazyLock::new(Mutex::default);

type Pools = HashMap<(u32, usize), Arc<ThreadPool>>;

/// Creates candle's pool of element-wise operations. Called with CANDLE_NUM_THREADS=1, the pool has no threads and the
/// caller does all. Batches are divided among the threads of our own pools anyway.
#[pyfunction]
pub(crate) fn start() {
    candle_core::utils::barrier_pool();
}

/// The pool of this process with so many threads; 0 for one per core.
fn pool(_py: Python<'_>, threads: usize) -> PyResult<Arc<ThreadPool>> {
    if threads > MOST_THREADS {
        return Err(PyValueError::new_err(format!("threads is a number from 0 to {MOST_THREADS}, not {threads}")));
    }
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (std::process::id(), threads);
    if let Some(pool) = pools.get(&key) {
        return Ok(pool.clone());
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(|number| format!("citree-{number}")).build();
    let pool = Arc::new(pool.map_err(|error| PyRuntimeError::new_err(format!("cannot start threads: {error}")))?);
    pools.insert(key, pool.clone());
    Ok(pool)
}

/// Whether Ctrl-C was pressed while some work runs.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// What the library asks between two steps.
    pub(crate) fn flow(&self) -> Flow {
        if self.0.load(Ordering::Relaxed) { Flow::Stop } else { Flow::Continue }
    }

    /// An error if it was pressed.
    pub(crate) fn check(&self) -> Result<()> {
        match self.flow() {
            Flow::Stop => Err(Error::Stopped),
            Flow::Continue => Ok(()),
        }
    }
}

/// Runs `work` on a pool. Other Python threads go on meanwhile. On Ctrl-C what `work` gets says so, and when it returns,
/// `KeyboardInterrupt` is raised. A file of a bundle that was truncated since it was opened is an error.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce(&Stop) -> Result<T> + Send,
) -> PyResult<T> {
    let pool = pool(py, threads)?;
    let stop = Stop::default();
    let (result, signal) = py.detach(|| {
        let (send, receive) = channel();
        pool.in_place_scope(|scope| {
            let stop = &stop;
            scope.spawn(move |_| {
                let work = || check_mapped().and_then(|()| work(stop)).and_then(|done| check_mapped().map(|()| done));
                // What was shared with it is not used again.
                if let Ok(result) = catch_unwind(AssertUnwindSafe(work)) {
                    drop(send.send(result));
                }
            });
            let mut signal = None;
            loop {
                match receive.recv_timeout(POLL) {
                    Ok(result) => return (Some(result), signal),
                    // It panicked.
                    Err(RecvTimeoutError::Disconnected) => return (None, signal),
                    Err(RecvTimeoutError::Timeout) if signal.is_none() => {
                        signal = Python::attach(|py| py.check_signals()).err();
                        stop.0.store(signal.is_some(), Ordering::Relaxed);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })
    });
    match (signal, result) {
        (Some(signal), _) => Err(signal),
        (None, Some(result)) => result.map_err(|error| exception(py, error)),
        (None, None) => Err(PyRuntimeError::new_err(
            "citree failed; this is a bug, and what it printed to the standard error says where",
        )),
    }
}
