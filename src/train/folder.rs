//! The folder of a training run: how one begins, and what must be the same for one to be resumed.

use super::data::Data;
use crate::bundle::Layout;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::files::write_atomically;
use citree_index::container::{create_folder, sync_folder};
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

/// The file that makes a folder resumable.
const CONFIG: &str = "config.toml";
const TREEBANKS: &str = "treebanks";

/// Held while a bundle is trained, so that no other process trains it too.
#[derive(Debug)]
pub(crate) struct TrainingLock {
    file: File,
    layout: Layout,
}

impl TrainingLock {
    pub(crate) fn take(layout: &Layout) -> Result<Self> {
        let path = layout.training_lock();
        create_folder(layout.folder())?;
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(Error::io(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file, layout: layout.clone() }),
            Err(TryLockError::Error(error)) => Err(Error::io(&path)(error)),
            Err(TryLockError::WouldBlock) => {
                let (expected, found) = ("a bundle that nobody trains", "a training that is running");
                Err(Error::unfit(layout.folder(), expected, found, "wait until it is done, or stop it"))
            }
        }
    }
}

impl Drop for TrainingLock {
    fn drop(&mut self) {
        // Removed before it is unlocked. If nothing was written, the folder goes too; otherwise that fails.
        let _ = std::fs::remove_file(self.layout.training_lock());
        let _ = std::fs::remove_dir(self.layout.folder());
        let _ = self.file.unlock();
    }
}

/// Deletes the folder of a finished run. It cannot be resumed as soon as anything of it is gone.
pub(super) fn end(folder: &Path) -> Result<()> {
    let config = folder.join(CONFIG);
    std::fs::remove_file(&config).map_err(Error::io(&config))?;
    std::fs::remove_dir_all(folder).map_err(Error::io(folder))?;
    // So that the training is finished after a loss of power, too.
    Ok(sync_folder(folder.parent().filter(|around| !around.as_os_str().is_empty()).unwrap_or(Path::new(".")))?)
}

/// Whether the folder has a run that can be resumed.
#[cfg(feature = "lab")]
pub(super) fn is_resumable(folder: &Path) -> bool {
    folder.join(CONFIG).exists()
}

/// Deletes the folder of an older run and begins a new one. `start` writes the checkpoints that it starts from. The
/// folder becomes resumable only after that, so that a run that is killed is never resumed from random parameters.
pub(super) fn begin(folder: &Path, config: &Config, data: &Data, start: impl FnOnce() -> Result<()>) -> Result<()> {
    if folder.exists() {
        // First what makes it resumable, in case this is killed.
        std::fs::remove_file(folder.join(CONFIG)).ok();
        std::fs::remove_dir_all(folder).map_err(Error::io(folder))?;
    }
    create_folder(folder)?;
    if let Err(error) = start() {
        std::fs::remove_dir_all(folder).ok();
        return Err(error);
    }
    write_atomically(&folder.join(TREEBANKS), fingerprint(data).as_bytes())?;
    write_atomically(&folder.join(CONFIG), config.to_toml().as_bytes())
}

/// The configuration that a run began with.
#[cfg(feature = "cli")]
pub(super) fn config(folder: &Path) -> Result<Config> {
    let path = folder.join(CONFIG);
    Config::from_toml(&std::fs::read_to_string(&path).map_err(Error::io(&path))?, &path)
}

/// Refuses to resume a run of another configuration or of other treebanks.
pub(super) fn check(folder: &Path, config: &Config, data: &Data) -> Result<()> {
    let (path, treebanks) = (folder.join(CONFIG), folder.join(TREEBANKS));
    let text = std::fs::read_to_string(&path).map_err(|_| Error::Bundle {
        path: folder.to_path_buf(),
        expected: "an interrupted training".to_string(),
        found: "none".to_string(),
        remedy: "leave out --resume to start one".to_string(),
    })?;
    let refuse = |path: PathBuf, expected: &str| Error::Bundle {
        path,
        expected: format!("the {expected} of this command"),
        found: "another".to_string(),
        remedy: "resume with the options and files the training began with".to_string(),
    };
    if Config::from_toml(&text, &path)? != *config {
        return Err(refuse(path, "configuration"));
    }
    if std::fs::read_to_string(&treebanks).map_err(Error::io(&treebanks))? != fingerprint(data) {
        return Err(refuse(treebanks, "treebanks"));
    }
    Ok(())
}

fn fingerprint(data: &Data) -> String {
    format!("{:016x}\n", data.fingerprint())
}
