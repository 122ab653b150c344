//! lib doc placeholder

pub mod bundle;
#[cfg(feature = "cli")]
pub mod cli;
pub mod config;
pub mod device;
pub mod edge;
pub mod encoder;
pub mod error;
pub mod evaluate;
pub mod evidence;
pub mod explain;
pub mod fetch;
pub mod files;
pub mod lab;
pub mod model;
pub mod ops;
pub mod parse;
pub mod random;
pub mod rule;
pub mod score;
pub mod serve;
pub mod support;
pub mod task;
pub mod train;
pub mod treebank;

pub use bundle::Bundle;
pub use error::{Error, Result};
pub use evidence::Evidence;
pub use explain::Explainer;
pub use parse::Parser;
pub use rule::Rule;
pub use task::Task;
