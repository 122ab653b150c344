//! Packing and unpacking: round trips, and archives that lie.

#![allow(clippy::unwrap_used)]

use super::frames::Compressed;
use super::manifest::{FILE, FORMAT, File, Manifest, Origin};
use super::{pack, unpack};
use crate::bundle::Bundle;
use std::io::Write;
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

fn origin() -> Origin {
    let some = |text: &str| Some(text.to_string());
    Origin { treebank: some("UD_Small-Test"), release: some("2.7"), license: some("CC0-1.0") }
}

/// A folder with a copy of a frozen bundle, `en.citree`.
fn with_bundle() -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
            let target = to.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => copy(&entry.path(), &target),
                false => drop(std::fs::copy(entry.path(), target).unwrap()),
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let frozen = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frozen/bundle-2");
    copy(&frozen, &folder.path().join("en.citree"));
    folder
}

fn packed(folder: &Path, name: &str, origin: &Origin) -> PathBuf {
    let archive = folder.join(name);
    pack(&folder.join("en.citree"), &archive, origin, &mut |_, _| {}).unwrap();
    archive
}

#[test]
fn a_bundle_comes_back_and_the_same_bundle_gives_the_same_bytes() {
    let folder = with_bundle();
    let one = packed(folder.path(), "one.tar.zst", &origin());
    // Times and locks make no difference.
    std::fs::write(folder.path().join("en.citree/training.lock"), "1").unwrap();
    let config = folder.path().join("en.citree/model/config.toml");
    std::fs::write(&config, std::fs::read(&config).unwrap()).unwrap();
    let two = packed(folder.path(), "two.tar.zst", &origin());
    assert!(std::fs::read(&one).unwrap() == std::fs::read(two).unwrap());

    let elsewhere = folder.path().join("elsewhere");
    let unpacked = unpack(&one, &elsewhere, None, &mut |_, _| {}).unwrap();
    assert_eq!((&unpacked.bundle, &unpacked.origin), (&elsewhere.join("en.citree"), &origin()));
    let fingerprint = |bundle: &Path| Bundle::open(bundle).unwrap().fingerprint().unwrap();
    assert_eq!(fingerprint(&unpacked.bundle), fingerprint(&folder.path().join("en.citree")));
    assert!(Bundle::open(&unpacked.bundle).unwrap().verify().unwrap().is_ok());
    assert!(!unpacked.bundle.join("training.lock").exists());
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 1);
    // What was unpacked says by itself where it comes from.
    let again = elsewhere.join("again.tar.zst");
    let done = pack(&unpacked.bundle, &again, &Origin::default(), &mut |_, _| {}).unwrap();
    assert!(std::fs::read(&one).unwrap() == std::fs::read(&again).unwrap());
    let other = folder.path().join("other");
    assert!(unpack(&again, &other, Some(&done.sha256), &mut |_, _| {}).is_ok());
    let wrong = unpack(&again, &folder.path().join("wrong"), Some(&"0".repeat(64)), &mut |_, _| {});
    assert!(wrong.unwrap_err().to_string().contains("another file"));
}

#[test]
fn a_bundle_is_not_packed_without_a_licence_or_when_it_is_damaged() {
    let folder = with_bundle();
    let (bundle, archive) = (folder.path().join("en.citree"), folder.path().join("x.tar.zst"));
    let message = |origin: &Origin| pack(&bundle, &archive, origin, &mut |_, _| {}).unwrap_err().to_string();
    assert!(message(&Origin { license: None, ..origin() }).contains("--license"));
    assert!(message(&Origin { treebank: None, ..origin() }).contains("--treebank"));
    let edges = bundle.join("index/gen-000002/edges");
    let mut bytes = std::fs::read(&edges).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&edges, bytes).unwrap();
    message(&origin());
    assert!(!archive.exists());
}

#[test]
fn what_is_there_is_never_overwritten() {
    let folder = with_bundle();
    let archive = packed(folder.path(), "one.tar.zst", &origin());
    let message = unpack(&archive, folder.path(), None, &mut |_, _| {}).unwrap_err().to_string();
    assert!(message.contains("there already") && message.contains("--into"), "{message}");
}

#[test]
fn no_truncated_or_flipped_archive_becomes_a_bundle() {
    let folder = with_bundle();
    let bytes = std::fs::read(packed(folder.path(), "one.tar.zst", &origin())).unwrap();
    let bad = folder.path().join("bad.tar.zst");
    let into = folder.path().join("into");
    let places = (0..bytes.len()).step_by(bytes.len() / 97);
    for place in places {
        std::fs::write(&bad, &bytes[..place]).unwrap();
        assert!(unpack(&bad, &into, None, &mut |_, _| {}).is_err(), "truncated at {place}");
        let mut flipped = bytes.clone();
        flipped[place] ^= 0x20;
        std::fs::write(&bad, flipped).unwrap();
        // A flip in the header of a frame can leave all content as it is.
        if unpack(&bad, &into, None, &mut |_, _| {}).is_ok() {
            assert!(Bundle::open(into.join("en.citree")).unwrap().verify().unwrap().is_ok());
            std::fs::remove_dir_all(&into).unwrap();
        }
        assert!(!into.exists() || std::fs::read_dir(&into).unwrap().count() == 0, "{place}");
    }
}

/// The path, the type and the content of an entry.
type Lie<'a> = (&'a str, EntryType, &'a [u8]);

