//! Reads the tokenizer of a folder: `tokenizer.json`, or the vocabulary of BERT's WordPiece.

use super::folder::{FOLDER, TOKENIZER, TOKENIZER_CONFIG, VOCABULARY};
use crate::error::{Error, Result};
use serde_json::{Map, Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use tokenizers::Tokenizer;

/// Pieces that stand for no text, in the folders that have them.
const SPECIAL: [&str; 10] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<s>", "</s>", "<pad>", "<unk>", "<mask>"];
/// The type of a splitter whose pieces are of bytes.
const BYTES: &str = "ByteLevel";
const WRITE_IT: &str = "write it with Python: \
    transformers.AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)";

/// Reads the tokenizer. With `spaces`, one of bytes puts a space before each word, as there is in running text.
pub(super) fn read(folder: &Path, files: &[String], spaces: bool) -> Result<Tokenizer> {
    let first = files.first().map_or(TOKENIZER, String::as_str);
    let path = folder.join(first);
    if !path.is_file() {
        return Err(Error::unfit(&path, "a tokenizer", "none", WRITE_IT));
    }
    let bytes = std::fs::read(&path).map_err(Error::io(&path))?;
    let refuse =
        |e: &dyn std::fmt::Display| Error::unfit(&path, "a tokenizer of Hugging Face's form", &e.to_string(), FOLDER);
    let bytes = match (first, spaces) {
        (VOCABULARY, _) => {
            let settings = files.iter().find(|name| *name == TOKENIZER_CONFIG);
            word_piece(&path, &bytes, settings.map(|name| folder.join(name)).as_deref())?.to_string().into_bytes()
        }
        // Others are left as they are, to the last bit.
        (_, true) if bytes.windows(BYTES.len()).any(|part| part == BYTES.as_bytes()) => {
            let mut value: Value = serde_json::from_slice(&bytes).map_err(|e| refuse(&e))?;
            if let Some(before) = value.get_mut("pre_tokenizer") {
                put_spaces(before);
            }
            value.to_string().into_bytes()
        }
        _ => bytes,
    };
    let tokenizer = guarded(|| {
        let mut tokenizer = Tokenizer::from_bytes(bytes)?;
        // Many folders truncate at 128 pieces and pad up to that. Here no piece is cut off, and there is no padding.
        tokenizer.with_truncation(None)?;
        tokenizer.with_padding(None);
        Ok(tokenizer)
    });
    tokenizer.map_err(|e| refuse(&e))
}

/// Calls the library of tokenizers. It panics on some files that it should refuse.
pub(super) fn guarded<T>(call: impl FnOnce() -> tokenizers::Result<T>) -> std::result::Result<T, String> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(answer) => answer.map_err(|e| e.to_string()),
        Err(_) => Err("one that the tokenizers library fails on".to_string()),
    }
}

/// Sets the option of a byte-level splitter, alone or in a sequence.
fn put_spaces(splitter: &mut Value) {
    if splitter.get("type").and_then(Value::as_str) == Some(BYTES) {
        splitter["add_prefix_space"] = Value::Bool(true);
    }
    if let Some(splitters) = splitter.get_mut("pretokenizers").and_then(Value::as_array_mut) {
        splitters.iter_mut().for_each(put_spaces);
    }
}

/// The `tokenizer.json` of BERT's WordPiece with this vocabulary: one piece a line.
fn word_piece(path: &Path, bytes: &[u8], settings: Option<&Path>) -> Result<Value> {
    let text = std::str::from_utf8(bytes)
        .map_err(|e| Error::unfit(path, "a vocabulary in UTF-8", &e.to_string(), "restore the file"))?;
    let mut vocabulary = Map::new();
    for (id, piece) in text.lines().enumerate() {
        vocabulary.insert(piece.to_string(), json!(id));
    }
    let settings: Value = match settings {
        Some(path) => serde_json::from_str(&std::fs::read_to_string(path).map_err(Error::io(path))?)
            .map_err(|e| Error::unfit(path, "the settings of a tokenizer", &e.to_string(), "restore the file"))?,
        None => Value::Null,
    };
    let setting = |key: &str| settings.get(key).and_then(Value::as_bool);
    let unknown = if vocabulary.contains_key("[UNK]") { "[UNK]" } else { "<unk>" };
    let special = SPECIAL.iter().filter_map(|piece| {
        let id = vocabulary.get(*piece)?;
        Some(json!({
            "id": id, "content": piece, "special": true, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false,
        }))
    });
    let special: Vec<Value> = special.collect();
    Ok(json!({
        "version": "1.0",
        "added_tokens": special,
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": true,
            "handle_chinese_chars": setting("tokenize_chinese_chars").unwrap_or(true),
            "strip_accents": setting("strip_accents"),
            "lowercase": setting("do_lower_case").unwrap_or(true),
        },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "model": {
            "type": "WordPiece",
            "unk_token": unknown,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": vocabulary,
        },
    }))
}
