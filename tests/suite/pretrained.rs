//! Word vectors, transformers and a shared encoder, as a user gives them: train, resume, parse, explain, verify.

use crate::sandbox::{Sandbox, model_files, stderr, stdout};
use citree::Bundle;
use citree::explain::Options;
use citree::internals::{fingerprint_after, gold_vectors, heads_in_both_modes};
use citree::treebank::{read_trees, starter};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Output;

fn tiny_bert() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/reference/values/bert")
}

/// A sandbox with word vectors for some words of the starter treebank, and a BERT folder of its own.
pub fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let words = ["the", "a", "in", "of", "and", "to", "is", ".", ",", "she", "he", "it", "not", "find"];
    let row = |(at, word): (usize, &&str)| format!("{word} {} {} {}\n", at as f32 * 0.1, 1.0 - at as f32, 0.3);
    sandbox.write("words.txt", &words.iter().enumerate().map(row).collect::<String>());
    std::fs::create_dir(sandbox.path("bert")).unwrap();
    for name in ["config.json", "tokenizer.json", "model.safetensors"] {
        std::fs::copy(tiny_bert().join(name), sandbox.path("bert").join(name)).unwrap();
    }
    sandbox
}

fn run(sandbox: &Sandbox, args: &[&str]) -> Output {
    sandbox.command(args).env("CITREE_CACHE", sandbox.path("cache")).output().unwrap()
}

fn train(sandbox: &Sandbox, bundle: &str, more: &[&str]) {
    let output = run(sandbox, &[&sandbox.training(bundle)[..], more].concat());
    assert_eq!(output.status.code(), Some(0), "{more:?}: {}", stderr(&output));
}

const VECTORS: [&str; 2] = ["--word-vectors", "words.txt"];
const BERT: [&str; 2] = ["--encoder", "bert"];

/// Every combination of options for pretrained input.
fn ways() -> Vec<Vec<&'static str>> {
    let both = [VECTORS, BERT].concat();
    vec![
        VECTORS.to_vec(),
        BERT.to_vec(),
        [&both[..], &["--encoder-layers", "mix"]].concat(),
        [&BERT[..], &["--encoder-train"]].concat(),
        [&both[..], &["--encoder-train", "--encoder-layers", "mix", "--share-encoder"]].concat(),
        [&both[..], &["--share-encoder", "--encoder-by-reference"]].concat(),
    ]
}

#[test]
fn every_kind_of_input_trains_parses_explains_and_verifies() {
    let sandbox = sandbox();
    for (at, way) in ways().iter().enumerate() {
        let bundle = format!("{at}.citree");
        sandbox.trained_with(&bundle, way);
        for args in [
            &["parse", &bundle, "dev.conllu"][..],
            &["explain", &bundle, "dev.conllu", "--count", "2"],
            &["neighbors", &bundle, "dev.conllu", "--gold"],
            &["verify", &bundle],
            &["info", &bundle],
        ] {
            let output = run(&sandbox, args);
            assert_eq!(output.status.code(), Some(0), "{way:?} {args:?}: {}", stderr(&output));
        }
        let facts = stdout(&run(&sandbox, &["info", &bundle, "--format", "json"]));
        let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
        assert_eq!(facts["pretrained"]["word_vectors"]["words"] == 14, way.contains(&"--word-vectors"), "{facts}");
        assert_eq!(facts["pretrained"]["bert"]["dims"] == 8, way.contains(&"--encoder"), "{facts}");
        assert_eq!(facts["pretrained"]["bert"]["trained"] == true, way.contains(&"--encoder-train"), "{facts}");
    }
}

