//! Atomic replacement of files, and safetensors files with notes in their header.

#[cfg(feature = "fetch")]
mod output;
mod sealed;
mod unpublished;

#[cfg(feature = "fetch")]
pub(crate) use output::write_output;
pub(crate) use sealed::Sealed;
pub(crate) use unpublished::Unpublished;
#[cfg(feature = "cli")]
pub(crate) use unpublished::remove_unpublished;

use crate::error::{Error, Result};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::Path;

/// A tensor: name, shape and values.
pub(crate) type Named<'a, T> = (String, Vec<usize>, &'a [T]);

/// Writes a file under a temporary name, syncs it to disk, renames it into place and syncs its folder, so that the new file
/// is there after a loss of power.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let (new, mut file) = Unpublished::file(path)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(Error::io(new.path()))?;
    new.publish()
}

/// Serialises a value as JSON. `what` names it in the error.
pub(crate) fn to_json(what: &'static str, value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::Json { what, message: e.to_string() })
}

/// Writes tensors and notes to a safetensors file. Equal input gives equal bytes.
pub(crate) fn write_tensors(
    path: &Path,
    f32s: &[Named<f32>],
    f64s: &[Named<f64>],
    notes: &[(&str, String)],
) -> Result<()> {
    let problem = |e: safetensors::SafeTensorError| Error::Tensor { message: e.to_string() };
    let bytes32: Vec<Vec<u8>> =
        f32s.iter().map(|(_, _, values)| values.iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
    let bytes64: Vec<Vec<u8>> =
        f64s.iter().map(|(_, _, values)| values.iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
    let mut views = Vec::new();
    for ((name, shape, _), bytes) in f32s.iter().zip(&bytes32) {
        views.push((name, TensorView::new(Dtype::F32, shape.clone(), bytes).map_err(problem)?));
    }
    for ((name, shape, _), bytes) in f64s.iter().zip(&bytes64) {
        views.push((name, TensorView::new(Dtype::F64, shape.clone(), bytes).map_err(problem)?));
    }
    let checksum = checksum(views.iter().map(|(name, view)| (name.as_str(), view.data())));
    let mut notes: BTreeMap<String, String> =
        notes.iter().map(|(key, value)| (key.to_string(), value.clone())).collect();
    notes.insert(CHECKSUM.to_string(), checksum);
    let seal = seal(&notes, views.iter().map(|(name, view)| (name.as_str(), view)))?;
    notes.insert(SEAL.to_string(), seal);
    let notes = to_json("the notes of a tensor file", &notes)?;
    let header = HashMap::from([(NOTES.to_string(), notes)]);
    write_atomically(path, &safetensors::serialize(views, Some(header)).map_err(problem)?)
}

/// The header entry that holds all our notes as one JSON object. Separate entries would have no fixed order.
const NOTES: &str = "citree";

/// The note with the checksum of all values. Files of earlier versions have none.
const CHECKSUM: &str = "blake3";

/// The note with the checksum of all that is not a value: the other notes, and the types and shapes of tensors. Files of
/// earlier versions have none.
const SEAL: &str = "seal";

/// The checksum of notes, types and shapes.
fn seal<'a>(
    notes: &BTreeMap<String, String>,
    tensors: impl Iterator<Item = (&'a str, &'a TensorView<'a>)>,
) -> Result<String> {
    let notes: BTreeMap<&String, &String> = notes.iter().filter(|(key, _)| *key != SEAL).collect();
    let shapes: BTreeMap<&str, String> =
        tensors.map(|(name, view)| (name, format!("{:?} {:?}", view.dtype(), view.shape()))).collect();
    Ok(blake3::hash(to_json("the notes of a tensor file", &(notes, shapes))?.as_bytes()).to_hex().to_string())
}

/// The checksum of tensors, whatever their order.
fn checksum<'a>(tensors: impl Iterator<Item = (&'a str, &'a [u8])>) -> String {
    let hash_of = |(name, bytes): (&'a str, &'a [u8])| (name, blake3::hash(bytes));
    let all: BTreeMap<_, _> = tensors.map(hash_of).collect();
    let mut hasher = blake3::Hasher::new();
    for (name, hash) in all {
        hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes()).update(hash.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// A safetensors file in memory.
pub(crate) struct TensorFile {
    bytes: Vec<u8>,
    notes: BTreeMap<String, String>,
}

impl TensorFile {
    /// Reads and validates a file. Values that changed since they were written, or are no numbers, are refused.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let damaged = |found: String| Error::Bundle {
            path: path.to_path_buf(),
            expected: "a whole safetensors file written by citree".to_string(),
            found,
            remedy: "train again, or restore the file".to_string(),
        };
        let bytes = std::fs::read(path).map_err(Error::io(path))?;
        let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|e| damaged(e.to_string()))?;
        let tensors = SafeTensors::deserialize(&bytes).map_err(|e| damaged(e.to_string()))?.tensors();
        let notes = header.metadata().as_ref().and_then(|notes| notes.get(NOTES));
        let notes = notes.ok_or_else(|| damaged("no notes of citree".to_string()))?;
        let notes: BTreeMap<String, String> = serde_json::from_str(notes).map_err(|e| damaged(e.to_string()))?;
        let found = || checksum(tensors.iter().map(|(name, view)| (name.as_str(), view.data())));
        if notes.get(CHECKSUM).is_some_and(|expected| *expected != found()) {
            return Err(damaged("values that changed since it was written".to_string()));
        }
        let found = seal(&notes, tensors.iter().map(|(name, view)| (name.as_str(), view)))?;
        if notes.get(SEAL).is_some_and(|expected| *expected != found) {
            return Err(damaged("notes or shapes that changed since it was written".to_string()));
        }
        if let Some((name, _)) = tensors.iter().find(|(_, view)| !is_finite(view)) {
            return Err(damaged(format!("a value of {name} that is not a number")));
        }
        Ok(Self { bytes, notes })
    }

    /// A note by its key.
    pub(crate) fn note(&self, key: &str) -> Option<String> {
        self.notes.get(key).cloned()
    }

    /// The values of an f32 tensor.
    pub(crate) fn f32s(&self, name: &str) -> Option<Vec<f32>> {
        self.values(name, Dtype::F32, f32::from_le_bytes)
    }

    /// The values of an f64 tensor.
    pub(crate) fn f64s(&self, name: &str) -> Option<Vec<f64>> {
        self.values(name, Dtype::F64, f64::from_le_bytes)
    }

    fn values<T, const N: usize>(&self, name: &str, dtype: Dtype, read: fn([u8; N]) -> T) -> Option<Vec<T>> {
        let file = SafeTensors::deserialize(&self.bytes).ok()?;
        let tensor = file.tensor(name).ok().filter(|tensor| tensor.dtype() == dtype)?;
        Some(tensor.data().as_chunks::<N>().0.iter().map(|&bytes| read(bytes)).collect())
    }
}

