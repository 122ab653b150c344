//! What explaining costs beside parsing, and what other rules than the sum would decide: how accurate each is, and how much
//! of its evidence a few citations carry.

mod decide;
mod density;
mod options;
mod report;
mod rule;
mod times;

pub use options::{Options, USAGE};

use crate::search::{release_build, save, say, timed};
use crate::train::processor;
use anyhow::ensure;
use candle_core::Device;
use citree::config::{Basis, Similarity};
use citree::explain::{Explainer, Settings};
use citree::model::Model;
use citree::parse::Decode;
use citree::treebank::{Sentence, read_trees};
use options::Part;
use std::io::Write;

/// Sentences in which it is counted how many training edges must go to change a decision.
const FLIPS: usize = 160;

/// Measures the parts that are asked for and prints a table for each.
pub fn run(options: &Options) -> anyhow::Result<()> {
    release_build("explain")?;
    let dev = read_trees(&options.dev)?;
    ensure!(!dev.is_empty(), "{}: no sentences", options.dev.display());
    let model = Model::load(&options.bundle, &Device::Cpu)?;
    let explainer = Explainer::new(&model, &options.bundle, Settings::default(), &Device::Cpu)?;
    let edges = explainer.edges().index().manifest().edges;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "`cargo xtask peers explain {}`\n\n{}, {edges} training edges; {}.",
        options.given,
        model.config.system,
        processor()
    )?;
    for part in &options.parts {
        let table = match part {
            Part::Latency => times::latency(&explainer, &dev, options)?,
            Part::Start => times::start(&dev, options)?,
            Part::Bulk => times::bulk(&explainer, &dev, options)?,
            Part::Rules => rules(&model, &dev, options)?,
        };
        writeln!(out, "\n{}", table.trim_end())?;
    }
    Ok(())
}

fn rules(model: &Model, dev: &[Sentence], options: &Options) -> anyhow::Result<String> {
    let system = model.config.system;
    let comparable = system.similarity == Similarity::Cosine && system.inference == Basis::Instances;
    ensure!(
        comparable,
        "rules can be compared where training edges decide by cosine, as in WIc and IIc, not in {system}"
    );
    let settings = Settings { decode: Decode::Greedy, ..Settings::default() };
    let explainer = Explainer::new(model, &options.bundle, settings, &Device::Cpu)?;
    let sentences = &dev[..dev.len().min(options.sentences)];
    let (seconds, decided) = timed(|| decide::decide(&explainer, sentences, FLIPS));
    let decided = decided?;
    let summaries = report::summaries(&decided);
    save(options.plot.as_deref(), "rules.svg", &report::plot(&summaries))?;
    say(&format!("rules: {seconds:.0} s"))?;
    Ok(report::rules(&summaries, &decided, seconds))
}
