//! What the fuzz targets share: folders of files of which one is changed at a time, and checksums that fit again.

use std::path::{Path, PathBuf};

/// Files as they were written, one of which can differ now.
pub struct Files {
    files: Vec<(PathBuf, Vec<u8>)>,
    changed: Option<usize>,
}

impl Files {
    /// All files of a folder and the folders in it that are not empty, by name.
    pub fn of(folder: &Path) -> Self {
        let mut paths = Vec::new();
        list(folder, &mut paths);
        paths.sort();
        let read = |path: PathBuf| (std::fs::read(&path).expect("a file of the folder"), path);
        let files = paths.into_iter().map(read).filter(|(bytes, _)| !bytes.is_empty());
        Self { files: files.map(|(bytes, path)| (path, bytes)).collect(), changed: None }
    }

    /// Restores what was changed before, and changes a file as `input` says: which one, how, and what. What is either the
    /// whole content, or changes of three bytes: a place (two bytes) and the byte there. `repair` corrects checksums of the
    /// file with this name, which one in eight inputs leaves as they are. `None` if the input is too short.
    pub fn change(&mut self, input: &[u8], repair: impl Fn(&str, &mut Vec<u8>)) -> Option<&Path> {
        let [which, how, what @ ..] = input else { return None };
        let which = *which as usize % self.files.len();
        if let Some(before) = self.changed.replace(which).filter(|before| *before != which) {
            self.write(before, &self.files[before].1);
        }
        let (path, whole) = &self.files[which];
        let mut bytes = whole.clone();
        match how / 8 % 2 {
            0 => {
                for change in what.chunks_exact(3) {
                    let place = u16::from_le_bytes([change[0], change[1]]) as usize % bytes.len();
                    bytes[place] = change[2];
                }
            }
            _ => bytes = what.to_vec(),
        }
        if how % 8 != 0 {
            repair(path.file_name().and_then(|name| name.to_str()).unwrap_or_default(), &mut bytes);
        }
        self.write(which, &bytes);
        Some(path)
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        std::fs::write(&self.files[at].0, bytes).expect("a changed file");
    }
}

fn list(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry of the folder").path();
        if path.is_dir() { list(&path, paths) } else { paths.push(path) }
    }
}

/// Corrects the checksums of all sections of a container that are inside the file, and of the header.
pub fn sign_container(bytes: &mut [u8]) {
    if bytes.len() < 1024 {
        return;
    }
    for at in (0..27).map(|slot| 128 + 32 * slot) {
        let number = |at: usize| usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default()));
        let (Ok(offset), Ok(length)) = (number(at + 8), number(at + 16)) else { continue };
        let section = offset.checked_add(length).and_then(|end| bytes.get(offset..end));
        if let Some(crc) = section.map(crc32c::crc32c) {
            bytes[at + 24..at + 28].copy_from_slice(&crc.to_le_bytes());
        }
    }
    let crc = crc32c::crc32c(&bytes[..1020]);
    bytes[1020..1024].copy_from_slice(&crc.to_le_bytes());
}

/// Computes everything on the calling thread: handing work to another would cost more than the work.
pub fn alone() {
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().expect("the first pool");
}
