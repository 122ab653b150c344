//! A space: the rows of all segments under the numbers of the index, without those that were removed.

use std::{
    ops::Range,
    sync::{Arc, OnceLock},
};

use crate::{
    densities::{Asked, Density, densities},
    error::Result,
    numbers::Numbers,
    rows::comparable,
    search::{Answer, Nearest, run_many},
    segment_space::SegmentSpace,
    similarities::similarities,
    space_sums::{Summed, group_sums, summed},
    sums::Sums,
};

/// One row per record. Segment after segment, and ordered by class in each.
#[derive(Debug)]
pub struct Space {
    parts: Vec<SpacePart>,
    /// The numbers of the rows. A part of it for each part of the space.
    pub(crate) numbers: Arc<Numbers>,
    /// The numbers of the sources. A part of it for each segment.
    pub(crate) sources: Arc<Numbers>,
    dims: usize,
    classes: usize,
    summed: OnceLock<Summed>,
    group_sums: OnceLock<Vec<Vec<f32>>>,
}

/// The rows of a segment.
#[derive(Debug)]
pub(crate) struct SpacePart {
    /// The place of the segment in the index.
    pub(crate) segment: usize,
    pub(crate) space: Arc<SegmentSpace>,
}

impl Space {
    /// `numbers` has a part for each of `parts`, of which there is at least one. All have the same dimensions.
    pub(crate) fn new(parts: Vec<SpacePart>, numbers: Arc<Numbers>, sources: Arc<Numbers>) -> Self {
        let dims = parts.first().map_or(1, |part| part.space.dims());
        let classes = parts.iter().map(|part| part.space.records.classes()).max().unwrap_or_default();
        let (summed, group_sums) = (OnceLock::new(), OnceLock::new());
        Self { parts, numbers, sources, dims, classes, summed, group_sums }
    }

    pub(crate) fn parts(&self) -> &[SpacePart] {
        &self.parts
    }

    /// Whether everything that was read so far is as its checksums say, as [`Index::intact`](crate::Index::intact) says of
    /// the whole index.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) for the first difference.
    pub fn intact(&self) -> Result<()> {
        self.parts.iter().try_for_each(|part| part.space.file.intact().and_then(|()| part.space.records.file.intact()))
    }

    /// Begins a search for the records whose rows are nearest to `row`. [`Nearest::run`] runs it.
    ///
    /// The row can be any finite vector with a norm of at most 10¹⁵. The graph of a cosine space is built and its recall
    /// measured for unit vectors. For other vectors, such as the difference of two rows, its recall is lower: use
    /// [`Nearest::exact`] for these.
    ///
    /// ```
    #[doc = include_str!("../doc/small_index.md")]
    /// let index = Index::open(folder)?;
    /// let space = &index.spaces()[0];
    /// let answer = space.nearest(&[0.8, 0.6]).count(2).run()?;
    /// let [first, second] = answer.hits[..] else { panic!("two hits") };
    /// assert_eq!((first.record, second.record), (1, 0), "most similar first");
    /// assert!((first.similarity - 0.96).abs() < 1e-6);
    ///
    /// let of_class = space.nearest(&[0.8, 0.6]).class(0).exact().run()?;
    /// assert_eq!(of_class.hits, [second]);
    /// # Ok::<(), citree_index::Error>(())
    /// ```
    pub fn nearest<'a>(&'a self, row: &'a [f32]) -> Nearest<'a> {
        Nearest::new(self, row)
    }

    /// Runs many searches on all threads. `rows` holds the query rows one after another, and `ask` sets the options of
    /// each search. Exact searches share passes over the rows.
    ///
    /// ```
    #[doc = include_str!("../doc/small_index.md")]
    /// let index = Index::open(folder)?;
    /// // Two queries, each of which must not find records of its own source.
    /// let (rows, own) = ([1.0, 0.0, 0.6, 0.8], [0, 1]);
    /// let answers = index.spaces()[0].nearest_many(&rows, |i, nearest| nearest.count(1).except_source(own[i]))?;
    /// let found: Vec<u32> = answers.iter().map(|answer| answer.hits[0].record).collect();
    /// assert_eq!(found, [1, 2]);
    /// # Ok::<(), citree_index::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a row does not fit the space, or the index is damaged where the searches read it.
    pub fn nearest_many<'a>(
        &'a self,
        rows: &'a [f32],
        ask: impl Fn(usize, Nearest<'a>) -> Nearest<'a>,
    ) -> Result<Vec<Answer>> {
        let dims = self.dims();
        self.whole(rows)?;
        run_many(self, rows.chunks_exact(dims).enumerate().map(|(i, row)| ask(i, self.nearest(row))).collect())
    }

    /// The similarity of a row with the row of a record, equal to that of a [`Hit`](crate::Hit). `None` if there is no
    /// such record or the row has another number of dimensions.
    pub fn similarity(&self, row: &[f32], record: u32) -> Option<f32> {
        let (part, place) = self.numbers.locate(record).filter(|_| row.len() == self.dims())?;
        Some(self.parts.get(part)?.space.rows.similarity(row, place))
    }

