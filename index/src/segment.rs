//! A segment: a folder of files that never change, with records numbered from 0.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use crate::{
    container::{OLDEST, Sections},
    contrasts::SegmentContrasts,
    error::{REMEDIES, Result},
    generation::MANIFEST,
    hash,
    lookup::{KeyOf, LOOKUP, Lookup},
    meta::{self, Manifest},
    records::Records,
    segment_builder::{CONTRASTS_SECTION, CONTRASTS_VERSION, MANIFEST_KIND, MANIFEST_SECTION, RECORDS, SPACES},
    segment_space::SegmentSpace,
};

/// A segment, mapped.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) manifest: Manifest,
    pub(crate) manifest_file: Sections,
    pub(crate) records: Arc<Records>,
    pub(crate) spaces: [Arc<SegmentSpace>; 2],
    pub(crate) contrasts: Option<SegmentContrasts>,
    pub(crate) lookup: Option<Lookup>,
    /// The hashes of the keys of all sources, with the sources, where no file has them. Filled on first use.
    keys: OnceLock<Vec<(u64, u32)>>,
}

impl Segment {
    /// Opens the segment in a folder. Reads only headers and a few numbers.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let manifest_file = Sections::open_with(path.join(MANIFEST), MANIFEST_KIND, REMEDIES)?;
        // The manifest is small and everything else depends on it, so its checksum is compared now.
        manifest_file.check()?;
        if manifest_file.version() > CONTRASTS_VERSION {
            return Err(manifest_file.damaged("the version of a segment", "1 or 2", manifest_file.version()));
        }
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
        let space =
            |at: usize| SegmentSpace::open(path.join(SPACES[at]), records.clone(), &manifest.spaces[at]).map(Arc::new);
        let spaces = [space(0)?, space(1)?];
        let facts = manifest.contrasts.as_ref();
        let contrasts = facts.map(|facts| SegmentContrasts::open(path, facts, &manifest.spaces[0])).transpose()?;
        let lookup = path.join(LOOKUP);
        let of_records = [manifest.records, facts.map_or(0, |facts| facts.records)];
        let lookup = match lookup.exists() {
            true => Some(Lookup::open(lookup, manifest.sources, of_records)?),
            false => None,
        };
        Ok(Self { manifest, manifest_file, records, spaces, contrasts, lookup, keys: OnceLock::new() })
    }

    /// Its files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Sections> {
        let own = [&self.manifest_file, &self.records.file].into_iter();
        let spaces = self.spaces.iter().map(|space| &space.file);
        let contrasts = self.contrasts.iter().flat_map(|contrasts| [&contrasts.records.file, &contrasts.space.file]);
        own.chain(spaces).chain(contrasts).chain(self.lookup.iter().map(|lookup| &lookup.file))
    }

    /// The places of the sources with this key, removed ones included.
    pub(crate) fn sources_of(&self, key: &[u8], key_of: KeyOf) -> Vec<u32> {
        let source = |place: u32| self.records.source(place).unwrap_or_default();
        let mut places: Vec<u32> = match self.lookup.as_ref().and_then(|lookup| lookup.sources(key)) {
            Some(places) => places.collect(),
            None => {
                let keys = self.keys.get_or_init(|| {
                    let all = 0..self.records.sources() as u32;
                    let mut keys: Vec<(u64, u32)> =
                        all.map(|place| (hash::bytes(key_of(source(place))), place)).collect();
                    keys.sort_unstable();
                    keys
                });
                let hash = hash::bytes(key);
                let same = keys[keys.partition_point(|(own, _)| *own < hash)..].iter();
                same.take_while(|(own, _)| *own == hash).map(|(_, place)| *place).collect()
            }
        };
        places.retain(|place| key_of(source(*place)) == key);
        places
    }

    /// The number of contrast records.
    pub(crate) fn contrast_count(&self) -> usize {
        self.contrasts.as_ref().map_or(0, |contrasts| contrasts.records.count())
    }

    /// The table of the records (0) or of the contrast records (1).
    pub(crate) fn table(&self, kind: usize) -> Option<&Records> {
        match kind {
            0 => Some(&self.records),
            _ => self.contrasts.as_ref().map(|contrasts| &*contrasts.records),
        }
    }

    /// The ids of the records (0) or of the contrast records (1), by place. Empty if their places give them.
    pub(crate) fn ids(&self, kind: usize) -> &[u64] {
        self.lookup.as_ref().map_or(&[], |lookup| lookup.ids(kind))
    }
}
