//! The readers of everything that comes from outside, for the fuzz targets. Each function panics if a reader breaks what it
//! promises; an error is a good answer.

use crate::bundle::{Bundle, Layout, MeasuredRules};
use crate::config::{Config, Preset};
use crate::device::Device;
use crate::encoder::transformer::Transformer;
use crate::encoder::word_vectors::WordVectors;
use crate::error::Result;
use crate::evaluate::evaluate;
use crate::model::Tables;
use crate::parse::Settings;
use crate::treebank::{Reader, Sentence, Splits, check, write_sentence};
use std::path::Path;

/// Reads CoNLL-U, and all of it again after writing: what was read comes back, and a file without problems byte for byte.
pub fn read_conllu(bytes: &[u8]) {
    let read = |bytes: &[u8]| Reader::new(bytes, "input").filter_map(Result::ok).collect::<Vec<_>>();
    let write = |sentences: &[Sentence]| {
        let mut out = Vec::new();
        for sentence in sentences {
            write_sentence(&mut out, sentence).expect("a write to memory");
        }
        out
    };
    let sentences = read(bytes);
    let written = write(&sentences);
    let again: Vec<_> = Reader::new(written.as_slice(), "written").collect::<Result<_>>().expect("what was written");
    assert!(again == sentences, "a sentence changed on the way");
    for level in 1..=3 {
        let summary = check(Reader::new(bytes, "input"), level, |_| Ok(())).expect("only reading can fail");
        assert_eq!(summary.sentences, sentences.len() as u64);
        let unheard = level == 1 && summary.problems == 0;
        assert!(!unheard || written == bytes, "a file without problems is written as it was read");
    }
    // Both sides have the same words.
    if let Ok(scores) = evaluate(&sentences, &again) {
        assert_eq!(scores.words.correct, scores.words.gold);
    }
    let splits = Splits::learn(&sentences);
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    write(&lines.map(|line| splits.split(line)).collect::<Vec<_>>());
}

/// Reads the configuration of a model, and one that a user gives. One that is read is written and read again.
pub fn read_configuration(text: &str) {
    let path = Path::new("config.toml");
    let presets = [Preset::Paper, Preset::Small, Preset::Joint, Preset::Demo].map(Config::preset);
    let given = presets.map(|preset| preset.with_toml(text, path));
    for config in [Config::from_toml(text, path)].into_iter().chain(given).flatten() {
        assert_eq!(Config::from_toml(&config.to_toml(), path).expect("what was written"), config);
    }
}

/// Reads the tables of a model, and splits and numbers words by them.
pub fn read_tables(text: &str) {
    let Ok(tables) = serde_json::from_str::<Tables>(text) else { return };
    let sentence = tables.splits.split("Anna doesn't like (the) rain, U.S. :)");
    let numbered = tables.vocabulary.number(&sentence);
    assert_eq!(numbered.len(), sentence.words().len() + 1);
}

/// Reads what was measured of rules from a folder with `rules.json`.
pub fn read_rules(folder: &Path) {
    let _ = MeasuredRules::read(&Layout::of(folder));
}

/// Opens a bundle, describes it, and parses by its model.
pub fn use_model(folder: &Path) -> Result<()> {
    let bundle = Bundle::open(folder)?;
    let _ = bundle.info().map(|info| info.to_string());
    let parser = super::parser_of_model(&bundle, &Settings::default())?;
    let parses = parser.parse(&[parser.split("Anna doesn't like rain.")])?;
    assert!(parses[0].heads.iter().all(|&head| head <= parses[0].heads.len()));
    Ok(())
}

/// Converts a file of word vectors to a table, which then verifies and has its words.
pub fn convert_vectors(source: &Path, target: &Path) -> Result<()> {
    let converted = WordVectors::convert(source, target, &|_, _| {})?;
    let vectors = WordVectors::open(target)?;
    vectors.check()?;
    assert_eq!((vectors.len() as u64, vectors.dims()), (converted.words, converted.dims));
    Ok(())
}

/// Opens a table of word vectors, looks up words and verifies it.
pub fn use_vectors(table: &Path, words: &[&str]) -> Result<()> {
    let vectors = WordVectors::open(table)?;
    let mut values = vec![0.0; vectors.dims()];
    words.iter().for_each(|word| vectors.read(&vectors.place(word), &mut values));
    vectors.intact()?;
    vectors.check()
}

/// Opens the folder of a transformer, splits words into pieces and computes their states.
pub fn use_encoder(folder: &Path, words: &[&str]) -> Result<()> {
    let transformer = Transformer::open(folder, Device::CPU.of_tensors())?;
    let pieces = transformer.pieces(words)?;
    let states = transformer.features(&[&pieces], true)?;
    assert_eq!(states[0].dims(), [words.len() + 1, transformer.shape().dims]);
    Ok(())
}
