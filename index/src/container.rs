//! A file container: typed sections behind a checksummed header, written once and then memory-mapped.
//!
//! The container knows nothing of indexes. The files of an index are containers, and a program can use the same format
//! for its own files. A file has a *kind* (a number that says what its sections mean), up to ten numbers of metadata
//! called *facts*, and up to 27 sections. A section is an array of one [`Plain`] number type and has a *tag*.
//!
//! [`Writer`] writes a file, [`Sections`] opens one, and [`View`] is a section of a mapped file. Opening checks the
//! header only, so it takes the same time for any file size. What a view reads is compared with its checksums at the first
//! time, and [`Sections::intact`] says whether it differed. [`Sections::check`] reads the whole file.
//!
//! ```
//! use citree_index::container::{FACTS, Sections, Writer};
//!
//! # let folder = tempfile::tempdir().expect("a temporary folder");
//! # let path = folder.path().join("squares");
//! const KIND: u32 = 100;
//! const SQUARES: u32 = 1;
//!
//! let mut file = Writer::create(path.clone(), KIND)?;
//! file.section(SQUARES, &[0u32, 1, 4, 9])?;
//! let mut facts = [0; FACTS];
//! facts[0] = 4;
//! file.finish(facts)?;
//!
//! let file = Sections::open(path, KIND)?;
//! file.check()?;
//! let squares = file.view::<u32>(SQUARES, &[file.facts()[0]])?;
//! assert_eq!(*squares, [0, 1, 4, 9]);
//! # Ok::<(), citree_index::Error>(())
//! ```
//!
//! # Safety of mapped files
//! A [`View`] is a slice of a mapped file, so the file must not change while the view exists. Within this API that is
//! impossible: see [`Writer::seal`]. Changing or truncating a file from outside, with another program or with
//! [`std::fs`], while it is mapped is undefined behaviour. Replace files by renaming a new one over the old one instead.
//! [`check_mapped`] notices files that were truncated all the same, and [`on_truncation`] says what happens then.

mod header;
mod map;
mod seal;
mod sections;
mod truncation;
mod writer;

pub use header::{FACTS, OLDEST, VERSION};
pub use map::{Plain, View};
pub use sections::Sections;
pub use truncation::{OnTruncation, check_mapped, on_truncation};
pub use writer::{Section, Writer, create_folder, sync_folder};

pub(crate) use header::Remedies;

/// CRC32C of these bytes, computed in parallel.
fn checksum(bytes: &[u8]) -> u32 {
    use rayon::prelude::*;
    const PIECE: usize = 1 << 22;
    let pieces: Vec<(u32, usize)> = bytes.par_chunks(PIECE).map(|piece| (crc32c::crc32c(piece), piece.len())).collect();
    let mut pieces = pieces.into_iter();
    // Most sections have one piece, and combining costs more than the checksum of a small one.
    let first = pieces.next().map_or(0, |(crc, _)| crc);
    pieces.fold(first, |crc, (piece, length)| crc32c::crc32c_combine(crc, piece, length))
}
