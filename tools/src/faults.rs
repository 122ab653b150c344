//! Lets every call fail with which a verb changes files, one at a time, and checks what is left: the old or the new state, and
//! a repetition reaches the new one. Linux, with a C compiler.

mod calls;
mod hub;
mod power;
mod scenarios;
mod shim;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};

use calls::Call;
use scenarios::{Lab, Scenario};
use shim::{Fault, Shim};

const USAGE: &str = "usage: cargo xtask faults [--binary CITREE] [--verbs train,index,…] [--all | --every N]

  --binary  the program to test; without it, the debug build of this repository is made and tested
  --verbs   which of train, index, add, remove, replace, merge, undo, review, apply, fetch; all by default
  --all     every one of many writes in a row, not some of them
  --every   only every Nth call
";

/// Of more writes in a row than this, only some are tested.
const MANY_WRITES: usize = 8;
const EVERY: usize = 100;

/// What was left after a fault.
enum Left {
    Old,
    New,
}

/// A line of the table.
#[derive(Default)]
struct Tally {
    old: usize,
    new: usize,
    failures: Vec<String>,
}

pub fn run(arguments: &[&str]) -> anyhow::Result<ExitCode> {
    let (mut binary, mut verbs, mut all, mut every) = (None, Vec::new(), false, 1);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().context(USAGE);
        match *argument {
            "--binary" => binary = Some(PathBuf::from(value()?)),
            "--verbs" => verbs = value()?.split(',').map(str::to_owned).collect(),
            "--all" => all = true,
            "--every" => every = value()?.parse::<usize>().context(USAGE)?.max(1),
            _ => bail!(USAGE),
        }
    }
    let binary = binary.map_or_else(shim::build_citree, Ok)?;
    let lab = Lab::new(binary.canonicalize().context("the program to test")?)?;
    let shim = Shim::compile(lab.folder())?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:<9} {:<12} {:>6} {:>6} {:>6} {:>7}", "verb", "fault", "cases", "old", "new", "failed")?;
    let mut failed = false;
    for scenario in
        Scenario::all().filter(|scenario| verbs.is_empty() || verbs.iter().any(|verb| verb == scenario.name))
    {
        let prepared = scenario.prepare(&lab, &shim)?;
        let chosen: Vec<usize> = chosen(&prepared.calls, all).into_iter().step_by(every).collect();
        for fault in Fault::ALL {
            let mut tally = Tally::default();
            for &at in chosen.iter().filter(|&&at| fault.concerns(&prepared.calls[at])) {
                let result = prepared.fault(&lab, &shim, fault, at);
                tally.add(result, || format!("{fault} at call {}: {}", at + 1, prepared.calls[at]));
            }
            failed |= tally.write(&mut out, scenario.name, &fault.to_string())?;
        }
        for loss in power::Loss::ALL {
            let mut tally = Tally::default();
            for &at in &chosen {
                let result = prepared.power_loss(&lab, loss, at);
                tally.add(result, || format!("{loss} before call {}: {}", at + 1, prepared.calls[at]));
            }
            let result = prepared.power_loss(&lab, loss, prepared.calls.len()).and_then(|left| match left {
                Left::New => Ok(Left::New),
                Left::Old => bail!("what was done is lost"),
            });
            tally.add(result, || format!("{loss} after the end"));
            failed |= tally.write(&mut out, scenario.name, &loss.to_string())?;
        }
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Tally {
    fn add(&mut self, result: anyhow::Result<Left>, case: impl Fn() -> String) {
        match result {
            Ok(Left::Old) => self.old += 1,
            Ok(Left::New) => self.new += 1,
            Err(error) => self.failures.push(format!("{}\n    {error:#}", case())),
        }
    }

    /// Writes the line, and the failures to the standard error. Returns whether there are any.
    fn write(&self, out: &mut impl Write, verb: &str, fault: &str) -> anyhow::Result<bool> {
        let Self { old, new, failures } = self;
        let cases = old + new + failures.len();
        if cases > 0 {
            writeln!(out, "{verb:<9} {fault:<12} {cases:>6} {old:>6} {new:>6} {:>7}", failures.len())?;
            out.flush()?;
        }
        failures.iter().try_for_each(|failure| writeln!(std::io::stderr(), "  {verb}: {failure}"))?;
        Ok(!failures.is_empty())
    }
}

/// The places of the calls to test: all, or some of many writes in a row.
fn chosen(calls: &[Call], all: bool) -> Vec<usize> {
    let mut chosen = Vec::new();
    let mut start = 0;
    for run in calls.chunk_by(|a, b| a.is_write() && b.is_write()) {
        let few = all || run.len() <= MANY_WRITES;
        chosen.extend((0..run.len()).filter(|at| few || at % EVERY == 1 || at + 1 == run.len()).map(|at| start + at));
        start += run.len();
    }
    chosen
}
