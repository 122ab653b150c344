//! The manifest of a generation: a few hundred bytes of metadata, and the only use of bincode.
//!
//! bincode is pinned and no longer maintained; to replace it, replace the two functions below and raise the version.

use bincode::{Decode, Encode, config};

/// What an index says about itself.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Manifest {
    /// Fingerprint of the model that made the rows.
    pub model: Vec<u8>,
    /// Hash of the treebank that the rows come from.
    pub treebank: Vec<u8>,
    /// Number of edges.
    pub edges: u64,
    /// Number of sentences.
    pub sentences: u64,
    /// Number of labels, with and without edges.
    pub labels: u64,
    /// The space of edge identification.
    pub heads: SpaceFacts,
    /// The space of label classification.
    pub label_space: SpaceFacts,
}

/// What an index says about one of its spaces.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct SpaceFacts {
    /// Dimensions of a row.
    pub dims: u32,
    /// How rows are compared.
    pub metric: Metric,
    /// Rows that differ from each other; the others share a node of the graph with one of these.
    pub distinct: u64,
    /// The graph and how well it finds; `None` where every search is exact.
    pub graph: Option<GraphFacts>,
}

/// What an index says about a graph.
#[derive(Clone, Copy, Debug, PartialEq, Encode, Decode)]
pub struct GraphFacts {
    /// Links of a node in the upper layers; twice as many in the base layer.
    pub degree: u32,
    /// Candidates kept while inserting a node.
    pub build_effort: u32,
    /// Candidates kept while searching, unless the caller says otherwise: the least that reached the wanted recall.
    pub effort: u32,
    /// Share of the true ten nearest that `effort` found, over held-out rows.
    pub recall: f32,
    /// Number of held-out rows of that measurement.
    pub held_out: u32,
}

/// How two rows are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Metric {
    /// Cosine; rows are of unit length, so that it is their dot product.
    Cosine,
    /// Dot product of rows of any length: no metric, so such a space is always searched exactly.
    Dot,
}

const LIMIT: usize = 1 << 16;

pub(crate) fn encode(manifest: &Manifest) -> Option<Vec<u8>> {
    bincode::encode_to_vec(manifest, config::standard().with_limit::<LIMIT>()).ok().filter(|bytes| bytes.len() <= LIMIT)
}

pub(crate) fn decode(bytes: &[u8]) -> Option<Manifest> {
    let (manifest, used) = bincode::decode_from_slice(bytes, config::standard().with_limit::<LIMIT>()).ok()?;
    (used == bytes.len()).then_some(manifest)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn manifest() -> Manifest {
        let graph = GraphFacts { degree: 16, build_effort: 200, effort: 48, recall: 0.993, held_out: 1000 };
        let space = SpaceFacts { dims: 300, metric: Metric::Cosine, distinct: 9, graph: Some(graph) };
        let label_space = SpaceFacts { metric: Metric::Dot, graph: None, ..space.clone() };
        Manifest {
            model: vec![7; 32],
            treebank: vec![9; 32],
            edges: 10,
            sentences: 2,
            labels: 3,
            heads: space,
            label_space,
        }
    }

    #[test]
    fn a_manifest_comes_back_as_it_went() {
        assert_eq!(decode(&encode(&manifest()).unwrap()).unwrap(), manifest());
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_anything_is_allocated() {
        let mut bytes = encode(&manifest()).unwrap();
        bytes.splice(0..1, [253, 255, 255, 255, 255, 255, 255, 255, 127]);
        assert!(decode(&bytes).is_none());
    }

    #[test]
    fn bytes_left_over_or_missing_are_refused() {
        let bytes = encode(&manifest()).unwrap();
        assert!(decode(&bytes[..bytes.len() - 1]).is_none());
        assert!(decode(&[bytes, vec![0]].concat()).is_none());
    }
}
