//! The times of changing evidence: adding and removing a sentence, searching beside many additions, and merging.

use super::{Copied, Options, copy, lessons};
use crate::search::{pool, say, timed};
use crate::train::median;
use anyhow::ensure;
use citree::evidence::Step;
use citree::explain::{Explainer, Options as How};
use citree::parse::Settings;
use citree::treebank::{Sentence, read_trees, write_sentence};
use citree::{Bundle, Rule};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Instant;

/// The length of the sentence that is added.
const WORDS: usize = 20;
/// Additions, one sentence each, before a search.
const ADDITIONS: usize = 100;
/// Sentences that are searched for in each round.
const SEARCHED: usize = 40;
/// An index of so much less is measured beside the whole.
const TENTH: usize = 10;

/// Measures adding and removing one sentence: with the whole index, and with one of a tenth of its edges.
pub fn change(copied: &Copied, options: &Options) -> anyhow::Result<String> {
    say("change: an index of a tenth of the treebank")?;
    let tenth = copied.folder.with_file_name("tenth.citree");
    copy(&copied.folder, &tenth)?;
    let train: Vec<Sentence> = read_trees(&options.train)?.into_iter().step_by(TENTH).collect();
    Bundle::open(&tenth)?.build_index(&train, &|_| citree::Flow::Continue)?;
    let lesson = lessons(&copied.dev, WORDS..=WORDS, 1)?;
    let file = copied.folder.with_file_name("lesson.conllu");
    write_sentence(&mut std::fs::File::create(&file)?, &lesson[0])?;
    let folders = [&tenth, &copied.folder];
    let bundles = [Bundle::open(&tenth)?, copied.open()?];
    // Seconds by index: a process that adds, one that removes, one that only reads the list, and an addition and a removal
    // in a running program.
    let mut measured: [[Vec<f64>; 5]; 2] = Default::default();
    for round in 0..=options.rounds {
        say(&format!("change: round {round} of {}", options.rounds))?;
        for ((folder, bundle), seconds) in folders.iter().zip(&bundles).zip(&mut measured) {
            let took = [
                process(folder, &["add".as_ref(), file.as_ref()])?,
                process(folder, &["remove".as_ref(), "lesson-0".as_ref()])?,
                process(folder, &["list".as_ref()])?,
                within(|| Ok(bundle.evidence().add(&lesson)?.commit("").map(drop)?))?,
                within(|| Ok(bundle.evidence().remove(&["lesson-0"]).commit("").map(drop)?))?,
            ];
            // The first round has a cold file cache.
            if round > 0 {
                seconds.iter_mut().zip(took).for_each(|(all, took)| all.push(took));
            }
        }
    }
    let edges = [bundles[0].index()?.accepted(), bundles[1].index()?.accepted()];
    let mut out = format!(
        "A sentence of {WORDS} words, {} rounds in turns, medians in milliseconds:\n\n\
         | | {} edges | {} edges | ratio, median of rounds |\n|---|---:|---:|---:|\n",
        options.rounds, edges[0], edges[1]
    );
    let names = [
        "`citree evidence add`, from starting the process to its end",
        "`citree evidence remove`, likewise",
        "`citree evidence list`, which changes nothing, likewise",
        "adding in a running program",
        "removing in a running program",
    ];
    for (at, name) in names.iter().enumerate() {
        let [few, many] = [&measured[0][at], &measured[1][at]];
        let ratio = median(few.iter().zip(many).map(|(few, many)| many / few).collect());
        let [few, many] = [few, many].map(|seconds| 1e3 * median(seconds.clone()));
        let _ = writeln!(out, "| {name} | {few:.1} | {many:.1} | {ratio:.2} |");
    }
    Ok(out)
}

