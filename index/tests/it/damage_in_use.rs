//! Damage is noticed by whatever reads it: an index gives the answers of its undamaged files, or an error.

use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
};

use citree_index::{Change, Error, GraphSpec, Index, Note};

use crate::{make::Data, random::Random};

/// Everything that an index says, without `verify`.
fn answers(folder: &Path, data: &Data) -> Result<String, Error> {
    let index = Index::open(folder)?;
    let mut all = format!("{:?} {:?} {:?}", index.manifest(), index.segments(), index.groupings());
    for space in index.spaces().iter().chain(index.contrasts().map(|contrasts| contrasts.space())) {
        for row in [data.row(0), data.row(37)] {
            let found = space.nearest(row).run()?;
            let near = space.nearest(row).count(60).effort(300).except_source(3).run()?;
            let exact = space.nearest(row).class(2).exact().run()?;
            all += &format!("{found:?} {near:?} {exact:?} {:?}", space.similarity(row, 5));
        }
        all += &format!("{:?} {:?} {:?}", space.sums(), space.total(), space.similarities(data.row(1), 0..90)?);
        all += &format!("{:?} {:?}", space.densities(data.row(0), 8.0)?, space.group_sums(1));
    }
    for number in 0..data.records.len().min(130) as u32 {
        let of_record = (index.record(number), index.group(0, number), index.group(1, number), index.id(number));
        all += &format!("{of_record:?} {:?} {:?}", index.source(number), index.records_of(number));
    }
    all += &format!("{:?}", index.attachments().collect::<Vec<_>>());
    index.intact()?;
    Ok(all)
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join("gen-000001").join(name)
}

/// Flips one bit of a file.
fn flip(path: &Path, byte: usize, bit: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[byte] ^= 1 << bit;
    fs::write(path, bytes).unwrap();
}

/// Flips bits of files, one at a time. Returns how many were noticed and how many were harmless.
fn flips(folder: &Path, data: &Data, names: &[&str], count: usize, seed: u64) -> [usize; 2] {
    let whole = answers(folder, data).unwrap();
    let mut random = Random::new(seed);
    let mut outcomes = [0; 2];
    for _ in 0..count {
        let name = names[random.below(names.len())];
        let path = file(folder, name);
        let length = fs::metadata(&path).unwrap().len() as usize;
        let (byte, bit) = (random.below(length), random.below(8));
        flip(&path, byte, bit);
        let found = answers(folder, data);
        outcomes[usize::from(found.is_ok())] += 1;
        match found {
            Ok(found) => assert!(found == whole, "bit {bit} of byte {byte} of {name} gives other answers"),
            Err(error) => assert!(error.to_string().contains("build the index again"), "{name}: {error}"),
        }
        flip(&path, byte, bit);
    }
    outcomes
}

/// An index whose rows, compact rows and links are large enough to have checksums of their pages.
fn large(folder: &Path) -> Data {
    let data = Data { graph: GraphSpec { degree: 16, effort: 30, least: 10 }, ..Data::new(7, 9000, 64) };
    data.build(folder);
    data
}

/// Takes the checksums of pages from a file, as earlier versions wrote it.
fn without_pages(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let at = 128 + 32 * (bytes[16] as usize - 1);
    assert_eq!(bytes[at..at + 4], [0xff; 4], "the last section has the checksums of pages");
    let before = at - 32;
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let end = number(before + 8) + number(before + 16);
    bytes[at..at + 32].fill(0);
    bytes[16] -= 1;
    bytes[24..32].copy_from_slice(&end.to_le_bytes());
    bytes.truncate(end as usize);
    let crc = crc32c::crc32c(&bytes[..1020]);
    bytes[1020..1024].copy_from_slice(&crc.to_le_bytes());
    fs::write(path, bytes).unwrap();
}

#[test]
fn every_flip_in_a_small_index_is_noticed_in_use_or_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::to_freeze();
    data.build_version_2(folder.path());
    let names = ["manifest", "edges", "heads", "labels", "rejected", "rejected-edges"];
    let [noticed, harmless] = flips(folder.path(), &data, &names, 1200, 3);
    // Harmless are the zeros between sections, of which so small an index has many.
    assert!(noticed > 5 * harmless, "{noticed} noticed, {harmless} harmless");
}

#[test]
fn flips_in_a_large_index_are_noticed_by_those_who_read_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let data = large(folder.path());
    let [noticed, harmless] = flips(folder.path(), &data, &["heads", "labels", "edges"], 60, 4);
    assert!(noticed > 10 && harmless > 5, "{noticed} noticed, {harmless} of pages that nobody read");
    Index::open(folder.path()).unwrap().verify().unwrap();
}

#[test]
fn an_index_without_checksums_of_pages_gives_the_same_answers_and_every_flip_of_its_rows_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let data = large(folder.path());
    let whole = answers(folder.path(), &data).unwrap();
    ["heads", "labels"].iter().for_each(|name| without_pages(&file(folder.path(), name)));
    assert!(answers(folder.path(), &data).unwrap() == whole);
    Index::open(folder.path()).unwrap().verify().unwrap();
    let [noticed, harmless] = flips(folder.path(), &data, &["heads", "labels"], 30, 5);
    assert!(noticed > 28, "{noticed} noticed, {harmless} harmless");
}

#[test]
fn a_flipped_sign_is_noticed_by_threads_that_search_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let data = large(folder.path());
    flip(&file(folder.path(), "heads"), 1024 + 3, 7);
    let rows: Vec<f32> = (0..200).flat_map(|i| data.row(i * 40).to_vec()).collect();
    for _ in 0..5 {
        let index = Index::open(folder.path()).unwrap();
        let error = index.spaces()[0].nearest_many(&rows, |_, nearest| nearest.count(9000).exact()).unwrap_err();
        assert!(error.to_string().contains("the checksum of page 0 of section 1"), "{error}");
    }
}

#[test]
fn a_wrong_checksum_of_a_page_is_found_by_verify_and_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let data = large(folder.path());
    let path = file(folder.path(), "heads");
    flip(&path, fs::metadata(&path).unwrap().len() as usize - 1, 0);
    assert!(Index::open(folder.path()).unwrap().verify().is_err());
    assert!(answers(folder.path(), &data).is_err());
}

#[test]
fn nothing_damaged_is_merged_into_a_new_segment() {
    let folder = tempfile::tempdir().unwrap();
    let data = Data::to_freeze();
    data.build_version_3(folder.path());
    let merge = || -> Result<u64, Error> {
        let mut spec = data.spec();
        (spec.class_counts, spec.contrasts) = (Vec::new(), 0);
        let change = Change::begin(folder.path())?;
        let addition = change.add("all", spec, &[0, 1], None, &|_, _, _| 0)?;
        addition.publish(Note::default(), &|_| ControlFlow::Continue(()))
    };
    let path = folder.path().join("gen-000001/heads");
    let original = fs::read(&path).unwrap();
    flip(&path, 1024 + 5, 3);
    let error = merge().unwrap_err();
    assert!(error.to_string().contains("gen-000001/heads is damaged"), "{error}");
    fs::write(&path, original).unwrap();
    merge().unwrap();
}
