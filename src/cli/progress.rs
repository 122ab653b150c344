//! Shows training: a bar on a terminal, and one line per epoch anywhere.

use crate::evidence::Step;
use crate::task::Task;
use crate::train::{EpochReport, Flow, Observer, Stage, StepReport};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Shows a run and stops it on Ctrl-C.
pub(super) struct Progress {
    bar: ProgressBar,
    interrupted: Arc<AtomicBool>,
    steps: ProgressBar,
    /// The seconds of an epoch of each model, for training and scoring together; `None` until measured.
    epoch_seconds: [Option<f64>; 2],
}

impl Progress {
    /// Handles Ctrl-C: the first one asks the run to stop, a second one ends the process at once.
    pub(super) fn start() -> anyhow::Result<Self> {
        let interrupted = interrupt_flag()?;
        let bar = bar("{prefix:>22} {bar:24} {pos}/{len} {msg}")?;
        Ok(Self { bar, interrupted, steps: step_bar()?, epoch_seconds: [None; 2] })
    }

    /// Whether Ctrl-C was pressed.
    pub(super) fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::SeqCst)
    }

    /// Removes the bars.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
        self.steps.finish_and_clear();
    }

    fn say(&self, line: &str) {
        self.bar.suspend(|| {
            let _ = writeln!(std::io::stderr(), "{line}");
        });
    }

    /// The estimated seconds until both models are trained. A label epoch counts as a head epoch until it is measured.
    fn seconds_left(&self, report: &StepReport) -> f64 {
        let done = report.batch as f64 / report.batches.max(1) as f64;
        let own = usize::from(report.stage == Stage::Labels);
        let this = self.epoch_seconds[own].unwrap_or(report.seconds / done.max(1e-9));
        let other = self.epoch_seconds[1].unwrap_or(this);
        let rest = this * ((report.epochs - report.epoch) as f64 - done);
        if report.stage == Stage::Heads { rest + other * report.epochs as f64 } else { rest }
    }
}

/// A flag that the first Ctrl-C sets. A second one ends the process.
pub(super) fn interrupt_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = interrupted.clone();
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        let _ = writeln!(std::io::stderr(), "\nstopping after this step; press Ctrl-C again to stop at once");
    })?;
    Ok(interrupted)
}

/// A bar for work in steps, with the time left in each step.
pub(super) fn step_bar() -> anyhow::Result<ProgressBar> {
    bar("{prefix:>22} {bar:24} {pos}/{len} {eta} left")
}

/// Shows how far a step is. A new step starts the bar again.
pub(super) fn advance(bar: &ProgressBar, step: &str, done: u64, total: u64) {
    if bar.prefix() != step {
        bar.reset();
        bar.set_prefix(step.to_string());
    }
    bar.set_length(total);
    bar.set_position(done);
}

/// A counter of sentences, shown if standard error is a terminal and standard output is not.
pub(super) fn sentence_counter() -> anyhow::Result<ProgressBar> {
    if std::io::stdout().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(ProgressBar::hidden());
    }
    let style = ProgressStyle::with_template("{spinner} {pos} sentences, {per_sec}")?;
    Ok(ProgressBar::new_spinner().with_style(style))
}

pub(super) fn bar(template: &str) -> anyhow::Result<ProgressBar> {
    let target =
        if std::io::stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    Ok(ProgressBar::with_draw_target(Some(0), target).with_style(ProgressStyle::with_template(template)?))
}

impl Observer for Progress {
    fn step(&mut self, report: &StepReport) -> Flow {
        self.bar.set_length(report.batches as u64);
        self.bar.set_position(report.batch as u64);
        self.bar.set_prefix(format!("{} epoch {}/{}", report.stage.name(), report.epoch + 1, report.epochs));
        let left = Duration::from_secs(self.seconds_left(report) as u64);
        self.bar.set_message(format!(
            "loss {:.3}  {:.0} words/s  {} left",
            report.loss,
            report.tokens as f64 / report.seconds.max(1e-9),
            indicatif::HumanDuration(left)
        ));
        if self.interrupted() { Flow::Stop } else { Flow::Continue }
    }

    fn indexing(&self, step: Step) -> Flow {
        self.bar.finish_and_clear();
        super::index::show(&self.steps, step);
        if self.interrupted() { Flow::Stop } else { Flow::Continue }
    }

    fn epoch(&mut self, report: &EpochReport) {
        let task = if report.task == Task::Labels.name() { Task::Labels } else { Task::Heads };
        self.epoch_seconds[usize::from(task == Task::Labels)] = Some(report.train_seconds + report.dev_seconds);
        let measure = if task == Task::Heads { "dev UAS (greedy)" } else { "dev labels (gold edges)" };
        self.say(&format!(
            "{:6} epoch {:3}  loss {:7.4}  {measure} {:5.2} %{}  {:.0} words/s",
            report.task,
            report.epoch,
            report.loss,
            report.dev_accuracy * 100.0,
            if report.best { " *" } else { "  " },
            report.tokens_per_second
        ));
    }
}
