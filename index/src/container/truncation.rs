//! What happens when a file is truncated while it is mapped.
//!
//! Reading a page that the file no longer has raises SIGBUS, which ends the process without a word. On Linux a program can
//! ask for better ([`on_truncation`]): a message, or zeros in place of the missing pages so that it can go on. Then it must
//! not use what it computed until [`check_mapped`] says that no file was truncated.
//!
//! This module is `unsafe` because only a signal handler can do that. The handler reads atomics, maps memory, writes and
//! exits. It takes no lock and allocates nothing.

use std::{
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use crate::error::{Error, Result};

/// The most mapped files that the handler knows at a time. Further ones are checked but not replaced by zeros.
const MOST: usize = 1024;

const REMEDY: &str =
    "files of a bundle must not change while it is used: restore it from a copy, or build its index again";

/// What to do when a page of a mapped file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTruncation {
    /// Write the cause to the standard error, and end the process with exit status 2.
    Exit,
    /// Read zeros. From then on [`check_mapped`] returns an error until the file is closed.
    Continue,
}

/// A mapped range of addresses. Free if `start` is 0.
struct Range {
    start: AtomicUsize,
    length: AtomicUsize,
    /// Whether a page could not be read, or the file was found to be shorter.
    broken: AtomicBool,
    /// Whether the file was found to differ from a checksum.
    differs: AtomicBool,
}

impl Range {
    const fn free() -> Self {
        let (broken, differs) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { start: AtomicUsize::new(0), length: AtomicUsize::new(0), broken, differs }
    }
}

static RANGES: [Range; MOST] = [const { Range::free() }; MOST];

/// The files that are mapped, with the places of their ranges.
static FILES: Mutex<Vec<(usize, MappedFile)>> = Mutex::new(Vec::new());

#[derive(Debug)]
struct MappedFile {
    path: PathBuf,
    length: u64,
    identity: Option<(u64, u64)>,
}

/// A mapped file is known while this value lives.
#[derive(Debug)]
pub(super) struct Known(Option<usize>);

impl Known {
    /// Makes a mapping known. It must be unmapped after this value is dropped.
    pub(super) fn new(path: &Path, metadata: &std::fs::Metadata, bytes: &[u8]) -> Self {
        let mut files = files();
        let free = |range: &Range| range.start.load(Ordering::Acquire) == 0;
        let place = RANGES.iter().position(free).filter(|_| !bytes.is_empty());
        if let Some(place) = place {
            let range = &RANGES[place];
            range.broken.store(false, Ordering::Release);
            range.differs.store(false, Ordering::Release);
            range.length.store(bytes.len(), Ordering::Release);
            range.start.store(bytes.as_ptr().addr(), Ordering::Release);
            let file = MappedFile { path: path.to_owned(), length: metadata.len(), identity: identity(metadata) };
            files.push((place, file));
        }
        Self(place)
    }

    /// Notes that the file differs from a checksum.
    pub(super) fn differs(&self) {
        self.0.iter().for_each(|place| RANGES[*place].differs.store(true, Ordering::Release));
    }
}

impl Drop for Known {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            let mut files = files();
            files.retain(|(of_file, _)| *of_file != place);
            RANGES[place].start.store(0, Ordering::Release);
        }
    }
}

/// Checks that every file that this process has mapped still has its length, and that nothing that was read of it differed
/// from a checksum. Costs a system call for each.
///
/// # Errors
/// [`Error::Length`] or [`Error::Damaged`] for the first file that was truncated, could not be read or differs.
pub fn check_mapped() -> Result<()> {
    for (place, file) in files().iter() {
        let broken = &RANGES[*place].broken;
        // A file that was removed or replaced keeps its content for those who have it mapped.
        let same = std::fs::metadata(&file.path).ok().filter(|metadata| identity(metadata) == file.identity);
        let found = same.map_or(file.length, |metadata| metadata.len());
        if found < file.length {
            broken.store(true, Ordering::Release);
            return Err(Error::Length { path: file.path.clone(), expected: file.length, found, remedy: REMEDY });
        }
        let damaged = |what: &str, expected: &str, found: &str| {
            let (what, expected, found) = (what.to_string(), expected.to_string(), found.to_string());
            Err(Error::Damaged { path: file.path.clone(), what, expected, found, remedy: REMEDY })
        };
        if broken.load(Ordering::Acquire) {
            let found = "gone: the file was truncated while it was in use, or its disk failed";
            return damaged("a page of it", "readable", found);
        }
        if RANGES[*place].differs.load(Ordering::Acquire) {
            return damaged("a part of it", "as it was written", "not what its checksum says");
        }
    }
    Ok(())
}

fn files() -> MutexGuard<'static, Vec<(usize, MappedFile)>> {
    FILES.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The device and the number of a file, which stay when it is renamed.
fn identity(metadata: &std::fs::Metadata) -> Option<(u64, u64)> {
    #[cfg(unix)]
    return Some((std::os::unix::fs::MetadataExt::dev(metadata), std::os::unix::fs::MetadataExt::ino(metadata)));
    #[cfg(not(unix))]
    return metadata.file_type().is_file().then_some((0, 0));
}