/// An archive with this list and these entries.
fn lying(folder: &Path, manifest: &Manifest, entries: &[Lie<'_>]) -> PathBuf {
    let path = folder.join("lying.tar.zst");
    let mut tar = Builder::new(Compressed::new(std::fs::File::create(&path).unwrap()));
    let text = serde_json::to_vec(manifest).unwrap();
    let first = manifest.entry(FILE);
    for (path, kind, content) in
        std::iter::once((first.as_str(), EntryType::Regular, &text[..])).chain(entries.iter().copied())
    {
        let mut header = Header::new_ustar();
        // Set by hand, because the writer of the crate refuses such paths.
        header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        if kind.is_symlink() || kind.is_hard_link() {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        tar.append(&header, content).unwrap();
    }
    tar.into_inner().and_then(Compressed::finish).unwrap().flush().unwrap();
    path
}

fn manifest(name: &str, files: &[(&str, u64, &[u8])]) -> Manifest {
    let file = |(path, bytes, content): &(&str, u64, &[u8])| File {
        path: path.to_string(),
        bytes: *bytes,
        blake3: blake3::hash(content).to_hex().to_string(),
    };
    Manifest {
        format: FORMAT,
        name: name.to_string(),
        citree: "0".to_string(),
        origin: origin(),
        fingerprint: String::new(),
        training: serde_json::Value::Null,
        rules: serde_json::Value::Null,
        files: files.iter().map(file).collect(),
    }
}

#[test]
fn archives_that_lie_are_refused_and_write_nothing_anywhere() {
    const FILE: EntryType = EntryType::Regular;
    let folder = tempfile::tempdir().unwrap();
    let into = folder.path().join("deep/into");
    let one: &[(&str, u64, &[u8])] = &[("a", 1, b"x")];
    let cases: Vec<(Manifest, Vec<Lie<'_>>, &str)> = vec![
        (manifest("..", one), vec![("../a", FILE, b"x")], "not the name of a folder"),
        (manifest("/tmp", one), vec![("/tmp/a", FILE, b"x")], "not the name of a folder"),
        (manifest("n", &[("../a", 1, b"x")]), vec![("n/../a", FILE, b"x")], "not the path of a file"),
        (manifest("n", &[("/a", 1, b"x")]), vec![("n//a", FILE, b"x")], "not the path of a file"),
        (manifest("n", &[("c:\\a", 1, b"x")]), vec![("n/c:\\a", FILE, b"x")], "not the path of a file"),
        (manifest("n", &[(".hidden", 1, b"x")]), vec![("n/.hidden", FILE, b"x")], "not the path of a file"),
        (manifest("n", &[("a", 1, b"x"), ("a", 1, b"x")]), vec![], "listed twice"),
        (manifest("n", &[("a", u64::MAX, b"x"), ("b", 2, b"x")]), vec![], "larger than"),
        (manifest("n", &[("a", 1 << 33, b"x")]), vec![], "which no bundle does"),
        (manifest("n", one), vec![], "ends before"),
        (manifest("n", one), vec![("n/b", FILE, b"x")], "where its list has the file"),
        (manifest("n", one), vec![("../a", FILE, b"x")], "where its list has the file"),
        (manifest("n", one), vec![("n/a", FILE, b"xx")], "where its list has the file"),
        (manifest("n", one), vec![("n/a", FILE, b"y")], "differs from its checksum"),
        (manifest("n", one), vec![("n/a", EntryType::Symlink, b"")], "where its list has the file"),
        (manifest("n", one), vec![("n/a", EntryType::Link, b"")], "where its list has the file"),
        (manifest("n", one), vec![("n/a", EntryType::Char, b"")], "where its list has the file"),
        (manifest("n", one), vec![("n/a", EntryType::Fifo, b"")], "where its list has the file"),
        (manifest("n", one), vec![("n/a", EntryType::Directory, b"")], "where its list has the file"),
        (
            manifest("n", one),
            vec![("././@LongLink", EntryType::GNULongName, b"n/a"), ("n/a", FILE, b"x")],
            "where its list",
        ),
        (manifest("n", one), vec![("n/a", FILE, b"x"), ("n/b", FILE, b"x")], "which is not in its list"),
        // It is what it says, but no bundle.
        (manifest("n", one), vec![("n/a", FILE, b"x")], "expected"),
    ];
    for (manifest, entries, expected) in cases {
        let archive = lying(folder.path(), &manifest, &entries);
        let message = unpack(&archive, &into, None, &mut |_, _| {}).unwrap_err().to_string();
        assert!(message.contains(expected), "{expected}: {message}");
        assert!(!into.exists() || std::fs::read_dir(&into).unwrap().count() == 0, "{message}");
        let outside = std::fs::read_dir(folder.path()).unwrap().count();
        assert!(outside <= 2, "only the archive and the folder: {message}");
    }
    std::fs::write(folder.path().join("no.tar.zst"), b"no archive").unwrap();
    let message = unpack(&folder.path().join("no.tar.zst"), &into, None, &mut |_, _| {}).unwrap_err().to_string();
    assert!(message.contains("no packed bundle"), "{message}");
}

#[test]
fn an_archive_of_a_later_version_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let later = Manifest { format: FORMAT + 1, ..manifest("n", &[]) };
    let message =
        unpack(&lying(folder.path(), &later, &[]), folder.path(), None, &mut |_, _| {}).unwrap_err().to_string();
    assert!(message.contains("use a later citree"), "{message}");
}
