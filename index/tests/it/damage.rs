//! Damaged, foreign and truncated files: a typed error, never a panic.

use std::{
    fs,
    path::{Path, PathBuf},
};

use citree_index::{
    Error, GraphSpec, Index,
    container::{OLDEST, VERSION},
};

use crate::{make::Data, random::Random};

const FILES: [&str; 4] = ["manifest", "edges", "heads", "labels"];

fn small(folder: &Path) -> Data {
    let data = Data { graph: GraphSpec { degree: 4, effort: 20, least: 10 }, ..Data::new(1, 120, 9) };
    data.build(folder);
    data
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join("gen-000001").join(name)
}

/// Offset and length of the section whose table entry is at `at`.
fn section(bytes: &[u8], at: usize) -> (usize, usize) {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    (number(at + 8), number(at + 16))
}

/// Corrects the checksums after a section was changed.
fn sign(bytes: &mut [u8], at: usize) {
    let (offset, length) = section(bytes, at);
    let crc = crc32c::crc32c(&bytes[offset..offset + length]);
    bytes[at + 24..at + 28].copy_from_slice(&crc.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..1020]);
    bytes[1020..1024].copy_from_slice(&crc.to_le_bytes());
}

/// Opens, searches in every way and verifies.
fn use_all(folder: &Path, data: &Data) -> Result<(), Error> {
    let index = Index::open(folder)?;
    for space in index.spaces() {
        for row in [data.row(0), data.row(77)] {
            space.nearest(row).run()?;
            space.nearest(row).count(200).effort(300).run()?;
            space.nearest(row).except_source(3).filter(&|record| record % 3 == 0).run()?;
            space.nearest(row).class(2).exact().run()?;
        }
        space.sums();
        space.similarities(data.row(0), 0..200)?;
        let _ = (0..3).map(|grouping| space.group_sums(grouping).len()).sum::<usize>();
    }
    for number in 0..130 {
        let _ = (index.record(number), index.source(number), index.records_of(number));
        let _ = (index.group(0, number), index.group(1, number), index.attachments().count());
    }
    index.verify()
}

#[test]
fn two_thousand_flipped_bytes_are_each_detected_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let data = small(folder.path());
    use_all(folder.path(), &data).unwrap();
    let mut random = Random::new(5);
    let originals = FILES.map(|name| fs::read(file(folder.path(), name)).unwrap());
    for flip in 0..2000 {
        let which = random.below(4);
        let (path, mut bytes) = (file(folder.path(), FILES[which]), originals[which].clone());
        // Half of them in headers and first sections, where they have most effect.
        let place = random.below(if flip % 2 == 0 { bytes.len() } else { bytes.len().min(2048) });
        bytes[place] ^= 1 << random.below(8);
        fs::write(&path, &bytes).unwrap();
        assert!(use_all(folder.path(), &data).is_err(), "byte {place} of {}", FILES[which]);
        fs::write(&path, &originals[which]).unwrap();
    }
    use_all(folder.path(), &data).unwrap();
}

#[test]
fn damage_under_a_right_checksum_still_never_panics_and_verify_sees_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = small(folder.path());
    let mut random = Random::new(6);
    let mut damaged = 0;
    for _ in 0..600 {
        let name = FILES[1 + random.below(3)];
        let path = file(folder.path(), name);
        let original = fs::read(&path).unwrap();
        let mut bytes = original.clone();
        let sections = bytes[16] as usize;
        let at = 128 + 32 * random.below(sections);
        let (offset, length) = section(&original, at);
        if length == 0 || name == "edges" && [1, 3, 4, 7].contains(&original[at]) {
            continue; // Only the caller interprets records, sources and the attachment.
        }
        let place = offset + random.below(length);
        bytes[place] = bytes[place].wrapping_add(1 + random.below(255) as u8);
        sign(&mut bytes, at);
        fs::write(&path, &bytes).unwrap();
        let verified = use_all(folder.path(), &data);
        // Other links can be a valid graph too. Everything else follows from the rows.
        let free = [7, 8, 9].contains(&original[at]);
        assert!(verified.is_err() || free, "byte {place} of {name}, section {}", original[at]);
        damaged += usize::from(!free);
        fs::write(&path, &original).unwrap();
    }
    assert!(damaged > 200, "only {damaged} of 600 were tested");
}

