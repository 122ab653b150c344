//! Trained bundles: each combination of treebanks, configuration and options is trained once per test process and copied
//! into the sandboxes that use it.

use crate::sandbox::{Sandbox, stderr};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};

/// The files that every training reads.
const INPUT: [&str; 3] = ["train.conllu", "dev.conllu", "tiny.toml"];

/// Copies the bundle that is trained from the files of a sandbox.
pub fn copy(sandbox: &Sandbox, options: &[&str], to: &Path) {
    static TRAINED: Mutex<BTreeMap<u64, Arc<OnceLock<PathBuf>>>> = Mutex::new(BTreeMap::new());
    let input: Vec<&str> = INPUT.iter().chain(options).copied().filter(|name| sandbox.path(name).exists()).collect();
    let mut hasher = DefaultHasher::new();
    options.hash(&mut hasher);
    input.iter().for_each(|name| hash(&sandbox.path(name), &mut hasher));
    let key = hasher.finish();
    // Only tests with the same bundle wait for each other.
    let bundle = TRAINED.lock().unwrap().entry(key).or_default().clone();
    let bundle = bundle.get_or_init(|| {
        let folder = home().join(format!("{key:016x}"));
        input.iter().for_each(|name| copy_all(&sandbox.path(name), &folder.join(name)));
        let mut command = Command::new(env!("CARGO_BIN_EXE_citree"));
        command.current_dir(&folder).env("CITREE_CACHE", folder.join("cache"));
        let output = command.args(sandbox.training("shared.citree")).args(options).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{options:?}: {}", stderr(&output));
        folder.join("shared.citree")
    });
    copy_all(bundle, to);
}

/// Copies a file, or a folder with its content.
pub fn copy_all(from: &Path, to: &Path) {
    if from.is_dir() {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
            copy_all(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap_or_else(|error| panic!("{}: {error}", from.display()));
    }
}

fn hash(path: &Path, hasher: &mut DefaultHasher) {
    if !path.is_dir() {
        return std::fs::read(path).unwrap().hash(hasher);
    }
    let mut inside: Vec<PathBuf> = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    inside.sort();
    for path in inside {
        path.file_name().hash(hasher);
        hash(&path, hasher);
    }
}

/// The folder of this process. Folders of ended processes are removed.
fn home() -> PathBuf {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    let new = || {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("trained");
        for old in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let running = Path::new("/proc").join(old.file_name()).exists();
            if Path::new("/proc/self").exists() && !running {
                let _ = std::fs::remove_dir_all(old.path());
            }
        }
        folder.join(std::process::id().to_string())
    };
    HOME.get_or_init(new).clone()
}
