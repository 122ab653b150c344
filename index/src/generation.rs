//! Generations: a build writes a new folder beside the current one, and one rename makes it current.
//!
//! ```text
//! index/LOCK          held by the one writer
//! index/CURRENT       the name of the current generation, replaced by rename
//! index/gen-000001/   immutable; each reader holds a shared lock on its manifest
//! index/new-000002/   a build in progress, or the remains of one that crashed
//! ```

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use crate::error::{Error, IoContext, REMEDIES, Result};

/// The file of a generation that readers lock.
pub(crate) const MANIFEST: &str = "manifest";

/// The file that names the current generation.
const POINTER: &str = "CURRENT";

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
        fs::create_dir_all(folder).at("create", folder)?;
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
            newest = newest.max(name.strip_prefix("gen-").and_then(|number| number.parse().ok()).unwrap_or(0));
            if name.starts_with("new-") {
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

    /// Makes the draft the current generation. Its files are synced already. This syncs and renames the folder, then
    /// replaces the pointer.
    pub(crate) fn publish(mut self) -> Result<u64> {
        let name = format!("gen-{:06}", self.number);
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

    /// Removes old generations that have no readers. A later build removes the others.
    fn sweep(&self, current: &str) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with("gen-") || name == current {
                continue;
            }
            let unread = match File::open(entry.path().join(MANIFEST)) {
                Ok(file) => file.try_lock().is_ok().then(|| Some(Lock(file))),
                // An earlier sweep was interrupted.
                Err(error) => (error.kind() == ErrorKind::NotFound).then_some(None),
            };
            if unread.is_some() {
                let _ = fs::remove_dir_all(entry.path());
            }
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

/// The current generation's folder and number, locked for reading.
pub(crate) fn current(folder: &Path) -> Result<(PathBuf, u64, Lock)> {
    let mut name = String::new();
    // A writer can publish and sweep between reading the pointer and taking the lock. Then the pointer has changed.
    for _ in 0..100 {
        let number;
        (name, number) = pointer(folder)?;
        let path = folder.join(&name);
        let manifest = path.join(MANIFEST);
        let file = match File::open(&manifest) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            file => file.at("open", &manifest)?,
        };
        match file.try_lock_shared() {
            // A sweep can remove the generation between opening and locking.
            Ok(()) if manifest.exists() => return Ok((path, number, Lock(file))),
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(source)) => return Err(Error::Io { path: manifest, action: "lock", source }),
        }
    }
    Err(damaged(folder, "the generation in it", "present", format!("missing ({name})")))
}

/// The name and the number of the current generation.
pub(crate) fn pointer(folder: &Path) -> Result<(String, u64)> {
    let pointer = folder.join(POINTER);
    let name = match fs::read_to_string(&pointer) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Error::Missing { path: folder.to_owned(), remedy: BUILD });
        }
        name => name.at("read", &pointer)?.trim_end().to_owned(),
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

#[cfg(unix)]
fn sync_folder(path: &Path) -> Result<()> {
    File::open(path).and_then(|folder| folder.sync_all()).at("save", path)
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> Result<()> {
    // Other systems have no such call for folders. There a rename is durable when it returns.
    Ok(())
}
