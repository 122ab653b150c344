//! Generations: a build writes a new folder beside the current one, and one rename makes it current.
//!
//! ```text
//! index/LOCK          held by the one writer
//! index/CURRENT       the name of the current generation, replaced by rename
//! index/gen-000001/   immutable; each reader holds a shared lock on its manifest
//! index/seg-000002/   immutable; a segment that one or several generations consist of
//! index/new-000003/   a build in progress, or the remains of one that crashed
//! ```

use std::{
    collections::HashSet,
    fs::{self, File, OpenOptions, TryLockError},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use crate::{
    container::{create_folder, sync_folder},
    error::{Error, IoContext, REMEDIES, Result},
    state::State,
};

/// The file of a generation that readers lock.
pub(crate) const MANIFEST: &str = "manifest";

/// The file that names the current generation.
const POINTER: &str = "CURRENT";

/// The folder of a new segment in the draft of its generation.
const SEGMENT: &str = "segment";

/// Changes that can be undone, one after another. Their segments are kept.
const UNDONE: usize = 16;

const WAIT: &str = "wait until it is done, or stop it";
const BUILD: &str = "build one first";

/// A build in progress: its folder, and the writer's lock.
#[derive(Debug)]
pub(crate) struct Draft {
    folder: PathBuf,
    number: u64,
    published: bool,
    _lock: Lock,
}

/// A lock on a file. Dropping it unlocks explicitly: closing alone does not unlock while a child process has a copy of the
/// open file.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // If this fails, closing the file unlocks it.
        let _ = self.0.unlock();
    }
}

impl Draft {
    /// Takes the writer's lock and removes what crashed builds left.
    pub(crate) fn begin(folder: &Path) -> Result<Self> {
        create_folder(folder)?;
        let path = folder.join("LOCK");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path).at("open", &path)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Busy { path: folder.to_owned(), remedy: WAIT }),
            Err(TryLockError::Error(source)) => return Err(Error::Io { path, action: "lock", source }),
        }
        let mut newest = 0;
        for entry in fs::read_dir(folder).at("read", folder)? {
            let name = entry.at("read", folder)?.file_name().to_string_lossy().into_owned();
            // A crash can leave a segment whose generation was never published. Its number is not used again.
            newest = newest.max(number(&name, &["gen-", "seg-"]).unwrap_or(0));
            // What others put there stays.
            if number(&name, &["new-"]).is_some() {
                let left = folder.join(name);
                fs::remove_dir_all(&left).at("remove", &left)?;
            }
        }
        let draft = Self { folder: folder.to_owned(), number: newest + 1, published: false, _lock: Lock(lock) };
        fs::create_dir(draft.path()).at("create", &draft.path())?;
        Ok(draft)
    }

    /// Where to write the files.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(format!("new-{:06}", self.number))
    }

    /// The folder of the index.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The number of the generation that it will be.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Where to write a segment that outlives this generation, and the name that it will have. The folder is created.
    pub(crate) fn segment(&self) -> Result<(PathBuf, String)> {
        let path = self.path().join(SEGMENT);
        fs::create_dir(&path).at("create", &path)?;
        Ok((path, segment_name(self.number)))
    }

    /// Makes the draft the current generation. Its files are synced already. This syncs and renames the folders, then
    /// replaces the pointer.
    pub(crate) fn publish(mut self) -> Result<u64> {
        let name = name(self.number);
        let segment = self.path().join(SEGMENT);
        if segment.exists() {
            sync_folder(&segment)?;
            fs::rename(&segment, self.folder.join(segment_name(self.number))).at("rename", &segment)?;
        }
        sync_folder(&self.path())?;
        fs::rename(self.path(), self.folder.join(&name)).at("rename", &self.path())?;
        sync_folder(&self.folder)?;
        let (next, current) = (self.folder.join("CURRENT.new"), self.folder.join(POINTER));
        let mut file = File::create(&next).at("create", &next)?;
        file.write_all(format!("{name}\n").as_bytes()).at("write", &next)?;
        file.sync_all().at("save", &next)?;
        fs::rename(&next, &current).at("rename", &next)?;
        sync_folder(&self.folder)?;
        self.published = true;
        self.sweep(&name);
        Ok(self.number)
    }

    /// Removes old generations that have no readers and are not kept for an undo, and segments that no generation left
    /// has. A later build removes the others.
    fn sweep(&self, current: &str) {
        let names: Vec<String> = fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| number(name, &["gen-", "seg-"]).is_some())
            .collect();
        let mut kept: HashSet<String> = HashSet::from([current.to_owned()]);
        let mut before = State::read(&self.folder, self.number).ok().and_then(|state| state.before);
        while let Some(number) = before.filter(|_| kept.len() <= UNDONE) {
            kept.insert(name(number));
            before = State::read(&self.folder, number).ok().and_then(|state| state.before);
        }
        // The locks are held until all is removed, so that no reader opens a generation that loses its segments.
        let mut locks = Vec::new();
        let (mut unread, mut used) = (Vec::new(), HashSet::new());
        for generation in names.iter().filter(|name| name.starts_with("gen-") && !kept.contains(*name)) {
            match File::open(self.folder.join(generation).join(MANIFEST)) {
                Ok(file) if file.try_lock().is_ok() => {
                    locks.push(Lock(file));
                    unread.push(generation);
                }
                // An earlier sweep was interrupted.
                Err(error) if error.kind() == ErrorKind::NotFound => unread.push(generation),
                Ok(_) | Err(_) => {}
            }
        }
        for generation in names.iter().filter(|name| name.starts_with("gen-") && !unread.contains(name)) {
            let number = generation.strip_prefix("gen-").and_then(|number| number.parse().ok());
            match number.and_then(|number| State::read(&self.folder, number).ok()) {
                Some(state) => used.extend(state.segments.into_iter().map(|segment| segment.folder)),
                // What an unreadable generation consists of is not known. A later build removes it.
                None if generation != current => return,
                None => {}
            }
        }
        let segments = names.iter().filter(|name| name.starts_with("seg-"));
        for folder in unread.into_iter().chain(segments).filter(|name| !used.contains(*name)) {
            let _ = fs::remove_dir_all(self.folder.join(folder));
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.published {
            // If this fails, the next build removes the folder.
            let _ = fs::remove_dir_all(self.path());
        }
    }
}

