//! Small indexes to test with.

use std::ops::ControlFlow;
use std::path::Path;

use citree_index::{Builder, Change, Error, GraphSpec, Index, Metric, Note, Record, SpaceSpec, Spec};

use crate::random::{Random, cone};

/// Records with the rows that an index is built from.
#[derive(Clone)]
pub struct Data {
    pub dims: usize,
    pub classes: usize,
    pub records: Vec<Record>,
    /// The rows of each space, one after another.
    pub rows: [Vec<f32>; 2],
    pub metric: Metric,
    pub graph: GraphSpec,
}

impl Data {
    /// The data of the frozen index of every format version. It must never change.
    pub fn to_freeze() -> Self {
        Self { graph: GraphSpec { degree: 4, effort: 20, least: 10 }, ..Self::new(1, 60, 6) }
    }

    /// Data whose index is built in milliseconds.
    pub fn small(seed: u64) -> Self {
        Self { graph: GraphSpec { degree: 4, effort: 20, least: 10 }, ..Self::new(seed, 200, 9) }
    }

    /// Clustered rows in a narrow cone, ten records per source.
    pub fn new(seed: u64, count: usize, dims: usize) -> Self {
        let mut random = Random::new(seed);
        let (classes, clusters) = (7, (count / 50).max(4));
        let rows = [(); 2].map(|()| cone(&mut random, count, dims, clusters, 0.95));
        let record = |i: usize| {
            let payload = [i as u32 % 10 + 1, random.below(10) as u32];
            Record { source: i as u32 / 10, class: random.below(classes) as u32, payload }
        };
        let records = (0..count).map(record).collect();
        Self { dims, classes, records, rows, metric: Metric::Cosine, graph: GraphSpec::default() }
    }

    pub fn spec(&self) -> Spec {
        let count = |class: usize| self.records.iter().filter(|record| record.class as usize == class).count() as u64;
        Spec {
            spaces: [SpaceSpec { dims: self.dims, metric: self.metric }; 2],
            class_counts: (0..self.classes).map(count).collect(),
            model: b"a model".to_vec(),
            // These bytes are in the frozen manifest.
            content: b"a treebank".to_vec(),
            groupings: vec![self.sources(), 7],
            contrasts: 0,
            attachment: b"names of groups".to_vec(),
            graph: self.graph,
        }
    }

    /// A builder that has all records.
    pub fn filled(&self, folder: &Path) -> Result<Builder, Error> {
        self.filled_with(folder, self.spec())
    }

    /// A builder by another spec that has all records.
    pub fn filled_with(&self, folder: &Path, spec: Spec) -> Result<Builder, Error> {
        let mut builder = Builder::create(folder, spec)?;
        for source in 0..self.sources() {
            assert_eq!(builder.add_source(&Self::source(source))?, source);
        }
        for (i, record) in self.records.iter().enumerate() {
            builder.add(*record, &self.groups(i), [self.row(i), &self.rows[1][i * self.dims..][..self.dims]])?;
        }
        Ok(builder)
    }

    /// Rows of contrast records for the frozen index of version 2. They must never change.
    pub fn contrasts_to_freeze(&self) -> Vec<f32> {
        cone(&mut Random::new(2), 40, self.dims, 4, 0.95)
    }

    /// Builds the frozen index of version 2: the records of version 1, and contrast records.
    pub fn build_version_2(&self, folder: &Path) -> Index {
        let rows = self.contrasts_to_freeze();
        let spec = Spec { contrasts: (rows.len() / self.dims) as u64, ..self.spec() };
        let mut builder = self.filled_with(folder, spec).unwrap();
        for (number, row) in (0..).zip(rows.chunks(self.dims)) {
            builder.add_contrast(number % self.sources(), [number, 2 * number], row).unwrap();
        }
        builder.finish(&|_| ControlFlow::Continue(())).unwrap();
        Index::open(folder).unwrap()
    }

    /// Rows of the records that the frozen index of version 3 adds. They must never change.
    pub fn added_to_freeze(&self) -> Vec<f32> {
        cone(&mut Random::new(3), 10, self.dims, 4, 0.95)
    }

    /// Builds the frozen index of version 3: that of version 2 without source 2, and with two sources in a new segment.
    pub fn build_version_3(&self, folder: &Path) -> Index {
        drop(self.build_version_2(folder));
        let rows = self.added_to_freeze();
        let mut change = Change::begin(folder).unwrap();
        change.remove_source(2);
        let class_counts = (0..self.classes).map(|class| (0..10).filter(|i| i % self.classes == class).count() as u64);
        let spec = Spec { class_counts: class_counts.collect(), groupings: vec![2, 7], contrasts: 1, ..self.spec() };
        let mut addition = change.add("added", spec, &[], Some(whole), &|_, group, _| group).unwrap();
        let segment = addition.segment();
        for number in 0..2 {
            assert_eq!(segment.add_source(&Self::source(100 + number)).unwrap(), number);
        }
        for (i, row) in rows.chunks(self.dims).enumerate() {
            let record = Record { source: i as u32 / 5, class: (i % self.classes) as u32, payload: [i as u32, 0] };
            segment.add(record, &[record.source, i as u32 % 7], [row, row]).unwrap();
        }
        segment.add_contrast(1, [7, 8], &rows[..self.dims]).unwrap();
        let [who, what, message] = ["somebody", "changed", "to freeze it"].map(str::to_owned);
        addition
            .publish(Note { who, what, message, content: b"more".to_vec() }, &|_| ControlFlow::Continue(()))
            .unwrap();
        Index::open(folder).unwrap()
    }

    pub fn build(&self, folder: &Path) -> Index {
        self.filled(folder).unwrap().finish(&|_| ControlFlow::Continue(())).unwrap();
        Index::open(folder).unwrap()
    }

    fn sources(&self) -> u32 {
        self.records.last().map_or(0, |record| record.source + 1)
    }

    /// The bytes of a source. They are in the frozen index.
    pub fn source(number: u32) -> Vec<u8> {
        format!("sentence {number}").into_bytes()
    }

    /// The groups of the record that was added at this position: its source, and one of seven.
    pub fn groups(&self, i: usize) -> [u32; 2] {
        [self.records[i].source, i as u32 % 7]
    }

    /// The row in the first space of the record that was added at this position.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.rows[0][i * self.dims..][..self.dims]
    }

    /// The order in which an index numbers the records: by class, then as they were added.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.records.len()).collect();
        order.sort_by_key(|i| self.records[*i].class);
        order
    }

    /// The numbers of the nearest records by plain arithmetic in f64, with their similarities.
    pub fn nearest(&self, row: &[f32], count: usize, passes: impl Fn(usize, &Record) -> bool) -> Vec<(u32, f64)> {
        let all = self.order().into_iter().enumerate().filter(|(number, i)| passes(*number, &self.records[*i]));
        let mut all: Vec<(u32, f64)> = all
            .map(|(number, i)| {
                let pairs = row.iter().zip(self.row(i));
                (number as u32, pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum())
            })
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.truncate(count);
        all
    }
}

/// The key of a source: all of it.
fn whole(source: &[u8]) -> &[u8] {
    source
}