#[test]
fn fast_mode_decides_as_all_training_edges_together_with_every_kind_of_input() {
    let sandbox = sandbox();
    for (at, way) in ways().iter().enumerate() {
        let bundle = format!("{at}.citree");
        sandbox.trained_with(&bundle, way);
        let bundle = Bundle::open(sandbox.path(&bundle)).unwrap();
        for choice in heads_in_both_modes(&bundle, &starter::train()[..60], &starter::dev()[..20]).unwrap() {
            let close = |(a, b): (&f32, &f32)| assert!((a - b).abs() < 2e-3, "{way:?} {a} {b}");
            choice.fast.iter().zip(&choice.explained).for_each(close);
            let [fast, explained] = choice.chosen();
            // Two heads may be as good as equal.
            let apart = (choice.explained[fast] - choice.explained[explained]).abs();
            assert!(fast == explained || apart < 2e-3, "{way:?}");
        }
    }
}

#[test]
fn the_fingerprint_taken_while_reading_is_that_of_the_parameters() {
    let sandbox = sandbox();
    let mut seen = BTreeSet::new();
    for (at, way) in std::iter::once(Vec::new()).chain(ways()).enumerate() {
        let name = format!("{at}.citree");
        sandbox.trained_with(&name, &way);
        let bundle = Bundle::open(sandbox.path(&name)).unwrap();
        let read = bundle.info().unwrap().model["fingerprint"].as_str().unwrap().to_string();
        assert_eq!(read, fingerprint_after(&bundle, 0.0).unwrap(), "{way:?}");
        assert_ne!(read, fingerprint_after(&bundle, 1e-3).unwrap(), "{way:?}: a parameter makes no difference");
        assert!(seen.insert(read), "{way:?} has the fingerprint of another model");
    }
}

#[test]
fn explanations_cite_the_index_of_the_model_that_reads_the_same_input() {
    let sandbox = sandbox();
    train(&sandbox, "t.citree", &[&VECTORS[..], &BERT, &["--share-encoder"]].concat());
    let explainer = Bundle::open(sandbox.path("t.citree")).unwrap().explainer().unwrap();
    // A training sentence finds itself: the cached states used for indexing equal those computed now.
    let sentences = read_trees(&sandbox.path("train.conllu")).unwrap();
    let explained = explainer.explain(&sentences, &Options::default()).unwrap();
    let mut itself = 0;
    for (sentence, explained) in sentences.iter().zip(&explained) {
        let (gold, edges) = (sentence.gold_heads().unwrap(), &explained.as_ref().unwrap().edges);
        for edge in edges.iter().filter(|edge| gold[edge.dependent - 1] == edge.head) {
            let nearest = &edge.attachment.citations[0];
            assert!(nearest.similarity > 0.99999, "{}", nearest.similarity);
            itself += 1;
        }
    }
    assert!(itself > 0, "no gold edge was found");
}

