//! Measures the cost of explaining compared with parsing.

mod options;
mod times;

pub use options::{Options, USAGE};

use crate::search::release_build;
use crate::train::processor;
use anyhow::ensure;
use citree::parse::Settings;
use citree::treebank::read_trees;
use citree::{Bundle, Rule};
use options::Part;
use std::io::Write;

/// Measures the requested parts and prints a table for each.
pub fn run(options: &Options) -> anyhow::Result<()> {
    release_build("explain")?;
    let dev = read_trees(&options.dev)?;
    ensure!(!dev.is_empty(), "{}: no sentences", options.dev.display());
    let bundle = Bundle::open(&options.bundle)?;
    let explainer = bundle.explainer_with(&Settings { rule: Some(Rule::sum()), ..Settings::default() })?;
    let edges = bundle.index()?.accepted();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "`cargo xtask peers explain {}`\n\n{}, {edges} training edges; {}.",
        options.given,
        bundle.config().system,
        processor()
    )?;
    for part in &options.parts {
        let table = match part {
            Part::Latency => times::latency(&explainer, &dev, options)?,
            Part::Start => times::start(&dev, options)?,
            Part::Rules => times::rules(&explainer, &dev, options)?,
            Part::Bulk => times::bulk(&explainer, &dev, options)?,
        };
        writeln!(out, "\n{}", table.trim_end())?;
    }
    Ok(())
}
