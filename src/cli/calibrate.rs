//! `citree calibrate`: what each rule brings on a dev set, and probabilities that mean what they say.

use super::machine::Machine;
use super::progress::step_bar;
use crate::bundle::{Bundle, Layout, MeasuredRules};
use crate::flow::Flow;
use crate::treebank::read_trees;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Measure the rules of a bundle on a dev set, and fit their probabilities to it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree calibrate en.citree en_ewt-ud-dev.conllu

`citree train` does this at its end. Do it again for a bundle of an earlier version, or after `citree index`. \
For each rule it measures accuracy, fits the softmax by which a probability of 0.8 is right eight times out \
of ten, and keeps it in the bundle (rules.json). The bundle then decides by the rule that it was trained \
for, unless that costs more than 0.2 points of LAS against the sum rule. Give a treebank that the model was \
not trained on.")]
pub(super) struct Args {
    /// The bundle, as `citree train` made it
    bundle: PathBuf,
    /// Gold trees in CoNLL-U
    dev: PathBuf,
    /// Write everything as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    machine: Machine,
}

/// Measures, and writes a table or JSON to the standard output.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let device = args.machine.start()?;
    let layout = Layout::of(&args.bundle);
    if MeasuredRules::read(&layout).is_err() {
        // It is measured again, but nothing is thrown away.
        let aside = layout.rules().with_extension("json.damaged");
        std::fs::rename(layout.rules(), &aside)?;
        writeln!(std::io::stderr(), "what was measured before is unreadable, and now in {}", aside.display())?;
    }
    let bundle = Bundle::open_on(&args.bundle, &device)?;
    let dev = read_trees(&args.dev)?;
    let bar = step_bar()?;
    bar.set_prefix("measuring rules");
    let measured = bundle.calibrate(&dev, &|done, total| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        Flow::Continue
    });
    bar.finish_and_clear();
    let measured = measured?;
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&measured)?)?;
    } else {
        write(&mut out, &measured)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The measured rules as a table, and the rule that decides.
pub(super) fn write(out: &mut impl Write, rules: &MeasuredRules) -> anyhow::Result<()> {
    if !rules.measured.is_empty() {
        let line = format!(
            "{:<20}{:>8}{:>8}{:>8}{:>13}{:>7}{:>8}{:>14}{:>7}{:>8}",
            "rule, greedy", "words", "UAS", "LAS", "heads: temp.", "power", "error", "labels: temp.", "power", "error"
        );
        writeln!(out, "{line}")?;
    }
    for of in &rules.measured {
        writeln!(
            out,
            "{:<20}{:>8}{:>8.2}{:>8.2}{:>13.2}{:>7.2}{:>8.4}{:>14.2}{:>7.2}{:>8.4}",
            of.rule.to_string(),
            of.words,
            of.uas,
            of.las,
            of.heads.softmax.temperature,
            of.heads.softmax.power,
            of.heads.error,
            of.labels.softmax.temperature,
            of.labels.softmax.power,
            of.labels.error
        )?;
    }
    writeln!(out, "decides by {}: {}", rules.own, rules.own.describe())?;
    Ok(())
}
