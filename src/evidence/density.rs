//! Densities of training edges around an edge vector, for rules that weigh all edges by an exponential of their
//! similarity. Near edges count exactly, far ones by estimates of the index.

use super::{Evidence, Side, Weighing};
use crate::error::Result;
use crate::rule::Compared;
use crate::task::Task;
use citree_index::Density;

/// Bounds that are nearer to each other come from the last digits of similarities that were compared.
const AS_GOOD_AS_EXACT: f64 = 1e-5;

/// The sums of exp(temperature · (similarity − 1)) around an edge vector.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Densities {
    /// Of the accepted edges of each label.
    pub(super) accepted: Vec<Density>,
    /// Of the rejected edges; 0 for the label model.
    pub(super) rejected: Density,
}

impl Densities {
    /// Of the accepted edges that a side is compared with.
    pub(super) fn of(&self, side: &Side) -> Density {
        match side.label {
            Some(label) => self.accepted.get(label as usize).copied().unwrap_or_default(),
            None => self.accepted.iter().copied().sum(),
        }
    }
}

impl Evidence {
    /// Whether a side is weighed by densities. The index has those of all edges only. If the side was already compared with
    /// every edge, no estimate is needed.
    pub(super) fn uses_densities(&self, by: &Weighing, side: &Side) -> bool {
        !by.exact && self.is_whole() && side.cached.similarities.get().is_none()
    }

    /// The densities around a side, cached with it.
    pub(super) fn densities(&self, temperature: f32, side: &Side) -> Result<Densities> {
        self.find_densities(temperature, &[side])?;
        if let Some((_, found)) = side.cached.densities.get().filter(|(of, _)| *of == temperature) {
            return Ok(found.clone());
        }
        Ok(self.densities_of_rows(side.task, &side.row, temperature)?.pop().unwrap_or_default())
    }

    /// Computes the densities around several sides of one task together, and caches them.
    pub(super) fn find_densities(&self, temperature: f32, sides: &[&Side]) -> Result<()> {
        let new: Vec<&&Side> = sides.iter().filter(|side| side.cached.densities.get().is_none()).collect();
        let Some(first) = new.first() else { return Ok(()) };
        let rows: Vec<f32> = new.iter().flat_map(|side| side.row.iter().copied()).collect();
        for (side, found) in new.iter().zip(self.densities_of_rows(first.task, &rows, temperature)?) {
            let _ = side.cached.densities.set((temperature, found));
        }
        Ok(())
    }

    /// The lowest and the highest that all that counts for and against a side can be, as shares of what it was taken to be;
    /// `None` where every training edge was compared, and so nothing was estimated.
    pub(crate) fn bounds(&self, by: &Weighing, side: &Side) -> Result<Option<[f64; 2]>> {
        let rule = by.rule.of(side.task);
        let Some(temperature) = rule.exponent().filter(|_| self.uses_densities(by, side)) else { return Ok(None) };
        let densities = self.densities(temperature, side)?;
        let rejected = match self.context(by, side)?.compared {
            Compared::Both => densities.rejected,
            Compared::Accepted | Compared::Label => Density::default(),
        };
        let whole: Density = [densities.of(side), rejected].into_iter().sum();
        let bounds = [whole.low, whole.high].map(|bound| bound / whole.sum.max(f64::MIN_POSITIVE));
        Ok(Some(bounds).filter(|[low, high]| high - low > AS_GOOD_AS_EXACT))
    }

    fn densities_of_rows(&self, task: Task, rows: &[f32], temperature: f32) -> Result<Vec<Densities>> {
        let accepted = self.edges().space(task).densities(rows, temperature)?;
        let mut found: Vec<Densities> =
            accepted.into_iter().map(|accepted| Densities { accepted, rejected: Density::default() }).collect();
        if let (Task::Heads, Some(space)) = (task, self.edges().rejected_space()) {
            for (own, rejected) in found.iter_mut().zip(space.densities(rows, temperature)?) {
                own.rejected = rejected.into_iter().sum();
            }
        }
        Ok(found)
    }
}
