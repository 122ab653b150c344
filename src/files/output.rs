//! Files that users name for output. A file appears whole or not at all; a pipe or a device gets the bytes as they come.

use super::Unpublished;
use crate::error::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes to the file that a user named. What a link points to is replaced, not the link.
pub(crate) fn write_output(path: &Path, write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>) -> Result<()> {
    match std::fs::metadata(path) {
        Ok(facts) if facts.is_dir() => {
            let message = format!("{} is a folder; give the name of a file", path.display());
            Err(Error::Export { message })
        }
        Ok(facts) if !facts.is_file() => {
            let file = OpenOptions::new().write(true).open(path).map_err(Error::io(path))?;
            written(path, file, write).map(drop)
        }
        _ => {
            let target: PathBuf = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
            let (new, file) = Unpublished::output(&target)?;
            written(path, file, write)?.sync_all().map_err(Error::io(path))?;
            new.publish()
        }
    }
}

/// Writes all to an open file and returns it.
fn written(path: &Path, file: File, write: impl FnOnce(&mut (dyn Write + Send)) -> Result<()>) -> Result<File> {
    let mut out = BufWriter::with_capacity(1 << 20, file);
    write(&mut out)?;
    out.into_inner().map_err(|error| Error::io(path)(error.into_error()))
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn put(path: &Path, text: &str) -> Result<()> {
        write_output(path, |out| out.write_all(text.as_bytes()).map_err(Error::io(path)))
    }

    #[test]
    fn a_link_stays_and_the_file_behind_it_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        put(&link, "new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn a_pipe_gets_the_bytes_and_stays_a_pipe() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || std::fs::read(pipe).unwrap()
        });
        put(&pipe, "bytes").unwrap();
        assert_eq!(reader.join().unwrap(), b"bytes");
        assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo());
    }

    #[test]
    fn what_others_have_beside_the_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (file, theirs) = (folder.path().join("file"), folder.path().join("file.new"));
        std::fs::write(&theirs, "precious").unwrap();
        put(&file, "new").unwrap();
        assert_eq!(std::fs::read(&theirs).unwrap(), b"precious");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
