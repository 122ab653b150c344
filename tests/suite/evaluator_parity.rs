//! The evaluation equals the official one: on fixed pairs with values from `udeval`, and, if Python has `udtools`, against
//! that package itself on treebanks with seeded errors in heads, labels and tokens.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use super::perturb::{Draft, Random};
use crate::what_is_needed::{EWT, IMST, ROUNDTRIP, UDTOOLS, beside, needs};
use citree::evaluate::{Score, Scores, evaluate};
use citree::internals::splitter;
use citree::treebank::{Reader, Sentence, read_all, write_sentence};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn sentences(text: &str) -> Vec<Sentence> {
    Reader::new(text.as_bytes(), "pair").collect::<Result<_, _>>().unwrap()
}

/// Words as `form head label`, `|` between words; `form 2` is a multiword token over the next two words.
fn sentence(words: &str) -> Vec<Sentence> {
    let mut text = String::new();
    let mut id = 0;
    for word in words.split(" | ") {
        let fields: Vec<&str> = word.split(' ').collect();
        if let [form, count] = fields[..] {
            let last = id + count.parse::<usize>().unwrap();
            text += &format!("{}-{last}\t{form}\t_\t_\t_\t_\t_\t_\t_\t_\n", id + 1);
        } else {
            id += 1;
            text += &format!("{id}\t{}\t_\t_\t_\t_\t{}\t{}\t_\t_\n", fields[0], fields[1], fields[2]);
        }
    }
    sentences(&(text + "\n"))
}

fn counts(score: Score) -> (usize, usize, usize) {
    (score.correct, score.gold, score.system)
}

// The values of the next two tests come from udtools 0.2.9 on the files that `sentence` makes of these words:
//   udeval --counts --no-enhanced gold.conllu system.conllu

#[test]
fn the_official_figures_count_punctuation_and_cut_subtypes() {
    let gold =
        sentence("She 3 nsubj:pass | was 3 aux:pass | seen 0 root | in 6 case | the 6 det | park 3 obl | . 3 punct");
    let system = sentence("She 3 nsubj | was 3 cop | seen 0 root | in 3 case | the 6 det | park 3 nmod | . 6 punct");
    let scores = evaluate(&gold, &system).unwrap();
    let with = scores.with_punctuation;
    assert_eq!((counts(with.uas), counts(with.las), counts(with.clas)), ((5, 7, 7), (3, 7, 7), (2, 3, 3)));
    // Not official, counted by hand: `nsubj` is not `nsubj:pass`, and the full stop is left out.
    assert_eq!((counts(with.las_subtypes), counts(with.clas_subtypes)), ((2, 7, 7), (1, 3, 3)));
    let without = scores.without_punctuation;
    assert_eq!(
        (counts(without.uas), counts(without.las), counts(without.las_subtypes)),
        ((5, 6, 6), (3, 6, 6), (2, 6, 6))
    );
    assert_eq!((with.las.precision, with.las.recall, with.las.f1), (3.0 / 7.0, 3.0 / 7.0, 3.0 / 7.0));
}

#[test]
fn words_split_differently_are_aligned_by_their_characters() {
    let gold = sentence("Don't 2 | Do 3 aux | n't 3 advmod | eat 0 root | ice 5 compound | cream 3 obj | . 3 punct");
    let system = sentence("Do 3 aux | n't 3 advmod | eat 0 root | icecream 3 obj | . 3 punct");
    let scores = evaluate(&gold, &system).unwrap();
    assert_eq!((counts(scores.tokens), counts(scores.words)), ((2, 5, 5), (4, 6, 5)));
    let with = scores.with_punctuation;
    assert_eq!((counts(with.uas), counts(with.las), counts(with.clas)), ((4, 6, 5), (4, 6, 5), (2, 4, 3)));
}

