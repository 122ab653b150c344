//! Weights as PyTorch saves them: an archive of stored files, one of which lists the tensors (since PyTorch 1.6), or the
//! list followed by the values (before).
//!
//! candle's reader is not used: it panics on short tuples and copies what a pickle refers to several times, so that a small
//! file can take any amount of memory.

use super::pickle::{Found, List, Tensor, run};
use super::store::Raw;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Cursor;
use std::ops::Range;
use std::rc::Rc;
use zip::{CompressionMethod, ZipArchive};

/// What an older file begins with: a pickled number, and the number of the form, 1001.
const OLDER: [u8; 21] = *b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.";

/// A file of PyTorch.
pub(super) struct Saved<'a> {
    bytes: &'a [u8],
    tensors: HashMap<String, Rc<Tensor>>,
    /// Where the values of each storage lie.
    storages: HashMap<String, Range<usize>>,
}

impl<'a> Saved<'a> {
    /// Reads the list of tensors.
    pub(super) fn new(bytes: &'a [u8]) -> Found<Self> {
        let (list, storages) = if bytes.starts_with(&OLDER) { older(bytes)? } else { archive(bytes)? };
        Ok(Self { bytes, tensors: list.tensors, storages })
    }

    /// A tensor by its name; an error if it is listed and its values are not there.
    pub(super) fn find(&self, name: &str) -> Found<Option<Raw<'a>>> {
        let Some(tensor) = self.tensors.get(name) else { return Ok(None) };
        let size = tensor.dtype.bitsize() / 8;
        let storage = self.storages.get(&*tensor.storage).ok_or("no values")?;
        let values = self.bytes[storage.clone()].get(tensor.offset.saturating_mul(size)..).unwrap_or_default();
        let few = "fewer values than its shape has";
        let count = tensor.shape.iter().try_fold(1_usize, |count, &size| count.checked_mul(size)).ok_or(few)?;
        // Of a tensor with values, the last one is the farthest.
        let apart = |(&size, &stride): (&usize, &usize)| size.saturating_sub(1).checked_mul(stride);
        let last = tensor.shape.iter().zip(&tensor.strides).map(apart);
        let last = last.sum::<Option<usize>>().ok_or(few)?;
        if count > 0 && count.max(last.saturating_add(1)) > values.len() / size {
            return Err(few.to_string());
        }
        let bytes = match in_order(tensor) {
            true => Cow::Borrowed(&values[..count * size]),
            false => Cow::Owned(ordered(values, tensor, count, size)),
        };
        Ok(Some(Raw { shape: tensor.shape.clone(), dtype: tensor.dtype, bytes }))
    }
}

/// Whether values lie row after row.
fn in_order(tensor: &Tensor) -> bool {
    let mut expected = 1;
    tensor.shape.iter().zip(&tensor.strides).rev().all(|(&size, &stride)| {
        let fits = size < 2 || stride == expected;
        expected *= size;
        fits
    })
}

/// The values row after row. Models converted from TensorFlow have transposed matrices.
fn ordered(values: &[u8], tensor: &Tensor, count: usize, size: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(count * size);
    for at in 0..count {
        let (mut rest, mut place) = (at, 0);
        for (&size, &stride) in tensor.shape.iter().zip(&tensor.strides).rev() {
            place += rest % size * stride;
            rest /= size;
        }
        bytes.extend_from_slice(&values[place * size..][..size]);
    }
    bytes
}

type Content = (List, HashMap<String, Range<usize>>);

/// An archive: `NAME/data.pkl` lists the tensors, and each storage is a file `NAME/data/KEY`.
fn archive(bytes: &[u8]) -> Found<Content> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| e.to_string())?;
    let mut files = HashMap::new();
    for at in 0..archive.len() {
        let file = archive.by_index_raw(at).map_err(|e| e.to_string())?;
        let name = file.name().map_err(|e| e.to_string())?.into_owned();
        if file.compression() != CompressionMethod::Stored {
            return Err(format!("{name}, which is compressed"));
        }
        let start = file.data_start().and_then(|start| usize::try_from(start).ok());
        let end = start.zip(usize::try_from(file.compressed_size()).ok()).and_then(|(a, b)| a.checked_add(b));
        let range = start.zip(end).filter(|&(_, end)| end <= bytes.len());
        let (start, end) = range.ok_or_else(|| format!("{name}, which goes beyond the file"))?;
        files.insert(name, start..end);
    }
    let list = files.iter().find_map(|(name, range)| Some((name.strip_suffix("data.pkl")?, range.clone())));
    let (folder, range) = list.ok_or("no data.pkl")?;
    let place = format!("{folder}data/");
    let storages = files.iter().filter_map(|(name, range)| Some((name.strip_prefix(&place)?, range)));
    let storages = storages.map(|(key, range)| (key.to_string(), range.clone())).collect();
    Ok((run(&mut &bytes[range])?, storages))
}

/// The form before archives: facts of the system, the list of tensors, the keys of the storages, and then for each of
/// them how many values it has, and the values.
fn older(bytes: &[u8]) -> Found<Content> {
    let mut rest = &bytes[OLDER.len()..];
    run(&mut rest)?;
    let list = run(&mut rest)?;
    let keys = run(&mut rest)?.texts;
    let mut storages = HashMap::new();
    for key in keys {
        let size = *list.sizes.get(&key).ok_or("values of an unknown type")?;
        let (count, values) = rest.split_first_chunk().ok_or("fewer values than it lists")?;
        let length = usize::try_from(u64::from_le_bytes(*count)).ok().and_then(|count| count.checked_mul(size));
        let start = bytes.len() - values.len();
        let length = length.filter(|&length| length <= values.len()).ok_or("fewer values than it lists")?;
        storages.insert(key.to_string(), start..start + length);
        rest = &values[length..];
    }
    Ok((list, storages))
}
