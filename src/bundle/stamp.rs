//! What identifies the content of a bundle's folder without reading it, so that a server notices a replacement.

use super::Layout;
use std::path::Path;
use std::time::SystemTime;

/// The identity of the files of the model, of the pointer to the current index, and of what was measured of rules. Each of
/// them is replaced, never changed, so another content has another stamp, even where numbers such as the generation are
/// the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    model: [Option<FileStamp>; 4],
    rest: [Option<FileStamp>; 2],
}

/// The identity of a file: when it was written, its length, and its number on the file system where there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileStamp {
    modified: Option<SystemTime>,
    length: u64,
    number: Option<u64>,
}

impl Layout {
    /// The stamp of what the folder holds now.
    pub(crate) fn stamp(&self) -> Stamp {
        let files = self.model_files();
        Stamp {
            model: [&files.config, &files.tables, &files.heads, &files.labels].map(|path| FileStamp::of(path)),
            rest: [&self.current(), &self.rules()].map(|path| FileStamp::of(path)),
        }
    }
}

impl Stamp {
    /// Whether both are of the same model, which then need not be read again.
    pub(crate) fn has_model_of(&self, other: &Self) -> bool {
        self.model == other.model
    }
}

impl FileStamp {
    fn of(path: &Path) -> Option<Self> {
        let metadata = path.metadata().ok()?;
        #[cfg(unix)]
        let number = Some(std::os::unix::fs::MetadataExt::ino(&metadata));
        #[cfg(not(unix))]
        let number = None;
        Some(Self { modified: metadata.modified().ok(), length: metadata.len(), number })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn replacing_a_file_by_one_of_the_same_length_changes_the_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::of(folder.path());
        let empty = layout.stamp();
        std::fs::create_dir(layout.index()).unwrap();
        std::fs::write(layout.current(), "gen-000001\n").unwrap();
        let first = layout.stamp();
        assert_ne!(first, empty);
        assert_eq!(first, layout.stamp());
        let other = folder.path().join("other");
        std::fs::write(&other, "gen-000001\n").unwrap();
        std::fs::rename(&other, layout.current()).unwrap();
        let second = layout.stamp();
        assert_ne!(first, second);
        assert!(second.has_model_of(&first), "only the index is another");
        std::fs::create_dir(layout.model()).unwrap();
        std::fs::write(layout.model_files().heads, "").unwrap();
        assert!(!layout.stamp().has_model_of(&second));
    }
}
