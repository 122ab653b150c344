//! Writing a container.

use std::{
    fs::{File, OpenOptions},
    io::{BufWriter, Seek, SeekFrom, Write},
    marker::PhantomData,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    checksum,
    header::{ALIGN, Entry, FACTS, HEADER, OLDEST, PAGES, SLOTS, encode},
    map::{Map, Plain, View, bytes_of},
    seal::page_checksums,
};
use crate::error::{Error, IoContext, Result};

/// Writes a container file, section by section.
///
/// Write a section [whole](Writer::section), [in any order](Writer::reserve), or [in pieces](Writer::start).
/// [`Writer::finish`] completes the file. Without it, the file has no valid header and cannot be opened.
#[derive(Debug)]
pub struct Writer {
    path: Arc<Path>,
    version: u32,
    kind: u32,
    file: BufWriter<File>,
    entries: Vec<Entry>,
    /// Where the last section ends, which is where the file ends.
    end: u64,
    /// The position of the file's cursor, buffered bytes included.
    at: u64,
}

/// The right to write one section of a [`Writer`]'s file.
///
/// It cannot be copied, and [`Writer::seal`] consumes it. Dropping it is fine: the section keeps what was written.
#[derive(Debug)]
pub struct Section<T> {
    /// The writer's path, shared: tells whether the section belongs to a writer.
    file: Arc<Path>,
    index: usize,
    kind: PhantomData<T>,
}