/// The number in a name with one of these beginnings. `None` for names that no build gives: ids of records leave 32 bits.
fn number(name: &str, beginnings: &[&str]) -> Option<u64> {
    let digits = beginnings.iter().find_map(|beginning| name.strip_prefix(beginning))?;
    digits.parse().ok().filter(|number| *number < u64::from(u32::MAX))
}

/// The name of the folder of a generation.
pub(crate) fn name(number: u64) -> String {
    format!("gen-{number:06}")
}

/// The name of the folder of a segment.
fn segment_name(number: u64) -> String {
    format!("seg-{number:06}")
}

/// The number of the current generation, locked for reading.
pub(crate) fn current(folder: &Path) -> Result<(u64, Lock)> {
    let mut name = String::new();
    // A writer can publish and sweep between reading the pointer and taking the lock. Then the pointer has changed.
    for _ in 0..100 {
        let number;
        (name, number) = pointer(folder)?;
        let manifest = folder.join(&name).join(MANIFEST);
        let file = match File::open(&manifest) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            file => file.at("open", &manifest)?,
        };
        match file.try_lock_shared() {
            // A sweep can remove the generation between opening and locking.
            Ok(()) if manifest.exists() => return Ok((number, Lock(file))),
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(source)) => return Err(Error::Io { path: manifest, action: "lock", source }),
        }
    }
    Err(damaged(folder, "the generation in it", "present", format!("missing ({name})")))
}

/// The name and the number of the current generation.
pub(crate) fn pointer(folder: &Path) -> Result<(String, u64)> {
    let pointer = folder.join(POINTER);
    let name = match fs::read(&pointer) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Error::Missing { path: folder.to_owned(), remedy: BUILD });
        }
        name => String::from_utf8_lossy(&name.at("read", &pointer)?).trim_end().to_owned(),
    };
    match name.strip_prefix("gen-").and_then(|number| number.parse().ok()) {
        Some(number) => Ok((name, number)),
        None => Err(damaged(folder, "the name in it", "gen- and a number", name)),
    }
}

fn damaged(folder: &Path, what: &str, expected: &str, found: String) -> Error {
    let (what, expected) = (what.into(), expected.into());
    Error::Damaged { path: folder.join(POINTER), what, expected, found, remedy: REMEDIES.damage }
}
