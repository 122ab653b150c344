//! A nearest-neighbour index over f32 vectors on disk: memory-mapped, checksummed, exact or over an HNSW graph.
//!
//! An index stores *records*. A record has a row (a vector) in each of two *spaces*, a *class*, a *source* and two numbers
//! that only the caller interprets. Several records share a source, whose bytes the index stores too. The crate knows
//! nothing of what the vectors mean. It was made for citree, a dependency parser: there a record is an edge of a training
//! tree, its class a label, its source a sentence, and the spaces are those of two models.
//!
//! - [`Builder`] writes an index. A build makes a new *generation* beside the current one and publishes it atomically.
//! - [`Change`] adds records to an index, removes sources, merges segments and undoes. What it takes does not depend on
//!   the number of records that the index has: an index is a list of *segments*, which never change.
//! - [`Index::open`] maps the current generation. The time does not depend on the number of records.
//! - [`Space::nearest`] and [`Space::nearest_many`] find the records nearest to a row. Rows are ordered by class, so a
//!   search in one class scans one range. Similarities are always computed in f32 from the stored rows. The graph only
//!   proposes candidates, and [`Answer::exact`] says whether it was used.
//! - [`Space::sums`] and [`Space::group_sums`] are sums of the rows by class and by groups that the caller defines.
//! - [`Space::adjacency`] is the graph itself, for other programs.
//! - [`Index::contrasts`] are examples of what the records are not, searched apart from the records.
//! - [`Index::verify`] reads everything and finds damage.
//!
//! ```
#![doc = include_str!("../doc/example.md")]
//! ```
//!
//! Two modules do not depend on the index: [`container`] is the file format of all its files, for other mapped files of a
//! program, and [`sums`] adds up rows by class.

#![warn(unreachable_pub)]

mod adjacency;
mod builder;
mod change;
mod compact;
mod contrasts;
mod copy;
mod densities;
mod error;
mod exact;
mod exponentials;
mod generation;
mod graph;
mod groups;
mod grow;
mod hash;
mod index;
mod lanes;
mod lookup;
mod meta;
mod numbers;
mod recall;
mod records;
mod round;
mod rows;
mod search;
mod segment;
mod segment_builder;
mod segment_space;
mod segments;
mod simd;
mod similarities;
mod space;
mod space_sums;
mod space_writer;
mod state;
#[cfg(test)]
#[path = "../tests/it/random.rs"]
mod testing;
mod verify;
mod walk;

pub mod container;
pub mod sums;

pub use adjacency::Adjacency;
pub use builder::Builder;
pub use change::{Addition, Change, Note};
pub use contrasts::Contrasts;
pub use densities::Density;
pub use error::Error;
pub use index::{Index, SegmentFacts};
pub use lookup::KeyOf;
pub use meta::{ContrastFacts, GraphFacts, LogEntry, Manifest, Metric, SpaceFacts};
pub use numbers::Ranges;
pub use records::Record;
pub use rows::Hit;
pub use search::{Among, Answer, Nearest};
pub use segment_builder::{Progress, SegmentBuilder, Spec};
pub use space::Space;
pub use space_writer::{GraphSpec, Phase, SpaceSpec};

#[cfg(test)]
mod tests {
    #[test]
    fn the_readme_shows_the_example_of_the_documentation() {
        let example = format!("```rust\n{}```", include_str!("../doc/example.md"));
        assert!(include_str!("../README.md").contains(&example));
    }
}
