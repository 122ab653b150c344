//! Treebanks: lossless reading and writing of CoNLL-U, checks of files, and word segmentation of plain text.
//!
//! Data flows `lines` → `block` → [`Reader`] → [`Sentence`] → [`write_sentence`]. Every flaw on the way is a [`Problem`].
//! `docs/reference/conllu.md` lists which flaws are errors and which are handled.

mod block;
#[cfg(feature = "cli")]
mod check;
mod guidelines;
mod id;
mod lines;
mod problem;
mod reader;
mod sentence;
pub mod starter;
mod text;
mod tree;
#[cfg(feature = "cli")]
mod validator;
mod writer;

#[cfg(feature = "cli")]
pub(crate) use check::{Finding, Summary, check};
pub(crate) use guidelines::{Breach, breaches};
pub use problem::Problem;
pub(crate) use reader::LocatedSentence;
#[cfg(feature = "cli")]
pub(crate) use reader::open;
pub use reader::{Reader, read_all, read_trees};
pub use sentence::{MultiwordToken, Sentence, Word};
pub(crate) use text::{Cutter, Running, Splits, TextTables, Unseen};
pub(crate) use tree::{crossed, tree_faults};
pub use writer::write_sentence;
