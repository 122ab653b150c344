//! Measures `citree audit` by what the maintainers of a treebank corrected later, beside other ways to find errors.

mod corrections;
mod options;
mod variation;

pub use options::{Options, USAGE};

use crate::train::processor;
use citree::audit::{Decisions, Options as AuditOptions, Treebank};
use citree::train::Flow;
use citree::treebank::{Sentence, read_trees};
use citree::{Bundle, Explainer};
use corrections::{Corrections, Place};
use std::io::Write;
use std::time::Instant;

/// Where precision and recall are measured.
const DEPTHS: [usize; 5] = [100, 300, 1000, 3000, 10_000];
/// Groups that are looked at.
const GROUPS: usize = 50;

/// Ranks the edges of a treebank by each method and prints precision and recall.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let corrections = Corrections::read(&options.corrections, &options.sentences)?;
    let sentences = read_trees(&options.treebank)?;
    let explainer = Bundle::open(&options.bundle)?.explainer()?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "`cargo xtask peers audit {}`\n\n{}.", options.given, processor())?;
    let (edges, errors) = corrections.count(&sentences);
    let chance = errors as f64 / edges.max(1) as f64;
    writeln!(out, "{errors} of {edges} edges were corrected later ({:.1} %).\n", 100.0 * chance)?;
    writeln!(out, "| precision, recall in % of the first | {} |", DEPTHS.map(|depth| depth.to_string()).join(" | "))?;
    writeln!(out, "|---|{}", "---:|".repeat(DEPTHS.len()))?;
    let recall = |depth: usize| 100.0 * chance * depth as f64 / errors.max(1) as f64;
    let cells = DEPTHS.map(|depth| format!("{:.1}, {:.1}", 100.0 * chance, recall(depth)));
    writeln!(out, "| chance | {} |", cells.join(" | "))?;
    let start = Instant::now();
    let audit_options = AuditOptions { top: usize::MAX, decisions: Decisions::default(), ..AuditOptions::default() };
    let treebank = Treebank::read(&std::fs::read(&options.treebank)?, &options.treebank)?;
    let audit = explainer.audit(Some(&treebank), &audit_options, &|_, _| Flow::Continue)?;
    let seconds = start.elapsed().as_secs_f64();
    let ours = audit.findings.iter().map(|finding| Place::new(&finding.sent_id, finding.dependent)).collect();
    row(&mut out, "`citree audit`", &corrections, ours, errors)?;
    let [variation, parses] = [variation::ranking(&sentences), disagreement(&explainer, &sentences)?];
    row(&mut out, "variation nuclei, lemmas", &corrections, variation, errors)?;
    row(&mut out, "disagreement of the bundle's own parser", &corrections, parses, errors)?;
    let (mut size, mut right) = (0, 0);
    for group in audit.groups().iter().take(GROUPS) {
        let members = group.members.iter().map(|(sent_id, dependent)| Place::new(sent_id, *dependent));
        for place in members.filter(|place| corrections.covers(place)) {
            size += 1;
            right += usize::from(corrections.is_error(&place));
        }
    }
    writeln!(
        out,
        "\nThe first {GROUPS} groups have {size} of these edges, of which {right} were corrected ({:.1} %). The audit of all {} \
         edges with {} findings took {seconds:.0} s.",
        100.0 * right as f64 / size.max(1) as f64,
        audit.judged,
        audit.found
    )?;
    Ok(())
}

/// Writes the precision and the recall of a ranking. Only edges that corrections are known about count.
fn row(
    out: &mut impl Write,
    name: &str,
    corrections: &Corrections,
    ranking: Vec<Place>,
    errors: usize,
) -> anyhow::Result<()> {
    let judged: Vec<bool> =
        ranking.iter().filter(|place| corrections.covers(place)).map(|place| corrections.is_error(place)).collect();
    let cells = DEPTHS.map(|depth| {
        let listed = &judged[..judged.len().min(depth)];
        let right = listed.iter().filter(|right| **right).count() as f64;
        let short = if listed.len() < depth { format!(" (of {})", listed.len()) } else { String::new() };
        format!("{:.1}, {:.1}{short}", 100.0 * right / listed.len().max(1) as f64, 100.0 * right / errors.max(1) as f64)
    });
    writeln!(out, "| {name} | {} |", cells.join(" | "))?;
    Ok(())
}

/// The edges that the bundle's parser sees otherwise, the surest first. It was trained on them.
fn disagreement(explainer: &Explainer, sentences: &[Sentence]) -> anyhow::Result<Vec<Place>> {
    let mut found = Vec::new();
    for (sentence, parse) in sentences.iter().zip(explainer.parser().parse(sentences)?) {
        for (word, at) in sentence.words().iter().zip(1..) {
            let differs = word.head != Some(parse.heads[at]) || word.label != parse.labels[at];
            if differs && word.label != "punct" {
                let sure = parse.head_probabilities[at] * parse.label_probabilities[at];
                found.push((sure, Place::new(sentence.sent_id().unwrap_or_default(), at)));
            }
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(found.into_iter().map(|(_, place)| place).collect())
}
