//! Writing a container: what is refused, and what a sealed section keeps.

#![allow(clippy::unwrap_used)]
use super::*;
use crate::container::Sections;

fn writer(folder: &tempfile::TempDir, name: &str) -> Writer {
    Writer::create(folder.path().join(name), 9).unwrap()
}

#[test]
fn a_sealed_section_stays_as_it_was_while_later_ones_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = writer(&folder, "file");
    let (rows, text) = (file.reserve::<u32>(1, 3).unwrap(), file.start::<u8>(2).unwrap());
    file.push(&text, b"ab").unwrap();
    file.write_at(&rows, 1, &[5, 6]).unwrap();
    let rows = file.seal(rows).unwrap();
    assert_eq!(*rows, [0, 5, 6], "nothing is left in the buffer");
    file.push(&text, b"c").unwrap();
    let text = file.seal(text).unwrap();
    file.section(3, &vec![1.5f64; 5000]).unwrap();
    assert_eq!((&*rows, &*text), (&[0, 5, 6][..], &b"abc"[..]));
    file.finish([7; FACTS]).unwrap();
    assert_eq!((&*rows, &*text), (&[0, 5, 6][..], &b"abc"[..]));
    let read = Sections::open(folder.path().join("file"), 9).unwrap();
    read.check().unwrap();
    assert_eq!(read.facts(), [7; FACTS]);
    assert_eq!(*read.view::<u32>(1, &[3]).unwrap(), *rows);
    assert_eq!(*read.view::<f64>(3, &[5000]).unwrap(), [1.5; 5000]);
}

#[test]
fn an_empty_section_can_be_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = writer(&folder, "file");
    let empty = file.start::<f32>(1).unwrap();
    assert!(file.seal(empty).unwrap().is_empty());
    file.finish([0; FACTS]).unwrap();
    assert!(Sections::open(folder.path().join("file"), 9).unwrap().bytes(2).is_err(), "no such section");
}

#[test]
fn writes_outside_a_section_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = writer(&folder, "file");
    let rows = file.reserve::<f32>(1, 2).unwrap();
    for first in [1, 2, u64::MAX, u64::MAX / 4] {
        assert!(matches!(file.write_at(&rows, first, &[0.0; 2]), Err(Error::Input { .. })), "from {first}");
    }
    file.section(2, &[1u8]).unwrap();
    let message = file.push(&rows, &[0.0]).unwrap_err().to_string();
    assert!(message.contains("the last one of the file"), "{message}");
}

#[test]
fn a_section_of_another_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (mut file, mut other) = (writer(&folder, "file"), writer(&folder, "other"));
    let own = file.reserve::<u8>(1, 4).unwrap();
    let sealed = file.seal(own).unwrap();
    let foreign = other.reserve::<u8>(1, 4).unwrap();
    let message = file.write_at(&foreign, 0, &[1]).unwrap_err().to_string();
    assert!(message.contains("one of another file"), "{message}");
    assert!(file.push(&foreign, &[1]).is_err() && file.seal(foreign).is_err());
    assert_eq!(*sealed, [0; 4]);
}

#[test]
fn more_sections_than_the_header_holds_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = writer(&folder, "file");
    (0..27).for_each(|tag| drop(file.section(tag, &[tag]).unwrap()));
    assert!(file.section(27, &[27u32]).unwrap_err().to_string().contains("at most 27"));
    file.finish([0; FACTS]).unwrap();
    let read = Sections::open(folder.path().join("file"), 9).unwrap();
    assert!((0..27).all(|tag| *read.view::<u32>(tag, &[1]).unwrap() == [tag]));
}
