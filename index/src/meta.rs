//! What manifests hold: a few hundred bytes of metadata, and the only use of bincode.
//!
//! bincode is pinned because it is no longer maintained. A replacement must write the same bytes, or raise the version.

use bincode::{Decode, Encode, config};

/// Metadata of an index.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Fingerprint of the model that computed the rows.
    pub model: Vec<u8>,
    /// Hash of the data that the records come from.
    pub content: Vec<u8>,
    /// Number of records.
    pub records: u64,
    /// Number of sources.
    pub sources: u64,
    /// Number of classes, those without records included.
    pub classes: u64,
    /// The two spaces.
    pub spaces: [SpaceFacts; 2],
    /// The contrast records. `None` if there are none, as in every index of version 1.
    pub contrasts: Option<ContrastFacts>,
}

/// Metadata of contrast records.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct ContrastFacts {
    /// Number of contrast records.
    pub records: u64,
    /// Their space.
    pub space: SpaceFacts,
}

/// The part of a manifest that version 1 has. The bytes of its fields must never change.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
struct Version1 {
    model: Vec<u8>,
    content: Vec<u8>,
    records: u64,
    sources: u64,
    classes: u64,
    /// bincode writes an array without a length: one after the other.
    spaces: [SpaceFacts; 2],
}

/// Metadata of a space.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct SpaceFacts {
    /// Dimensions of a row.
    pub dims: u32,
    /// How rows are compared.
    pub metric: Metric,
    /// Number of distinct rows. Equal rows share one node of the graph.
    pub distinct: u64,
    /// The graph. `None` if every search is exact.
    pub graph: Option<GraphFacts>,
}

/// Metadata of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Encode, Decode)]
pub struct GraphFacts {
    /// Most links of a node in the upper layers. The base layer allows twice as many.
    pub degree: u32,
    /// Candidates that the build kept while inserting a node.
    pub build_effort: u32,
    /// Candidates that a search keeps by default: the smallest number that reached the target recall.
    pub effort: u32,
    /// Share of the true ten nearest rows that a search with `effort` found, over held-out rows.
    pub recall: f32,
    /// Number of held-out rows in that measurement.
    pub held_out: u32,
}

/// How two rows are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Metric {
    /// Cosine. Rows have unit length, so it is their dot product.
    Cosine,
    /// Dot product of rows of any length. Searches in such a space are always exact: a graph over dot products has poor
    /// recall.
    Dot,
}

/// The state of an index with several segments, as version 3 stores it.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(crate) struct StoredState {
    pub(crate) content: Vec<u8>,
    /// The generation whose state an undo returns to.
    pub(crate) before: Option<u64>,
    pub(crate) segments: Vec<StoredSegment>,
}

/// A segment of a stored state.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub(crate) struct StoredSegment {
    pub(crate) folder: String,
    pub(crate) serial: u32,
    pub(crate) name: String,
    /// How many sources, records and contrast records of it were removed.
    pub(crate) removed: [u32; 3],
}

/// A change of an index.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[non_exhaustive]
pub struct LogEntry {
    /// The generation that it published.
    pub generation: u64,
    /// When, in seconds since 1970.
    pub time: u64,
    /// Who made it.
    pub who: String,
    /// What was done.
    pub what: String,
    /// Why.
    pub message: String,
}

const LIMIT: usize = 1 << 16;
/// The limit of what grows with the number of segments or of changes.
const LARGE: usize = 1 << 24;

/// The bytes of a state, or of a log.
pub(crate) fn encode_large(value: &impl Encode) -> Option<Vec<u8>> {
    bincode::encode_to_vec(value, config::standard().with_limit::<LARGE>()).ok().filter(|bytes| bytes.len() <= LARGE)
}

/// Reads what [`encode_large`] returned.
pub(crate) fn decode_large<T: Decode<()>>(bytes: &[u8]) -> Option<T> {
    let (value, used) = bincode::decode_from_slice(bytes, config::standard().with_limit::<LARGE>()).ok()?;
    (used == bytes.len()).then_some(value)
}

/// The bytes of a manifest: the part of version 1, and that of the contrast records, if there are any.
pub(crate) fn encode(manifest: &Manifest) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let Manifest { model, content, records, sources, classes, spaces, contrasts } = manifest.clone();
    let first = write(&Version1 { model, content, records, sources, classes, spaces })?;
    match contrasts {
        Some(contrasts) => Some((first, Some(write(&contrasts)?))),
        None => Some((first, None)),
    }
}

/// Reads what [`encode`] returned.
pub(crate) fn decode(bytes: &[u8], contrasts: Option<&[u8]>) -> Option<Manifest> {
    let Version1 { model, content, records, sources, classes, spaces } = read(bytes)?;
    let contrasts = match contrasts {
        Some(bytes) => Some(read(bytes)?),
        None => None,
    };
    Some(Manifest { model, content, records, sources, classes, spaces, contrasts })
}

/// The hash of the data in the part of version 1.
pub(crate) fn content(bytes: &[u8]) -> Option<Vec<u8>> {
    read::<Version1>(bytes).map(|manifest| manifest.content)
}

fn write(value: &impl Encode) -> Option<Vec<u8>> {
    bincode::encode_to_vec(value, config::standard().with_limit::<LIMIT>()).ok().filter(|bytes| bytes.len() <= LIMIT)
}

fn read<T: Decode<()>>(bytes: &[u8]) -> Option<T> {
    let (value, used) = bincode::decode_from_slice(bytes, config::standard().with_limit::<LIMIT>()).ok()?;
    (used == bytes.len()).then_some(value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn manifest() -> Manifest {
        let graph = GraphFacts { degree: 16, build_effort: 200, effort: 48, recall: 0.993, held_out: 1000 };
        let space = SpaceFacts { dims: 300, metric: Metric::Cosine, distinct: 9, graph: Some(graph) };
        let other = SpaceFacts { metric: Metric::Dot, graph: None, ..space.clone() };
        Manifest {
            model: vec![7; 32],
            content: vec![9; 32],
            records: 10,
            sources: 2,
            classes: 3,
            spaces: [space, other.clone()],
            contrasts: Some(ContrastFacts { records: 4, space: other }),
        }
    }

    fn bytes() -> Vec<u8> {
        encode(&manifest()).unwrap().0
    }

    #[test]
    fn a_manifest_comes_back_as_it_went() {
        let without = Manifest { contrasts: None, ..manifest() };
        for manifest in [manifest(), without] {
            let (bytes, contrasts) = encode(&manifest).unwrap();
            assert_eq!(decode(&bytes, contrasts.as_deref()).unwrap(), manifest);
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_before_anything_is_allocated() {
        let mut bytes = bytes();
        bytes.splice(0..1, [253, 255, 255, 255, 255, 255, 255, 255, 127]);
        assert!(decode(&bytes, None).is_none());
    }

    #[test]
    fn bytes_left_over_or_missing_are_refused() {
        let bytes = bytes();
        assert!(decode(&bytes[..bytes.len() - 1], None).is_none());
        assert!(decode(&[bytes.clone(), vec![0]].concat(), None).is_none());
        assert!(decode(&bytes, Some(&[])).is_none());
    }
}
