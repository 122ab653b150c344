//! Memory mapping: the only place that turns bytes of a file into typed slices.

use std::{
    fs::File,
    io,
    marker::PhantomData,
    ops::{Deref, Range},
    path::Path,
    sync::{Arc, OnceLock},
};

use memmap2::{Mmap, MmapOptions};

use super::{
    seal::{Difference, Seal},
    truncation::Known,
};

#[cfg(target_endian = "big")]
compile_error!("mapped files are little-endian and are used without conversion: big-endian machines are unsupported");

/// Bytes of a file, mapped for reading.
///
/// Only the modules of the container can make one. They map only bytes that never change again; each function below
/// says why.
#[derive(Clone, Debug)]
pub(super) struct Map(Arc<Mapped>);

/// The fields are dropped in this order: a mapping ends after it is forgotten.
#[derive(Debug)]
struct Mapped {
    known: Option<Known>,
    bytes: Mmap,
    /// The first difference from a checksum that was found.
    difference: OnceLock<Difference>,
}

impl Map {
    /// Maps a complete file that [`Sections`](super::Sections) opened.
    pub(super) fn whole(file: &File, path: &Path) -> io::Result<Self> {
        // SAFETY: a file has a valid header only after `Writer::finish`, which consumes the writer, so this API cannot
        // write the file any more. The module documentation forbids changes from outside.
        #[allow(unsafe_code)]
        let bytes = unsafe { Mmap::map(file)? };
        let known = Some(Known::new(path, &file.metadata()?, &bytes));
        Ok(Self(Arc::new(Mapped { known, bytes, difference: OnceLock::new() })))
    }

    /// Maps a section of a file that [`Writer`](super::Writer) is still writing: these bytes and no others.
    pub(super) fn sealed(file: &File, offset: u64, length: u64) -> io::Result<Self> {
        let length = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // SAFETY: the writer calls this when it has taken back the only handle that can write the section, or when it
        // is consumed itself. Later writes go to other sections or to the header, and the file only ever grows. The
        // slice that memmap2 makes covers this section alone.
        #[allow(unsafe_code)]
        let bytes = unsafe { MmapOptions::new().offset(offset).len(length).map(file)? };
        Ok(Self(Arc::new(Mapped { known: None, bytes, difference: OnceLock::new() })))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0.bytes
    }

    /// Notes that the file differs from a checksum.
    pub(super) fn note(&self, difference: Difference) {
        let _ = self.0.difference.set(difference);
        self.0.known.iter().for_each(Known::differs);
    }

    /// The first difference from a checksum that was found.
    pub(super) fn difference(&self) -> Option<&Difference> {
        self.0.difference.get()
    }

    /// A typed view of `bytes` bytes from `offset`, which are compared with what `seal` says when they are read. `None` if they are outside the map, unaligned or not whole values.
    pub(super) fn view<T: Plain>(&self, offset: u64, bytes: u64, seal: Option<Arc<Seal>>) -> Option<View<T>> {
        let (start, length) = (usize::try_from(offset).ok()?, usize::try_from(bytes).ok()?);
        let part = self.0.bytes.get(start..start.checked_add(length)?)?;
        let whole = length.is_multiple_of(size_of::<T>()) && part.as_ptr().cast::<T>().is_aligned();
        whole.then(|| View { map: self.clone(), start, count: length / size_of::<T>(), seal, kind: PhantomData })
    }
}

/// A slice of a mapped file. It keeps the mapping alive, and cloning it copies no values.
///
/// Values are compared with their checksums when they are first read: all of them by [`Deref`], those of a range by
/// [`View::part`]. Damaged values are returned as they are. [`Sections::intact`](super::Sections::intact) says whether there
/// were any, so ask it before you use a result.
#[derive(Clone, Debug)]
pub struct View<T> {
    map: Map,
    start: usize,
    count: usize,
    /// `None` in a file that is being written.
    seal: Option<Arc<Seal>>,
    kind: PhantomData<T>,
}

impl<T: Plain> View<T> {
    /// The number of values. Reads none of them.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Some of the values. Compares only the pages of the file that have them. `None` if there are not as many.
    #[inline]
    pub fn part(&self, range: Range<usize>) -> Option<&[T]> {
        let part = self.raw().get(range.clone())?;
        self.compare(range);
        Some(part)
    }

    /// One of the values.
    #[inline]
    pub fn value(&self, at: usize) -> Option<T> {
        self.part(at..at.checked_add(1)?).and_then(<[T]>::first).copied()
    }

    /// Compares the pages that have these values with their checksums.
    #[inline]
    pub(crate) fn compare(&self, range: Range<usize>) {
        if let Some(seal) = &self.seal {
            seal.compare_part(&self.map, range.start * size_of::<T>()..range.end.min(self.count) * size_of::<T>());
        }
    }

    /// Whether all values were compared.
    #[inline]
    pub(crate) fn is_compared(&self) -> bool {
        self.seal.as_ref().is_none_or(|seal| seal.is_compared())
    }

    /// All values, compared with nothing. Whoever reads some of them calls [`View::compare`] before or after that.
    #[inline]
    pub(crate) fn raw(&self) -> &[T] {
        // SAFETY: `Map::view` checked that these bytes are inside the mapping, aligned for T, and whole values. T is
        // plain, so every bit pattern is a value. The mapping lives as long as `self`, and its bytes never change.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.map.0.bytes.as_ptr().add(self.start).cast(), self.count)
        }
    }
}

impl<T: Plain> Deref for View<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        self.seal.iter().for_each(|seal| seal.compare(&self.map));
        self.raw()
    }
}

/// The bytes of a slice of numbers, as they are written to a file.
pub(super) fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: plain values have no padding, so every byte is initialised.
    #[allow(unsafe_code)]
    unsafe {
        std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values))
    }
}

/// Number types that a section can hold: every bit pattern is a value, and there is no padding. Sealed.
pub trait Plain: Copy + Send + Sync + sealed::Sealed + 'static {
    /// The code of this type in the section table.
    const CODE: u32;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! plain {
    ($($kind:ty = $code:literal),*) => { $(
        impl sealed::Sealed for $kind {}
        impl Plain for $kind { const CODE: u32 = $code; }
    )* };
}
plain!(u8 = 1, i8 = 2, u32 = 3, u64 = 4, f32 = 5, f64 = 6, u16 = 7);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;

    use super::*;

    #[test]
    fn a_view_has_the_numbers_that_were_written_and_nothing_beyond_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes_of(&[1.5f32, -2.0, 3.25])).unwrap();
        let map = Map::whole(&file, Path::new("a temporary file")).unwrap();
        assert_eq!(*map.view::<f32>(4, 8, None).unwrap(), [-2.0, 3.25]);
        assert!(map.view::<f32>(0, 0, None).unwrap().is_empty());
        assert!(map.view::<f32>(2, 8, None).is_none(), "not aligned");
        assert!(map.view::<f32>(4, 6, None).is_none(), "not whole values");
        assert!(map.view::<f32>(8, 8, None).is_none(), "beyond the end");
        assert!(map.view::<f32>(u64::MAX, 8, None).is_none(), "an offset that overflows");
    }

    #[test]
    fn a_sealed_map_covers_its_section_and_no_other_byte() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[[7u8; 64], [8; 64], [9; 64]].concat()).unwrap();
        assert_eq!(Map::sealed(&file, 64, 64).unwrap().bytes(), [8; 64]);
        assert!(Map::sealed(&file, 192, 0).unwrap().bytes().is_empty());
    }
}
