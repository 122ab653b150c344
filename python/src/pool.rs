//! Runs the library on threads of its own, without the interpreter lock, so that Ctrl-C is noticed and forks are safe.
//!
//! The threads of a pool do not exist in a forked child, and work sent to them would wait for ever. So nothing here uses
//! the global pool: each process has its own pools, found by its id. candle has one more pool for element-wise
//! operations, which [`start`] makes empty.

use crate::errors::exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

/// How often a signal is looked for.
const POLL: Duration = Duration::from_millis(50);

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

/// Runs `work` on a pool. Other Python threads go on meanwhile. On Ctrl-C the flag that `work` gets is set, and when it
/// returns, `KeyboardInterrupt` is raised.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    threads: usize,
    work: impl FnOnce(&AtomicBool) -> citree::Result<T> + Send,
) -> PyResult<T> {
    let pool = pool(py, threads)?;
    let stop = AtomicBool::new(false);
    let (result, signal) = py.detach(|| {
        let (send, receive) = channel();
        pool.in_place_scope(|scope| {
            let stop = &stop;
            scope.spawn(move |_| drop(send.send(work(stop))));
            let mut signal = None;
            loop {
                match receive.recv_timeout(POLL) {
                    Ok(result) => return (Some(result), signal),
                    // It panicked. The scope passes that on.
                    Err(RecvTimeoutError::Disconnected) => return (None, signal),
                    Err(RecvTimeoutError::Timeout) if signal.is_none() => {
                        signal = Python::attach(|py| py.check_signals()).err();
                        stop.store(signal.is_some(), Ordering::Relaxed);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        })
    });
    match (signal, result) {
        (Some(signal), _) => Err(signal),
        (None, Some(result)) => result.map_err(|error| exception(py, error)),
        (None, None) => Err(PyRuntimeError::new_err("citree ended without a result; this is a bug")),
    }
}
