//! Treebanks: lossless reading and writing of CoNLL-U, checks of files, and word segmentation of plain text.
//!
//! Data flows `lines` → `block` → [`Reader`] → [`Sentence`] → [`write_sentence`]. Every flaw on the way is a [`Problem`].
//! `docs/reference/conllu.md` lists which flaws are errors and which are handled.

mod block;
mod check;
mod id;
mod lines;
mod problem;
mod reader;
mod sentence;
pub mod starter;
mod text;
mod tree;
mod writer;

pub use check::{Finding, Summary, check};
pub use problem::Problem;
pub use reader::{Reader, open, read_all, read_trees};
pub use sentence::{EmptyNode, MultiwordToken, Sentence, Word};
pub use text::Splits;
pub use tree::{TreeFault, tree_faults};
pub use writer::write_sentence;
