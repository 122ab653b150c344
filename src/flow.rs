//! Whether work continues: what callers answer, and what parsers and explainers ask between two steps.

use crate::error::{Error, Result};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Whether work continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Continue.
    Continue,
    /// Stop soon. Training saves a checkpoint first.
    Stop,
}

impl From<Flow> for ControlFlow<()> {
    fn from(flow: Flow) -> Self {
        match flow {
            Flow::Continue => Self::Continue(()),
            Flow::Stop => Self::Break(()),
        }
    }
}

/// A question that is asked between two steps of long work.
#[derive(Clone, Default)]
pub(crate) struct Interrupt(Option<Arc<dyn Fn() -> Flow + Send + Sync>>);

impl Interrupt {
    /// Asks `ask`, from any thread.
    pub(crate) fn new(ask: impl Fn() -> Flow + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(ask)))
    }

    /// An error if work has to stop.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.0 {
            Some(ask) if ask() == Flow::Stop => Err(Error::Stopped),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Interrupt" } else { "none" })
    }
}