impl Writer {
    /// Creates a file, which must not exist. `kind` says what its sections mean.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: PathBuf, kind: u32) -> Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).at("create", &path)?;
        Ok(Self {
            path: path.into(),
            version: OLDEST,
            kind,
            file: BufWriter::with_capacity(1 << 20, file),
            entries: Vec::new(),
            end: HEADER as u64,
            at: 0,
        })
    }

    /// Marks the file as one that needs a reader of this version, between [`OLDEST`] and [`VERSION`](super::VERSION).
    pub(crate) fn version(&mut self, version: u32) {
        self.version = version;
    }

    /// Begins a section of `count` values that [`Writer::write_at`] writes in any order. Values never written are zero.
    ///
    /// # Errors
    /// If the file has 27 sections already, the tag is 2³² − 1, the section is too large, or the file cannot grow.
    pub fn reserve<T: Plain>(&mut self, tag: u32, count: u64) -> Result<Section<T>> {
        match tag {
            PAGES => Err(Error::input("the tag of a section", "below 2^32 - 1", tag)),
            _ => self.begin(tag, count),
        }
    }

    fn begin<T: Plain>(&mut self, tag: u32, count: u64) -> Result<Section<T>> {
        if self.entries.len() == SLOTS {
            return Err(Error::input("the number of sections", format!("at most {SLOTS}"), SLOTS + 1));
        }
        let length = count
            .checked_mul(size_of::<T>() as u64)
            .filter(|length| *length < 1 << 56)
            .ok_or_else(|| Error::input("the size of a section", "fewer than 2^56 bytes", format!("{count} values")))?;
        let offset = self.end.next_multiple_of(ALIGN);
        self.file.flush().at("write", &self.path)?;
        // Only ever to a larger size: truncating a file that is mapped would be unsound.
        self.file.get_ref().set_len(offset + length).at("extend", &self.path)?;
        self.end = offset + length;
        self.entries.push(Entry { tag, dtype: T::CODE, offset, length, crc: 0 });
        Ok(Section { file: self.path.clone(), index: self.entries.len() - 1, kind: PhantomData })
    }

    /// Writes values into a section, beginning with its value number `first`.
    ///
    /// # Errors
    /// If the values do not fit into the section, the section is another file's, or the file cannot be written.
    pub fn write_at<T: Plain>(&mut self, section: &Section<T>, first: u64, values: &[T]) -> Result<()> {
        let entry = self.entry(section)?;
        let start = first.checked_mul(size_of::<T>() as u64);
        let end = start.and_then(|start| start.checked_add(size_of_val(values) as u64));
        match start.filter(|_| end.is_some_and(|end| end <= entry.length)) {
            Some(start) => self.put(entry.offset + start, bytes_of(values)),
            None => {
                let count = entry.length / size_of::<T>() as u64;
                let found = format!("{} values from number {first}", values.len());
                Err(Error::input("the place in a section", format!("within {count} values"), found))
            }
        }
    }

    /// Writes a whole section.
    ///
    /// # Errors
    /// As for [`Writer::reserve`] and [`Writer::write_at`].
    pub fn section<T: Plain>(&mut self, tag: u32, values: &[T]) -> Result<Section<T>> {
        let section = self.reserve::<T>(tag, values.len() as u64)?;
        self.write_at(&section, 0, values)?;
        Ok(section)
    }

    /// Begins a section of unknown length, which grows with each [`Writer::push`].
    ///
    /// # Errors
    /// As for [`Writer::reserve`].
    pub fn start<T: Plain>(&mut self, tag: u32) -> Result<Section<T>> {
        self.reserve(tag, 0)
    }

    /// Appends values to a section. Only the last section of the file can grow.
    ///
    /// # Errors
    /// If another section has begun since, the section is another file's, or the file cannot be written.
    pub fn push<T: Plain>(&mut self, section: &Section<T>, values: &[T]) -> Result<()> {
        self.entry(section)?;
        if section.index + 1 != self.entries.len() {
            return Err(Error::input("a section to append to", "the last one of the file", "an earlier one"));
        }
        let length = size_of_val(values) as u64;
        self.put(self.end, bytes_of(values))?;
        self.entries[section.index].length += length;
        self.end += length;
        Ok(())
    }

    /// Ends the writing of a section and maps it, so that later sections can be computed from it without a copy.
    ///
    /// Sealing consumes the [`Section`], and nothing else gives write access, so a [`View`] never changes:
    ///
    /// ```
    /// # use citree_index::container::{FACTS, Writer};
    /// # let folder = tempfile::tempdir().expect("a temporary folder");
    /// let mut file = Writer::create(folder.path().join("file"), 100)?;
    /// let rows = file.reserve::<f32>(1, 2)?;
    /// file.write_at(&rows, 1, &[2.5])?;
    /// let view = file.seal(rows)?;
    /// file.section(2, &[view.iter().sum::<f32>()])?;
    /// assert_eq!(*view, [0.0, 2.5]);
    /// # file.finish([0; FACTS])?;
    /// # Ok::<(), citree_index::Error>(())
    /// ```
    ///
    /// Writing to a sealed section does not compile:
    ///
    /// ```compile_fail,E0382
    /// # use citree_index::container::{FACTS, Writer};
    /// # let folder = tempfile::tempdir().expect("a temporary folder");
    /// let mut file = Writer::create(folder.path().join("file"), 100)?;
    /// let rows = file.reserve::<f32>(1, 2)?;
    /// let view = file.seal(rows)?;
    /// file.write_at(&rows, 1, &[2.5])?; // error[E0382]: borrow of moved value: `rows`
    /// # file.finish([0; FACTS])?;
    /// # Ok::<(), citree_index::Error>(())
    /// ```
    ///
    /// Neither does a second handle to the same section:
    ///
    /// ```compile_fail,E0599
    /// # use citree_index::container::{FACTS, Writer};
    /// # let folder = tempfile::tempdir().expect("a temporary folder");
    /// let mut file = Writer::create(folder.path().join("file"), 100)?;
    /// let rows = file.reserve::<f32>(1, 2)?;
    /// let again = rows.clone(); // error[E0599]: no method named `clone` found for struct `Section`
    /// # file.finish([0; FACTS])?;
    /// # Ok::<(), citree_index::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the section is another file's, or the file cannot be written or mapped.
    pub fn seal<T: Plain>(&mut self, section: Section<T>) -> Result<View<T>> {
        let entry = self.entry(&section)?;
        // Nothing of the section may be left in the buffer: it would be written after the section is mapped.
        self.file.flush().at("write", &self.path)?;
        let map = Map::sealed(self.file.get_ref(), entry.offset, entry.length).at("map", &self.path)?;
        map.view(0, entry.length, None).ok_or_else(|| Error::input("the section to seal", "aligned", entry.offset))
    }

    /// Computes the checksums, writes the header and syncs the file to the disk.
    ///
    /// # Errors
    /// If the file cannot be read back or written.
    pub fn finish(mut self, facts: [u64; FACTS]) -> Result<()> {
        let mut pages = Vec::new();
        for at in 0..self.entries.len() {
            let map = self.checksum(at)?;
            if self.entries[at].has_pages() {
                pages.extend(page_checksums(map.bytes()));
            }
        }
        // Without them the file is as good, but sections are compared as a whole.
        if !pages.is_empty() && self.entries.len() < SLOTS {
            let section = self.begin(PAGES, pages.len() as u64)?;
            self.write_at(&section, 0, &pages)?;
            self.checksum(section.index)?;
        }
        let header = encode(self.version, self.kind, self.end, facts, &self.entries);
        self.put(0, &header)?;
        self.file.flush().at("write", &self.path)?;
        self.file.get_ref().sync_all().at("save", &self.path)
    }

    /// Computes the checksum of a section that is complete. Returns the mapped section.
    fn checksum(&mut self, at: usize) -> Result<Map> {
        self.file.flush().at("write", &self.path)?;
        let entry = &mut self.entries[at];
        let map = Map::sealed(self.file.get_ref(), entry.offset, entry.length).at("map", &self.path)?;
        entry.crc = checksum(map.bytes());
        Ok(map)
    }

    /// The entry of a section, which must be one of this file.
    fn entry<T>(&self, section: &Section<T>) -> Result<Entry> {
        let own = Arc::ptr_eq(&self.path, &section.file).then(|| self.entries.get(section.index)).flatten();
        own.copied().ok_or_else(|| Error::input("a section to write", "one of this file", "one of another file"))
    }

    fn put(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        // A seek flushes the buffer even if it does not move. Without it, consecutive writes stay buffered.
        if self.at != offset {
            self.file.seek(SeekFrom::Start(offset)).at("seek in", &self.path)?;
        }
        self.at = offset + bytes.len() as u64;
        self.file.write_all(bytes).at("write", &self.path)
    }
}

/// Creates a folder, and those around it that are missing, so that they are there after a loss of power.
///
/// # Errors
/// If a folder cannot be created or synced.
pub fn create_folder(path: &Path) -> Result<()> {
    let new: Vec<&Path> =
        path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
    std::fs::create_dir_all(path).at("create", path)?;
    for folder in new {
        let around = folder.parent().filter(|around| !around.as_os_str().is_empty());
        sync_folder(around.unwrap_or(Path::new(".")))?;
    }
    Ok(())
}

/// Syncs a folder to the disk, so that the files that were created or renamed in it are there after a loss of power.
///
/// # Errors
/// If the folder cannot be opened or synced.
#[cfg(unix)]
pub fn sync_folder(path: &Path) -> Result<()> {
    File::open(path).and_then(|folder| folder.sync_all()).at("save", path)
}

/// Does nothing: this system has no such call for folders. There a rename is durable when it returns.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn sync_folder(_: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
