//! Verifying an index: every checksum, and every part against the parts it depends on.

use rayon::prelude::*;

use crate::{
    container::View,
    error::Result,
    graph::Graph,
    index::Index,
    rows::{NONE, fits, nodes, twins},
    segment::Segment,
    segment_space::SegmentSpace,
    space_writer::class_sums,
};

/// Checks all files of an index.
pub(crate) fn verify(index: &Index) -> Result<()> {
    for (entry, of_index) in index.state.segments.iter().zip(&index.segments.all) {
        segment(of_index)?;
        // A source goes with all its records, so what was removed follows from the sources.
        let [sources, records, contrasts] = &entry.removed;
        for (kind, removed) in [records, contrasts].into_iter().enumerate() {
            let expected = of_index.table(kind).map_or_else(Vec::new, |table| table.of_sources(sources));
            if *removed != expected {
                let what = format!("the number of removed records of {}", entry.folder);
                return Err(of_index.manifest_file.damaged(what, expected.len(), removed.len()));
            }
        }
    }
    Ok(())
}

fn segment(segment: &Segment) -> Result<()> {
    segment.manifest_file.check()?;
    let sources = segment.records.sources();
    segment.records.check(sources)?;
    segment.lookup.as_ref().map_or(Ok(()), |lookup| lookup.check())?;
    let mut spaces = segment.spaces.iter().zip(&segment.manifest.spaces);
    spaces.try_for_each(|(of_segment, facts)| space(of_segment, facts.distinct))?;
    let contrasts = segment.contrasts.as_ref().zip(segment.manifest.contrasts.as_ref());
    let Some((contrasts, facts)) = contrasts else { return Ok(()) };
    contrasts.records.check(sources)?;
    space(&contrasts.space, facts.space.distinct)
}

fn space(space: &SegmentSpace, distinct: u64) -> Result<()> {
    let file = &space.file;
    file.check()?;
    let (rows, dims) = (&space.rows, space.dims());
    if let Some(place) = (0..space.count() as u32)
        .into_par_iter()
        .find_first(|place| rows.get(*place).is_none_or(|row| fits(row, dims, space.metric()).is_err()))
    {
        return Err(file.damaged(format!("row {place}"), "finite and of the right norm", "not"));
    }
    let ranges: Vec<_> = (0..space.records.classes() as u32).map(|class| space.records.range(class)).collect();
    let starts: Vec<u64> = [0].into_iter().chain(ranges.iter().map(|range| range.end as u64)).collect();
    let sums = class_sums(&rows.values, dims, &starts);
    if let Some(i) = (0..sums.len()).find(|i| space.sums[*i].to_bits() != sums[*i].to_bits()) {
        return Err(file.damaged(format!("the sum of class {}", i / dims), sums[i], space.sums[i]));
    }
    let counts = ranges.iter().map(|range| range.len() as u64).chain([space.count() as u64]);
    if !counts.eq(space.counts.iter().copied()) {
        return Err(file.damaged("the number of rows of a class", "the length of its range", "another"));
    }
    group_sums(space)?;
    let odd = (0..space.count() as u32).into_par_iter().map_init(Vec::new, |scratch, place| {
        rows.get(place).is_none_or(|row| !rows.compact.same(place, row, scratch)).then_some(place)
    });
    if let Some(place) = odd.flatten().min() {
        return Err(file.damaged(format!("compact row {place}"), "computed from its row", "another"));
    }
    if *rows.twins != twins(&rows.values, dims) {
        return Err(file.damaged("the table of twins", "computed from the rows", "another"));
    }
    let nodes = nodes(&rows.twins);
    if nodes.len() as u64 != distinct {
        return Err(file.damaged("the number of distinct rows", distinct, nodes.len()));
    }
    space.graph.as_ref().map_or(Ok(()), |graph| links(space, graph, &nodes))
}

fn group_sums(space: &SegmentSpace) -> Result<()> {
    let groups = &space.records.groups;
    for grouping in 0..groups.counts().len() {
        let stored = space.group_sums(grouping).chunks_exact(space.dims());
        groups.sums(grouping, &space.rows.values, space.dims(), |first, sums| {
            let stored = stored.clone().skip(first);
            let same = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits());
            match sums.chunks_exact(space.dims()).zip(stored).position(|(sum, stored)| !same(sum, stored)) {
                Some(i) => {
                    let what = format!("the sum of group {} of grouping {grouping}", first + i);
                    Err(space.file.damaged(what, "the sum of its rows", "another"))
                }
                None => Ok(()),
            }
        })?;
    }
    Ok(())
}

fn links(space: &SegmentSpace, graph: &Graph<View<u32>>, nodes: &[u32]) -> Result<()> {
    let file = &space.file;
    for level in 0..=graph.ranges.len() {
        let layer = graph.layer(level);
        for (number, block) in layer.blocks() {
            let end = block.iter().position(|link| *link == NONE).unwrap_or(block.len());
            let (links, rest) = block.split_at(end);
            let node = |number: &u32| nodes.binary_search(number).is_ok() && layer.contains(*number);
            let good = |link: &u32| *link != number && node(link);
            let linked = links.iter().all(good) && rest.iter().all(|link| *link == NONE);
            if !linked || !node(&number) && (level > 0 || !links.is_empty()) {
                return Err(file.damaged(format!("a link of row {number}"), format!("a node of layer {level}"), "not"));
            }
        }
        if !layer.contains(graph.entry) {
            return Err(file.damaged("the entry of the graph", format!("in layer {level}"), graph.entry));
        }
    }
    match graph.unreachable(nodes).first() {
        Some(lost) => Err(file.damaged(format!("row {lost}"), "reachable in the graph", "not")),
        None => Ok(()),
    }
}