/// Whether all values of a tensor are finite.
fn is_finite(view: &TensorView<'_>) -> bool {
    match view.dtype() {
        Dtype::F32 => view.data().as_chunks::<4>().0.iter().all(|bytes| f32::from_le_bytes(*bytes).is_finite()),
        Dtype::F64 => view.data().as_chunks::<8>().0.iter().all(|bytes| f64::from_le_bytes(*bytes).is_finite()),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn tensors_and_notes_round_trip_and_equal_input_gives_equal_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        for path in [&a, &b] {
            let notes = [("x", "1".to_string()), ("y", "2".to_string()), ("z", "3".to_string())];
            write_tensors(path, &[("t".into(), vec![2], &[1.5, -2.0])], &[("d".into(), vec![1], &[0.1])], &notes)
                .unwrap();
        }
        assert_eq!(std::fs::read(&a).unwrap(), std::fs::read(&b).unwrap());
        let file = TensorFile::read(&a).unwrap();
        assert_eq!(file.f32s("t").unwrap(), [1.5, -2.0]);
        assert_eq!(file.f64s("d").unwrap(), [0.1]);
        assert_eq!(file.f32s("d"), None);
        assert_eq!(file.note("y").as_deref(), Some("2"));
    }

    #[test]
    fn a_damaged_file_is_an_error_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_tensors(&path, &[("t".into(), vec![2], &[1.5, -2.0])], &[], &[]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for cut in 0..bytes.len() {
            std::fs::write(&path, &bytes[..cut]).unwrap();
            let message = TensorFile::read(&path).err().unwrap().to_string();
            assert!(message.contains("train again"), "{message}");
        }
    }

    #[test]
    fn every_changed_value_and_every_value_that_is_not_a_number_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let notes = [("x", "7".to_string())];
        write_tensors(&path, &[("t".into(), vec![2], &[1.5, -2.0])], &[("d".into(), vec![1], &[0.1])], &notes).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let whole = TensorFile::read(&path).unwrap();
        let content = |file: &TensorFile| (file.f32s("t"), file.f64s("d"), file.note("x"));
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                std::fs::write(&path, damaged).unwrap();
                match TensorFile::read(&path) {
                    Err(error) => assert!(error.to_string().contains("restore the file")),
                    // The name of a checksum is not covered by one.
                    Ok(file) => assert!(at < bytes.len() - 16 && content(&file) == content(&whole), "byte {at}"),
                }
            }
        }
        write_tensors(&path, &[("t".into(), vec![1], &[f32::NAN])], &[], &[]).unwrap();
        assert!(TensorFile::read(&path).err().unwrap().to_string().contains("a value of t that is not a number"));
    }
}
