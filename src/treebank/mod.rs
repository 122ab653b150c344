//! Treebanks: lossless reading and writing of CoNLL-U, checks of files, and word segmentation of plain text.
//!
//! Data flows `lines` → `block` → [`Reader`] → [`Sentence`] → [`write_sentence`]. Every flaw on the way is a [`Problem`].
//! `docs/reference/conllu.md` lists which flaws are errors and which are handled.

mod block;
#[cfg(any(feature = "cli", feature = "internals"))]
mod check;
mod guidelines;
mod id;
mod lines;
mod problem;
mod reader;
mod sentence;
mod source;
pub mod starter;
mod text;
mod tree;
#[cfg(any(feature = "cli", feature = "internals"))]
mod validator;
mod writer;

#[cfg(any(feature = "cli", feature = "internals"))]
pub(crate) use check::check;
#[cfg(feature = "cli")]
pub(crate) use check::{Finding, Summary};
pub(crate) use guidelines::{Breach, breaches};
pub use problem::Problem;
pub(crate) use reader::LocatedSentence;
#[cfg(feature = "cli")]
pub(crate) use reader::{Block, open};
pub use reader::{Reader, read_all, read_trees};
pub use sentence::{MultiwordToken, Sentence, Word};
#[cfg(feature = "cli")]
pub(crate) use source::open_text;
pub(crate) use text::{Cutter, Running, Splits, TextTables, Unseen};
pub(crate) use tree::{crossed, tree_faults};
pub use writer::write_sentence;
