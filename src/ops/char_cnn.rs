//! A character convolution of window 3 with a maximum over positions, computed from tables.
//!
//! There are few distinct characters. So the product of each character's embedding with each third of the filter is
//! computed once (`taps`), and a window is the sum of three table rows. candle's `conv1d` has wrong gradients for
//! batches above 1.

use super::real::{Real, vectorised};
use super::{for_real, has_kernel, output, slice, values};
use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor, bail};
use std::sync::{Arc, Mutex};

/// Words as character ids. No word is empty.
pub(crate) type Spellings = Arc<Vec<Vec<u32>>>;

/// `taps` `[characters, 3 · filters]` and `bias` `[filters]` give `[words, filters]`. The three parts of a character's
/// taps are its terms in a window where it stands left of the centre, at the centre and right of the centre.
pub(crate) fn char_cnn(taps: &Tensor, bias: &Tensor, words: Spellings) -> Result<Tensor> {
    let characters = taps.dim(0)?;
    if words.iter().any(|word| word.is_empty() || word.iter().any(|&c| c as usize >= characters)) {
        bail!("a word is empty or has a character outside the table");
    }
    if has_kernel(taps) {
        taps.contiguous()?.apply_op2(&bias.contiguous()?, CharCnn { words, winners: Mutex::new(None) })
    } else {
        plain(taps, bias, &words)
    }
}

fn plain(taps: &Tensor, bias: &Tensor, words: &[Vec<u32>]) -> Result<Tensor> {
    let (characters, filters) = (taps.dim(0)?, bias.dim(0)?);
    let longest = words.iter().map(Vec::len).max().unwrap_or(1);
    // Positions outside a word read a row of zeros. A centre behind the end of a word reads a row of −1e9, which never
    // wins.
    let (nothing, never) = (characters as u32, characters as u32 + 1);
    let mut thirds = [(); 3].map(|()| Vec::with_capacity(words.len() * longest));
    for word in words {
        let at = |place: Option<usize>| place.and_then(|place| word.get(place)).copied().unwrap_or(nothing);
        for place in 0..longest {
            thirds[0].push(at(place.checked_sub(1)));
            thirds[1].push(word.get(place).copied().unwrap_or(never));
            thirds[2].push(at(Some(place + 1)));
        }
    }
    let zeros = Tensor::zeros((1, 3 * filters), taps.dtype(), taps.device())?;
    let table = Tensor::cat(&[taps, &zeros, &(&zeros - 1e9)?], 0)?;
    let third = |k: usize| -> Result<Tensor> {
        let rows = table.narrow(1, k * filters, filters)?.contiguous()?;
        rows.index_select(&Tensor::new(thirds[k].as_slice(), taps.device())?, 0)
    };
    let windows = ((third(0)? + third(1)?)? + third(2)?)?.reshape((words.len(), longest, filters))?;
    // Gathers at the first maximum, because candle's `max` gives each of several tied elements the whole gradient.
    let winners = windows.detach().argmax_keepdim(1)?;
    windows.gather(&winners, 1)?.squeeze(1)?.broadcast_add(bias)
}

struct CharCnn {
    words: Spellings,
    /// The position that won each `[word, filter]`. Only that position gets a gradient.
    winners: Mutex<Option<Vec<u32>>>,
}

impl CharCnn {
    fn forward<T: Real>(&self, taps: &[T], bias: &[T]) -> (Vec<T>, Vec<u32>) {
        let filters = bias.len();
        let mut best = vec![T::zero(); self.words.len() * filters];
        let mut winners = vec![0; self.words.len() * filters];
        let mut window = vec![T::zero(); filters];
        let tap = |character: u32, third: usize| &taps[(character as usize * 3 + third) * filters..][..filters];
        vectorised(|| {
            for (word, spelling) in self.words.iter().enumerate() {
                let best = &mut best[word * filters..][..filters];
                let winners = &mut winners[word * filters..][..filters];
                for (position, &character) in spelling.iter().enumerate() {
                    window.copy_from_slice(tap(character, 1));
                    if position > 0 {
                        add(&mut window, tap(spelling[position - 1], 0));
                    }
                    if position + 1 < spelling.len() {
                        add(&mut window, tap(spelling[position + 1], 2));
                    }
                    for k in 0..filters {
                        if position == 0 || window[k] > best[k] {
                            (best[k], winners[k]) = (window[k], position as u32);
                        }
                    }
                }
                add(best, bias);
            }
        });
        (best, winners)
    }

