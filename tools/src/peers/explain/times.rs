//! Measures the times of parsing and explaining in turns, so that other load on the machine affects both equally.

use super::Options;
use crate::search::{pool, say, timed};
use crate::train::median;
use anyhow::{Context, ensure};
use citree::Rule;
use citree::explain::{Explainer, Options as How};
use citree::rule::RuleSettings;
use citree::treebank::{Sentence, write_sentence};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// The length of the sentences for latency.
const WORDS: usize = 20;
/// The number of these sentences.
const SENTENCES: usize = 40;
/// The number of processes to start.
const STARTS: usize = 20;
/// The word whose edge each process explains.
const WORD: usize = 4;
/// Sentences per batch, as in `citree explain`: the explanations of a whole treebank would fill the memory.
const TOGETHER: usize = 256;

/// Measures one sentence at a time on one thread.
pub fn latency(explainer: &Explainer, dev: &[Sentence], options: &Options) -> anyhow::Result<String> {
    say("latency")?;
    let sentences: Vec<&Sentence> = dev.iter().filter(|s| s.words().len() == WORDS).take(SENTENCES).collect();
    ensure!(!sentences.is_empty(), "{}: no sentence has {WORDS} words", options.dev.display());
    let mut out = format!(
        "One sentence of {WORDS} words at a time, one thread, medians of {} sentences × {} rounds, rules in turn:\n\n\
         | rule | parse, ms | parse and explain every edge, ms | difference, median of pairs |\n|---|---:|---:|---:|\n",
        sentences.len(),
        options.rounds
    );
    let mut measured = by_rule(explainer)?;
    pool(1)?.install(|| {
        // The first round is a warm-up.
        for round in 0..=options.rounds {
            for sentence in &sentences {
                for (explainer, pairs) in &mut measured {
                    let pair = parse_and_explain(explainer, std::slice::from_ref(sentence))?;
                    if round > 0 {
                        pairs.push(pair);
                    }
                }
            }
        }
        anyhow::Ok(())
    })?;
    for (explainer, pairs) in &measured {
        let milliseconds = |value: fn(&(f64, f64)) -> f64| 1e3 * median(pairs.iter().map(value).collect());
        let _ = writeln!(
            out,
            "| {} | {:.2} | {:.2} | {:.2} |",
            explainer.parser().rule(),
            milliseconds(|pair| pair.0),
            milliseconds(|pair| pair.1),
            milliseconds(|pair| pair.1 - pair.0)
        );
    }
    Ok(out)
}

/// An explainer by one rule, and seconds to parse and to explain by it, round by round.
type ByRule = (Explainer, Vec<(f64, f64)>);

/// An explainer for each rule that the system supports.
fn by_rule(explainer: &Explainer) -> anyhow::Result<Vec<ByRule>> {
    let rules = [Rule::sum(), Rule::knn(Rule::NEIGHBORS)?, Rule::named("nca", RuleSettings::default())?];
    Ok(rules.iter().filter_map(|rule| Some((explainer.deciding_by(rule).ok()?, Vec::new()))).collect())
}

/// Measures parsing by each rule, in turns.
pub fn rules(explainer: &Explainer, dev: &[Sentence], options: &Options) -> anyhow::Result<String> {
    let sentences: Vec<Sentence> = dev.iter().take(options.sentences).cloned().collect();
    let words: usize = sentences.iter().map(|sentence| sentence.words().len()).sum();
    let mut measured = by_rule(explainer)?;
    // NCA compares with every training edge, and its speed shows in the latency.
    measured.retain(|(explainer, _)| !explainer.parser().reads_all_by(explainer.parser().rule()));
    for round in 0..=options.rounds {
        say(&format!("rules: round {round} of {}", options.rounds))?;
        for (explainer, seconds) in &mut measured {
            let (took, parses) = timed(|| explainer.parser().parse(&sentences));
            parses?;
            if round > 0 {
                seconds.push((took, 0.0));
            }
        }
    }
    let mut out = format!(
        "Parsing {} sentences with {words} words, all threads, {} rounds in turns, the first not counted:\n\n\
         | rule | words/s | times that of the sum, median of rounds |\n|---|---:|---:|\n",
        sentences.len(),
        options.rounds
    );
    let by_sum: Vec<f64> = measured.first().map_or(Vec::new(), |(_, pairs)| pairs.iter().map(|pair| pair.0).collect());
    for (explainer, pairs) in &measured {
        let speed = words as f64 / median(pairs.iter().map(|pair| pair.0).collect());
        let ratio = median(pairs.iter().zip(&by_sum).map(|(pair, sum)| sum / pair.0).collect());
        let _ = writeln!(out, "| {} | {speed:.0} | {ratio:.2} |", explainer.parser().rule());
    }
    Ok(out)
}

