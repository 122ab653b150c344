//! Weighs evidence by a rule: what the training edges contribute to a side, added up, and its score.

use super::nearest::Neighbors;
use super::similar::Similar;
use super::{EdgeId, Evidence, Side};
use crate::error::{Error, Result};
use crate::flow::Interrupt;
use crate::rule::{Compared, Context, Rule, Scale, Scoring, Totals};
use crate::task::Task;
use citree_index::Hit;

/// A rule and the scale of a model: everything that turns similarities into scores.
#[derive(Clone, Debug)]
pub(crate) struct Weighing {
    /// The rule.
    pub rule: Rule,
    /// How the model's similarities are scaled.
    pub scale: Scale,
    /// Whether to compare with every training edge, even if summed vectors give the same score, or a graph nearly the
    /// same neighbours.
    pub exact: bool,
    /// Asked before each step whether to go on.
    pub interrupt: Interrupt,
}

/// A side with the contributions to it added up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighed {
    /// What its contributions depend on.
    pub context: Context,
    /// The contributions to it.
    pub totals: Totals,
    /// Its score.
    pub score: f64,
}

impl Weighing {
    /// Whether summed vectors give the scores of a task.
    pub(crate) fn uses_sums(&self, task: Task) -> bool {
        self.rule.of(task).is_linear() && !self.exact
    }
}

impl Evidence {
    /// The evidence for a side: the contributions for it minus those against it.
    pub(crate) fn total(&self, by: &Weighing, side: &Side) -> Result<f64> {
        Ok(self.weigh(by, side)?.totals.evidence())
    }

    /// Adds up the contributions of training edges to a side.
    pub(crate) fn weigh(&self, by: &Weighing, side: &Side) -> Result<Weighed> {
        by.interrupt.check()?;
        let rule = by.rule.of(side.task);
        if let Some(count) = rule.neighbors() {
            return self.vote(by, side, &self.neighbors(by, count, side)?);
        }
        let context = self.context(by, side)?;
        if rule.is_linear() {
            let total = rule.contribution(1.0, &context) * self.similarity_to_sum(side);
            return Ok(weighed(rule, context, total, 0.0));
        }
        if let Some(temperature) = rule.exponent().filter(|_| self.uses_densities(by, side)) {
            let densities = self.densities(temperature, side)?;
            let (accepted, rejected) = match context.compared {
                Compared::Both => (densities.of(side).sum, densities.rejected.sum),
                Compared::Accepted | Compared::Label => (densities.of(side).sum, 0.0),
            };
            // An edge with similarity 1 has the weight 1.
            let whole = match context.compared {
                Compared::Both => (accepted + rejected).max(f64::MIN_POSITIVE),
                Compared::Accepted | Compared::Label => 1.0,
            };
            let context = Context { whole, ..context };
            let unit = rule.contribution(1.0, &context);
            return Ok(weighed(rule, context, unit * accepted, unit * rejected));
        }
        self.weigh_all(by, side, context)
    }

    /// Adds up the contributions of every single training edge to a side.
    fn weigh_all(&self, by: &Weighing, side: &Side, context: Context) -> Result<Weighed> {
        let accepted = self.counted_similarities(side)?;
        let rejected = match context.compared {
            Compared::Both => self.counted_rejected(side)?,
            Compared::Accepted | Compared::Label => Similar::default(),
        };
        Ok(all_weighed(by.rule.of(side.task), context, &accepted, &rejected))
    }

    /// The vote of these neighbours on a side.
    pub(crate) fn vote(&self, by: &Weighing, side: &Side, found: &Neighbors) -> Result<Weighed> {
        by.interrupt.check()?;
        let rule = by.rule.of(side.task);
        let accepted = self.similar(&found.accepted, EdgeId::Accepted);
        let rejected = self.similar(&found.rejected, EdgeId::Rejected);
        let context = self.voting(rule, self.context(by, side)?, &accepted, &rejected, found.nearest());
        let own = match side.label {
            Some(_) => self.similar(&self.of_label(side, &found.accepted), EdgeId::Accepted),
            None => accepted,
        };
        Ok(weighed(rule, context, own.total(rule, &context), rejected.total(rule, &context)))
    }