#[test]
fn the_same_seed_gives_the_same_bytes_from_the_cache_or_computed_and_with_one_thread_or_two() {
    let sandbox = sandbox();
    for (at, way) in ways().iter().enumerate() {
        let bundles = [format!("{at}-one.citree"), format!("{at}-two.citree")];
        train(&sandbox, &bundles[0], &[&way[..], &["--threads", "1"]].concat());
        train(&sandbox, &bundles[1], &[&way[..], &["--threads", "2"]].concat());
        let files = bundles.each_ref().map(|bundle| model_files(&sandbox.path(bundle)));
        assert!(files[0] == files[1], "{way:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_shared_encoder_with_bert_stopped_by_ctrl_c_resumes_to_the_same_bytes() {
    let sandbox = sandbox();
    let more = [&VECTORS[..], &BERT, &["--encoder-train", "--share-encoder", "--epochs", "12"]].concat();
    sandbox
        .write("tiny.toml", &format!("{}label_support = \"memory\"\nhead_support = \"batch\"\n", crate::sandbox::TINY));
    train(&sandbox, "whole.citree", &more);
    let args = [&sandbox.training("stopped.citree")[..], &more].concat();
    let mut child = sandbox.command(&args).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let checkpoint = sandbox.path("stopped.citree/training/both.checkpoint");
    while !checkpoint.exists() {
        assert!(child.try_wait().unwrap().is_none(), "the training ended before its first checkpoint");
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let other = run(&sandbox, &[&sandbox.training("stopped.citree")[..], &more[2..], &["--resume"]].concat());
    assert_eq!(other.status.code(), Some(2));
    assert!(stderr(&other).contains("resume with the options"), "{}", stderr(&other));
    let resumed = run(&sandbox, &[&args[..], &["--resume"]].concat());
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    assert!(model_files(&sandbox.path("whole.citree")) == model_files(&sandbox.path("stopped.citree")));
}

#[test]
fn a_bundle_is_self_contained_unless_it_refers_to_bert_and_then_a_changed_bert_is_refused() {
    let sandbox = sandbox();
    train(&sandbox, "own.citree", &BERT);
    train(&sandbox, "far.citree", &[&BERT[..], &["--encoder-by-reference"]].concat());
    let parse = |bundle: &str| run(&sandbox, &["parse", bundle, "dev.conllu"]);
    let parsed = stdout(&parse("own.citree"));
    assert_eq!(parsed, stdout(&parse("far.citree")));

    let config = std::fs::read_to_string(sandbox.path("bert/config.json")).unwrap();
    sandbox.write("bert/config.json", &format!("{config}\n"));
    assert_eq!(stdout(&parse("own.citree")), parsed);
    let refused = parse("far.citree");
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("restore the folder"), "{}", stderr(&refused));
    std::fs::remove_dir_all(sandbox.path("bert")).unwrap();
    assert_eq!(stdout(&parse("own.citree")), parsed);
    assert!(stderr(&parse("far.citree")).contains("config.json"));
}

#[test]
fn verify_finds_a_changed_word_vector_or_bert_file() {
    let sandbox = sandbox();
    train(&sandbox, "t.citree", &[VECTORS, BERT].concat());
    for name in ["words.vectors", "bert/model.safetensors"] {
        let path = sandbox.path("t.citree/pretrained").join(name);
        let whole = std::fs::read(&path).unwrap();
        let mut changed = whole.clone();
        // A byte of the rows, which follow the header.
        let at = if name == "words.vectors" { 1024 } else { whole.len() - 3 };
        changed[at] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        let output = run(&sandbox, &["verify", "t.citree"]);
        // With another BERT the bundle is not even opened.
        let code = if name == "words.vectors" { 1 } else { 2 };
        assert_eq!(output.status.code(), Some(code), "{name}: {}{}", stdout(&output), stderr(&output));
        let parsed = run(&sandbox, &["parse", "t.citree", "dev.conllu"]);
        assert_eq!(parsed.status.code(), Some(2), "{name}: {}", stderr(&parsed));
        assert!(parsed.stdout.is_empty() && stderr(&parsed).contains("restore the f"), "{}", stderr(&parsed));
        std::fs::write(&path, &whole).unwrap();
    }
    assert_eq!(run(&sandbox, &["verify", "t.citree"]).status.code(), Some(0));

    train(&sandbox, "tuned.citree", &[&BERT[..], &["--encoder-train"]].concat());
    assert!(!sandbox.path("tuned.citree/pretrained/bert/model.safetensors").exists(), "weights are in the model");
    let path = sandbox.path("tuned.citree/pretrained/bert/tokenizer.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, format!("{text} ")).unwrap();
    for verb in [&["verify", "tuned.citree"][..], &["parse", "tuned.citree", "dev.conllu"]] {
        let output = run(&sandbox, verb);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("restore the folder"), "{}", stderr(&output));
    }
}

#[test]
fn unseen_words_profit_from_the_whole_table_of_vectors() {
    let sandbox = sandbox();
    let mut words = std::fs::read_to_string(sandbox.path("words.txt")).unwrap();
    words.push_str("ẏẏẏ 0.5 -0.5 2\n");
    sandbox.write("words.txt", &words);
    train(&sandbox, "t.citree", &VECTORS);
    let bundle = Bundle::open(sandbox.path("t.citree")).unwrap();
    let vector = |word: &str| {
        let mut sentence = citree::treebank::Sentence::from_forms([word]);
        sentence.words_mut()[0].head = Some(0);
        gold_vectors(&bundle, &[sentence]).unwrap()
    };
    // Neither word nor its characters are in the treebank. Only one of the words has a vector.
    assert_eq!(vector("ŷŷŷ"), vector("ẑẑẑ"));
    assert_ne!(vector("ŷŷŷ"), vector("ẏẏẏ"));
}

/// Copies the folder of a family from the reference values.
fn family(sandbox: &Sandbox, name: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/reference/values/encoders").join(name);
    std::fs::create_dir(sandbox.path(name)).unwrap();
    for file in std::fs::read_dir(source).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), sandbox.path(name).join(file.file_name())).unwrap();
    }
}