/// Measures many sentences, on one thread and on two.
pub fn bulk(explainer: &Explainer, dev: &[Sentence], options: &Options) -> anyhow::Result<String> {
    let sentences: Vec<&Sentence> = dev.iter().take(options.sentences).collect();
    let words: usize = sentences.iter().map(|sentence| sentence.words().len()).sum();
    let mut out = format!(
        "{} sentences with {words} words, {TOGETHER} sentences at a time, medians of {} rounds:\n\n\
         | threads | parse, s | parse and explain every edge, s | ratio | in each round |\n|---:|---:|---:|---:|---|\n",
        sentences.len(),
        options.rounds
    );
    let mut measured = [(1, Vec::new()), (2, Vec::new())];
    parse_and_explain(explainer, &sentences[..sentences.len().min(TOGETHER)])?;
    for round in 1..=options.rounds {
        for (threads, pairs) in &mut measured {
            say(&format!("bulk: round {round} of {}, {threads} threads", options.rounds))?;
            pairs.push(pool(*threads)?.install(|| parse_and_explain(explainer, &sentences))?);
        }
    }
    for (threads, pairs) in measured {
        let seconds = |value: fn(&(f64, f64)) -> f64| median(pairs.iter().map(value).collect());
        let each: Vec<String> = pairs.iter().map(|(parse, explain)| format!("{:.2}", explain / parse)).collect();
        let (parse, explain, ratio) = (seconds(|p| p.0), seconds(|p| p.1), seconds(|p| p.1 / p.0));
        let _ = writeln!(out, "| {threads} | {parse:.2} | {explain:.2} | {ratio:.2} | {} |", each.join(", "));
    }
    Ok(out)
}

/// Seconds to parse some sentences, and to parse and explain them, in turns.
fn parse_and_explain(explainer: &Explainer, sentences: &[&Sentence]) -> anyhow::Result<(f64, f64)> {
    let how = How::default();
    let (mut parsing, mut explaining) = (0.0, 0.0);
    for together in sentences.chunks(TOGETHER) {
        let together: Vec<Sentence> = together.iter().map(|&sentence| sentence.clone()).collect();
        let (seconds, parses) = timed(|| explainer.parser().parse(&together));
        parses?;
        parsing += seconds;
        let (seconds, explanations) = timed(|| explainer.explain(&together, &how));
        explanations?;
        explaining += seconds;
    }
    Ok((parsing, explaining))
}

/// Measures the time from the start of the program to the end of its explanation of one edge.
pub fn start(dev: &[Sentence], options: &Options) -> anyhow::Result<String> {
    say("start")?;
    let program = std::env::current_exe()?.with_file_name(format!("citree{}", std::env::consts::EXE_SUFFIX));
    ensure!(program.is_file(), "{} is missing; `cargo build --release` makes it", program.display());
    let long_enough = |sentence: &&Sentence| sentence.words().len() >= WORD;
    let of_length = |sentence: &&Sentence| sentence.words().len() == WORDS;
    let sentence = dev.iter().find(of_length).or_else(|| dev.iter().find(long_enough));
    let sentence = sentence.with_context(|| format!("no sentence has {WORD} words"))?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("one.conllu");
    write_sentence(&mut std::fs::File::create(&file)?, sentence)?;
    let mut seconds = Vec::new();
    // The first run has a cold file cache and is not counted.
    for time in 0..=STARTS {
        let took = started(&program, &options.bundle, &file)?;
        if time > 0 {
            seconds.push(took);
        }
    }
    let worst = seconds.iter().copied().fold(0.0, f64::max);
    Ok(format!(
        "`citree explain BUNDLE one.conllu --edge {WORD}`, a sentence of {} words, from starting the process to the end of \
         what it prints, files in memory, {STARTS} times:\n\n| median, ms | worst, ms |\n|---:|---:|\n| {:.1} | {:.1} |\n",
        sentence.words().len(),
        1e3 * median(seconds),
        1e3 * worst
    ))
}

fn started(program: &Path, bundle: &Path, file: &Path) -> anyhow::Result<f64> {
    let mut run = Command::new(program);
    run.arg("explain").args([bundle, file]).args(["--edge", &WORD.to_string()]);
    let (seconds, output) = timed(|| run.output());
    let output = output?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    ensure!(!output.stdout.is_empty(), "{} explained nothing", program.display());
    Ok(seconds)
}
