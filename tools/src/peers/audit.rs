//! Measures `citree audit` by what the maintainers of a treebank corrected later, beside other ways to find errors.

mod corrections;
mod options;
mod variation;
mod words;

pub use options::{Options, USAGE};

use crate::train::processor;
use anyhow::Context;
use citree::audit::{Audit, DEFAULT_FOLDS, Options as AuditOptions, Treebank};
use citree::internals::{chart, cross_fitted};
use citree::parse::Parse;
use citree::train::Flow;
use citree::treebank::{Sentence, Word, read_trees};
use citree::{Bundle, Explainer};
use corrections::{Corrections, Place};
use std::io::Write;
use std::time::Instant;

/// Where precision and recall are measured.
const DEPTHS: [usize; 5] = [100, 300, 1000, 3000, 10_000];
/// Groups that are looked at.
const GROUPS: usize = 50;
/// The findings that are grouped, as `citree audit --groups` does.
const GROUPED: usize = 5000;
/// Sentences that are parsed together; bounds the memory.
const PARSED: usize = 512;

/// Ranks the edges of a treebank by each method, prints precision and recall, and draws them.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let version = words::cleanlab_version()?;
    let corrections = Corrections::read(&options.corrections, &options.sentences)?;
    let mut report = Report::new(options, &corrections)?;
    // Each method has what it needs in memory alone.
    report.ours("`citree audit`", DEFAULT_FOLDS)?;
    report.ours("`citree audit --folds 0`", 0)?;
    {
        let treebank = Treebank::read(&std::fs::read(&options.treebank)?, &options.treebank)?;
        let words = cross_fitted(&treebank, DEFAULT_FOLDS)?.context("the treebank is too small")?;
        report.row("disagreement of models of the words trained on the rest", words::disagreement(&words))?;
        report.row(&format!("cleanlab {version}, by the same models, labels only"), words::cleanlab(&words)?)?;
    }
    let sentences = read_trees(&options.treebank)?;
    report.row("variation nuclei, lemmas", variation::ranking(&sentences))?;
    let explainer = Bundle::open(&options.bundle)?.explainer()?;
    report.row("disagreement of the bundle's own parser", disagreement(&explainer, &sentences)?)?;
    report.finish()
}

/// A table of precision and recall, and what is drawn of it.
struct Report<'a> {
    options: &'a Options,
    corrections: &'a Corrections,
    errors: usize,
    lines: Vec<(String, Vec<(f64, f64)>)>,
    /// What is printed below the table.
    notes: Vec<String>,
}

impl<'a> Report<'a> {
    /// Prints the head of the table, and chance.
    fn new(options: &'a Options, corrections: &'a Corrections) -> anyhow::Result<Self> {
        let (edges, errors) = corrections.count(&read_trees(&options.treebank)?);
        let chance = errors as f64 / edges.max(1) as f64;
        let mut out = std::io::stdout().lock();
        writeln!(out, "`cargo xtask peers audit {}`\n\n{}.", options.given, processor())?;
        writeln!(out, "{errors} of {edges} edges were corrected later ({:.1} %).\n", 100.0 * chance)?;
        let depths = DEPTHS.map(|depth| depth.to_string()).join(" | ");
        writeln!(out, "| precision, recall in % of the first | {depths} |\n|---|{}", "---:|".repeat(DEPTHS.len()))?;
        let recall = |depth: usize| 100.0 * chance * depth as f64 / errors.max(1) as f64;
        let cells = DEPTHS.map(|depth| format!("{:.1}, {:.1}", 100.0 * chance, recall(depth)));
        writeln!(out, "| chance | {} |", cells.join(" | "))?;
        let chance = DEPTHS.map(|depth| (depth as f64, 100.0 * chance)).to_vec();
        Ok(Self { options, corrections, errors, lines: vec![("chance".to_string(), chance)], notes: Vec::new() })
    }