#[test]
fn opening_reads_headers_and_no_rows() {
    let folder = tempfile::tempdir().unwrap();
    let data = small(folder.path());
    for name in ["edges", "heads", "labels"] {
        let path = file(folder.path(), name);
        let mut bytes = fs::read(&path).unwrap();
        // Opening does read the sizes of the layers and of the groupings, and the mean row.
        let small: &[u8] = if name == "edges" { &[6] } else { &[4, 10] };
        let original = bytes.clone();
        bytes[1024..].fill(0xab);
        for at in (0..bytes[16] as usize).map(|i| 128 + 32 * i).filter(|at| small.contains(&original[*at])) {
            let (offset, length) = section(&original, at);
            assert!(length <= 64);
            bytes[offset..offset + length].copy_from_slice(&original[offset..offset + length]);
        }
        fs::write(&path, bytes).unwrap();
    }
    let index = Index::open(folder.path()).unwrap();
    assert!(index.verify().is_err());
    assert!(use_all(folder.path(), &data).is_err());
}

#[test]
fn verify_finds_unreachable_rows() {
    let folder = tempfile::tempdir().unwrap();
    let data = small(folder.path());
    let path = file(folder.path(), "heads");
    let mut bytes = fs::read(&path).unwrap();
    let at = (0..bytes[16] as usize).map(|i| 128 + 32 * i).find(|at| bytes[*at] == 7).unwrap();
    let (offset, length) = section(&bytes, at);
    bytes[offset..offset + length].fill(0xff);
    sign(&mut bytes, at);
    fs::write(&path, &bytes).unwrap();
    let error = use_all(folder.path(), &data).unwrap_err();
    assert!(error.to_string().contains("reachable in the graph"), "{error}");
}

#[test]
fn a_search_ends_even_if_every_estimate_is_nan() {
    let folder = tempfile::tempdir().unwrap();
    let data = small(folder.path());
    let path = file(folder.path(), "heads");
    let original = fs::read(&path).unwrap();
    // The mean and the compact rows.
    for tag in [4, 5] {
        let mut bytes = original.clone();
        let at = (0..bytes[16] as usize).map(|i| 128 + 32 * i).find(|at| bytes[*at] == tag).unwrap();
        let (offset, length) = section(&bytes, at);
        bytes[offset..offset + length].fill(0xff);
        sign(&mut bytes, at);
        fs::write(&path, &bytes).unwrap();
        assert!(matches!(use_all(folder.path(), &data), Err(Error::Damaged { .. })));
    }
}

#[test]
fn a_file_cut_at_any_section_is_refused_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let data = small(folder.path());
    for name in FILES {
        let path = file(folder.path(), name);
        let bytes = fs::read(&path).unwrap();
        let mut ends = vec![0, 8, 1024, bytes.len()];
        for at in (0..bytes[16] as usize).map(|i| 128 + 32 * i) {
            let (offset, length) = section(&bytes, at);
            ends.extend([offset, offset + length]);
        }
        for length in ends.into_iter().flat_map(|end| [end.saturating_sub(1), end, end + 1]) {
            let mut cut = bytes.clone();
            cut.resize(length, 0);
            fs::write(&path, &cut).unwrap();
            let opened = Index::open(folder.path());
            if length == bytes.len() {
                opened.unwrap();
            } else {
                let error = opened.unwrap_err();
                assert!(matches!(error, Error::Length { .. } | Error::Foreign { .. }), "{name} at {length}: {error}");
                assert!(error.to_string().contains("build the index again"), "{error}");
            }
        }
        fs::write(&path, &bytes).unwrap();
    }
    use_all(folder.path(), &data).unwrap();
}

#[test]
fn foreign_older_and_newer_files_say_what_they_are_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    small(folder.path());
    let path = file(folder.path(), "heads");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, b"%PDF-1.7 and so on").unwrap();
    assert!(matches!(Index::open(folder.path()), Err(Error::Foreign { .. })));
    for version in [OLDEST - 1, VERSION + 1] {
        let mut other = bytes.clone();
        other[8..12].copy_from_slice(&version.to_le_bytes());
        fs::write(&path, &other).unwrap();
        let error = Index::open(folder.path()).unwrap_err();
        assert!(matches!(error, Error::Version { found, expected: VERSION, .. } if found == version));
        assert!(
            error.to_string().ends_with("build the index again with this program, or use the program that built it")
        );
    }
    fs::write(&path, fs::read(file(folder.path(), "edges")).unwrap()).unwrap();
    assert!(matches!(Index::open(folder.path()), Err(Error::Damaged { .. })), "an index file of another kind");
    fs::write(&path, &bytes).unwrap();
    for (name, found) in [
        (&b"../elsewhere\n"[..], "../elsewhere"),
        (b"gen-000009\n", "missing (gen-000009)"),
        (b"gen-00000\xb1\n", "the name in it"),
        (b"", "the name in it"),
    ] {
        fs::write(folder.path().join("CURRENT"), name).unwrap();
        let error = Index::open(folder.path()).unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }) && error.to_string().contains(found), "{error}");
    }
}
