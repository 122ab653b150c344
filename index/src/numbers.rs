//! Numbers of records (or of sources) across segments: segment after segment, without those that were removed.
//!
//! A segment numbers what it stores from 0, and never changes. An index numbers what its segments still count, without
//! gaps, so a removed record has no number at all. Removed ones are few and sorted, so a binary search translates.

use std::ops::Range;

/// The numbers of the records of several segments.
#[derive(Debug)]
pub(crate) struct Numbers {
    parts: Vec<Part>,
    count: u32,
}

#[derive(Debug)]
struct Part {
    /// The number of its first record that counts.
    first: u32,
    /// Records in the segment, removed ones included.
    stored: u32,
    /// Those that were removed, ascending.
    removed: Vec<u32>,
}

impl Numbers {
    /// `parts` has for each segment the number of its records, and those that were removed. `None` if there are too many
    /// records, or the removed ones do not ascend or do not exist.
    pub(crate) fn new(parts: impl IntoIterator<Item = (usize, Vec<u32>)>) -> Option<Self> {
        let (mut numbers, mut next) = (Vec::new(), 0u32);
        for (stored, removed) in parts {
            let stored = u32::try_from(stored).ok()?;
            let ascending = removed.is_sorted_by(|a, b| a < b);
            if !ascending || removed.last().is_some_and(|last| *last >= stored) {
                return None;
            }
            let counted = stored - removed.len() as u32;
            numbers.push(Part { first: next, stored, removed });
            next = next.checked_add(counted).filter(|next| *next < u32::MAX >> 1)?;
        }
        Some(Self { parts: numbers, count: next })
    }

    /// How many numbers there are.
    pub(crate) fn count(&self) -> usize {
        self.count as usize
    }

    /// The part that a number is in, and its place there.
    #[inline]
    pub(crate) fn locate(&self, number: u32) -> Option<(usize, u32)> {
        if number >= self.count {
            return None;
        }
        // Where parts begin with the same number, all but the last are empty.
        let at = self.parts.partition_point(|part| part.first <= number) - 1;
        Some((at, self.parts[at].place(number - self.parts[at].first)))
    }

    /// The number of a place in a part. `None` if it was removed or does not exist.
    #[inline]
    pub(crate) fn number(&self, part: usize, place: u32) -> Option<u32> {
        let part = self.parts.get(part).filter(|part| place < part.stored)?;
        match part.removed.binary_search(&place) {
            Ok(_) => None,
            Err(before) => Some(part.first + place - before as u32),
        }
    }

    /// The numbers of what still counts of a range of places in a part. They are consecutive.
    pub(crate) fn range(&self, part: usize, places: Range<usize>) -> Range<u32> {
        let Some(part) = self.parts.get(part) else { return 0..0 };
        let number = |place: usize| {
            let place = place.min(part.stored as usize) as u32;
            part.first + place - part.removed.partition_point(|removed| *removed < place) as u32
        };
        number(places.start)..number(places.end)
    }

    /// The places in a part that were removed, ascending.
    pub(crate) fn removed(&self, part: usize) -> &[u32] {
        self.parts.get(part).map_or(&[], |part| &part.removed)
    }

    /// The removed ones of a range of places in a part.
    pub(crate) fn removed_in(&self, part: usize, places: Range<usize>) -> &[u32] {
        let removed = self.removed(part);
        let before = |place: usize| removed.partition_point(|removed| (*removed as usize) < place);
        &removed[before(places.start)..before(places.end.max(places.start))]
    }
}

impl Part {
    /// The place of what still counts, counted from 0.
    fn place(&self, counted: u32) -> u32 {
        // As many removed places come before it as there are with place − (removed before that) ≤ counted.
        let (mut low, mut high) = (0, self.removed.len());
        while low < high {
            let middle = (low + high) / 2;
            if self.removed[middle] - middle as u32 <= counted {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        counted + low as u32
    }
}

/// Numbers of records, as few consecutive ranges. Iterates over the numbers in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    /// Ascending, none of them empty.
    ranges: Vec<Range<u32>>,
    /// How many of them were iterated over.
    at: usize,
}

impl Ranges {
    /// The numbers of consecutive ranges, in ascending order.
    pub fn new(ranges: impl IntoIterator<Item = Range<u32>>) -> Self {
        Self { ranges: ranges.into_iter().filter(|range| !range.is_empty()).collect(), at: 0 }
    }

    /// The consecutive ranges.
    pub fn ranges(&self) -> &[Range<u32>] {
        &self.ranges[self.at..]
    }

    /// Whether a number is among them.
    #[inline]
    pub fn contains(&self, number: &u32) -> bool {
        let ranges = self.ranges();
        let before = ranges.partition_point(|range| range.end <= *number);
        ranges.get(before).is_some_and(|range| range.contains(number))
    }
}

impl Iterator for Ranges {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let range = self.ranges.get_mut(self.at)?;
        let number = range.next()?;
        self.at += usize::from(range.start == range.end);
        Some(number)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.ranges().iter().map(Range::len).sum();
        (left, Some(left))
    }
}

impl ExactSizeIterator for Ranges {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn numbers_count_what_was_not_removed_and_translate_both_ways() {
        let numbers = Numbers::new([(4, vec![0, 2]), (2, vec![0, 1]), (0, vec![]), (3, vec![1]), (1, vec![])]).unwrap();
        let places: Vec<_> = (0..).map_while(|number| numbers.locate(number)).collect();
        assert_eq!(places, [(0, 1), (0, 3), (3, 0), (3, 2), (4, 0)]);
        assert_eq!(numbers.count(), places.len());
        for (number, (part, place)) in (0..).zip(places) {
            assert_eq!(numbers.number(part, place), Some(number));
        }
        for (part, place) in [(0, 0), (0, 2), (0, 4), (1, 0), (2, 0), (5, 0)] {
            assert_eq!(numbers.number(part, place), None, "{part} {place}");
        }
        assert_eq!([numbers.range(0, 0..4), numbers.range(0, 2..3), numbers.range(3, 1..3)], [0..2, 1..1, 3..4]);
        assert_eq!(numbers.removed_in(0, 1..9), [2]);
    }

    #[test]
    fn removed_places_that_do_not_ascend_or_do_not_exist_are_refused() {
        for removed in [vec![1, 1], vec![2, 1], vec![3]] {
            assert!(Numbers::new([(3, removed)]).is_none());
        }
        assert!(Numbers::new([(usize::MAX, Vec::new())]).is_none());
    }

    #[test]
    fn ranges_iterate_and_know_their_numbers() {
        let ranges = Ranges::new([2..4, 7..7, 9..10]);
        assert_eq!(ranges.clone().collect::<Vec<_>>(), [2, 3, 9]);
        assert_eq!((ranges.len(), ranges.ranges()), (3, &[2..4, 9..10][..]));
        let inside: Vec<u32> = (0..12).filter(|number| ranges.contains(number)).collect();
        assert_eq!(inside, [2, 3, 9]);
    }
}
