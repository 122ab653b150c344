//! Frozen states of a whole treebank on disk, in half precision and memory-mapped: computed once, used by any
//! number of training runs.

use super::{Pieces, Transformer};
use crate::error::{Error, Result};
use crate::treebank::Sentence;
use candle_core::Tensor;
use citree_index::container::{FACTS, Sections, View, Writer};
use half::f16;
use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};
use rayon::prelude::*;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The container kind of stored states. Index files use small numbers.
const KIND: u32 = 0x4245_5254;
const KEYS: u32 = 1;
const STATES: u32 = 2;
/// Sentences computed between writes; bounds the memory.
const CHUNK: usize = 512;
/// Sentences per batch.
const BATCH: usize = 32;
const REMEDY: &str = "delete the file; it is written again when it is needed";

/// Reports progress (sentences done, sentences in total); returns whether to continue.
pub(super) type Progress<'a> = &'a (dyn Fn(usize, usize) -> bool + Sync);

/// The states of every position of some sentences, `[position][layer][dimension]`.
#[derive(Debug)]
pub(crate) struct Features {
    path: PathBuf,
    file: Sections,
    states: View<u16>,
    layers: usize,
    dims: usize,
    first: HashMap<[u8; 16], u64>,
}

impl Features {
    /// The states of these sentences under a folder's own weights, read from `cache` or computed and stored there. The
    /// file name is a hash of the folder and the sentences, so a change of either makes a new file.
    pub(crate) fn cached(
        transformer: &Transformer,
        all: bool,
        sentences: &[&Sentence],
        cache: &Path,
        progress: Progress,
    ) -> Result<Self> {
        let mut distinct = HashMap::new();
        let mut chosen = Vec::new();
        let mut name = blake3::Hasher::new();
        name.update(&transformer.hash()).update(&[u8::from(all)]);
        for &sentence in sentences {
            let key = key(sentence);
            if distinct.insert(key, ()).is_none() {
                name.update(&key);
                chosen.push(sentence);
            }
        }
        let path = cache.join(format!("{}.features", name.finalize().to_hex()));
        if !path.is_file() {
            std::fs::create_dir_all(cache).map_err(Error::io(cache))?;
            let temporary = cache.join(format!("{}.{}.new", name.finalize().to_hex(), std::process::id()));
            let written = write(transformer, all, &chosen, &temporary, progress);
            if written.is_err() {
                let _ = std::fs::remove_file(&temporary);
            }
            written?;
            std::fs::rename(&temporary, &path).map_err(Error::io(&path))?;
        }
        Self::open(&path)
    }

    fn open(path: &Path) -> Result<Self> {
        let problem =
            |e: citree_index::Error| Error::unfit(path, "cached states of a transformer", &e.to_string(), REMEDY);
        let sections = Sections::open(path.to_path_buf(), KIND).map_err(problem)?;
        let facts = sections.facts();
        let [sentences, rows, layers, dims] = [facts[0], facts[1], facts[2], facts[3]];
        let keys = sections.view::<u8>(KEYS, &[sentences, 24]).map_err(problem)?;
        let states = sections.view::<u16>(STATES, &[rows, layers, dims]).map_err(problem)?;
        let mut first = HashMap::with_capacity(sentences as usize);
        for entry in keys.as_chunks::<24>().0 {
            let (key, row) = entry.split_at(16);
            let row = u64::from_le_bytes(row.try_into().unwrap_or_default());
            first.insert(key.try_into().unwrap_or_default(), row);
        }
        let (path, layers, dims) = (path.to_path_buf(), layers as usize, dims as usize);
        Ok(Self { path, file: sections, states, layers, dims, first })
    }

    /// Refuses states of which something that was read so far differs from its checksum.
    pub(crate) fn intact(&self) -> Result<()> {
        let unfit = |error: citree_index::Error| {
            Error::unfit(&self.path, "cached states of BERT as they were written", &error.to_string(), REMEDY)
        };
        self.file.intact().map_err(unfit)
    }

    /// The first row of a sentence, if its states are stored.
    pub(crate) fn find(&self, sentence: &Sentence) -> Option<u64> {
        let row = *self.first.get(&key(sentence))?;
        let rows = (self.states.len() / (self.layers * self.dims).max(1)) as u64;
        row.checked_add(sentence.words().len() as u64).filter(|&last| last < rows).map(|_| row)
    }

