//! Damage: a flipped bit anywhere in a bundle is noticed by whatever uses the file, or changes nothing that it says.

use crate::pretrained;
use crate::sandbox::{Sandbox, stderr};
use citree::explain::{By, Options};
use citree::parse::Settings;
use citree::treebank::starter;
use citree::{Bundle, Error, Rule};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Everything that a bundle says: what `info`, `parse`, `explain`, `evidence` and `neighbors` show.
fn answers(path: &Path) -> Result<String, Error> {
    let sentences = &starter::dev()[..2];
    let bundle = Bundle::open(path)?;
    let mut all = format!("{}", bundle.info()?);
    for rule in [Rule::sum(), Rule::knn(5)?, Rule::nca(16.0)?] {
        let explainer = bundle.explainer_with(&Settings { rule: Some(rule), ..Settings::default() })?;
        let options = Options { by: vec![By::Label, By::Document], ..Options::default() };
        for explanation in explainer.explain(sentences, &options)? {
            let _ = write!(all, "{}", serde_json::to_string(&explanation).unwrap());
        }
    }
    for parse in bundle.parser()?.parse(sentences)? {
        let _ = write!(all, "{parse:?}");
    }
    let edges = bundle.index()?;
    for edge in (0..edges.accepted()).step_by(9) {
        let (record, sentence) = edges.edge(edge)?;
        let _ = write!(all, "{record:?} {} {:?}", sentence.sent_id, edges.id(edge));
    }
    let _ = write!(all, "{:?} {:?}", bundle.evidence().list()?, bundle.evidence().log()?);
    Ok(all)
}

/// All files of a folder that have bytes.
fn files(folder: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, all),
            false if path.metadata().unwrap().len() > 0 => all.push(path),
            false => {}
        }
    }
    all.sort();
}

/// Flips bits all over a bundle, one at a time: `CITREE_FLIPS` of them, or a few.
fn flip_everywhere(sandbox: &Sandbox, bundle: &str, mut seed: u64) {
    let flips: usize = std::env::var("CITREE_FLIPS").ok().and_then(|flips| flips.parse().ok()).unwrap_or(120);
    let folder = sandbox.path(bundle);
    let whole = answers(&folder).unwrap();
    let mut all = Vec::new();
    files(&folder, &mut all);
    let mut below = |most: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 11) as usize % most
    };
    let mut wrong = Vec::new();
    let (mut noticed, mut harmless) = (0, 0);
    for flip in 0..flips {
        let path = &all[flip % all.len()];
        let bytes = std::fs::read(path).unwrap();
        // Half of them near the beginning, where headers are.
        let place = below(if flip % 2 == 0 { bytes.len() } else { bytes.len().min(2048) });
        let mut damaged = bytes.clone();
        damaged[place] ^= 1 << below(8);
        std::fs::write(path, damaged).unwrap();
        let name = path.strip_prefix(&folder).unwrap().display();
        match answers(&folder) {
            Err(error) => {
                let error = error.to_string();
                if !["restore", "again", "build", "calibrate", "citree train", "give a"]
                    .iter()
                    .any(|remedy| error.contains(remedy))
                {
                    wrong.push(format!("byte {place} of {name}: no remedy in: {error}"));
                }
                noticed += 1;
            }
            Ok(found) if found == whole => harmless += 1,
            Ok(_) => {
                wrong.push(format!("byte {place} of {name} ({:02x}) changes the answers in silence", bytes[place]))
            }
        }
        std::fs::write(path, bytes).unwrap();
    }
    let report = format!("{bundle}: {flips} flips in {} files: {noticed} noticed, {harmless} harmless\n", all.len());
    std::io::Write::write_all(&mut std::io::stderr(), report.as_bytes()).unwrap();
    assert!(wrong.is_empty(), "{} of {flips}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(noticed > flips / 2, "only {noticed} of {flips} were noticed");
}

#[test]
fn a_flip_anywhere_in_a_bundle_is_noticed_or_harmless() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    sandbox.write_treebank("more.conllu", &starter::train()[60..62]);
    let added = sandbox.citree(&["evidence", "t.citree", "add", "more.conllu"]);
    assert_eq!(added.status.code(), Some(0), "{}", stderr(&added));
    flip_everywhere(&sandbox, "t.citree", 0x2545_f491);
}

#[test]
fn a_flip_in_word_vectors_or_in_bert_is_noticed_or_harmless() {
    let sandbox = pretrained::sandbox();
    sandbox.trained_with("t.citree", &["--word-vectors", "words.txt", "--bert", "bert"]);
    flip_everywhere(&sandbox, "t.citree", 0x1234_5678_9abc);
}

#[test]
fn flipped_signs_of_all_rows_are_not_called_exact() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let path = sandbox.path("t.citree/index/gen-000001/heads");
    let mut bytes = std::fs::read(&path).unwrap();
    let length = u64::from_le_bytes(bytes[128 + 16..128 + 24].try_into().unwrap()) as usize;
    (0..length / 4).for_each(|row| bytes[1024 + 4 * row + 3] ^= 0x80);
    std::fs::write(&path, bytes).unwrap();
    for verb in [
        &["explain", "t.citree", "dev.conllu", "--exact"][..],
        &["explain", "t.citree", "dev.conllu", "--rule", "knn"],
        &["parse", "t.citree", "dev.conllu", "--rule", "knn"],
        &["neighbors", "t.citree", "dev.conllu"],
        &["export", "t.citree", "--what", "rows", "--output", "rows.npy"],
        &["audit", "t.citree", "--treebank", "train.conllu"],
    ] {
        let output = sandbox.citree(verb);
        assert_eq!(output.status.code(), Some(2), "{verb:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "{verb:?} answers");
        let message = stderr(&output);
        assert!(message.contains("index/gen-000001/heads is damaged") && message.contains("citree index"), "{message}");
    }
}
