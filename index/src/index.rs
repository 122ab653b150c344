//! An index, open for reading.

use std::{
    fmt::Write,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    builder::{CONTRASTS_SECTION, MANIFEST_KIND, MANIFEST_SECTION, RECORDS, SPACES},
    container::{OLDEST, Sections},
    contrasts::Contrasts,
    error::{Error, REMEDIES, Result},
    generation::{self, Lock, MANIFEST},
    meta::{self, Manifest},
    records::{Record, Records},
    space::Space,
    verify,
};

/// One generation of an index, mapped. It stays as it is while newer generations are built and published.
#[derive(Debug)]
pub struct Index {
    folder: PathBuf,
    generation: u64,
    manifest: Manifest,
    pub(crate) manifest_file: Sections,
    pub(crate) records: Arc<Records>,
    spaces: [Space; 2],
    contrasts: Option<Contrasts>,
    _lock: Lock,
}

impl Index {
    /// Opens the current generation. Reads only headers and a few numbers, so it takes the same time for any number of
    /// records.
    ///
    /// ```
    #[doc = include_str!("../doc/small_index.md")]
    /// let index = Index::open(folder)?;
    /// assert_eq!(index.manifest().records, 3);
    /// assert_eq!(index.records_of(1), 1..3, "records are ordered by class");
    /// let record = index.record(2).expect("there are three records");
    /// assert_eq!(record.payload, [7, 0]);
    /// assert_eq!(index.source(record.source), Some(&b"any bytes"[..]));
    /// # Ok::<(), citree_index::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Missing`] if there is no index. Other errors say how a file is unfit.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        let folder = folder.as_ref().to_owned();
        let (path, generation, lock) = generation::current(&folder)?;
        let manifest_file = Sections::open_with(path.join(MANIFEST), MANIFEST_KIND, REMEDIES)?;
        // The manifest is small and everything else depends on it, so its checksum is compared now.
        manifest_file.check()?;
        let contrasts = match manifest_file.version() {
            OLDEST => None,
            _ => Some(manifest_file.bytes(CONTRASTS_SECTION)?),
        };
        let manifest = meta::decode(&manifest_file.bytes(MANIFEST_SECTION)?, contrasts.as_deref());
        let manifest =
            manifest.ok_or_else(|| manifest_file.damaged("the manifest", "readable", "bytes of another form"))?;
        let records = Arc::new(Records::open(path.join(RECORDS))?);
        let found = (records.count() as u64, records.sources() as u64, records.classes() as u64);
        let expected = (manifest.records, manifest.sources, manifest.classes);
        if found != expected {
            let (expected, found) = (format!("{expected:?}"), format!("{found:?}"));
            return Err(records.file.damaged("the number of records, sources and classes", expected, found));
        }
        let space = |at: usize| Space::open(path.join(SPACES[at]), records.clone(), &manifest.spaces[at]);
        let spaces = [space(0)?, space(1)?];
        let contrasts =
            manifest.contrasts.as_ref().map(|facts| Contrasts::open(&path, facts, &manifest.spaces[0])).transpose()?;
        Ok(Self { folder, generation, manifest, manifest_file, records, spaces, contrasts, _lock: lock })
    }

    /// The number of the generation that is current now. It can be newer than an open one. Opens no index file, so it is
    /// cheap enough to poll.
    ///
    /// # Errors
    /// [`Error::Missing`] if there is no index.
    pub fn current_generation(folder: impl AsRef<Path>) -> Result<u64> {
        Ok(generation::pointer(folder.as_ref())?.1)
    }

    /// Refuses an index whose rows come from another model.
    ///
    /// # Errors
    /// [`Error::Model`] if the fingerprint differs from the one in the manifest.
    pub fn require_model(&self, fingerprint: &[u8]) -> Result<()> {
        if self.manifest.model == fingerprint {
            return Ok(());
        }
        let hex = |bytes: &[u8]| {
            bytes.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
        };
        Err(Error::Model {
            path: self.folder.clone(),
            expected: hex(fingerprint),
            found: hex(&self.manifest.model),
            remedy: "build the index again with this model, or use the model that it was built with",
        })
    }

    /// The two spaces, in the order of [`Spec::spaces`](crate::Spec::spaces).
    pub fn spaces(&self) -> &[Space; 2] {
        &self.spaces
    }

    /// The contrast records. `None` if the index has none.
    pub fn contrasts(&self) -> Option<&Contrasts> {
        self.contrasts.as_ref()
    }

    /// Metadata.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The number of this generation.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// A record by its number.
    pub fn record(&self, number: u32) -> Option<Record> {
        self.records.get(number)
    }

    /// The numbers of the records of a class, which are consecutive. Empty for a class that does not exist.
    pub fn records_of(&self, class: u32) -> Range<u32> {
        let range = self.records.range(class);
        range.start as u32..range.end as u32
    }

    /// The bytes of a source.
    pub fn source(&self, number: u32) -> Option<&[u8]> {
        self.records.source(number)
    }

    /// The number of groups of each grouping.
    pub fn groupings(&self) -> &[u32] {
        self.records.groups.counts()
    }

    /// The group of a record in a grouping. `None` if there is no such grouping or record.
    pub fn group(&self, grouping: usize, record: u32) -> Option<u32> {
        self.records.groups.get(grouping, record)
    }

    /// The bytes of [`Spec::attachment`](crate::Spec::attachment).
    pub fn attachment(&self) -> &[u8] {
        self.records.attachment()
    }

    /// Reads the whole index and checks it: checksums, links and reachability of the graphs, groups, and everything that
    /// is computed from the rows.
    ///
    /// ```
    #[doc = include_str!("../doc/small_index.md")]
    /// Index::open(folder)?.verify()?;
    ///
    /// let file = folder.join("gen-000001/heads");
    /// let mut bytes = std::fs::read(&file).expect("the rows of the first space");
    /// bytes[1024] ^= 1;
    /// std::fs::write(&file, bytes).expect("a damaged copy");
    /// let error = Index::open(folder)?.verify().unwrap_err();
    /// assert!(error.to_string().ends_with("build the index again, or restore it from a copy"));
    /// # Ok::<(), citree_index::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first problem found.
    pub fn verify(&self) -> Result<()> {
        verify::verify(self)
    }
}
