//! How many epochs fit into a time: a few steps of every model are timed, and thrown away.

use super::{Flow, Plan, Run, Stage};
use crate::error::{Error, Result};
use std::time::{Duration, Instant};

/// The most epochs that are recommended. With more, models of treebanks that we measured only learn them by heart.
const MOST: usize = 60;
/// Steps before the clock starts: the first ones allocate memory and read files.
const WARM_UP: usize = 2;
/// Steps that are timed, unless they take longer than [`LONG_ENOUGH`].
const STEPS: usize = 40;
const LONG_ENOUGH: Duration = Duration::from_secs(20);
/// What is parsed and encoded after the last epoch, in passes over both treebanks: for the sums and the index, for the
/// scores of both decoders, and to measure the rules.
const PASSES_AT_THE_END: f64 = 4.0;

/// How long training takes, and what fits.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pace {
    /// The epochs that fit, at least one.
    pub epochs: usize,
    /// An epoch of all models, dev scores included.
    pub epoch: Duration,
    /// What follows the last epoch.
    pub end: Duration,
}

impl Plan<'_> {
    /// Estimates how many epochs fit into a time, and what follows them. `ask` is asked between two steps whether to go
    /// on; `None` if it stops. The number of epochs of the plan's configuration plays no part.
    ///
    /// # Errors
    /// If not even one epoch fits, with the time that it needs.
    pub fn epochs_within(&self, time: Duration, ask: &dyn Fn() -> Flow) -> Result<Option<Pace>> {
        let started = Instant::now();
        let (tables, data) = self.begin()?;
        let words = |sentences: &[crate::encoder::Numbered]| sentences.iter().map(|s| s.len() - 1).sum::<usize>();
        let (train, dev) = (words(&data.train) as f64, words(&data.dev) as f64);
        let (mut epoch, mut reading) = (0.0, 0.0_f64);
        for &stage in Stage::all(self.config) {
            let device = self.device.of_tensors();
            let mut run = Run::new(stage, self.config, &tables, self.pretrained, &data, device)?;
            let Some(words_a_second) = speed(&mut run, ask)? else { return Ok(None) };
            let scoring = Instant::now();
            let scored = run.dev_accuracies()?.1 as f64;
            let seconds = scoring.elapsed().as_secs_f64();
            epoch += train / words_a_second + seconds;
            reading += seconds / scored.max(1.0);
        }
        let end = PASSES_AT_THE_END * reading * (train + dev);
        let left = time.saturating_sub(started.elapsed()).as_secs_f64();
        let pace = |epochs| Pace { epochs, epoch: duration(epoch), end: duration(end) };
        match ((left - end) / epoch.max(1e-9)).floor() {
            fit if fit >= 1.0 => Ok(Some(pace((fit as usize).min(MOST)))),
            _ => {
                let needed = (started.elapsed().as_secs_f64() + epoch + end) / 60.0;
                let message = format!(
                    "not one epoch fits into the time: an epoch takes about {epoch:.0} s here and what follows {end:.0} s; give \
                     {:.0} minutes or more, or choose smaller sizes",
                    needed.ceil()
                );
                Err(Error::Training { message })
            }
        }
    }
}

/// Words of training a second, from as many steps as an epoch has, or a few.
fn speed(run: &mut Run, ask: &dyn Fn() -> Flow) -> Result<Option<f64>> {
    let (mut before, mut after): ((usize, f64), (usize, f64)) = Default::default();
    let steps = run.batches().min(WARM_UP + STEPS);
    let started = Instant::now();
    for step in 0..steps {
        if ask() == Flow::Stop {
            return Ok(None);
        }
        let report = run.step()?;
        after = (report.tokens, report.seconds);
        if step < WARM_UP.min(steps - 1) {
            before = after;
        } else if started.elapsed() > LONG_ENOUGH {
            break;
        }
    }
    Ok(Some((after.0 - before.0) as f64 / (after.1 - before.1).max(1e-9)))
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}
