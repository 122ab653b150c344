//! Makes a bundle of an archive. The folder appears when all of it was checked, or not at all.

use super::frames::Decompressed;
use super::manifest::{FILE, File, MOST_BYTES, Manifest, Origin, refused};
use super::{Checked, Hashed};
use crate::bundle::Bundle;
use crate::error::{Error, Result};
use crate::files::Unpublished;
use citree_index::container::sync_folder;
use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use tar::{Archive, Entry, EntryType};

/// How many times larger than the archive its files may be. Models and vectors hardly shrink at all.
const MOST_TIMES: u64 = 1000;

/// A bundle that was unpacked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unpacked {
    /// Its folder.
    pub bundle: PathBuf,
    /// Where it comes from.
    pub origin: Origin,
}

/// Unpacks an archive into its own folder inside of `into`, which must not exist. With `sha256`, the archive must have that hash.
/// `progress` gets the bytes done, and all.
pub fn unpack(
    archive: &Path,
    into: &Path,
    sha256: Option<&str>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Unpacked> {
    let open = || std::fs::File::open(archive).map_err(Error::io(archive));
    if let Some(expected) = sha256 {
        let mut whole = Hashed::new(open()?);
        io::copy(&mut whole, &mut io::sink()).map_err(Error::io(archive))?;
        if !whole.digits().eq_ignore_ascii_case(expected) {
            return Err(refused(
                archive,
                format!("its SHA-256 is {}, not {expected}: it is another file", whole.digits()),
            ));
        }
    }
    let file = open()?;
    let length = file.metadata().map_err(Error::io(archive))?.len();
    let mut tar = Archive::new(Decompressed::new(BufReader::new(file)));
    // Raw, so that no entry can change what the next one means.
    let entries = tar.entries().map_err(|error| damaged(archive, &error))?.raw(true);
    Unpacking { archive, entries }.all(into, length, progress)
}

/// The error for an archive that cannot be read.
fn damaged(archive: &Path, error: &dyn std::fmt::Display) -> Error {
    refused(archive, format!("it is no packed bundle, or damaged ({error}); get it again"))
}

struct Unpacking<'a, I> {
    archive: &'a Path,
    entries: I,
}

impl<'a, R: Read + 'a, I: Iterator<Item = io::Result<Entry<'a, R>>>> Unpacking<'_, I> {
    fn all(mut self, into: &Path, length: u64, progress: &mut dyn FnMut(u64, u64)) -> Result<Unpacked> {
        let (text, manifest) = self.manifest()?;
        if manifest.total() > length.saturating_mul(MOST_TIMES) {
            let reason = format!("{length} bytes would become {}, which no bundle does", manifest.total());
            return Err(refused(self.archive, reason));
        }
        let target = into.join(&manifest.name);
        // A link that leads nowhere is there, too.
        if target.symlink_metadata().is_ok() {
            return Err(refused(&target, "it is there already; move it away, or choose another folder with --into"));
        }
        std::fs::create_dir_all(into).map_err(Error::io(into))?;
        let new = Unpublished::folder(&target)?;
        let (mut done, total) = (0, manifest.total());
        for file in &manifest.files {
            let entry = self.next(&manifest.entry(&file.path), file.bytes)?;
            self.file(file, entry, new.path())?;
            done += file.bytes;
            progress(done, total);
        }
        if let Some(more) = self.entries.next() {
            let path = more.map(|entry| shown(&entry)).map_err(|error| damaged(self.archive, &error))?;
            return Err(refused(self.archive, format!("it has `{path}`, which is not in its list")));
        }
        write(&new.path().join(FILE), &mut text.as_bytes())?;
        sync_folders(new.path(), &manifest)?;
        // Opening reads the model, and what belongs together.
        let opened = Bundle::open(new.path())?;
        if opened.has_index() {
            opened.index()?;
        }
        drop(opened);
        new.publish()?;
        Ok(Unpacked { bundle: target, origin: manifest.origin })
    }

    /// Reads the first entry, the list of the others.
    fn manifest(&mut self) -> Result<(String, Manifest)> {
        let entry = self.entries.next().ok_or_else(|| damaged(self.archive, &"it has no entry"))?;
        let mut entry = entry.map_err(|error| damaged(self.archive, &error))?;
        let first = shown(&entry);
        let is_list = first.ends_with(&format!("/{FILE}")) && entry.header().entry_type() == EntryType::Regular;
        if !is_list || entry.size() > MOST_BYTES {
            return Err(refused(self.archive, format!("it begins with `{first}`, not with a {FILE} of citree")));
        }
        let mut text = String::new();
        let read = entry.by_ref().take(MOST_BYTES).read_to_string(&mut text);
        read.map_err(|error| damaged(self.archive, &error))?;
        let manifest = Manifest::parse(&text, self.archive)?;
        if manifest.entry(FILE) != first {
            return Err(refused(
                self.archive,
                format!("its folder is `{}` in one place and `{first}` in another", manifest.name),
            ));
        }
        Ok((text, manifest))
    }

    /// The next entry, which must be this file.
    fn next(&mut self, path: &str, bytes: u64) -> Result<Entry<'a, R>> {
        let missing = || refused(self.archive, format!("it ends before `{path}`; get it again"));
        let entry = self.entries.next().ok_or_else(missing)?.map_err(|error| damaged(self.archive, &error))?;
        let is_file = entry.header().entry_type() == EntryType::Regular;
        if !is_file || entry.path_bytes() != path.as_bytes() || entry.size() != bytes {
            let reason = format!("it has `{}` where its list has the file `{path}` of {bytes} bytes", shown(&entry));
            return Err(refused(self.archive, reason));
        }
        Ok(entry)
    }

    /// Writes a file and compares it with its hash.
    fn file(&self, file: &File, entry: Entry<'a, R>, folder: &Path) -> Result<()> {
        let place = folder.join(&file.path);
        let parent = place.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent).map_err(Error::io(parent))?;
        let mut source = Checked::new(entry);
        let written = write(&place, &mut source);
        if let Some(error) = &source.failed {
            return Err(damaged(self.archive, error));
        }
        written?;
        if !source.is(file) {
            return Err(damaged(self.archive, &format!("{} differs from its checksum", file.path)));
        }
        Ok(())
    }
}

/// The path of an entry, for messages.
fn shown<R: Read>(entry: &Entry<'_, R>) -> String {
    String::from_utf8_lossy(&entry.path_bytes()).escape_default().to_string()
}

/// Writes a new file and syncs it.
fn write(place: &Path, source: &mut impl Read) -> Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(place).map_err(Error::io(place))?;
    io::copy(source, &mut file).map_err(Error::io(place))?;
    file.flush().and_then(|()| file.sync_all()).map_err(Error::io(place))
}

/// Syncs the folder and those in it.
fn sync_folders(folder: &Path, manifest: &Manifest) -> Result<()> {
    let mut folders = BTreeSet::from([folder.to_path_buf()]);
    for file in &manifest.files {
        let place = folder.join(&file.path);
        folders.extend(place.ancestors().skip(1).take_while(|above| above.starts_with(folder)).map(Path::to_path_buf));
    }
    folders.iter().try_for_each(|folder| Ok(sync_folder(folder)?))
}
