//! Copying what still counts of segments into a new segment.

use crate::{
    error::Result,
    records::Record,
    rows::NONE,
    segment::Segment,
    segment_builder::{SegmentBuilder, Spec, id},
    segments::Segments,
    state::Entry,
};

/// The number of a record's group in the new segment: for a grouping, a group as the index numbers it, and the number of
/// the record's source in the new segment.
pub(crate) type Regroup<'a> = &'a dyn Fn(usize, u32, u32) -> u32;

/// Segments to copy, by their places in the index, with the state that says what still counts of each.
pub(crate) struct Copied<'a> {
    pub(crate) segments: &'a Segments,
    pub(crate) entries: &'a [Entry],
    pub(crate) places: &'a [usize],
}

impl Copied<'_> {
    fn pairs(&self) -> impl Iterator<Item = (usize, &Segment, &Entry)> {
        let at = |&at: &usize| Some((at, self.segments.all.get(at)?, self.entries.get(at)?));
        self.places.iter().filter_map(at)
    }

    /// Announces the records that are copied.
    pub(crate) fn announce(&self, spec: &mut Spec) {
        for (_, segment, entry) in self.pairs() {
            let classes = spec.class_counts.len().max(segment.records.classes());
            spec.class_counts.resize(classes, 0);
            for (class, count) in spec.class_counts.iter_mut().enumerate() {
                let range = segment.records.range(class as u32);
                let before = |place: usize| entry.removed[1].partition_point(|removed| (*removed as usize) < place);
                *count += (range.len() - (before(range.end) - before(range.start))) as u64;
            }
            spec.contrasts += (segment.contrast_count() - entry.removed[2].len()) as u64;
        }
    }

    /// Adds everything that still counts to a new segment, with the ids that it has.
    pub(crate) fn write(&self, builder: &mut SegmentBuilder, regroup: Regroup<'_>) -> Result<()> {
        let mut sources = Vec::new();
        for (_, segment, entry) in self.pairs() {
            let mut numbers = vec![NONE; segment.records.sources()];
            for place in (0..numbers.len() as u32).filter(|place| entry.removed[0].binary_search(place).is_err()) {
                numbers[place as usize] = builder.add_source(segment.records.source(place).unwrap_or_default())?;
            }
            sources.push(numbers);
        }
        let classes = self.pairs().map(|(_, segment, _)| segment.records.classes()).max().unwrap_or_default();
        let mut groups = Vec::new();
        // Class by class, so that rows are written one after another.
        for class in 0..classes as u32 {
            for ((at, segment, entry), sources) in self.pairs().zip(&sources) {
                let places = segment.records.range(class).map(|place| place as u32);
                for place in places.filter(|place| entry.removed[1].binary_search(place).is_err()) {
                    let Some(record) = segment.records.get(place) else { continue };
                    let of = &segment.records.groups;
                    let source = renumbered(sources, record.source);
                    groups.clear();
                    groups.extend((0..of.counts().len()).filter_map(|grouping| {
                        let before = self.segments.groups_before(at, grouping);
                        Some(regroup(grouping, before + of.get(grouping, place)?, source))
                    }));
                    let rows = segment.spaces.each_ref().map(|space| space.rows.get(place).unwrap_or_default());
                    builder.put(Record { source, ..record }, &groups, rows, Some(id_of(segment, entry, 0, place)))?;
                }
            }
        }
        for ((_, segment, entry), sources) in self.pairs().zip(&sources) {
            let Some(contrasts) = &segment.contrasts else { continue };
            let places = 0..contrasts.records.count() as u32;
            for place in places.filter(|place| entry.removed[2].binary_search(place).is_err()) {
                let Some(record) = contrasts.records.get(place) else { continue };
                let row = contrasts.space.rows.get(place).unwrap_or_default();
                let id = id_of(segment, entry, 1, place);
                builder.put_contrast(renumbered(sources, record.source), record.payload, row, Some(id))?;
            }
        }
        Ok(())
    }
}

/// The new number of a source. One that a damaged file makes up becomes a number that the builder refuses.
fn renumbered(sources: &[u32], source: u32) -> u32 {
    sources.get(source as usize).copied().unwrap_or(NONE)
}

fn id_of(segment: &Segment, entry: &Entry, kind: usize, place: u32) -> u64 {
    segment.ids(kind).get(place as usize).copied().unwrap_or_else(|| id(entry.serial, u64::from(place)))
}
