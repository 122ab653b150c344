//! Bundles of earlier versions open, parse and explain as they did. `tests/frozen/bundle-1` was trained by the last
//! version before the format of answers became 2, with `tests/frozen/bundle-1/model/config.toml` as its configuration,
//! on the first 40 sentences of the starter treebank. `tests/frozen/bundle-2` is the same model with an index of format
//! version 2 of the same sentences, and with what was measured of rules, by which it decides by kNN.
//! `tests/frozen/bundle-3` and `bundle-4` were trained by the last version that knew no other transformer than BERT, with
//! a tiny one: frozen with a mix of its layers, and trained along on a shared encoder. They have no index.

use crate::sandbox::{Sandbox, stderr, stdout};
use crate::trained::copy_all;
use serde_json::Value;
use std::path::Path;

pub const TEXT: &str = "Anna found the old letters in the kitchen.\n";

/// A sandbox with the frozen bundle as `en.citree`, and a sentence in `one.txt`.
pub fn thawed() -> Sandbox {
    thawed_version(1)
}

fn thawed_version(version: u32) -> Sandbox {
    let sandbox = Sandbox::new();
    let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/frozen/bundle-{version}"));
    copy_all(&frozen, &sandbox.path("en.citree"));
    sandbox.write("one.txt", TEXT);
    sandbox
}

fn run(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = sandbox.citree(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

/// The parse as the version that trained the bundle gave it.
const HEADS: [usize; 9] = [2, 0, 5, 5, 2, 8, 8, 5, 2];
/// The training edge nearest to that of `kitchen`: its sentence and its label.
const NEAREST: [&str; 2] = ["kitchen-0012", "nmod"];
const LABELS: [&str; 9] = ["nsubj", "root", "det", "nsubj", "advcl", "case", "det", "obl", "punct"];

#[test]
fn an_old_bundle_parses_and_explains_as_it_did() {
    let sandbox = thawed();
    let parsed = run(&sandbox, &["parse", "en.citree", "one.txt", "--lines"]);
    let columns: Vec<Vec<&str>> =
        parsed.lines().map(|line| line.split('\t').collect()).filter(|row: &Vec<_>| row.len() == 10).collect();
    assert_eq!(columns.iter().map(|row| row[6].parse().unwrap()).collect::<Vec<usize>>(), HEADS);
    assert_eq!(columns.iter().map(|row| row[7]).collect::<Vec<_>>(), LABELS);
    let explained = run(&sandbox, &["explain", "en.citree", "one.txt", "--lines", "--format", "json", "--edge", "8"]);
    let answer: Value = serde_json::from_str(explained.trim()).unwrap();
    assert_eq!(answer["heads"], serde_json::json!(HEADS));
    let nearest = &answer["edges"][0]["attachment"]["citations"][0];
    assert_eq!((&nearest["sent_id"], &nearest["label"]), (&NEAREST[0].into(), &NEAREST[1].into()), "{nearest}");
}

#[test]
fn an_old_bundle_is_verified_and_described() {
    let sandbox = thawed();
    run(&sandbox, &["verify", "en.citree"]);
    let info: Value = serde_json::from_str(&run(&sandbox, &["info", "en.citree", "--format", "json"])).unwrap();
    assert_eq!((&info["training"], &info["index"]["edges"]), (&Value::Null, &443.into()), "{info}");
}

#[test]
fn a_bundle_with_rejected_edges_and_its_own_rule_decides_as_it_did() {
    let sandbox = thawed_version(2);
    run(&sandbox, &["verify", "en.citree"]);
    let explained = run(&sandbox, &["explain", "en.citree", "one.txt", "--lines", "--format", "json", "--edge", "8"]);
    let answer: Value = serde_json::from_str(explained.trim()).unwrap();
    assert_eq!(answer["rule"], serde_json::json!({ "name": "knn", "neighbors": 20 }));
    assert_eq!(answer["heads"], serde_json::json!([2, 0, 4, 5, 2, 8, 8, 5, 2]));
    let attachment = &answer["edges"][0]["attachment"];
    let (own, against) = (&attachment["citations"][0], &attachment["against"][0]);
    assert_eq!((&own["sent_id"], &own["dependent"]), (&"kitchen-0012".into(), &7.into()), "{own}");
    assert_eq!(
        (&against["sent_id"], &against["dependent"], &against["gold_head"]),
        (&"kitchen-0011".into(), &14.into(), &2.into())
    );
}

#[test]
fn bundles_with_bert_keep_their_fingerprint_and_every_digit() {
    for (version, fingerprint, expected) in [
        (
            3,
            "7e88eeb746d107afbef0fbbdc21393169c61a3634140dfad35780dbb7a9bf4af",
            include_str!("../frozen/bundle-3/parsed.conllu"),
        ),
        (
            4,
            "d7ce4adf6f66fb8443ce9be41efa213bf1db54c719a132b7568af892e7fbfece",
            include_str!("../frozen/bundle-4/parsed.conllu"),
        ),
    ] {
        let sandbox = thawed_version(version);
        let info: Value = serde_json::from_str(&run(&sandbox, &["info", "en.citree", "--format", "json"])).unwrap();
        assert_eq!(
            (&info["model"]["fingerprint"], &info["pretrained"]["bert"]["family"]),
            (&fingerprint.into(), &"bert".into())
        );
        assert_eq!(run(&sandbox, &["parse", "en.citree", "one.txt", "--lines", "--scores"]), expected);
    }
}
