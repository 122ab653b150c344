//! The edge index of citree: f32 rows, integer ids and label ranges; nothing of tensors, treebanks or strings.
//!
//! A [`Builder`] takes the edges of a treebank one by one, each with a row for edge identification and one for label
//! classification, and writes them to files that an [`Index`] maps. Rows are ordered by label, so that the support of a
//! label is one range. A [`Space`] holds the rows of one model and answers which edges are [nearest](Space::nearest) to a
//! row: over a graph of compact rows, or exactly; the similarities are always those of the rows themselves. The caller
//! may also put the edges into groups, whose [sums](Space::group_sums) tell what each group adds to a score.
//!
//! ```
//! use citree_index::{Builder, Edge, GraphSpec, Index, Metric, Spec, SpaceSpec};
//!
//! let folder = tempfile::tempdir()?;
//! let space = SpaceSpec { dims: 2, metric: Metric::Cosine };
//! let spec = Spec {
//!     heads: space,
//!     labels: space,
//!     label_counts: vec![1, 1],
//!     model: b"model".to_vec(),
//!     treebank: b"treebank".to_vec(),
//!     groupings: vec![2],
//!     attachment: b"left of the head, right of it".to_vec(),
//!     graph: GraphSpec::default(),
//! };
//! let mut builder = Builder::create(folder.path(), spec)?;
//! let sentence = builder.add_sentence(b"she sleeps")?;
//! builder.add_edge(Edge { sentence, dependent: 2, head: 0, label: 1 }, &[1], &[0.6, 0.8], &[1.0, 0.0])?;
//! builder.add_edge(Edge { sentence, dependent: 1, head: 2, label: 0 }, &[0], &[1.0, 0.0], &[0.0, 1.0])?;
//! builder.finish(&|_| {})?;
//!
//! let index = Index::open(folder.path())?;
//! let answer = index.heads().nearest(&[0.8, 0.6]).count(1).run()?;
//! let hit = answer.hits[0];
//! assert_eq!(index.edge(hit.edge).map(|edge| edge.dependent), Some(2));
//! assert!((hit.similarity - 0.96).abs() < 1e-6);
//! assert_eq!(index.group(0, hit.edge), Some(1));
//! assert_eq!(index.heads().group_sums(0), [1.0, 0.0, 0.6, 0.8]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
mod compact;
mod container;
mod edges;
mod error;
mod exact;
mod format;
mod generation;
mod graph;
mod groups;
mod grow;
mod hash;
mod index;
mod lanes;
mod map;
mod meta;
mod recall;
mod rows;
mod search;
mod simd;
mod similarities;
mod space;
mod sums;
#[cfg(test)]
#[path = "../tests/it/random.rs"]
mod testing;
mod verify;
mod walk;
mod writer;

/// Mapped files of sections, for whatever else a bundle keeps beside its index.
pub mod files {
    pub use crate::container::{Sections, Writer};
    pub use crate::format::FACTS;
    pub use crate::map::{Plain, View};
}

pub use builder::{Builder, Progress, Spec, Which};
pub use edges::Edge;
pub use error::Error;
pub use format::VERSION;
pub use index::Index;
pub use meta::{GraphFacts, Manifest, Metric, SpaceFacts};
pub use rows::Hit;
pub use search::{Answer, Nearest};
pub use space::Space;
pub use sums::Sums;
pub use writer::{GraphSpec, Phase, SpaceSpec};