    /// The similarities of `rows` (one after another) with every record of `range` that exists: those of the first row,
    /// then those of the second, and so on. Each has the same bits as [`Space::similarity`].
    ///
    /// # Errors
    /// If a row does not fit the space, the numbers do not fit into memory, or the index is damaged there.
    pub fn similarities(&self, rows: &[f32], range: Range<u32>) -> Result<Vec<f32>> {
        self.whole(rows)?;
        rows.chunks_exact(self.dims()).try_for_each(|row| comparable(row, self.dims()).map(drop))?;
        let end = self.count().min(range.end as usize) as u32;
        similarities(self, rows, end.min(range.start)..end)
    }

    /// For each of `rows` (one after another), the density of each class around it: the sum of
    /// exp(temperature · (similarity − 1)) over the records of the class. The records nearest to a row count exactly, the
    /// others by estimates from compact rows; [`Density`] has the bounds of the true sum.
    ///
    /// # Errors
    /// If a row does not fit the space, or the index is damaged.
    pub fn densities(&self, rows: &[f32], temperature: f32) -> Result<Vec<Vec<Density>>> {
        /// Records of each segment that count exactly.
        const NEAR: usize = 64;
        self.whole(rows)?;
        let queries: Vec<&[f32]> = rows.chunks_exact(self.dims()).collect();
        let mut all = vec![vec![Density::default(); self.classes]; queries.len()];
        for (at, part) in self.parts.iter().enumerate() {
            let near = |row| self.nearest(row).count(NEAR);
            let searches: Vec<Nearest<'_>> = queries.iter().map(|row| near(row)).collect();
            let answers = crate::search::run_part(self, at, &searches, &vec![f32::NEG_INFINITY; searches.len()])?;
            let asked: Vec<Asked<'_>> = queries
                .iter()
                .zip(answers)
                .map(|(row, answer)| {
                    let mut near = answer.hits;
                    near.sort_unstable_by_key(|hit| hit.record);
                    Asked { row, near }
                })
                .collect();
            let records = &part.space.records;
            let classes: Vec<Range<usize>> = (0..records.classes() as u32).map(|class| records.range(class)).collect();
            let found = densities(&part.space.rows, &asked, &classes, self.numbers.removed(at), temperature);
            for (all, found) in all.iter_mut().zip(found) {
                all.iter_mut().zip(found).for_each(|(all, found)| *all = all.plus(found));
            }
        }
        self.intact()?;
        Ok(all)
    }

    /// Refuses consecutive rows of which the last is incomplete.
    fn whole(&self, rows: &[f32]) -> Result<()> {
        let rest = rows.chunks_exact(self.dims()).remainder();
        if rest.is_empty() { Ok(()) } else { comparable(rest, self.dims()).map(drop) }
    }

    /// The row of a record.
    pub fn row(&self, record: u32) -> Option<&[f32]> {
        let (part, place) = self.numbers.locate(record)?;
        self.parts.get(part)?.space.rows.get(place)
    }

    /// All rows, as mapped: runs of consecutive records, in order. An index that was built as a whole is one run. A run ends
    /// with its segment, and before a record that was removed.
    ///
    /// ```
    #[doc = include_str!("../doc/small_index.md")]
    /// let index = Index::open(folder)?;
    /// let [run] = index.spaces()[0].runs()[..] else { panic!("one segment, nothing removed") };
    /// assert_eq!(run.len(), 3 * index.spaces()[0].dims());
    /// # Ok::<(), citree_index::Error>(())
    /// ```
    pub fn runs(&self) -> Vec<&[f32]> {
        let mut runs = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            let (rows, dims) = (&part.space.rows, self.dims);
            let removed = self.numbers.removed(at).iter().map(|place| *place as usize);
            let mut start = 0;
            for end in removed.chain([rows.count()]) {
                runs.extend(rows.values.part(start * dims..end * dims).filter(|run| !run.is_empty()));
                start = end + 1;
            }
        }
        runs
    }

    /// Number of rows, which is the number of records.
    pub fn count(&self) -> usize {
        self.numbers.count()
    }

    /// Dimensions of a row.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// Number of classes, those without records included.
    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    /// Sums and counts of the rows of each class.
    pub fn sums(&self) -> Sums {
        let Summed { sums, counts, .. } = self.summed();
        Sums::from_parts(self.dims, sums.clone(), counts.clone()).unwrap_or_else(|| Sums::new(self.classes, self.dims))
    }

    /// The sum of all rows.
    pub fn total(&self) -> &[f64] {
        &self.summed().total
    }

    fn summed(&self) -> &Summed {
        self.summed.get_or_init(|| summed(self))
    }

    /// The sums of the rows of each group of a grouping, group after group. Empty if there is no such grouping.
    pub fn group_sums(&self, grouping: usize) -> &[f32] {
        if let [part] = &self.parts[..]
            && self.numbers.removed(0).is_empty()
        {
            return part.space.group_sums(grouping);
        }
        self.group_sums.get_or_init(|| group_sums(self)).get(grouping).map_or(&[], Vec::as_slice)
    }
}
