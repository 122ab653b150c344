//! Downloads a file whose length and hash are known, and goes on where an interrupted download stopped.

use super::download::{Client, Event, Fault};
use crate::error::{Error, Result};
use citree_index::container::{create_folder, sync_folder};
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What a file must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expected {
    /// Its length in bytes.
    pub(super) length: u64,
    /// Its hash.
    pub(super) hash: Hash,
}

/// A hash in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    /// Git's hash of a file: SHA-1 over a header and the content.
    Git(String),
    /// SHA-256 of the content.
    Sha256(String),
}

impl Hash {
    /// The digits, which are the name of the file in a cache of blobs.
    pub(super) fn digits(&self) -> &str {
        let (Hash::Git(digits) | Hash::Sha256(digits)) = self;
        digits
    }

    /// Whether the digits are as many as the hash has.
    pub(super) fn is_possible(&self) -> bool {
        let digits = |text: &str, count| text.len() == count && text.bytes().all(|b| b.is_ascii_hexdigit());
        match self {
            Hash::Git(text) => digits(text, 40),
            Hash::Sha256(text) => digits(text, 64),
        }
    }

    /// Whether a file of this length has this hash.
    fn fits(&self, file: &mut File, length: u64) -> std::io::Result<bool> {
        file.seek(SeekFrom::Start(0))?;
        let mut hasher = match self {
            Hash::Git(_) => {
                let mut hasher = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
                hasher.update(format!("blob {length}\0").as_bytes());
                hasher
            }
            Hash::Sha256(_) => Context::new(&SHA256),
        };
        let mut piece = vec![0; 1 << 16];
        loop {
            match file.read(&mut piece)? {
                0 => return Ok(hex(hasher.finish().as_ref()).eq_ignore_ascii_case(self.digits())),
                count => hasher.update(&piece[..count]),
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Client {
    /// Downloads `url` to `path` if the result is what is expected. What has arrived is kept beside it when the download
    /// ends early, and the next one asks for the rest.
    pub(super) fn download_blob(
        &self,
        url: &str,
        path: &Path,
        expected: &Expected,
        headers: &[(&str, String)],
        observe: &mut dyn FnMut(Event),
    ) -> Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        create_folder(folder)?;
        let mut part = Part::open(path)?;
        let mut attempt = |observe: &mut dyn FnMut(Event)| self.go_on(url, &mut part, expected, headers, observe);
        self.retried(url, path, observe, &mut attempt)?;
        part.publish(path)
    }

    fn go_on(
        &self,
        url: &str,
        part: &mut Part,
        expected: &Expected,
        headers: &[(&str, String)],
        observe: &mut dyn FnMut(Event),
    ) -> Result<(), Fault> {
        let mut have = part.length().map_err(Fault::Disk)?;
        if have > expected.length {
            have = part.restart().map_err(Fault::Disk)?;
        }
        if have < expected.length {
            let mut headers = headers.to_vec();
            if have > 0 {
                headers.push(("Range", format!("bytes={have}-")));
            }
            let mut response = self.get(url, &headers)?;
            let range = response.headers().get("Content-Range").and_then(|value| value.to_str().ok());
            match response.status().as_u16() {
                206 if range.is_some_and(|range| range.starts_with(&format!("bytes {have}-"))) => {}
                // A server that does not know ranges, or another range than asked, sends all of it again.
                200 => have = part.restart().map_err(Fault::Disk)?,
                206 | 416 => {
                    part.restart().map_err(Fault::Disk)?;
                    return Err(Fault::Passing("the server sent another part of the file".to_owned()));
                }
                _ => return Err(Fault::from_status(response.status())),
            }
            observe(Event::Started { path: &part.target, length: Some(expected.length) });
            let mut body = response.body_mut().with_config().limit(expected.length - have + 1).reader();
            let mut buffer = vec![0; 1 << 16];
            loop {
                let count = match body.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => count,
                    Err(error) => return Err(Fault::from_network(error.into())),
                };
                part.write(&buffer[..count]).map_err(Fault::Disk)?;
                have += count as u64;
                observe(Event::Received { bytes: have });
            }
        }
        let whole = have == expected.length && part.fits(&expected.hash, have).map_err(Fault::Disk)?;
        if !whole {
            part.restart().map_err(Fault::Disk)?;
            return Err(Fault::Passing("what arrived is not what the server has announced".to_owned()));
        }
        Ok(())
    }
}

/// What has arrived of a file. Other processes that want the same file are locked out.
pub(super) struct Part {
    target: PathBuf,
    path: PathBuf,
    file: File,
}

impl Part {
    pub(super) fn open(target: &Path) -> Result<Self> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!("{name}.incomplete"));
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).open(&path).map_err(Error::io(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { target: target.to_path_buf(), path, file }),
            Err(TryLockError::WouldBlock) => Err(Error::io(&path)(std::io::Error::new(
                std::io::ErrorKind::WouldBlock,
                "another process downloads this file now: wait for it, then try again",
            ))),
            Err(TryLockError::Error(error)) => Err(Error::io(&path)(error)),
        }
    }

    /// The path of the file when it is whole.
    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// Adds to what has arrived.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(Error::io(&self.path))
    }

    pub(super) fn length(&self) -> Result<u64> {
        Ok(self.file.metadata().map_err(Error::io(&self.path))?.len())
    }

    /// Removes what has arrived.
    pub(super) fn restart(&mut self) -> Result<u64> {
        self.file.set_len(0).map_err(Error::io(&self.path))?;
        Ok(0)
    }

    fn fits(&mut self, hash: &Hash, length: u64) -> Result<bool> {
        hash.fits(&mut self.file, length).map_err(Error::io(&self.path))
    }

    pub(super) fn publish(self, target: &Path) -> Result<()> {
        self.file.sync_all().map_err(Error::io(&self.path))?;
        std::fs::rename(&self.path, target).map_err(Error::io(target))?;
        Ok(sync_folder(target.parent().unwrap_or(Path::new(".")))?)
    }
}
