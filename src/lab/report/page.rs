//! A report as a page of Markdown, with how it was made.

use super::{Drawing, Report, settings};
use crate::lab::Lab;
use crate::lab::trainings::Record;
use std::collections::BTreeSet;
use std::fmt::Write;

impl Report {
    pub(super) fn markdown(&self, lab: &Lab, seeds: &BTreeSet<u64>, trained: &[Record]) -> String {
        let mut out = format!("# {}\n\n", self.title);
        for note in &self.notes {
            let _ = writeln!(out, "{note}\n");
        }
        for table in &self.tables {
            let _ = writeln!(out, "{}", table.markdown());
        }
        for Drawing { name, caption, .. } in &self.drawings {
            let _ = writeln!(out, "![{caption}]({name}.svg)\n");
        }
        let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
        let _ = writeln!(
            out,
            "## How it was made\n\n```sh\n{}\n```\n\ncitree {}, treebank {}: training set {} sentences, {} words; dev set {} sentences, {} words.{}\n",
            lab.command,
            env!("CARGO_PKG_VERSION"),
            lab.name,
            lab.train.len(),
            lab.words(lab.train),
            lab.dev.len(),
            lab.words(lab.dev),
            if seeds.is_empty() { String::new() } else { format!(" Seeds: {}.", seeds.join(", ")) }
        );
        if trained.is_empty() {
            let _ = writeln!(out, "Of a trained bundle, whose settings are:\n\n```toml\n{}```", toml(lab));
            return out;
        }
        let minutes = trained.iter().map(|training| training.seconds).sum::<f64>() / 60.0;
        let _ = writeln!(
            out,
            "{} models were trained, {} epochs each: {minutes:.1} minutes in all, summed over trainings that ran in \
             parallel.\n\n| model | best epoch | dev accuracy then, % | minutes | threads |\n|---|---:|---:|---:|---:|",
            trained.len(),
            lab.config.epochs
        );
        for Record { name, best_epoch, dev_accuracy, seconds, threads, .. } in trained {
            let (percent, minutes) = (dev_accuracy * 100.0, seconds / 60.0);
            let _ = writeln!(out, "| {name} | {best_epoch} | {percent:.2} | {minutes:.1} | {threads} |");
        }
        let _ = writeln!(out, "\n```toml\n{}```", toml(lab));
        out
    }
}

fn toml(lab: &Lab) -> String {
    toml::to_string_pretty(&settings(lab)).unwrap_or_default()
}
