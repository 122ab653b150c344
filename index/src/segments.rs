//! The segments of an index as one: numbers across segments, spaces over all of them, and metadata of the whole.

use std::{path::Path, sync::Arc};

use crate::{
    contrasts::Contrasts,
    error::Result,
    meta::{ContrastFacts, GraphFacts, Manifest, SpaceFacts},
    numbers::Numbers,
    segment::Segment,
    space::{Space, SpacePart},
    state::State,
};

/// The segments of a state, opened.
#[derive(Debug)]
pub(crate) struct Segments {
    pub(crate) all: Vec<Segment>,
    /// The numbers of the records. A part for each segment.
    pub(crate) records: Arc<Numbers>,
    /// The numbers of the sources. A part for each segment.
    pub(crate) sources: Arc<Numbers>,
    pub(crate) spaces: [Space; 2],
    pub(crate) contrasts: Option<Contrasts>,
    /// The number of groups of each grouping, over all segments.
    pub(crate) groupings: Vec<u32>,
    pub(crate) manifest: Manifest,
}

impl Segments {
    pub(crate) fn open(folder: &Path, state: &State) -> Result<Self> {
        let open = |entry: &crate::state::Entry| Segment::open(&folder.join(&entry.folder));
        let all: Vec<Segment> = state.segments.iter().map(open).collect::<Result<_>>()?;
        let first = &all[0];
        for segment in &all[1..] {
            let facts = |segment: &Segment| {
                let spaces = segment.manifest.spaces.each_ref().map(|space| (space.dims, space.metric));
                (spaces, segment.manifest.model.clone(), segment.records.groups.counts().len())
            };
            if facts(segment) != facts(first) {
                let (expected, found) = ("those of the first segment", "others");
                return Err(segment.manifest_file.damaged("the model, spaces and groupings", expected, found));
            }
        }
        let numbers = |kind: usize, count: fn(&Segment) -> usize, of: &[usize]| {
            let parts = of.iter().map(|at| (count(&all[*at]), state.segments[*at].removed[kind].clone()));
            let unfit = || first.manifest_file.damaged("the removed records", "ascending, and in their segment", "not");
            Numbers::new(parts).map(Arc::new).ok_or_else(unfit)
        };
        let every: Vec<usize> = (0..all.len()).collect();
        let contrasted: Vec<usize> = every.iter().copied().filter(|at| all[*at].contrasts.is_some()).collect();
        let sources = numbers(0, |segment| segment.records.sources(), &every)?;
        let records = numbers(1, |segment| segment.records.count(), &every)?;
        let against = numbers(2, Segment::contrast_count, &contrasted)?;
        let part = |at: usize, segment: usize| SpacePart { segment, space: all[segment].spaces[at].clone() };
        let space = |at: usize| {
            let parts = every.iter().map(|segment| part(at, *segment)).collect();
            Space::new(parts, records.clone(), sources.clone())
        };
        let spaces = [space(0), space(1)];
        let part = |segment: usize| Some(SpacePart { segment, space: all[segment].contrasts.as_ref()?.space.clone() });
        let parts: Vec<SpacePart> = contrasted.iter().filter_map(|segment| part(*segment)).collect();
        let contrasts = (!parts.is_empty()).then(|| Contrasts::new(Space::new(parts, against, sources.clone())));
        let groupings = groupings(&all);
        let manifest = Manifest {
            model: first.manifest.model.clone(),
            content: state.content.clone(),
            records: records.count() as u64,
            sources: sources.count() as u64,
            classes: all.iter().map(|segment| segment.manifest.classes).max().unwrap_or_default(),
            spaces: [0, 1].map(|at| facts(all.iter().map(|segment| &segment.manifest.spaces[at]))),
            contrasts: contrasts.as_ref().map(|contrasts| ContrastFacts {
                records: contrasts.space().count() as u64,
                space: facts(contrasted.iter().filter_map(|at| Some(&all[*at].manifest.contrasts.as_ref()?.space))),
            }),
        };
        Ok(Self { records, sources, spaces, contrasts, groupings, manifest, all })
    }

    /// The number of groups of a grouping in the segments before one.
    pub(crate) fn groups_before(&self, segment: usize, grouping: usize) -> u32 {
        let counts = |segment: &Segment| segment.records.groups.counts().get(grouping).copied().unwrap_or_default();
        self.all.iter().take(segment).map(counts).sum()
    }
}

fn groupings(segments: &[Segment]) -> Vec<u32> {
    let mut totals = segments.first().map_or(Vec::new(), |segment| segment.records.groups.counts().to_vec());
    for segment in &segments[1..] {
        totals.iter_mut().zip(segment.records.groups.counts()).for_each(|(total, count)| *total += count);
    }
    totals
}

/// The facts of a space over several segments: the graph of the segment with most rows, with the lowest recall of all.
fn facts<'a>(of_segments: impl Iterator<Item = &'a SpaceFacts> + Clone) -> SpaceFacts {
    let graphs = || of_segments.clone().filter_map(|facts| Some((facts.distinct, facts.graph?)));
    let recall = graphs().map(|(_, graph)| graph.recall).fold(1.0, f32::min);
    let largest = graphs().max_by_key(|(distinct, _)| *distinct).map(|(_, graph)| GraphFacts { recall, ..graph });
    let first = of_segments.clone().next();
    SpaceFacts {
        dims: first.map_or(0, |facts| facts.dims),
        metric: first.map_or(crate::meta::Metric::Cosine, |facts| facts.metric),
        distinct: of_segments.map(|facts| facts.distinct).sum(),
        graph: largest,
    }
}
