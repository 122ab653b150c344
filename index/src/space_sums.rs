//! Sums over the segments of a space, without removed rows.
//!
//! A segment stores the sums of its classes and groups. Sums are added class by class, segment by segment, so the bits
//! depend on the segments only. Removed rows are subtracted in f64, which takes time for removed rows only. Where most
//! rows of a class are removed, those left are added up again instead, so that no digits are lost.

use std::collections::HashMap;

use crate::space::Space;

/// Sums of the rows of a space.
#[derive(Debug)]
pub(crate) struct Summed {
    /// Of each class, one after another.
    pub(crate) sums: Vec<f64>,
    /// The number of rows of each class.
    pub(crate) counts: Vec<u64>,
    /// Of all classes.
    pub(crate) total: Vec<f64>,
}

/// Adds up the classes of all segments.
pub(crate) fn summed(space: &Space) -> Summed {
    let (dims, classes) = (space.dims(), space.classes());
    let mut sums = vec![0f64; classes * dims];
    let mut counts = vec![0; classes];
    let mut total = vec![0f64; dims];
    for (class, (sum, count)) in sums.chunks_exact_mut(dims).zip(&mut counts).enumerate() {
        for part in 0..space.parts().len() {
            *count += add_class(space, part, class, sum);
        }
        add(&mut total, sum.iter().copied());
    }
    Summed { sums, counts, total }
}

/// Adds the rows of a class in one segment to `sum`. Returns how many there are.
fn add_class(space: &Space, part: usize, class: usize, sum: &mut [f64]) -> u64 {
    let of_segment = &space.parts()[part].space;
    let Some((stored, count)) = of_segment.sum(class) else { return 0 };
    let range = of_segment.records.range(class as u32);
    let removed = space.numbers.removed_in(part, range.clone());
    let row = |place: u32| of_segment.rows.get(place).unwrap_or_default();
    if 2 * removed.len() <= range.len() {
        add(sum, stored.iter().copied());
        removed.iter().for_each(|place| add(sum, row(*place).iter().map(|value| -f64::from(*value))));
    } else {
        let left = range.map(|place| place as u32).filter(|place| removed.binary_search(place).is_err());
        left.for_each(|place| add(sum, row(place).iter().map(|value| f64::from(*value))));
    }
    count.saturating_sub(removed.len() as u64)
}

fn add(sum: &mut [f64], values: impl Iterator<Item = f64>) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}

/// The sums of the groups of each grouping: those of the first segment, then those of the second, and so on.
pub(crate) fn group_sums(space: &Space) -> Vec<Vec<f32>> {
    let dims = space.dims();
    let groupings = space.parts().iter().map(|part| part.space.records.groups.counts().len()).max().unwrap_or_default();
    let mut all = vec![Vec::new(); groupings];
    for (part, of_segment) in space.parts().iter().enumerate() {
        let (records, rows) = (&of_segment.space.records, &of_segment.space.rows);
        let removed = space.numbers.removed(part);
        for (grouping, all) in all.iter_mut().enumerate() {
            let first = all.len();
            all.extend_from_slice(of_segment.space.group_sums(grouping));
            // Groups that lost a row are added up again: their stored sums are rounded already.
            let group = |place: u32| records.groups.get(grouping, place);
            let mut again: HashMap<u32, Vec<f64>> =
                removed.iter().filter_map(|place| Some((group(*place)?, vec![0f64; dims]))).collect();
            if again.is_empty() {
                continue;
            }
            for place in (0..records.count() as u32).filter(|place| removed.binary_search(place).is_err()) {
                let sum = group(place).and_then(|group| again.get_mut(&group));
                let values = || rows.get(place).unwrap_or_default().iter().map(|value| f64::from(*value));
                sum.into_iter().for_each(|sum| add(sum, values()));
            }
            for (group, sum) in again {
                let at = first + group as usize * dims;
                let stored = all.get_mut(at..at + dims).unwrap_or_default();
                stored.iter_mut().zip(sum).for_each(|(stored, sum)| *stored = sum as f32);
            }
        }
    }
    all
}