/// Measures explaining by the nearest edges beside many additions, and in one index of the same edges.
pub fn search(copied: &Copied, options: &Options) -> anyhow::Result<String> {
    let parts = copied.folder.with_file_name("parts.citree");
    copy(&copied.folder, &parts)?;
    let bundle = Bundle::open(&parts)?;
    for (number, lesson) in lessons(&copied.dev, 5..=30, ADDITIONS)?.into_iter().enumerate() {
        say(&format!("search: addition {} of {ADDITIONS}", number + 1))?;
        bundle.evidence().add(&[lesson])?.commit("")?;
    }
    let segments = bundle.evidence().list()?.len();
    let merged = copied.folder.with_file_name("merged.citree");
    copy(&parts, &merged)?;
    say("search: merging")?;
    let bundle = Bundle::open(&merged)?;
    bundle.evidence().rename("added", "treebank", "")?;
    bundle.evidence().merge("", &|_| citree::Flow::Continue)?;
    let settings = Settings { rule: Some(Rule::knn(Rule::NEIGHBORS)?), ..Settings::default() };
    let explainers =
        [Bundle::open(&merged)?.explainer_with(&settings)?, Bundle::open(&parts)?.explainer_with(&settings)?];
    let last: Vec<Sentence> = copied.dev.iter().rev().take(SEARCHED).cloned().collect();
    let mut pairs = Vec::new();
    pool(1)?.install(|| {
        for round in 0..=options.rounds {
            let [whole, many] = [explained(&explainers[0], &last)?, explained(&explainers[1], &last)?];
            if round > 0 {
                pairs.push((whole, many));
            }
        }
        anyhow::Ok(())
    })?;
    let milliseconds = |value: fn(&(f64, f64)) -> f64| 1e3 * median(pairs.iter().map(value).collect());
    Ok(format!(
        "{SEARCHED} sentences parsed and explained by knn on one thread, {} rounds in turns, after {ADDITIONS} additions of \
         one sentence each:\n\n| | milliseconds |\n|---|---:|\n| one merged index | {:.0} |\n| {segments} parts, not \
         merged | {:.0} |\n| ratio, median of rounds | {:.2} |\n",
        options.rounds,
        milliseconds(|pair| pair.0),
        milliseconds(|pair| pair.1),
        median(pairs.iter().map(|pair| pair.1 / pair.0).collect()),
    ))
}

/// Measures merging one addition into the whole index, and building an index of the same treebank anew.
pub fn merge(copied: &Copied, options: &Options) -> anyhow::Result<String> {
    let folder = copied.folder.with_file_name("to-merge.citree");
    copy(&copied.folder, &folder)?;
    let bundle = Bundle::open(&folder)?;
    let lesson = lessons(&copied.dev, WORDS..=WORDS, 1)?;
    bundle.evidence().to_treebank("treebank").add(&lesson)?.commit("")?;
    say("merge: merging")?;
    let (merging, merged) = timed(|| bundle.evidence().merge("", &|_| citree::Flow::Continue));
    merged?;
    say("merge: building anew")?;
    let encoded = OnceLock::new();
    let train = read_trees(&options.train)?;
    let note = |step: Step| {
        if matches!(step, Step::Indexing(_)) {
            encoded.get_or_init(Instant::now);
        }
        citree::Flow::Continue
    };
    let (building, built) = timed(|| bundle.build_index(&train, &note));
    built?;
    let indexing = encoded.get().map_or(0.0, |since| since.elapsed().as_secs_f64());
    Ok(format!(
        "| all threads | seconds |\n|---|---:|\n| merging one added sentence into the whole | {merging:.1} |\n\
         | building anew | {building:.1} |\n| of these after encoding | {indexing:.1} |\n"
    ))
}

fn explained(explainer: &Explainer, sentences: &[Sentence]) -> anyhow::Result<f64> {
    let (seconds, explained) = timed(|| explainer.explain(sentences, &How::default()));
    explained?;
    Ok(seconds)
}

fn within(change: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let (seconds, done) = timed(change);
    done?;
    Ok(seconds)
}

/// Seconds that a process of the program takes.
fn process(bundle: &Path, arguments: &[&std::ffi::OsStr]) -> anyhow::Result<f64> {
    let program = std::env::current_exe()?.with_file_name(format!("citree{}", std::env::consts::EXE_SUFFIX));
    ensure!(program.is_file(), "{} is missing; `cargo build --release` makes it", program.display());
    let mut run = Command::new(program);
    run.arg("evidence").arg(bundle).args(arguments);
    let (seconds, output) = timed(|| run.output());
    let output = output?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(seconds)
}
