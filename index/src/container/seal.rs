//! Comparing sections of a mapped file with their checksums when they are first read.
//!
//! A section of at least [`LARGE`] bytes has a checksum for each of its pages, in a section of their own, so only the pages
//! that are read are compared. Other sections, and those of files from before there were such checksums, are compared as a
//! whole. Whatever differs is noted in the map, where [`Sections::intact`](super::Sections::intact) finds it. Threads never
//! wait for a lock: those that need the same section share the work.

use std::{
    ops::Range,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
};

use super::map::Map;

/// Bytes of a page.
pub(super) const PAGE: usize = 4096;
/// Sections from this size on have checksums of their pages.
pub(super) const LARGE: u64 = 1 << 20;
/// Bytes that a thread compares at a time of a section without checksums of its pages.
const PIECE: usize = 1 << 20;

/// What is known of a section.
#[derive(Debug)]
pub(super) struct Seal {
    tag: u32,
    crc: u32,
    place: Range<usize>,
    /// Whether all of it was compared. What differed is noted in the map.
    compared: AtomicBool,
    pages: Option<Pages>,
    whole: OnceLock<Whole>,
}

/// A difference between a file and its checksums.
#[derive(Debug)]
pub(super) struct Difference {
    pub(super) what: String,
    pub(super) expected: u32,
    pub(super) found: u32,
}

/// The pages of a section.
#[derive(Debug)]
struct Pages {
    table: Arc<Seal>,
    /// The place of the first page's checksum in the table.
    first: usize,
    /// One bit for each page that was compared.
    seen: Box<[AtomicU64]>,
    left: AtomicUsize,
}

/// The checksums of the pieces of a section, until all are known.
#[derive(Debug)]
struct Whole {
    found: Box<[AtomicU32]>,
    next: AtomicUsize,
    done: AtomicUsize,
}

impl Seal {
    /// A section that is compared as a whole.
    pub(super) fn new(tag: u32, crc: u32, place: Range<usize>) -> Self {
        let compared = AtomicBool::new(place.is_empty());
        Self { tag, crc, place, compared, pages: None, whole: OnceLock::new() }
    }

    /// The same section, with the checksums of its pages in a table from `first` on.
    pub(super) fn with_pages(self, table: Arc<Self>, first: usize) -> Self {
        let count = self.place.len().div_ceil(PAGE);
        let seen = (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Self { pages: Some(Pages { table, first, seen, left: AtomicUsize::new(count) }), ..self }
    }

    /// Whether all of the section was compared.
    #[inline]
    pub(super) fn is_compared(&self) -> bool {
        self.compared.load(Ordering::Acquire)
    }

    /// Compares all of the section, unless that is done.
    #[inline]
    pub(super) fn compare(&self, map: &Map) {
        if !self.is_compared() {
            self.compare_whole(map);
        }
    }

    /// Compares what has these bytes of the section, unless that is done.
    #[inline]
    pub(super) fn compare_part(&self, map: &Map, bytes: Range<usize>) {
        if self.is_compared() || bytes.is_empty() {
            return;
        }
        let Some(pages) = &self.pages else { return self.compare_whole(map) };
        for page in bytes.start / PAGE..=(bytes.end - 1) / PAGE {
            if !pages.is_seen(page) {
                self.compare_page(map, pages, page);
            }
        }
    }

    #[cold]
    fn compare_page(&self, map: &Map, pages: &Pages, page: usize) {
        pages.table.compare(map);
        let at = pages.table.place.start + 4 * (pages.first + page);
        let expected = map.bytes().get(at..).and_then(<[u8]>::first_chunk).map_or(0, |crc| u32::from_le_bytes(*crc));
        let start = self.place.start + page * PAGE;
        let found = crc32c::crc32c(map.bytes().get(start..self.place.end.min(start + PAGE)).unwrap_or_default());
        if found != expected {
            let what = format!("the checksum of page {page} of section {}", self.tag);
            map.note(Difference { what, expected, found });
        }
        if pages.see(page) {
            self.compared.store(true, Ordering::Release);
        }
    }

    #[cold]
    fn compare_whole(&self, map: &Map) {
        let bytes = map.bytes().get(self.place.clone()).unwrap_or_default();
        let whole = self.whole.get_or_init(|| Whole::new(bytes.len().div_ceil(PIECE)));
        while let Some((piece, found)) = whole.claim() {
            let start = piece * PIECE;
            found.store(crc32c::crc32c(&bytes[start..bytes.len().min(start + PIECE)]), Ordering::Release);
            if whole.done.fetch_add(1, Ordering::AcqRel) + 1 == whole.found.len() {
                let found = whole.combined(bytes.len());
                if found != self.crc {
                    let what = format!("the checksum of section {}", self.tag);
                    map.note(Difference { what, expected: self.crc, found });
                }
                self.compared.store(true, Ordering::Release);
            }
        }
        // Other threads have the last pieces, and wait for nothing.
        while !self.is_compared() {
            std::thread::yield_now();
        }
    }
}

impl Pages {
    #[inline]
    fn is_seen(&self, page: usize) -> bool {
        self.seen.get(page / 64).is_none_or(|word| word.load(Ordering::Acquire) >> (page % 64) & 1 == 1)
    }

    /// Marks a page as compared. Returns whether it was the last.
    fn see(&self, page: usize) -> bool {
        let bit = 1 << (page % 64);
        let new = self.seen[page / 64].fetch_or(bit, Ordering::AcqRel) & bit == 0;
        new && self.left.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

impl Whole {
    fn new(pieces: usize) -> Self {
        let found = (0..pieces).map(|_| AtomicU32::new(0)).collect();
        Self { found, next: AtomicUsize::new(0), done: AtomicUsize::new(0) }
    }

    /// A piece that no other thread has, and where its checksum goes.
    fn claim(&self) -> Option<(usize, &AtomicU32)> {
        let piece = self.next.fetch_add(1, Ordering::AcqRel);
        Some((piece, self.found.get(piece)?))
    }

    fn combined(&self, length: usize) -> u32 {
        let last = self.found.len().saturating_sub(1);
        let bytes = |piece: usize| if piece == last { length - last * PIECE } else { PIECE };
        let mut found = self.found.iter().map(|found| found.load(Ordering::Acquire)).enumerate();
        // Most sections have one piece, and combining costs more than the checksum of a small one.
        let first = found.next().map_or(0, |(_, crc)| crc);
        found.fold(first, |crc, (piece, found)| crc32c::crc32c_combine(crc, found, bytes(piece)))
    }
}

/// The checksums of the pages of a section.
pub(super) fn page_checksums(bytes: &[u8]) -> Vec<u32> {
    use rayon::prelude::*;
    bytes.par_chunks(PAGE).with_min_len(256).map(crc32c::crc32c).collect()
}
