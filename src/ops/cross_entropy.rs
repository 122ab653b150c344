//! Mean negative log-likelihood over rows of unequal width. Excluded choices are skipped, not masked by a large number.

use super::real::Real;
use super::{for_real, has_kernel, output, slice, values};
use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, WithDType, bail};
use candle_nn::ops::log_softmax;

/// One decision: a range of a flat tensor of scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Index of the first score.
    pub start: usize,
    /// Number of scores.
    pub width: usize,
    /// The correct choice, relative to `start`.
    pub gold: usize,
    /// A choice that is not allowed (a word is never its own head), relative to `start`.
    pub excluded: Option<usize>,
}

/// Gradients below this are dropped: all of them together change an `f32` sum by less than its last digit.
const NEGLIGIBLE: f64 = 1e-9;

/// The mean of `-log softmax(scores)[gold]` over all choices.
pub(crate) fn cross_entropy(scores: &Tensor, choices: Vec<Choice>) -> Result<Tensor> {
    let fits = |c: &Choice| c.start + c.width <= scores.elem_count() && c.gold < c.width && c.excluded != Some(c.gold);
    if choices.is_empty() || !choices.iter().all(fits) {
        bail!("choices do not fit {} scores", scores.elem_count());
    }
    if has_kernel(scores) {
        scores.flatten_all()?.contiguous()?.apply_op1(CrossEntropy { choices })
    } else {
        plain(&scores.flatten_all()?, &choices)
    }
}

fn plain(scores: &Tensor, choices: &[Choice]) -> Result<Tensor> {
    let widest = choices.iter().map(|choice| choice.width).max().unwrap_or(1);
    // Excluded choices and the places behind the end of a row read a score of −1e9.
    let never = scores.elem_count() as u32;
    let mut places = Vec::with_capacity(choices.len() * widest);
    for choice in choices {
        let place = |k: usize| if Some(k) == choice.excluded { never } else { (choice.start + k) as u32 };
        places.extend((0..widest).map(|k| if k < choice.width { place(k) } else { never }));
    }
    let lowest = Tensor::full(-1e9_f32, 1, scores.device())?.to_dtype(scores.dtype())?;
    let rows = Tensor::cat(&[scores, &lowest], 0)?.index_select(&Tensor::new(places, scores.device())?, 0)?;
    let gold: Vec<u32> = choices.iter().map(|choice| choice.gold as u32).collect();
    let gold = Tensor::from_vec(gold, (choices.len(), 1), scores.device())?;
    log_softmax(&rows.reshape((choices.len(), widest))?, 1)?.gather(&gold, 1)?.mean_all()?.neg()
}

struct CrossEntropy {
    choices: Vec<Choice>,
}

impl Choice {
    fn allowed(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.width).filter(|&k| Some(k) != self.excluded).map(|k| self.start + k)
    }

    /// The largest score, and the log of the summed exponentials relative to it.
    fn log_partition(&self, scores: &[impl Real]) -> (f64, f64) {
        let largest = self.allowed().map(|at| scores[at].to_f64()).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = self.allowed().map(|at| (scores[at].to_f64() - largest).exp()).sum();
        (largest, total.ln())
    }
}

impl CrossEntropy {
    fn backward<T: Real>(&self, scores: &[T], scale: f64) -> Vec<T> {
        let mut d_scores = vec![T::zero(); scores.len()];
        for choice in &self.choices {
            let (largest, log_total) = choice.log_partition(scores);
            for at in choice.allowed() {
                let probability = (scores[at].to_f64() - largest - log_total).exp();
                let target = f64::from(u8::from(at == choice.start + choice.gold));
                if (probability - target).abs() > NEGLIGIBLE {
                    d_scores[at] = T::from_f64(scale * (probability - target));
                }
            }
        }
        d_scores
    }
}

impl CustomOp1 for CrossEntropy {
    fn name(&self) -> &'static str {
        "cross-entropy"
    }

    fn cpu_fwd(&self, scores: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        for_real!(candle_core::backend::BackendStorage::dtype(scores), T, {
            let scores = slice::<T>(scores, layout)?;
            let total: f64 = self
                .choices
                .iter()
                .map(|choice| {
                    let (largest, log_total) = choice.log_partition(scores);
                    log_total + largest - scores[choice.start + choice.gold].to_f64()
                })
                .sum();
            Ok(output(vec![T::from_f64(total / self.choices.len() as f64)], ()))
        })
    }

    fn bwd(&self, scores: &Tensor, _result: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        for_real!(scores.dtype(), T, {
            let scale = values::<T>(grad)?[0].to_f64() / self.choices.len() as f64;
            let d_scores = self.backward(&values::<T>(scores)?, scale);
            Ok(Some(Tensor::from_vec(d_scores, scores.shape(), scores.device())?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::gradcheck::{assert_close, assert_gradients, random_var};
    use super::*;

    fn choices() -> Vec<Choice> {
        vec![
            Choice { start: 0, width: 3, gold: 2, excluded: Some(1) },
            Choice { start: 3, width: 1, gold: 0, excluded: None },
            Choice { start: 4, width: 5, gold: 0, excluded: Some(4) },
        ]
    }

    #[test]
    fn kernel_and_gradient_match_plain_operations_on_three_unequal_rows() -> Result<()> {
        let scores = random_var(&[9], 1)?;
        assert_close(&cross_entropy(&scores, choices())?, &plain(&scores, &choices())?, 1e-12)?;
        assert_gradients(&[&scores], |v| cross_entropy(v[0], choices()), 1e-6)
    }

    #[test]
    fn an_excluded_choice_adds_no_loss_and_gets_no_gradient() -> Result<()> {
        let scores = candle_core::Var::new(&[1.0f64, 500.0, 2.0], &candle_core::Device::Cpu)?;
        let choice = Choice { start: 0, width: 3, gold: 0, excluded: Some(1) };
        let loss = cross_entropy(&scores, vec![choice])?;
        assert!((loss.to_scalar::<f64>()? - (1.0 + 1f64.exp()).ln()).abs() < 1e-12);
        let grads = loss.backward()?;
        assert_eq!(grads.get(&scores).expect("a gradient").to_vec1::<f64>()?[1], 0.0);
        Ok(())
    }

    #[test]
    fn a_gold_choice_that_is_excluded_or_outside_is_an_error() -> Result<()> {
        let scores = random_var(&[3], 1)?;
        assert!(cross_entropy(&scores, vec![Choice { start: 0, width: 3, gold: 1, excluded: Some(1) }]).is_err());
        assert!(cross_entropy(&scores, vec![Choice { start: 1, width: 3, gold: 1, excluded: None }]).is_err());
        Ok(())
    }
}
