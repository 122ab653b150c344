//! Sources with records and contrast records, in indexes that are built as a whole and changed.

use std::ops::ControlFlow;
use std::path::Path;

use citree_index::{Builder, Change, Error, GraphSpec, Index, Metric, Note, Record, SegmentBuilder, SpaceSpec, Spec};

use crate::random::{Random, cone};

pub const DIMS: usize = 9;
pub const CLASSES: usize = 5;

/// A source with its records and contrast records.
#[derive(Clone, PartialEq)]
pub struct Source {
    pub name: String,
    records: Vec<(u32, [u32; 2], [Vec<f32>; 2])>,
    contrasts: Vec<([u32; 2], Vec<f32>)>,
}

impl Source {
    pub fn new(number: usize, random: &mut Random) -> Self {
        let count = random.below(7);
        let row = |random: &mut Random| cone(random, 1, DIMS, 1, 0.9);
        let record = |place: usize, random: &mut Random| {
            let class = random.below(CLASSES) as u32;
            (class, [place as u32, random.below(9) as u32], [row(random), row(random)])
        };
        let records = (0..count).map(|place| record(place, random)).collect();
        let contrasts = (0..random.below(3)).map(|place| ([place as u32, 99], row(random))).collect();
        Self { name: format!("source {number}"), records, contrasts }
    }

    pub fn write(&self, out: &mut SegmentBuilder) {
        let source = out.add_source(self.name.as_bytes()).unwrap();
        for (class, payload, [first, second]) in &self.records {
            let record = Record { source, class: *class, payload: *payload };
            out.add(record, &[source, payload[1] % 4], [first, second]).unwrap();
        }
        for (payload, row) in &self.contrasts {
            out.add_contrast(source, *payload, row).unwrap();
        }
    }
}

/// The spec of these sources in a segment that has `copied` sources before them.
pub fn spec(sources: &[Source], copied: u32, metric: Metric) -> Spec {
    let mut class_counts = vec![0; CLASSES];
    let records = sources.iter().flat_map(|source| &source.records);
    records.for_each(|(class, ..)| class_counts[*class as usize] += 1);
    Spec {
        spaces: [SpaceSpec { dims: DIMS, metric }; 2],
        class_counts,
        model: b"a model".to_vec(),
        content: Vec::new(),
        groupings: vec![copied + sources.len() as u32, 4],
        contrasts: sources.iter().map(|source| source.contrasts.len() as u64).sum(),
        attachment: Vec::new(),
        graph: GraphSpec { degree: 4, effort: 30, least: 60 },
    }
}

pub fn key(source: &[u8]) -> &[u8] {
    source
}

pub fn note(what: &str) -> Note {
    Note { who: "tester".into(), what: what.into(), message: "to test".into(), content: what.as_bytes().to_vec() }
}

pub fn build(sources: &[Source], folder: &Path, metric: Metric) -> Index {
    let mut builder = Builder::create(folder, spec(sources, 0, metric)).unwrap().find_sources_by(key);
    sources.iter().for_each(|source| source.write(builder.segment()));
    builder.finish(&|_| ControlFlow::Continue(())).unwrap();
    Index::open(folder).unwrap()
}

/// Removes sources by name and adds others. Segments from place `first` on become one with the new one.
pub fn change(folder: &Path, removed: &[String], added: &[Source], first: usize, metric: Metric) -> Result<u64, Error> {
    let mut change = Change::begin(folder)?;
    for name in removed {
        let found = change.index().sources_of(name.as_bytes(), key);
        assert_eq!(found.len(), 1, "{name}");
        change.remove_source(found[0]);
    }
    if added.is_empty() && first >= change.index().segments().len() {
        return change.publish(note("removed"));
    }
    let places: Vec<usize> = (first..change.index().segments().len()).collect();
    let spec = spec(added, change.copied_sources(&places), metric);
    let regroup = |grouping: usize, group: u32, source: u32| if grouping == 0 { source } else { group % 4 };
    let mut addition = change.add("added", spec, &places, Some(key), &regroup)?;
    added.iter().for_each(|source| source.write(addition.segment()));
    addition.publish(note("changed"), &|_| ControlFlow::Continue(()))
}

/// The same sources at every call.
pub fn some_sources(range: std::ops::Range<usize>) -> Vec<Source> {
    let mut random = Random::new(7);
    range.map(|number| Source::new(number, &mut random)).collect()
}
