//! Memory mapping: the only place that turns bytes of a file into typed slices.
//!
//! A published file is never changed or cut: writers make new generations. That promise is what makes a mapping of it
//! sound to read; whoever edits a published file by hand breaks it.

use std::{fs::File, io, marker::PhantomData, ops::Deref, sync::Arc};

use memmap2::Mmap;

#[cfg(target_endian = "big")]
compile_error!("index files are little-endian and used as they lie: a big-endian machine would need converted copies");

/// A whole file, mapped for reading.
#[derive(Clone, Debug)]
pub(crate) struct Map(Arc<Mmap>);

impl Map {
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        // SAFETY: files are mapped either by the writer that alone holds them (and only appends from then on, or writes
        // sections that it has not viewed yet), or after publication, from when on they never change.
        #[allow(unsafe_code)]
        let map = unsafe { Mmap::map(file)? };
        Ok(Self(Arc::new(map)))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// A typed view of `bytes` bytes from `offset`; `None` unless they lie in the file, are aligned and are whole values.
    pub(crate) fn view<T: Plain>(&self, offset: u64, bytes: u64) -> Option<View<T>> {
        let (start, length) = (usize::try_from(offset).ok()?, usize::try_from(bytes).ok()?);
        let part = self.0.get(start..start.checked_add(length)?)?;
        let whole = length.is_multiple_of(size_of::<T>()) && part.as_ptr().cast::<T>().is_aligned();
        whole.then(|| View { map: self.clone(), start, count: length / size_of::<T>(), kind: PhantomData })
    }
}

/// A slice of a mapped file that keeps the mapping alive.
#[derive(Clone, Debug)]
pub struct View<T> {
    map: Map,
    start: usize,
    count: usize,
    kind: PhantomData<T>,
}

impl<T: Plain> Deref for View<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: `Map::view` checked that these bytes lie in the mapping, are aligned for T and hold whole values; T is
        // plain, so that every bit pattern is a value; the mapping lives as long as `self`.
        #[allow(unsafe_code)]
        unsafe {
            std::slice::from_raw_parts(self.map.0.as_ptr().add(self.start).cast(), self.count)
        }
    }
}

/// The bytes of a slice of numbers, as they are written to a file.
pub(crate) fn bytes_of<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: plain values have no padding, and every byte of them is initialised.
    #[allow(unsafe_code)]
    unsafe {
        std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values))
    }
}

/// Numbers for which every bit pattern is a value and which have no padding.
pub trait Plain: Copy + Send + Sync + sealed::Sealed + 'static {
    /// The code of this type in a section table.
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
    fn a_view_shows_the_numbers_that_were_written_and_nothing_beyond_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes_of(&[1.5f32, -2.0, 3.25])).unwrap();
        let map = Map::of(&file).unwrap();
        assert_eq!(*map.view::<f32>(4, 8).unwrap(), [-2.0, 3.25]);
        assert!(map.view::<f32>(0, 0).unwrap().is_empty());
        assert!(map.view::<f32>(2, 8).is_none(), "not aligned");
        assert!(map.view::<f32>(4, 6).is_none(), "not whole values");
        assert!(map.view::<f32>(8, 8).is_none(), "beyond the end");
        assert!(map.view::<f32>(u64::MAX, 8).is_none(), "an offset that overflows");
    }
}
