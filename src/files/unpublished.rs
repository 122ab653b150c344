//! Files and folders that appear whole or not at all: written under a temporary name, and renamed at the end.
//!
//! All that is not published is listed, so that a process that is told to end can remove it first.

use crate::error::{Error, Result};
use citree_index::container::sync_folder;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

static ALL: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn all() -> MutexGuard<'static, Vec<PathBuf>> {
    ALL.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A file or folder under its temporary name. Dropping it removes it.
#[derive(Debug)]
pub(crate) struct Unpublished {
    temporary: PathBuf,
    target: PathBuf,
    /// Whether it is in the list and is removed when this is dropped.
    listed: bool,
}

impl Unpublished {
    /// Creates a file of our own that will be `target`. One that is left under the temporary name is overwritten.
    pub(crate) fn file(target: &Path) -> Result<(Self, File)> {
        Self::create(Self::named(target, ".new"))
    }

    /// Creates a file that will be `target`, beside files that are not ours.
    #[cfg(feature = "fetch")]
    pub(crate) fn output(target: &Path) -> Result<(Self, File)> {
        Self::create(Self::named(target, &of_this_process()))
    }

    fn create(mut new: Self) -> Result<(Self, File)> {
        new.list(&mut all());
        let file = File::create(&new.temporary).map_err(Error::io(&new.temporary))?;
        Ok((new, file))
    }

    /// Creates a folder that will be `target`, beside files that are not ours.
    #[cfg(feature = "fetch")]
    pub(crate) fn folder(target: &Path) -> Result<Self> {
        let mut new = Self::named(target, &of_this_process());
        let mut all = all();
        // Listed after that, so that what others have there is not removed.
        std::fs::create_dir(&new.temporary).map_err(Error::io(&new.temporary))?;
        new.list(&mut all);
        drop(all);
        Ok(new)
    }

    fn named(target: &Path, ending: &str) -> Self {
        // Without a slash at its end, which would put the temporary name into the folder.
        let target: PathBuf = target.components().collect();
        let mut temporary = target.clone().into_os_string();
        temporary.push(ending);
        Self { temporary: temporary.into(), target, listed: false }
    }

    fn list(&mut self, all: &mut Vec<PathBuf>) {
        all.push(self.temporary.clone());
        self.listed = true;
    }

    fn unlist(&mut self, all: &mut Vec<PathBuf>) {
        all.retain(|path| *path != self.temporary);
        self.listed = false;
    }

    /// The temporary path.
    pub(crate) fn path(&self) -> &Path {
        &self.temporary
    }

    /// Gives it its name and syncs the folder around it. Its content must be synced already.
    pub(crate) fn publish(mut self) -> Result<()> {
        // While the list is locked, so that it is not removed half-way.
        let mut all = all();
        std::fs::rename(&self.temporary, &self.target).map_err(Error::io(&self.target))?;
        self.unlist(&mut all);
        drop(all);
        let folder = self.target.parent().filter(|folder| !folder.as_os_str().is_empty());
        Ok(sync_folder(folder.unwrap_or(Path::new(".")))?)
    }
}

impl Drop for Unpublished {
    fn drop(&mut self) {
        if self.listed {
            let mut all = all();
            remove(&self.temporary);
            self.unlist(&mut all);
        }
    }
}

/// The ending of a name that no other process uses, so that nothing that others have there is lost, and what a killed
/// process left is not in the way.
#[cfg(feature = "fetch")]
fn of_this_process() -> String {
    format!(".{}.new", std::process::id())
}

/// Removes all that is not published, for a process that ends now: nothing can be published after this.
#[cfg(feature = "cli")]
pub(crate) fn remove_unpublished() {
    let all = all();
    all.iter().for_each(|path| remove(path));
    // Stays locked until the process ends.
    std::mem::forget(all);
}

/// Removes a file or a folder. If this fails, it stays under its temporary name.
fn remove(path: &Path) {
    // Another thread can still create files in a folder.
    for _ in 0..100 {
        match path.is_dir() {
            true if std::fs::remove_dir_all(path).is_err() => {}
            true => return,
            false => return drop(std::fs::remove_file(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::io::Write;

    #[test]
    fn nothing_is_left_of_what_is_not_published() {
        let folder = tempfile::tempdir().unwrap();
        let (file, tree) = (folder.path().join("file"), folder.path().join("tree/"));
        std::fs::write(&file, "old").unwrap();
        for publish in [false, true] {
            let ((new_file, mut out), new_tree) =
                (Unpublished::file(&file).unwrap(), Unpublished::folder(&tree).unwrap());
            out.write_all(b"new").unwrap();
            std::fs::write(new_tree.path().join("leaf"), "new").unwrap();
            assert!(!tree.exists() && std::fs::read(&file).unwrap() == b"old");
            if publish {
                new_file.publish().unwrap();
                new_tree.publish().unwrap();
            }
        }
        assert_eq!(
            (std::fs::read(&file).unwrap(), std::fs::read(tree.join("leaf")).unwrap()),
            (b"new".into(), b"new".into())
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
        assert!(!all().iter().any(|path| path.starts_with(folder.path())));
    }

    #[test]
    fn what_cannot_be_published_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("in the way");
        std::fs::create_dir(&target).unwrap();
        let (new, _) = Unpublished::file(&target).unwrap();
        new.publish().unwrap_err();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_others_have_under_the_temporary_name_of_a_folder_stays() {
        let folder = tempfile::tempdir().unwrap();
        let theirs = ["graph.new".to_string(), format!("graph.{}.new", std::process::id())];
        for (at, theirs) in theirs.iter().map(|name| folder.path().join(name)).enumerate() {
            std::fs::create_dir(&theirs).unwrap();
            std::fs::write(theirs.join("theirs"), "").unwrap();
            assert_eq!(Unpublished::folder(&folder.path().join("graph")).is_err(), at == 1);
            assert!(theirs.join("theirs").exists());
        }
    }
}