    /// What contributions to a side depend on, before anything is added up.
    pub(crate) fn context(&self, by: &Weighing, side: &Side) -> Result<Context> {
        let rule = by.rule.of(side.task);
        let compared = match side.task {
            Task::Labels => Compared::Label,
            Task::Heads if rule.counts_rejected() && self.rejected() > 0 => Compared::Both,
            Task::Heads => Compared::Accepted,
        };
        let dot = self.edges().facts(side.task).metric == citree_index::Metric::Dot;
        if compared == Compared::Accepted && dot && rule.neighbors().is_some() {
            let message = "the knn rule needs rejected edges in a system with dot products, and this index has none; \
                           build it again with `citree index`";
            return Err(Error::Explanation { message: message.to_string() });
        }
        Ok(Context { scale: by.scale, compared, count: self.weight_of(side), nearest: 1.0, whole: 1.0 })
    }

    /// The context of a vote of these neighbours.
    pub(super) fn voting(
        &self,
        rule: &dyn Scoring,
        context: Context,
        accepted: &Similar<'_>,
        rejected: &Similar<'_>,
        nearest: f32,
    ) -> Context {
        // Without a division by the whole, scores of sides are compared directly, so the reference is fixed.
        let context = match context.compared {
            Compared::Accepted => context,
            Compared::Both | Compared::Label => Context { nearest, ..context },
        };
        with_whole(rule, context, accepted, rejected)
    }

    /// The neighbours that have the label of a side.
    pub(crate) fn of_label(&self, side: &Side, hits: &[Hit]) -> Vec<Hit> {
        let range = self.range(side);
        hits.iter().filter(|hit| range.contains(&hit.record)).copied().collect()
    }

    /// Computes in one pass what weighing several sides of one task needs, and caches it.
    pub(crate) fn prepare(&self, by: &Weighing, sides: &[&Side]) -> Result<()> {
        by.interrupt.check()?;
        let Some(task) = sides.first().map(|side| side.task) else { return Ok(()) };
        let rule = by.rule.of(task);
        match (rule.neighbors(), rule.exponent()) {
            _ if by.uses_sums(task) => Ok(()),
            (Some(count), _) => self.find_neighbors(by, count, sides),
            (None, Some(temperature)) if sides.iter().any(|side| self.uses_densities(by, side)) => {
                self.find_densities(temperature, sides)
            }
            _ => self.compare(sides),
        }
    }

    fn similarity_to_sum(&self, side: &Side) -> f64 {
        let sums = self.sums(side.task);
        let dims = sums.dims();
        match side.label {
            Some(label) => {
                let sum = sums.sums().get(label as usize * dims..(label as usize + 1) * dims);
                sum.map_or(0.0, |sum| product(sum, &side.row))
            }
            None => product(self.total_sum(), &side.row),
        }
    }
}

/// A side whose contributions were added up.
fn weighed(rule: &dyn Scoring, context: Context, accepted: f64, rejected: f64) -> Weighed {
    let totals = Totals { accepted, rejected };
    Weighed { context, totals, score: rule.score(totals, &context) }
}

/// A side to which all training edges of these similarities contribute.
pub(super) fn all_weighed(
    rule: &dyn Scoring,
    context: Context,
    accepted: &Similar<'_>,
    rejected: &Similar<'_>,
) -> Weighed {
    let context = with_whole(rule, context, accepted, rejected);
    weighed(rule, context, accepted.total(rule, &context), rejected.total(rule, &context))
}

/// The context of contributions that are shares of all of these, if the rule gives shares.
fn with_whole(rule: &dyn Scoring, context: Context, accepted: &Similar<'_>, rejected: &Similar<'_>) -> Context {
    if !rule.gives_shares(context.compared) {
        return context;
    }
    let whole = accepted.total(rule, &context) + rejected.total(rule, &context);
    Context { whole: whole.max(f64::MIN_POSITIVE), ..context }
}

/// The dot product of a sum and a row, in independent lanes that vectorise.
pub(super) fn product(sum: &[f64], row: &[f32]) -> f64 {
    let mut lanes = [0.0; 16];
    let ((sums, sums_rest), (rows, rows_rest)) = (sum.as_chunks::<16>(), row.as_chunks::<16>());
    for (sums, rows) in sums.iter().zip(rows) {
        lanes.iter_mut().zip(sums.iter().zip(rows)).for_each(|(lane, (sum, row))| *lane += sum * f64::from(*row));
    }
    let rest: f64 = sums_rest.iter().zip(rows_rest).map(|(sum, row)| sum * f64::from(*row)).sum();
    lanes.iter().sum::<f64>() + rest
}
