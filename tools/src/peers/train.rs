//! Compares the training and parsing speed of PyTorch and citree, in alternating rounds.

use super::ours::{Ours, peak_memory};
use super::torch::Torch;
use super::{Options, Speeds};
use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::ensure;

/// A measured task: its name, and its speed among those of a side.
pub type Task<S> = (&'static str, fn(&S) -> f64);

/// The speeds of both sides in one round.
pub struct Round<S> {
    pub torch: S,
    pub ours: S,
}

const TASKS: [Task<Speeds>; 3] = [
    ("train heads", |speeds| speeds.train_heads),
    ("train labels", |speeds| speeds.train_labels),
    ("parse heads", |speeds| speeds.parse_heads),
];

/// Measures both sides in turns, so that other load on the machine affects both equally. Prints a table for
/// `docs/internals/benchmarks.md`.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let build = "this is a debug build; `cargo xtask peers train` builds for release";
    ensure!(!cfg!(debug_assertions), build);
    let mut progress = std::io::stderr().lock();
    let torch = Torch::find(options)?;
    let ours = Ours::new(options)?;
    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        // Each round draws other batches, so that the median does not depend on one draw.
        writeln!(progress, "round {number} of {}: PyTorch", options.rounds)?;
        let torch = torch.speeds(options, number)?;
        writeln!(progress, "{torch:?}\nround {number} of {}: citree", options.rounds)?;
        let ours = ours.speeds(options.steps, number)?;
        writeln!(progress, "{ours:?}")?;
        rounds.push(Round { torch, ours });
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}", heading(options, &torch.version, peak_memory()?))?;
    out.write_all(table(&TASKS, &rounds).as_bytes())?;
    Ok(())
}

fn heading(options: &Options, torch_version: &str, peak: u64) -> String {
    let Options { threads, steps, rounds, .. } = options;
    let treebank = options.train.file_name().unwrap_or_default().to_string_lossy();
    format!(
        "`cargo xtask peers train --threads {threads} --steps {steps} --rounds {rounds}`\n\n\
         {treebank}, PyTorch {torch_version}, {}, medians of {rounds} in tokens/s; peak memory of citree {:.2} GiB\n",
        processor(),
        peak as f64 / f64::from(1 << 30),
    )
}

/// One row per task: medians, their ratio, and the ratio of each round.
pub fn table<S>(tasks: &[Task<S>], rounds: &[Round<S>]) -> String {
    let mut out = "| task | PyTorch | citree | ratio | ratio of each round |\n|---|---:|---:|---:|---|\n".to_string();
    for (task, speed) in tasks {
        let torch = median(rounds.iter().map(|round| speed(&round.torch)).collect());
        let ours = median(rounds.iter().map(|round| speed(&round.ours)).collect());
        let ratio = |round: &Round<S>| format!("{:.2}", speed(&round.ours) / speed(&round.torch));
        let each: Vec<String> = rounds.iter().map(ratio).collect();
        let _ = writeln!(out, "| {task} | {torch:.0} | {ours:.0} | {:.2} | {} |", ours / torch, each.join(", "));
    }
    out
}

/// The median: the middle value, or the mean of the two middle values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 }
}

/// The name of the processor, as Linux reports it.
pub fn processor() -> String {
    let known = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = known.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or("unknown processor", |(_, name)| name).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_whatever_the_order() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 9.0]), 3.0);
    }

    #[test]
    fn the_table_has_medians_their_ratio_and_the_ratio_of_each_round() {
        let speeds = |factor: f64| Speeds { train_heads: factor, train_labels: 10.0, parse_heads: 100.0 * factor };
        let round = |torch, ours| Round { torch: speeds(torch), ours: speeds(ours) };
        let table = table(&TASKS, &[round(100.0, 150.0), round(200.0, 500.0), round(300.0, 450.0)]);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[2], "| train heads | 200 | 450 | 2.25 | 1.50, 2.50, 1.50 |");
        assert_eq!(lines[3], "| train labels | 10 | 10 | 1.00 | 1.00, 1.00, 1.00 |");
        assert_eq!(lines[4], "| parse heads | 20000 | 45000 | 2.25 | 1.50, 2.50, 1.50 |");
    }
}