    fn backward<T: Real>(&self, grad: &[T], winners: &[u32], characters: usize, filters: usize) -> (Vec<T>, Vec<T>) {
        let mut d_taps = vec![T::zero(); characters * 3 * filters];
        let mut d_bias = vec![T::zero(); filters];
        for (word, spelling) in self.words.iter().enumerate() {
            for k in 0..filters {
                let grad = grad[word * filters + k];
                let position = winners[word * filters + k] as usize;
                let mut give =
                    |character: u32, third: usize| d_taps[(character as usize * 3 + third) * filters + k] += grad;
                give(spelling[position], 1);
                if position > 0 {
                    give(spelling[position - 1], 0);
                }
                if position + 1 < spelling.len() {
                    give(spelling[position + 1], 2);
                }
                d_bias[k] += grad;
            }
        }
        (d_taps, d_bias)
    }
}

#[inline(always)]
fn add<T: Real>(target: &mut [T], values: &[T]) {
    target.iter_mut().zip(values).for_each(|(target, &value)| *target += value);
}

impl CustomOp2 for CharCnn {
    fn name(&self) -> &'static str {
        "char-cnn"
    }

    fn cpu_fwd(
        &self,
        taps: &CpuStorage,
        taps_layout: &Layout,
        bias: &CpuStorage,
        bias_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        for_real!(candle_core::backend::BackendStorage::dtype(taps), T, {
            let bias = slice::<T>(bias, bias_layout)?;
            let (best, winners) = self.forward(slice::<T>(taps, taps_layout)?, bias);
            if let Ok(mut slot) = self.winners.lock() {
                *slot = Some(winners);
            }
            Ok(output(best, (self.words.len(), bias.len())))
        })
    }

    fn bwd(
        &self,
        taps: &Tensor,
        bias: &Tensor,
        _result: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let Some(winners) = self.winners.lock().ok().and_then(|mut slot| slot.take()) else {
            bail!("the backward pass of this character convolution has run already");
        };
        for_real!(grad.dtype(), T, {
            let (d_taps, d_bias) = self.backward::<T>(&values(grad)?, &winners, taps.dim(0)?, bias.dim(0)?);
            Ok((
                Some(Tensor::from_vec(d_taps, taps.shape(), grad.device())?),
                Some(Tensor::from_vec(d_bias, bias.shape(), grad.device())?),
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::gradcheck::{assert_close, assert_gradients, random_var};
    use super::*;

    #[test]
    fn kernel_and_gradients_match_plain_operations_on_words_of_unequal_length() -> Result<()> {
        let words: Spellings = Arc::new(vec![vec![3, 1, 2, 2, 4], vec![0], vec![4, 3]]);
        let (taps, bias) = (random_var(&[5, 12], 1)?, random_var(&[4], 2)?);
        assert_close(&char_cnn(&taps, &bias, words.clone())?, &plain(&taps, &bias, &words)?, 1e-12)?;
        assert_gradients(&[&taps, &bias], |v| char_cnn(v[0], v[1], words.clone()), 1e-6)
    }

    #[test]
    fn an_empty_word_or_a_character_outside_the_table_is_an_error() -> Result<()> {
        let (taps, bias) = (random_var(&[2, 3], 1)?, random_var(&[1], 2)?);
        assert!(char_cnn(&taps, &bias, Arc::new(vec![vec![]])).is_err());
        assert!(char_cnn(&taps, &bias, Arc::new(vec![vec![2]])).is_err());
        Ok(())
    }
}