#[test]
fn multiword_tokens_are_aligned_as_in_the_official_evaluator() {
    // The unit tests of its word alignment, each with the number of aligned words.
    let chain = |tokens: &[&str]| {
        let mut words = Vec::new();
        let mut id = 0;
        for token in tokens {
            let parts: Vec<&str> = token.split(' ').collect();
            if parts.len() > 1 {
                words.push(format!("{} {}", parts[0], parts.len() - 1));
            }
            for part in if parts.len() > 1 { &parts[1..] } else { &parts[..] } {
                words.push(format!("{part} {id} dep"));
                id += 1;
            }
        }
        sentence(&words.join(" | "))
    };
    for (gold, system, aligned) in [
        (vec!["a", "b", "c"], vec!["a", "b", "c"], 3),
        (vec!["abc a b c"], vec!["a", "b", "c"], 3),
        (vec!["a", "bc b c", "d"], vec!["a", "b", "c", "d"], 4),
        (vec!["abcd a b c d"], vec!["ab a b", "cd c d"], 4),
        (vec!["abc a b c", "de d e"], vec!["a", "bcd b c d", "e"], 5),
        (vec!["abcd"], vec!["a", "b", "c", "d"], 0),
        (vec!["abc", "d"], vec!["a", "b", "c", "d"], 1),
        (vec!["a", "bc", "d"], vec!["a", "b", "c", "d"], 2),
        (vec!["a", "bc b c", "d"], vec!["a", "b", "cd"], 2),
        (vec!["abc a BX c", "def d EX f"], vec!["ab a b", "cd c d", "ef e f"], 4),
        (vec!["ab a b", "cd bc d"], vec!["a", "bc", "d"], 2),
        (vec!["a", "bc b c", "d"], vec!["ab AX BX", "cd CX a"], 1),
    ] {
        let scores = evaluate(&chain(&gold), &chain(&system)).unwrap();
        assert_eq!(scores.words.correct, aligned, "{gold:?} {system:?}");
    }
}

#[test]
fn the_tables_add_up_to_the_scores() {
    let gold =
        sentence("She 3 nsubj:pass | was 3 aux:pass | seen 0 root | in 6 case | the 6 det | park 3 obl | . 3 punct");
    let system = sentence("She 3 nsubj | was 3 cop | seen 0 root | in 3 case | the 6 det | park 3 nmod | . 6 punct");
    let scores = evaluate(&gold, &system).unwrap();
    let label = |name: &str| counts(scores.labels.iter().find(|row| row.label == name).unwrap().score);
    assert_eq!(
        (label("root"), label("case"), label("obl"), label("nmod")),
        ((1, 1, 1), (0, 1, 1), (0, 1, 0), (0, 0, 1))
    );
    let length = |from: usize| counts(scores.dependency_lengths.iter().find(|row| row.from == from).unwrap().uas);
    assert_eq!((length(0), length(1), length(2), length(3)), ((1, 1, 1), (2, 2, 4), (1, 2, 1), (1, 2, 1)));
    assert_eq!(counts(scores.sentence_lengths[1].las), (3, 7, 7));
    assert_totals(&scores);
}

#[test]
fn files_that_cannot_be_compared_are_refused_with_the_place() {
    let error =
        evaluate(&sentence("a 0 root | bread 1 dep"), &sentence("a 0 root | broad 1 dep")).unwrap_err().to_string();
    assert_eq!(
        error,
        "cannot compare: in gold sentence 1 the system file goes on with abr[oad], but the gold file with abr[ead]; both \
         must hold the same sentences in the same order, spaces aside"
    );
    let bare = vec![Sentence::from_forms(["a"])];
    let error = evaluate(&sentence("a 0 root"), &bare).unwrap_err().to_string();
    assert!(error.starts_with("cannot compare: sentence 1 of the system file has a word without HEAD, but"), "{error}");
    assert_eq!(counts(evaluate(&[], &[]).unwrap().words), (0, 0, 0));
}

/// Runs the official evaluator on two files and prints its figures as JSON. It has no scores with subtypes or without
/// punctuation. These are computed as CLAS, with changed labels in the files and another list of content labels.
const OFFICIAL: &str = r#"
import io, json, sys
from udtools import udeval

