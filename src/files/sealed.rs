//! Small text files with a checksum in their first line, so that a changed byte is noticed when they are read.
//!
//! JSON begins with a key `blake3`, TOML with a comment. Files of earlier versions have neither and are read as they are.

use super::write_atomically;
use crate::error::{Error, Result};
use std::path::Path;

/// What stands around the checksum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealed {
    before: &'static str,
    after: &'static str,
    /// What the text itself begins with in place of that.
    instead: &'static str,
}

impl Sealed {
    /// A JSON object with at least one key.
    pub(crate) const JSON: Self = Self { before: "{\"blake3\":\"", after: "\",", instead: "{" };
    /// TOML.
    pub(crate) const TOML: Self = Self { before: "# blake3 ", after: "\n", instead: "" };

    /// Writes a text with its checksum.
    pub(crate) fn write(self, path: &Path, text: &str) -> Result<()> {
        let rest = text.strip_prefix(self.instead).unwrap_or(text);
        let hash = blake3::hash(rest.as_bytes());
        write_atomically(path, format!("{}{hash}{}{rest}", self.before, self.after).as_bytes())
    }

    /// Reads a text without its checksum. `remedy` is for one that changed since it was written.
    pub(crate) fn read(self, path: &Path, remedy: &str) -> Result<String> {
        let bytes = std::fs::read(path).map_err(Error::io(path))?;
        let changed = |found: &str| Error::unfit(path, "the text that citree wrote", found, remedy);
        let text = String::from_utf8(bytes).map_err(|_| changed("bytes that are no text"))?;
        let sealed = text.strip_prefix(self.before).and_then(|rest| rest.split_once(self.after));
        match sealed {
            None => Ok(text),
            Some((hash, rest)) if blake3::hash(rest.as_bytes()).to_hex().as_str() == hash => {
                Ok(format!("{}{rest}", self.instead))
            }
            Some(_) => Err(changed("one that changed since")),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_text_comes_back_and_every_flip_is_noticed_or_outside_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for (sealed, text) in [(Sealed::JSON, "{\"a\":1,\"b\":[2]}"), (Sealed::TOML, "a = 1\nb = 2\n")] {
            sealed.write(&path, text).unwrap();
            assert_eq!(sealed.read(&path, "").unwrap(), text);
            let bytes = std::fs::read(&path).unwrap();
            for at in 0..bytes.len() {
                for bit in 0..8 {
                    let mut damaged = bytes.clone();
                    damaged[at] ^= 1 << bit;
                    std::fs::write(&path, &damaged).unwrap();
                    // A flip in what marks the checksum leaves the text as it is.
                    let outside = at < sealed.before.len() + 64 + sealed.after.len();
                    assert!(sealed.read(&path, "").is_err() || outside, "bit {bit} of byte {at}");
                }
            }
        }
    }

    #[test]
    fn a_text_of_an_earlier_version_is_read_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "{\"a\":1}").unwrap();
        assert_eq!(Sealed::JSON.read(&path, "").unwrap(), "{\"a\":1}");
    }
}
