//! Splits words into pieces, records which piece represents which word, and cuts long sentences into windows.

use super::family::Blueprint;
use super::folder::{FOLDER, Files};
use super::tokenizer;
use crate::error::{Error, Result};
use std::path::Path;
use tokenizers::Tokenizer;

/// A sentence in pieces. Its windows are contiguous.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Pieces {
    /// Piece ids, with the special pieces around every window.
    pub ids: Vec<u32>,
    /// The number of pieces in every window.
    pub windows: Vec<usize>,
    /// For every position, ROOT first, the index in `ids` of the piece that represents it.
    pub place: Vec<u32>,
}

/// The tokenizer of a folder.
#[derive(Clone, Debug)]
pub(super) struct Cutter {
    tokenizer: Tokenizer,
    first: u32,
    last: u32,
    unknown: u32,
    /// The longest window without its special pieces.
    longest: usize,
}

impl Cutter {
    /// Reads the tokenizer of a folder for this network.
    pub(super) fn read(folder: &Path, files: &Files, blueprint: &Blueprint) -> Result<Self> {
        let tokenizer = tokenizer::read(folder, &files.tokenizer, !blueprint.earlier)?;
        let path = folder.join(files.tokenizer.first().map_or("", String::as_str));
        let vocabulary = blueprint.shape.vocabulary;
        let special = |names: &[&str]| {
            let id = |name: &&str| tokenizer.token_to_id(name).filter(|&id| (id as usize) < vocabulary);
            let expected = || format!("the piece {}", names.join(" or "));
            names.iter().find_map(id).ok_or_else(|| Error::unfit(&path, &expected(), "none", FOLDER))
        };
        // A vocabulary can have both kinds of names. What the tokenizer puts around a sentence decides then.
        let around = tokenizer::guarded(|| tokenizer.encode("a", true));
        let around = around.map_err(|found| Error::unfit(&path, "a tokenizer of words", &found, FOLDER))?;
        let (first, last) = match (around.get_ids(), around.get_special_tokens_mask()) {
            (&[first, .., last], [1, .., 1])
                if !blueprint.earlier && (first as usize) < vocabulary && (last as usize) < vocabulary =>
            {
                (first, last)
            }
            _ => (special(&["[CLS]", "<s>"])?, special(&["[SEP]", "</s>"])?),
        };
        let unknown = special(&["[UNK]", "<unk>"])?;
        if tokenizer.get_vocab_size(true) > vocabulary {
            let (expected, found) = (format!("at most {vocabulary} pieces, as config.json says"), "more");
            return Err(Error::unfit(&path, &expected, found, "the files of the folder do not belong together"));
        }
        Ok(Self { tokenizer, first, last, unknown, longest: blueprint.shape.window - 2 })
    }

    /// Splits the words of a sentence. A word without pieces (a lone accent, for example) becomes the unknown piece.
    pub(super) fn cut(&self, words: &[&str]) -> Result<Pieces> {
        let encoding = tokenizer::guarded(|| self.tokenizer.encode(words.to_vec(), false))
            .map_err(|found| Error::Tensor { message: format!("the tokenizer failed: {found}") })?;
        let mut pieces = Vec::with_capacity(encoding.len());
        let mut first_of = Vec::with_capacity(words.len());
        let mut known = encoding.get_ids().iter().zip(encoding.get_word_ids()).peekable();
        for word in 0..words.len() as u32 {
            first_of.push(pieces.len());
            while let Some((&id, _)) = known.next_if(|(_, of)| of.is_none_or(|of| of <= word)) {
                pieces.push(id);
            }
            if first_of.last() == Some(&pieces.len()) {
                pieces.push(self.unknown);
            }
        }
        Ok(self.windows(&pieces, &first_of))
    }

    /// Covers the pieces with windows that overlap by half. Each word is read from the window in which it is farthest
    /// from both ends.
    pub(super) fn windows(&self, pieces: &[u32], first_of: &[usize]) -> Pieces {
        let (count, longest) = (pieces.len(), self.longest);
        let stride = (longest / 2).max(1);
        let mut starts = vec![0];
        while let Some(&start) = starts.last()
            && start + longest < count
        {
            starts.push((start + stride).min(count - longest));
        }
        let mut result = Pieces::default();
        for &start in &starts {
            let inside = &pieces[start..count.min(start + longest)];
            result.ids.push(self.first);
            result.ids.extend_from_slice(inside);
            result.ids.push(self.last);
            result.windows.push(inside.len() + 2);
        }
        let place = |&piece: &usize| {
            let margin = |&window: &usize| {
                let (start, end) = (starts[window], count.min(starts[window] + longest));
                (start..end).contains(&piece).then(|| (piece - start).min(end - 1 - piece))
            };
            let best = (0..starts.len()).rev().max_by_key(margin).unwrap_or(0);
            (best * (longest + 2) + 1 + piece - starts[best]) as u32
        };
        result.place = std::iter::once(0).chain(first_of.iter().map(place)).collect();
        result
    }
}
