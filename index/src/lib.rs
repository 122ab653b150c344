//! The edge index of citree: f32 rows, integer ids and label ranges; nothing of tensors, treebanks or strings.
//!
//! So far it holds the one thing that parsing needs: [`Sums`], the summed rows of every class.

mod sums;

pub use sums::Sums;
