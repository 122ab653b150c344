//! Densities of training edges around an edge vector, for rules that weigh all edges by an exponential of their
//! similarity. Near edges count exactly, far ones by estimates of the index.

use super::{Evidence, Side, Weighing};
use crate::error::Result;
use crate::task::Task;

/// The sums of exp(temperature · (similarity − 1)) around an edge vector.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Densities {
    /// Of the accepted edges of each label.
    pub(super) accepted: Vec<f64>,
    /// Of the rejected edges; 0 for the label model.
    pub(super) rejected: f64,
}

impl Densities {
    /// Of the accepted edges that a side is compared with.
    pub(super) fn of(&self, side: &Side) -> f64 {
        match side.label {
            Some(label) => self.accepted.get(label as usize).copied().unwrap_or_default(),
            None => self.accepted.iter().sum(),
        }
    }
}

impl Evidence {
    /// Whether a side is weighed by densities. The index has those of all edges only. If the side was already compared with
    /// every edge, no estimate is needed.
    pub(super) fn uses_densities(&self, by: &Weighing, side: &Side) -> bool {
        !by.exact && !self.is_partial() && side.cached.similarities.get().is_none()
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

    fn densities_of_rows(&self, task: Task, rows: &[f32], temperature: f32) -> Result<Vec<Densities>> {
        let accepted = self.edges().space(task).densities(rows, temperature)?;
        let mut found: Vec<Densities> = accepted
            .into_iter()
            .map(|of_labels| Densities { accepted: of_labels.iter().map(|of| of.sum).collect(), rejected: 0.0 })
            .collect();
        if let (Task::Heads, Some(space)) = (task, self.edges().rejected_space()) {
            for (own, rejected) in found.iter_mut().zip(space.densities(rows, temperature)?) {
                own.rejected = rejected.iter().map(|of| of.sum).sum();
            }
        }
        Ok(found)
    }
}
