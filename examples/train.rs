//! Trains a small parser and shows how training reports its progress.
//!
//! ```text
//! cargo run --release --example train -- train.conllu dev.conllu my.citree
//! ```
//!
//! Without arguments it learns from the built-in starter treebank, in a temporary folder.

#![allow(clippy::print_stdout)]

use citree::config::{Config, Preset};
use citree::train::{EpochReport, Observer, Plan, Start, train};
use citree::treebank::{read_trees, starter};
use citree::{Pretrained, Result};
use std::path::PathBuf;

/// The library prints nothing. An observer sees every batch and every epoch, and can stop a run.
struct Print;

impl Observer for Print {
    fn epoch(&mut self, report: &EpochReport) {
        println!("{} epoch {}: dev {:.2} %", report.task, report.epoch, report.dev_accuracy * 100.0);
    }
}

fn main() -> Result<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let (treebank, dev, path) = match &arguments[..] {
        [train, dev, path] => (read_trees(train)?, read_trees(dev)?, path.clone()),
        _ => (starter::train(), starter::dev(), std::env::temp_dir().join("example.citree")),
    };
    // A preset is a starting point; every value in it can be changed.
    let config = Config { epochs: 5, ..Config::preset(Preset::Demo) };
    let device = citree::device::pick("auto")?;
    let plan =
        Plan { config: &config, pretrained: &Pretrained::default(), train: &treebank, dev: &dev, device: &device };
    // The bundle that comes back has its training edges indexed: it can parse and explain.
    match train(&plan, &path, Start::Fresh, &mut Print)? {
        Some(bundle) => print!("{}", bundle.info()?),
        None => println!("stopped; Start::Resume goes on from here"),
    }
    Ok(())
}
