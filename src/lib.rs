//! A dependency parser that cites its sources.
//!
//! Every edge that citree predicts is scored by its similarity to the gold edges of a training treebank, after
//! *Instance-Based Neural Dependency Parsing* (Ouchi et al., TACL 2021), so it can name the training edges behind each
//! prediction and say how far they carry it.
//!
//! # Four nouns
//!
//! - [`Bundle`]: a folder on disk, opened. It owns the model, the index of training edges, the pretrained input and the
//!   device.
//! - [`Evidence`]: the training edges that count, or all [without](Evidence::without) some.
//! - [`Rule`]: how evidence becomes a score. Each training edge contributes a number, and the numbers add up.
//! - `Decision` (`src/parse/decision.rs`, inside the crate): the candidates that the decoder allows for a head or a
//!   label, the one that was chosen and the runner-up. Everything that is explained is a function of a decision and its
//!   evidence.
//!
//! # Train, index, parse and explain
//!
//! ```
//! use citree::{Bundle, config::{Config, Preset}, explain::Options, treebank::starter};
//! # let folder = std::env::temp_dir().join(format!("citree-doc-{}", std::process::id()));
//! # let path = folder.join("demo.citree");
//! let config = Config { epochs: 2, ..Config::preset(Preset::Demo) };
//! let bundle = Bundle::train(&path, &config, &starter::train(), &starter::dev())?;
//! let explainer = bundle.explainer()?;
//! let sentence = explainer.parser().split("Anna doesn't like the rain.");
//! for explanation in explainer.explain(&[sentence], &Options::default())?.iter().flatten() {
//!     for edge in &explanation.edges {
//!         println!("{} is {} of {}", explanation.form(edge.dependent), edge.label, explanation.form(edge.head));
//!         println!("  as in {}", edge.attachment.citations[0].source.sent_id);
//!     }
//! #   assert_eq!(explanation.heads.iter().filter(|&&head| head == 0).count(), 1);
//! }
//! # std::fs::remove_dir_all(&folder).ok();
//! # Ok::<(), citree::Error>(())
//! ```
//!
//! # Three journeys through the code
//!
//! Data flows one way through the modules, and each uses only those before it:
//! `treebank` → `encoder` → `edge` → `model` → `evidence` → `bundle` → `parse` → `train` → `explain`.
//!
//! - **Train** ([`train`]): [`treebank`] reads CoNLL-U; `encoder` turns words into states and `edge` turns a dependent
//!   and a head into an edge vector; `train` draws batches, computes losses and updates the `model`; at its end
//!   `evidence` encodes every gold edge once, for the sums of fast mode and for the index; [`bundle`] writes the files.
//! - **Explain a typed sentence** ([`explain`]): [`Bundle::open`] reads the model and maps the index;
//!   [`Parser::split`] cuts the line into words; [`Parser::analyse`] scores candidates against summed vectors and, for
//!   rules that need it, against the training edges; each word gets two decisions, and [`explain`] turns them into
//!   rationales, roll-ups, contrasts and flip sets.
//! - **POST /v1/explain** (`serve`): the handler pins a snapshot of the bundle, checks the request against the limits
//!   and queues it; an engine thread encodes what waits together and answers each request by [`explain`].

// Items that no user can reach are `pub(crate)`. The tests and tools of this repository reach a few more.
#![cfg_attr(feature = "internals", warn(unreachable_pub))]

#[cfg(feature = "fetch")]
pub mod archive;
pub mod audit;
pub mod bundle;
mod calibrate;
#[cfg(feature = "cli")]
pub mod cli;
pub mod config;
pub mod device;
mod edge;
mod encoder;
mod error;
pub mod evaluate;
pub mod evidence;
pub mod explain;
#[cfg(feature = "cli")]
mod export;
#[cfg(feature = "fetch")]
pub mod fetch;
mod files;
pub mod find;
mod flow;
mod hub;
#[cfg(feature = "internals")]
#[doc(hidden)]
pub mod internals;
#[cfg(feature = "lab")]
pub mod lab;
mod model;
mod ops;
pub mod parse;
mod random;
pub mod rule;
mod score;
#[cfg(feature = "serve")]
pub mod serve;
mod softmax;
mod support;
mod task;
pub mod train;
pub mod treebank;

pub use bundle::Bundle;
pub use device::Device;
pub use encoder::pretrained::{Pretrained, Sources};
pub use error::{Error, Result};
pub use evidence::Evidence;
pub use explain::Explainer;
pub use flow::Flow;
pub use hub::find_encoder;
pub use parse::Parser;
pub use rule::Rule;
pub use task::Task;