#[test]
fn other_families_and_other_files_train_frozen_and_along_and_the_bundle_has_what_it_needs() {
    let sandbox = sandbox();
    // Weights of PyTorch and a vocabulary; weights in several files; rotations; distances.
    for name in ["distilbert", "electra", "modernbert", "deberta-v2"] {
        family(&sandbox, name);
        for (kind, way) in [("frozen", ["--encoder-layers", "mix"]), ("along", ["--encoder-train", "--share-encoder"])]
        {
            train(&sandbox, &format!("{name}-{kind}.citree"), &[["--encoder", name], way].concat());
        }
        std::fs::remove_dir_all(sandbox.path(name)).unwrap();
        for bundle in [format!("{name}-frozen.citree"), format!("{name}-along.citree")] {
            let parsed = run(&sandbox, &["parse", &bundle, "dev.conllu"]);
            assert_eq!(parsed.status.code(), Some(0), "{bundle}: {}", stderr(&parsed));
            let verified = run(&sandbox, &["verify", &bundle]);
            assert_eq!(verified.status.code(), Some(0), "{bundle}: {}", stderr(&verified));
            let facts = stdout(&run(&sandbox, &["info", &bundle, "--format", "json"]));
            let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
            assert_eq!(facts["pretrained"]["bert"]["family"], name);
        }
    }
}

#[test]
fn the_older_names_of_the_options_mean_the_same() {
    let sandbox = sandbox();
    train(&sandbox, "old.citree", &["--bert", "bert", "--bert-train", "--bert-layers", "mix"]);
    train(&sandbox, "new.citree", &["--encoder", "bert", "--encoder-train", "--encoder-layers", "mix"]);
    assert!(model_files(&sandbox.path("old.citree")) == model_files(&sandbox.path("new.citree")));
}

#[test]
fn unreadable_input_is_refused_with_a_remedy() {
    let sandbox = sandbox();
    sandbox.write("bad.txt", "the 1 2 3\nof 1 x 3\n");
    std::fs::create_dir(sandbox.path("other")).unwrap();
    for name in ["tokenizer.json", "model.safetensors"] {
        std::fs::copy(tiny_bert().join(name), sandbox.path("other").join(name)).unwrap();
    }
    sandbox.write("other/config.json", r#"{"model_type": "gpt2"}"#);
    for (more, expected) in [
        (&["--word-vectors", "nowhere.txt"][..], "nowhere.txt"),
        (&["--word-vectors", "bad.txt"], "bad.txt:2"),
        (&["--encoder", "nowhere"], "citree fetch encoder nowhere"),
        (&["--encoder", "."], "config.json"),
        (&["--encoder", "other"], "modernbert, mpnet, roberta, xlm-roberta"),
        (&["--encoder-train"], "--encoder"),
        (&["--encoder", "bert", "--encoder-layers", "first"], "last and mix"),
    ] {
        let output = run(&sandbox, &[&sandbox.training("t.citree")[..], more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(stderr(&output).contains(expected), "{more:?}: {}", stderr(&output));
    }
}