def columns(path):
    return [line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8", newline="\n")]

def load(rows):
    return udeval.load_conllu(io.StringIO("".join("\t".join(row) + "\n" for row in rows)), "pair", {})

def scores(gold, system, content=None):
    kept = udeval.CONTENT_DEPRELS
    udeval.CONTENT_DEPRELS = kept if content is None else content
    try:
        result = udeval.evaluate(load(gold), load(system))
    finally:
        udeval.CONTENT_DEPRELS = kept
    return {k: [v.correct, v.gold_total, v.system_total, v.precision, v.recall, v.f1] for k, v in result.items()}

def relabel(rows, label):
    return [row[:7] + [label(n, row)] + row[8:] if len(row) == 10 and row[7] != "_" else row for n, row in enumerate(rows)]

class Subtyped:
    def __contains__(self, label): return label.split("~")[0] in udeval.FIRST_CONTENT
class NotPunctuation:
    def __contains__(self, label): return label != "punct"

udeval.FIRST_CONTENT = udeval.CONTENT_DEPRELS
gold, system = columns(sys.argv[1]), columns(sys.argv[2])
official = scores(gold, system)
names = ["Tokens", "Sentences", "Words", "UAS", "LAS", "CLAS", "UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "MLAS", "BLEX"]
out = {k.lower(): official[k] for k in names}
keep = lambda n, row: row[7].replace(":", "~")
subtyped = scores(relabel(gold, keep), relabel(system, keep), Subtyped())
out["las_subtypes"], out["clas_subtypes"] = subtyped["LAS"], subtyped["CLAS"]
if [row[:2] for row in gold] == [row[:2] for row in system]:
    punct = [len(row) == 10 and row[7].split(":")[0] == "punct" for row in gold]
    follow = lambda n, row: "punct" if punct[n] else ("other" if row[7].split(":")[0] == "punct" else row[7])
    bare = lambda n, row: "punct" if punct[n] else "dep"
    g, s = relabel(gold, follow), relabel(system, follow)
    out["no_punct_uas"] = scores(relabel(gold, bare), relabel(system, bare))["CLAS"]
    out["no_punct_las"] = scores(g, s, NotPunctuation())["CLAS"]
    out["no_punct_las_subtypes"] = scores(relabel(g, keep), relabel(s, keep), NotPunctuation())["CLAS"]
    out["no_punct_clas"] = scores(g, s)["CLAS"]
    out["no_punct_clas_subtypes"] = scores(relabel(g, keep), relabel(s, keep), Subtyped())["CLAS"]
print(json.dumps(out))
"#;

#[test]
fn every_figure_equals_that_of_the_official_package() {
    needs!(UDTOOLS);
    let starter = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/treebank/starter");
    compare_with_official(&["dev", "train"].map(|part| starter.join(format!("{part}.conllu"))));
}

#[test]
fn every_figure_of_real_treebanks_equals_that_of_the_official_package() {
    needs!(UDTOOLS, EWT, IMST, ROUNDTRIP);
    let files = [(EWT, "en_ewt"), (IMST, "tr_imst"), (ROUNDTRIP, "fi_tdt"), (ROUNDTRIP, "it_isdt")];
    compare_with_official(&files.map(|(folder, code)| beside(folder).join(format!("{code}-ud-dev.conllu"))));
}

/// Compares at most 150 sentences of each file, to save time.
fn compare_with_official(files: &[PathBuf]) {
    let folder = tempfile::tempdir().unwrap();
    let mut compared = 0;
    for (number, file) in files.iter().enumerate() {
        let gold: Vec<Sentence> = read_all(file).unwrap().into_iter().take(150).collect();
        let mut random = Random(number as u64);
        let system = |tokens: bool, random: &mut Random| {
            let text: String = gold.iter().map(|sentence| Draft::new(sentence).perturbed(tokens, random)).collect();
            sentences(&text)
        };
        let annotated = system(false, &mut random);
        let retokenised = system(true, &mut random);
        let retagged = retagged(&gold, &mut random);
        for parse in [gold.clone(), annotated, retokenised, resplit(&gold), retagged] {
            let [gold_path, system_path] = ["gold", "system"].map(|name| folder.path().join(name));
            std::fs::write(&gold_path, written(&gold)).unwrap();
            std::fs::write(&system_path, written(&parse)).unwrap();
            let ours = evaluate(&gold, &parse).unwrap();
            assert_equal(&ours, &official(&gold_path, &system_path));
            assert_totals(&ours);
            compared += 1;
        }
    }
    assert_eq!(compared, 5 * files.len());
}

/// The gold trees with errors in labels and in the columns besides heads and labels.
fn retagged(gold: &[Sentence], random: &mut Random) -> Vec<Sentence> {
    let mut system = gold.to_vec();
    for word in system.iter_mut().flat_map(|sentence| sentence.words_mut()) {
        for column in [&mut word.upos, &mut word.xpos, &mut word.feats, &mut word.lemma] {
            if random.below(8) == 0 {
                *column = ["_", "X", "Case=Nom", "Number=Sing|Typo=Yes"][random.below(4)].to_owned();
            }
        }
        if random.below(8) == 0 {
            word.label = ["det", "obj", "case", "nmod:poss", "aux:pass"][random.below(5)].to_owned();
        }
    }
    system
}

/// The text of a treebank, split into words as learned from its first sentences, each word attached to the previous one.
fn resplit(gold: &[Sentence]) -> Vec<Sentence> {
    let split = splitter(&gold[..gold.len() / 4]);
    let of_text = gold.iter().map(|sentence| {
        let mut sentence = split(sentence.text().unwrap());
        for (place, word) in sentence.words_mut().iter_mut().enumerate() {
            word.head = Some(place);
            word.label = if place == 0 { "root" } else { "nmod:poss" }.to_owned();
        }
        sentence
    });
    of_text.collect()
}

fn written(sentences: &[Sentence]) -> Vec<u8> {
    let mut out = Vec::new();
    sentences.iter().for_each(|sentence| write_sentence(&mut out, sentence).unwrap());
    out
}

fn official(gold: &Path, system: &Path) -> Value {
    let output = Command::new("python3").arg("-c").arg(OFFICIAL).args([gold, system]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn assert_equal(ours: &Scores, official: &Value) {
    let (with, without, tags) = (ours.with_punctuation, ours.without_punctuation, ours.tags);
    for (name, score) in [
        ("tokens", ours.tokens),
        ("sentences", ours.sentences),
        ("words", ours.words),
        ("uas", with.uas),
        ("las", with.las),
        ("clas", with.clas),
        ("upos", tags.upos),
        ("xpos", tags.xpos),
        ("ufeats", tags.feats),
        ("alltags", tags.all),
        ("lemmas", tags.lemmas),
        ("mlas", tags.mlas),
        ("blex", tags.blex),
        ("las_subtypes", with.las_subtypes),
        ("clas_subtypes", with.clas_subtypes),
        ("no_punct_uas", without.uas),
        ("no_punct_las", without.las),
        ("no_punct_las_subtypes", without.las_subtypes),
        ("no_punct_clas", without.clas),
        ("no_punct_clas_subtypes", without.clas_subtypes),
    ] {
        // The official evaluator cannot leave punctuation out if the words differ.
        let Some(theirs) = official.get(name) else { continue };
        let number = |place: usize| theirs[place].as_f64().unwrap();
        assert_eq!([score.correct, score.gold, score.system].map(|n| n as f64), [0, 1, 2].map(number), "{name}");
        for (ours, theirs) in [score.precision, score.recall, score.f1].into_iter().zip([3, 4, 5].map(number)) {
            assert!((ours - theirs).abs() < 1e-12, "{name}: {ours} is not {theirs}");
        }
    }
}

fn assert_totals(scores: &Scores) {
    let add = |total: (usize, usize, usize), score: Score| {
        (total.0 + score.correct, total.1 + score.gold, total.2 + score.system)
    };
    let with = scores.with_punctuation;
    assert_eq!(scores.labels.iter().map(|row| row.score).fold((0, 0, 0), add), counts(with.las_subtypes));
    for table in [&scores.dependency_lengths, &scores.sentence_lengths] {
        assert_eq!(table.iter().map(|row| row.uas).fold((0, 0, 0), add), counts(with.uas));
        assert_eq!(table.iter().map(|row| row.las).fold((0, 0, 0), add), counts(with.las));
    }
}