    /// Judges the treebank as `citree audit` does.
    fn ours(&mut self, name: &str, folds: usize) -> anyhow::Result<()> {
        let start = Instant::now();
        let audit_options = AuditOptions { top: usize::MAX, folds, ..AuditOptions::default() };
        let treebank = Treebank::read(&std::fs::read(&self.options.treebank)?, &self.options.treebank)?;
        let explainer = Bundle::open(&self.options.bundle)?.explainer()?;
        let mut audit = explainer.audit(Some(&treebank), &audit_options, &|_, _| Flow::Continue)?;
        let seconds = start.elapsed().as_secs_f64();
        let ours = audit.findings.iter().map(|finding| Place::new(&finding.sent_id, finding.dependent)).collect();
        self.row(name, ours)?;
        audit.findings.truncate(GROUPED);
        let groups = self.groups(&audit);
        self.notes.push(format!(
            "{name}: {} findings in {} edges, {seconds:.0} s with all examples; {groups}.",
            audit.found, audit.judged
        ));
        Ok(())
    }

    /// How many of the edges of the first groups were corrected.
    fn groups(&self, audit: &Audit) -> String {
        let (mut size, mut right) = (0, 0);
        for group in audit.groups().iter().take(GROUPS) {
            let members = group.members.iter().map(|(sent_id, dependent)| Place::new(sent_id, *dependent));
            for place in members.filter(|place| self.corrections.covers(place)) {
                size += 1;
                right += usize::from(self.corrections.is_error(&place));
            }
        }
        let share = 100.0 * right as f64 / size.max(1) as f64;
        format!(
            "the first {GROUPS} groups have {size} of the compared edges, of which {right} were corrected ({share:.1} %)"
        )
    }

    /// Writes the precision and the recall of a ranking. Only edges that corrections are known about count.
    fn row(&mut self, name: &str, ranking: Vec<Place>) -> anyhow::Result<()> {
        let covered = ranking.iter().filter(|place| self.corrections.covers(place));
        let judged: Vec<bool> = covered.map(|place| self.corrections.is_error(place)).collect();
        let right = |depth: usize| judged[..judged.len().min(depth)].iter().filter(|right| **right).count() as f64;
        let precision = |depth: usize| 100.0 * right(depth) / judged.len().min(depth).max(1) as f64;
        let cells = DEPTHS.map(|depth| {
            let short = if judged.len() < depth { format!(" (of {})", judged.len()) } else { String::new() };
            format!("{:.1}, {:.1}{short}", precision(depth), 100.0 * right(depth) / self.errors.max(1) as f64)
        });
        writeln!(std::io::stdout(), "| {name} | {} |", cells.join(" | "))?;
        let depths = (5..=40).map(|step| 10_f64.powf(f64::from(step) / 10.0) as usize * 10);
        let points = depths.take_while(|depth| *depth <= judged.len());
        self.lines.push((name.replace('`', ""), points.map(|depth| (depth as f64, precision(depth))).collect()));
        Ok(())
    }

    /// Prints the notes, and draws the plot.
    fn finish(&self) -> anyhow::Result<()> {
        self.notes.iter().try_for_each(|note| writeln!(std::io::stdout(), "\n{note}"))?;
        let Some(plot) = &self.options.plot else { return Ok(()) };
        let lines: Vec<(&str, Vec<(f64, f64)>)> =
            self.lines.iter().map(|(name, points)| (name.as_str(), points.clone())).collect();
        let drawn = chart("Corrected later, of the first edges listed", ("edges listed", None), "% corrected", &lines);
        std::fs::write(plot, drawn).with_context(|| plot.display().to_string())
    }
}

/// The edges that the bundle's parser sees otherwise, the surest first. It was trained on them.
fn disagreement(explainer: &Explainer, sentences: &[Sentence]) -> anyhow::Result<Vec<Place>> {
    let mut found = Vec::new();
    for sentences in sentences.chunks(PARSED) {
        for (sentence, parse) in sentences.iter().zip(explainer.parser().parse(sentences)?) {
            found.extend(differing(sentence, &parse));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(found.into_iter().map(|(_, place)| place).collect())
}

/// The edges of a sentence that a parse has otherwise, with how sure it is.
fn differing(sentence: &Sentence, parse: &Parse) -> Vec<(f32, Place)> {
    let differs = |&(word, at): &(&Word, usize)| {
        let same = word.head == Some(parse.heads[at]) && word.label == parse.labels[at];
        !same && word.label != "punct"
    };
    let words = sentence.words().iter().zip(1..).filter(differs);
    let sure = |at: usize| parse.head_probabilities[at] * parse.label_probabilities[at];
    words.map(|(_, at)| (sure(at), Place::new(sentence.sent_id().unwrap_or_default(), at))).collect()
}