/// Says what this process does when a page of a mapped file cannot be read, because the file was truncated or its disk
/// failed. For programs, not for libraries: it replaces the handler of SIGBUS. Does nothing on systems other than Linux.
///
/// # Errors
/// If the system refuses the handler.
pub fn on_truncation(what: OnTruncation) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    handler::install(what)?;
    let _ = what;
    Ok(())
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
mod handler {
    use super::{AtomicBool, AtomicUsize, OnTruncation, Ordering, RANGES};
    use libc::{c_int, c_void, siginfo_t};

    const MESSAGE: &str = "citree: a mapped file was truncated while it was in use, or its disk failed (SIGBUS); restore \
                           the bundle from a copy, or build its index again\n";

    static CONTINUE: AtomicBool = AtomicBool::new(false);
    static PAGE: AtomicUsize = AtomicUsize::new(4096);

    pub(super) fn install(what: OnTruncation) -> std::io::Result<()> {
        CONTINUE.store(what == OnTruncation::Continue, Ordering::Release);
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        PAGE.store(usize::try_from(page).unwrap_or(4096), Ordering::Release);
        // SAFETY: a zeroed `sigaction` is valid: no flags, and an empty set of signals on Linux. `handle` has the signature
        // that SA_SIGINFO asks for, and calls only what a signal handler may call.
        let done = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handle as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut())
        };
        if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }

    extern "C" fn handle(_: c_int, info: *mut siginfo_t, _: *mut c_void) {
        // SAFETY: the system passes a valid pointer, and for SIGBUS the address is set.
        let address = unsafe { (*info).si_addr() }.addr();
        if CONTINUE.load(Ordering::Acquire) && replace(address) {
            return;
        }
        // SAFETY: `write` and `_exit` may be called from a signal handler. The message is valid for its length.
        unsafe {
            libc::write(libc::STDERR_FILENO, MESSAGE.as_ptr().cast(), MESSAGE.len());
            libc::_exit(2);
        }
    }

    /// Replaces a mapped file by zeros, from this address to its end. Returns whether it is one of ours, and it worked.
    fn replace(address: usize) -> bool {
        for range in &RANGES {
            let (start, length) = (range.start.load(Ordering::Acquire), range.length.load(Ordering::Acquire));
            if start == 0 || !(start..start + length).contains(&address) {
                continue;
            }
            range.broken.store(true, Ordering::Release);
            let page = PAGE.load(Ordering::Acquire);
            let first = address / page * page;
            let length = (start + length).next_multiple_of(page) - first;
            // SAFETY: the thread that raised the signal is reading this mapping, so it is mapped and stays mapped, and these
            // pages belong to it alone: a mapping begins and ends at a page. It was read-only and still is. Zeros are a value
            // of every plain number.
            let mapped = unsafe {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
                libc::mmap(std::ptr::without_provenance_mut(first), length, libc::PROT_READ, flags, -1, 0)
            };
            return mapped != libc::MAP_FAILED;
        }
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::container::{FACTS, Sections, Writer};

    #[test]
    fn a_file_that_is_truncated_while_mapped_reads_as_zeros_and_is_noticed() {
        on_truncation(OnTruncation::Continue).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers");
        let numbers: Vec<u32> = (1..=100_000).collect();
        let mut writer = Writer::create(path.clone(), 7).unwrap();
        writer.section(1, &numbers).unwrap();
        writer.finish([0; FACTS]).unwrap();
        // Other tests have files mapped too.
        let name = path.display().to_string();
        let own = || {
            check_mapped().map_err(|error| error.to_string()).or_else(|error| match error.contains(&name) {
                true => Err(error),
                false => Ok(()),
            })
        };
        {
            let file = Sections::open(path.clone(), 7).unwrap();
            let view = file.view::<u32>(1, &[100_000]).unwrap();
            assert_eq!(own(), Ok(()));
            std::fs::File::options().write(true).open(&path).unwrap().set_len(5000).unwrap();
            assert_eq!((view[99_999], view[50_000], view[0]), (0, 0, 1));
            assert!(own().unwrap_err().contains("has 5000 bytes"), "{:?}", own());
            // Even if it has its length again: what was read is not what was written.
            std::fs::File::options().write(true).open(&path).unwrap().set_len(401_024).unwrap();
            assert!(own().unwrap_err().contains("truncated"), "{:?}", own());
        }
        assert_eq!(own(), Ok(()), "closed");
        // A file that is replaced, as citree does it, keeps its content for those who have it mapped.
        std::fs::remove_file(&path).unwrap();
        let mut writer = Writer::create(path.clone(), 7).unwrap();
        writer.section(1, &[1u32, 2]).unwrap();
        writer.finish([0; FACTS]).unwrap();
        let file = Sections::open(path.clone(), 7).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "short").unwrap();
        assert_eq!(own(), Ok(()));
        assert_eq!(*file.view::<u32>(1, &[2]).unwrap(), [1, 2]);
    }
}