    /// Layers stored for every position.
    pub(crate) fn layers(&self) -> usize {
        self.layers
    }

    /// Dimensions of a state.
    pub(crate) fn dims(&self) -> usize {
        self.dims
    }

    /// Reads the state of one row after one layer into `out`.
    pub(crate) fn read(&self, row: u64, layer: usize, out: &mut [f32]) {
        let start = (row as usize * self.layers + layer) * self.dims;
        let bits = self.states.part(start..start + self.dims).unwrap_or_default();
        if bits.len() == out.len() {
            bits.reinterpret_cast::<f16>().convert_to_f32_slice(out);
        }
    }
}

fn write(transformer: &Transformer, all: bool, sentences: &[&Sentence], path: &Path, progress: Progress) -> Result<()> {
    let problem = |e: citree_index::Error| {
        Error::unfit(path, "space for the states of a transformer", &e.to_string(), "free some space")
    };
    let pieces: Result<Vec<Pieces>> = sentences
        .par_iter()
        .map(|sentence| transformer.pieces(&sentence.words().iter().map(|word| word.form.as_str()).collect::<Vec<_>>()))
        .collect();
    let pieces = pieces?;
    let mut rows = 0_u64;
    let mut keys = Vec::with_capacity(sentences.len() * 24);
    for sentence in sentences {
        keys.extend_from_slice(&key(sentence));
        keys.extend_from_slice(&rows.to_le_bytes());
        rows += sentence.words().len() as u64 + 1;
    }
    let mut writer = Writer::create(path.to_path_buf(), KIND).map_err(problem)?;
    writer.section(KEYS, &keys).map_err(problem)?;
    let section = writer.start::<u16>(STATES).map_err(problem)?;
    let layers = if all { transformer.shape().layers + 1 } else { 1 };
    for (chunk, part) in pieces.chunks(CHUNK).enumerate() {
        if !progress(chunk * CHUNK, sentences.len()) {
            return Err(Error::Training {
                message: "stopped while the states of the transformer were computed".to_string(),
            });
        }
        let mut order: Vec<usize> = (0..part.len()).collect();
        order.sort_by_key(|&s| part[s].ids.len());
        let computed: Result<Vec<Vec<Vec<u16>>>> = order
            .par_chunks(BATCH)
            .map(|batch| {
                by_sentence(
                    &transformer.features(&batch.iter().map(|&s| &part[s]).collect::<Vec<_>>(), all)?,
                    part,
                    batch,
                )
            })
            .collect();
        let mut states = vec![Vec::new(); part.len()];
        for (s, computed) in order.into_iter().zip(computed?.into_iter().flatten()) {
            states[s] = computed;
        }
        for states in states {
            writer.push(&section, &states).map_err(problem)?;
        }
    }
    let mut facts = [0; FACTS];
    facts[..4].copy_from_slice(&[sentences.len() as u64, rows, layers as u64, transformer.shape().dims as u64]);
    writer.finish(facts).map_err(problem)
}

/// Splits the states of a batch into the half-precision bits of each sentence, `[position][layer][dimension]`.
fn by_sentence(layers: &[Tensor], pieces: &[Pieces], batch: &[usize]) -> Result<Vec<Vec<u16>>> {
    let mut values = Vec::with_capacity(layers.len());
    for layer in layers {
        let states = layer.flatten_all()?.to_vec1::<f32>()?;
        values.push(states.into_iter().map(|value| f16::from_f32(value).to_bits()).collect::<Vec<u16>>());
    }
    let dims = layers.first().map_or(Ok(0), |layer| layer.dim(1))?;
    let mut row = 0;
    let sentence = |&s: &usize| {
        let rows = row..row + pieces[s].place.len();
        row = rows.end;
        rows.flat_map(|row| values.iter().flat_map(move |layer| &layer[row * dims..][..dims])).copied().collect()
    };
    Ok(batch.iter().map(sentence).collect())
}

/// The cache key of a sentence: a hash of its word forms, which determine its states.
fn key(sentence: &Sentence) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    for word in sentence.words() {
        hasher.update(&(word.form.len() as u64).to_le_bytes()).update(word.form.as_bytes());
    }
    let mut key = [0; 16];
    key.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
    key
}
