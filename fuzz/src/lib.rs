//! What the fuzz targets share: files of which one is changed at a time, checksums that fit again, and a tiny bundle.

use std::path::{Path, PathBuf};

use citree::Bundle;
use citree::config::{Config, Preset};
use citree::treebank::starter;
use tempfile::TempDir;

/// Files as they were written, one of which can differ now.
pub struct Files {
    files: Vec<(PathBuf, Vec<u8>)>,
    changed: Option<usize>,
}

/// Where bytes were inserted or removed, and how many more there are now.
pub type Spliced = (usize, i64);

impl Files {
    /// These files, and all files of these folders and of the folders in them, by name; none that is empty.
    pub fn of(roots: &[&Path]) -> Self {
        let mut paths = Vec::new();
        roots.iter().for_each(|root| list(root, &mut paths));
        paths.sort();
        let read = |path: PathBuf| (std::fs::read(&path).expect("a file of the folder"), path);
        let files = paths.into_iter().map(read).filter(|(bytes, _)| !bytes.is_empty());
        Self { files: files.map(|(bytes, path)| (path, bytes)).collect(), changed: None }
    }

    /// Restores what was changed before, and changes a file as `input` says: which one, how, and what:
    ///
    /// - changes of three bytes each: a place (two bytes), and the byte there;
    /// - the whole content;
    /// - a place (two bytes), how many bytes are removed there, and those that are inserted.
    ///
    /// Then `repair` gets the name of the file and the bytes, unless the input wants them as they are. `None` if the input is
    /// too short.
    pub fn change(&mut self, input: &[u8], repair: impl Fn(&str, &mut Vec<u8>, Spliced)) -> Option<&Path> {
        let [which, how, what @ ..] = input else { return None };
        let which = *which as usize % self.files.len();
        if let Some(before) = self.changed.replace(which).filter(|before| *before != which) {
            self.write(before, &self.files[before].1);
        }
        let (path, whole) = &self.files[which];
        let mut bytes = whole.clone();
        let mut spliced = (0, 0);
        let place_of = |place: &[u8]| u16::from_le_bytes([place[0], place[1]]) as usize % whole.len();
        match (how / 8 % 3, what) {
            (0, changes) => changes.chunks_exact(3).for_each(|change| bytes[place_of(change)] = change[2]),
            (2, [low, high, removed, inserted @ ..]) => {
                let place = place_of(&[*low, *high]);
                let end = whole.len().min(place + *removed as usize);
                spliced = (place, inserted.len() as i64 - (end - place) as i64);
                bytes.splice(place..end, inserted.iter().copied());
            }
            (_, all) => bytes = all.to_vec(),
        }
        if how % 8 != 0 {
            repair(path.file_name().and_then(|name| name.to_str()).unwrap_or_default(), &mut bytes, spliced);
        }
        self.write(which, &bytes);
        Some(path)
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        std::fs::write(&self.files[at].0, bytes).expect("a changed file");
    }
}

fn list(root: &Path, paths: &mut Vec<PathBuf>) {
    if root.is_dir() {
        let entries = std::fs::read_dir(root).expect("a folder");
        entries.for_each(|entry| list(&entry.expect("an entry of the folder").path(), paths));
    } else {
        paths.push(root.to_owned());
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

/// Corrects the length of the header of a safetensors file in which bytes were inserted or removed.
pub fn fit_header(name: &str, bytes: &mut Vec<u8>, (place, more): Spliced) {
    let Some(length) = bytes.first_chunk_mut::<8>().filter(|_| name.ends_with(".safetensors")) else { return };
    let before = u64::from_le_bytes(*length);
    if (8..before.saturating_add(8)).contains(&(place as u64)) {
        *length = before.saturating_add_signed(more).to_le_bytes();
    }
}

/// A tiny bundle in a folder, trained on a few sentences.
pub fn bundle(folder: &Path) -> PathBuf {
    let path = folder.join("en.citree");
    let config = Config {
        epochs: 1,
        word_dim: 3,
        char_dim: 3,
        char_filters: 3,
        lstm_units: 4,
        edge_dim: 4,
        ..Config::preset(Preset::Demo)
    };
    let (train, dev) = (starter::train(), starter::dev());
    Bundle::train(&path, &config, &train[..6], &dev[..2]).expect("a bundle");
    path
}

/// Copies a folder and the folders in it.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("a new folder");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry of the folder").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).expect("a copy");
        }
    }
}

/// A folder that is removed at the end.
pub fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Computes everything on the calling thread: handing work to another would cost more than the work.
pub fn alone() {
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global().expect("the first pool");
}
