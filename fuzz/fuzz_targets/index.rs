//! An index with changed bytes and repaired checksums: opening, searching and verifying end in an answer or an error.
#![no_main]

use std::path::Path;
use std::sync::OnceLock;

use citree_index::{Builder, GraphSpec, Index, Metric, Record, SpaceSpec, Spec};
use libfuzzer_sys::fuzz_target;

const FILES: [&str; 6] = ["manifest", "edges", "heads", "labels", "rejected-edges", "rejected"];
const DIMS: usize = 4;
const RECORDS: usize = 24;

/// A folder with an index, and its files as they were written.
struct Whole {
    folder: tempfile::TempDir,
    files: Vec<Vec<u8>>,
}

fn row(seed: usize) -> Vec<f32> {
    let values: Vec<f32> = (0..DIMS).map(|at| ((seed * 31 + at * 17) % 13) as f32 + 1.0).collect();
    let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
    values.iter().map(|value| value / norm).collect()
}

fn build(folder: &Path) -> Result<(), citree_index::Error> {
    let spec = Spec {
        spaces: [SpaceSpec { dims: DIMS, metric: Metric::Cosine }; 2],
        class_counts: vec![RECORDS as u64 / 2; 2],
        model: vec![1],
        content: vec![2],
        groupings: vec![3],
        contrasts: 5,
        attachment: b"names".to_vec(),
        graph: GraphSpec { degree: 2, effort: 8, least: 4 },
    };
    let mut builder = Builder::create(folder, spec)?;
    for source in 0..4 {
        builder.add_source(format!("source {source}").as_bytes())?;
    }
    for at in 0..RECORDS {
        let record = Record { source: at as u32 % 4, class: (at % 2) as u32, payload: [1, 2] };
        builder.add(record, &[at as u32 % 3], [&row(at), &row(at + 7)])?;
    }
    for at in 0..5 {
        builder.add_contrast(at % 4, [1, 3], &row(at as usize + 3))?;
    }
    builder.finish(&|_| {}).map(drop)
}

fn whole() -> &'static Whole {
    static WHOLE: OnceLock<Whole> = OnceLock::new();
    WHOLE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        build(folder.path()).expect("an index");
        let read = |name: &&str| std::fs::read(folder.path().join("gen-000001").join(name)).expect("a file of it");
        let files = FILES.iter().map(read).collect();
        Whole { folder, files }
    })
}

/// Corrects the checksums of all sections that are inside the file, and of the header.
fn sign(bytes: &mut [u8]) {
    if bytes.len() < 1024 {
        return;
    }
    for at in (0..27).map(|slot| 128 + 32 * slot) {
        let number = |at: usize| usize::try_from(u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default()));
        let (Ok(offset), Ok(length)) = (number(at + 8), number(at + 16)) else { continue };
        let section = offset.checked_add(length).and_then(|end| bytes.get(offset..end));
        if let Some(crc) = section.map(crc32c::crc32c) {
            bytes[at + 24..at + 28].copy_from_slice(&crc.to_le_bytes());
        }
    }
    let crc = crc32c::crc32c(&bytes[..1020]);
    bytes[1020..1024].copy_from_slice(&crc.to_le_bytes());
}

/// Opens, searches in every way, and verifies.
fn use_all(folder: &Path) -> Result<(), citree_index::Error> {
    let index = Index::open(folder)?;
    let query = row(5);
    for space in index.spaces().iter().chain(index.contrasts().map(|contrasts| contrasts.space())) {
        if space.dims() != DIMS {
            continue;
        }
        let _ = space.nearest(&query).run();
        let _ = space.nearest(&query).count(9).effort(30).except_source(1).run();
        let _ = space.nearest(&query).class(1).exact().run();
        let _ = (space.sums(), space.total().len(), space.group_sums(0).len(), space.runs().len());
        let _ = (space.similarities(&query, 0..40), space.densities(&query, 8.0));
    }
    for number in 0..RECORDS as u32 + 2 {
        let _ = (index.record(number), index.source(number), index.group(0, number), index.id(number));
        let _ = index.contrasts().map(|contrasts| contrasts.record(number));
    }
    let _ = (index.sources_of(b"source 1", |source| source), index.attachments().count(), index.intact());
    index.verify()
}

// The input: which file, whether to repair checksums, then changes: a place (two bytes) and what is there (one byte).
fuzz_target!(|data: &[u8]| {
    let [which, repair, changes @ ..] = data else { return };
    let whole = whole();
    let which = *which as usize % FILES.len();
    let mut bytes = whole.files[which].clone();
    for change in changes.chunks_exact(3) {
        let place = u16::from_le_bytes([change[0], change[1]]) as usize % bytes.len();
        bytes[place] = change[2];
    }
    if repair % 8 != 0 {
        sign(&mut bytes);
    }
    let path = whole.folder.path().join("gen-000001").join(FILES[which]);
    std::fs::write(&path, &bytes).expect("a changed file");
    let _ = use_all(whole.folder.path());
    std::fs::write(&path, &whole.files[which]).expect("the file as it was");
});
