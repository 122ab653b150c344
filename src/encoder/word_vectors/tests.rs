//! Tests of word vectors, from the published text to the values that the encoder reads.
#![allow(clippy::unwrap_used)]

mod damage;
mod grams;

use super::*;
use crate::random::Random;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::cell::{Cell, RefCell};
use std::io::Write;
use tempfile::TempDir;

/// Four words of three values in GloVe's format: no header line, no spaces at line ends.
const GLOVE: &str = "the 0.5 -1 0.25\nThe 3 2 1\nparis -0.001 0.002 0.0005\nété 0 0 0\n";

fn converted(text: &[u8]) -> Result<(TempDir, WordVectors, Converted)> {
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("text"), folder.path().join("table"));
    std::fs::write(&source, text).unwrap();
    let converted = WordVectors::convert(&source, &target, &|_, _| {})?;
    let vectors = WordVectors::open(&target)?;
    Ok((folder, vectors, converted))
}

fn table(text: impl AsRef<[u8]>) -> (TempDir, WordVectors) {
    let (folder, vectors, _) = converted(text.as_ref()).unwrap();
    (folder, vectors)
}

fn row(vectors: &WordVectors, word: &str) -> Vec<f32> {
    let mut values = vec![f32::NAN; vectors.dims()];
    assert!(vectors.find(word).is_some(), "{word}");
    vectors.read(&vectors.place(word), &mut values);
    values
}

fn refusal(text: &[u8]) -> String {
    converted(text).unwrap_err().to_string()
}

fn gzipped(text: &str) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

#[test]
fn fasttext_glove_and_their_gzipped_forms_give_the_same_table() {
    let fasttext = format!("4 3\n{}", GLOVE.replace('\n', " \n"));
    let without_last_newline = GLOVE.trim_end().to_string();
    let of_windows = GLOVE.replace('\n', "\r\n");
    let (_folder, glove) = table(GLOVE);
    assert_eq!((glove.len(), glove.dims()), (4, 3));
    // Concatenated gzip files are one text.
    let (first, second) = GLOVE.split_at(20);
    let in_two_parts = [gzipped(first), gzipped(second)].concat();
    let packed = [gzipped(GLOVE), gzipped(&fasttext), in_two_parts];
    let plain = [fasttext, without_last_newline, of_windows].map(String::into_bytes);
    for text in plain.into_iter().chain(packed) {
        let (_folder, other) = table(text);
        assert_eq!(other.fingerprint().unwrap(), glove.fingerprint().unwrap());
        assert_eq!(other.dims(), 3);
        for word in ["the", "The", "paris", "été"] {
            assert_eq!(row(&other, word), row(&glove, word), "{word}");
        }
    }
}

#[test]
fn values_are_read_within_half_a_quantisation_step_times_the_common_factor() {
    let mut random = Random::new(7);
    let rows: Vec<Vec<f32>> =
        (0..300).map(|row| (0..20).map(|_| (random.unit() - 0.5) * 0.01 * (row + 1) as f32).collect()).collect();
    let line = |(number, row): (usize, &Vec<f32>)| {
        format!("w{number} {}\n", row.iter().map(f32::to_string).collect::<Vec<_>>().join(" "))
    };
    let (_folder, vectors) = table(rows.iter().enumerate().map(line).collect::<String>());
    let squares: f64 = rows.iter().flatten().map(|&value| f64::from(value).powi(2)).sum();
    let factor = (squares / 6000.0).sqrt().recip() as f32;
    for (number, values) in rows.iter().enumerate() {
        let step = values.iter().fold(0f32, |most, value| most.max(value.abs())) / 127.0 * factor;
        for (found, value) in row(&vectors, &format!("w{number}")).iter().zip(values) {
            // This factor comes from the values before rounding, so it differs from the table's by a few parts in
            // 10,000.
            let expected = value * factor;
            let bound = step * 0.5001 + expected.abs() * 1e-3;
            assert!((found - expected).abs() <= bound, "row {number}: {found} for {expected}, step {step}");
        }
    }
}

#[test]
fn the_root_mean_square_of_a_table_is_one_whatever_the_size_of_its_values() {
    for size in ["e-30", "e-3", "", "e30"] {
        let text = format!("a 1{size} -2{size}\nb 0.1{size} 5{size}\nc 0 0\n");
        let (_folder, vectors) = table(text);
        let values: Vec<f32> = ["a", "b", "c"].iter().flat_map(|word| row(&vectors, word)).collect();
        let mean_square = values.iter().map(|value| value * value).sum::<f32>() / values.len() as f32;
        assert!((mean_square - 1.0).abs() < 1e-5, "{mean_square} at {size}");
    }
}

#[test]
fn rows_of_zeros_stay_zero_even_in_a_table_of_zeros() {
    let (_folder, vectors) = table("a 0 -0\nb 0 1e-45\n");
    assert_eq!([row(&vectors, "a"), row(&vectors, "b")].concat(), [0.0; 4]);
}

#[test]
fn a_word_is_found_as_written_then_lower_cased() {
    let (_folder, vectors) = table(GLOVE);
    assert_ne!(vectors.find("The"), vectors.find("the"));
    assert_eq!(vectors.find("THE"), vectors.find("the"));
    assert_eq!(vectors.find("ÉTÉ"), vectors.find("été"));
    assert_eq!(vectors.find("PARIS"), Some(2));
    for word in ["", "th", "them", "zebra", "a", "\u{10ffff}"] {
        assert_eq!(vectors.find(word), None, "{word}");
    }
}

#[test]
fn every_word_of_a_large_table_is_found_in_its_row() {
    let words: Vec<String> = (0..2000).map(|number| format!("{:x}", number * 7919 % 65521)).collect();
    let (_folder, vectors) = table(words.iter().map(|word| format!("{word} 1 2\n")).collect::<String>());
    for (row, word) in words.iter().enumerate() {
        assert_eq!(vectors.find(word), Some(row as u32), "{word}");
    }
}

#[test]
fn a_word_may_have_spaces_because_values_are_counted_from_the_end() {
    let (_folder, vectors) = table("the 1 2\n. . . 3 4\nat name@x.org 5 6\n1 2 7 8\n");
    let rows = ["the", ". . .", "at name@x.org", "1 2"].map(|word| vectors.find(word));
    assert_eq!(rows, [Some(0), Some(1), Some(2), Some(3)]);
}

#[test]
fn two_whole_numbers_are_a_first_line_only_if_another_line_follows() {
    let (_folder, vectors) = table("7 3\n");
    assert_eq!((vectors.len(), vectors.dims(), vectors.find("7")), (1, 1, Some(0)));
    let (_folder, vectors) = table("7 1.0\n8 2.0\n");
    assert_eq!((vectors.len(), vectors.dims()), (2, 1));
}

#[test]
fn repeated_words_and_words_that_are_not_utf8_are_skipped() {
    let (_folder, vectors, converted) = converted(b"a 1 1\nb 1 -1\na -1 -1\n\xff\xfe 1 1\nc 1 1\n").unwrap();
    assert_eq!(converted, Converted { words: 3, dims: 2, skipped: 2 });
    assert_eq!([row(&vectors, "a"), row(&vectors, "b"), row(&vectors, "c")].concat(), [1.0, 1.0, 1.0, -1.0, 1.0, 1.0]);
}

#[test]
fn a_bad_line_is_reported_with_file_line_and_remedy() {
    let cases: &[(&[u8], &str, &str)] = &[
        (b"a 1 2\nb 1\n", ":2: the line has 1 values, but by the first line of the file a word has 2", "correct"),
        (b"2 3\na 1 2 3 \nb 1 2 \n", ":3: the line has 2 values", "correct or delete the line"),
        (b"a 1 2\n\nb 1 2\n", ":2: the line has 0 values", "correct or delete the line"),
        (b"a 1 2\nb 1 x\n", ":2: value 2 is `x`", "correct or delete the line"),
        (b"a 1 2\nb  2\n", ":2: value 1 is ``", "correct or delete the line"),
        (b"a 1 2\nb NaN 2\n", ":2: value 1 is `NaN`", "correct or delete the line"),
        (b"a 1 2\nb 1e39 2\n", ":2: value 1 is `1e39`", "correct or delete the line"),
        (b"a 1 2\nb 1 \xff2\n", ":2: value 2 is `\\xff2`", "correct or delete the line"),
        (b"5 300\n\x00\x01\x02 binary\n", ":2: the line has 1 values", "give vectors as text"),
        (b"PK\x03\x04 zip\n", ":1: value 1 is `zip`", "unpack a .zip"),
        (b"word\nword\n", ":1: no values", "give vectors as text"),
        (b"2 0\na\nb\n", ":2: no values", "give vectors as text"),
        (b"", ":1: no word vectors", "give vectors as text"),
        (b"\xff 1\n", ":2: no word vectors", "give vectors as text"),
    ];
    for (text, found, remedy) in cases {
        let message = refusal(text);
        assert!(message.contains(&format!("/text{found}")) && message.contains(remedy), "{message}");
    }
}

#[test]
fn a_truncated_gzip_file_is_refused() {
    let packed = gzipped(GLOVE);
    for cut in 0..packed.len() {
        let message = refusal(&packed[..cut]);
        // One byte is not enough to recognise gzip.
        let remedy = if cut < 2 { "give vectors as text" } else { "get the file again" };
        assert!(message.contains("/text:") && message.contains(remedy), "cut at {cut}: {message}");
    }
}

#[test]
fn an_endless_line_is_refused_before_it_fills_the_memory() {
    let message = refusal(&vec![b'x'; 6 << 20]);
    assert!(message.contains("/text:1: the line has more than 4194304 bytes"), "{message}");
}

#[test]
fn rows_are_written_while_the_text_is_read() {
    let (rows, dims) = (20_000, 300);
    let folder = tempfile::tempdir().unwrap();
    let (source, target) = (folder.path().join("text"), folder.path().join("table"));
    let values = " 1".repeat(dims);
    std::fs::write(&source, (0..rows).map(|number| format!("w{number}{values}\n")).collect::<String>()).unwrap();
    let most_unwritten = Cell::new(0);
    let progress = |read: u64, total: u64| {
        let seen = rows as u64 * dims as u64 * read / total;
        let written = std::fs::metadata(folder.path().join("table.new")).unwrap().len();
        most_unwritten.set(most_unwritten.get().max(seen.saturating_sub(written)));
    };
    WordVectors::convert(&source, &target, &progress).unwrap();
    let bytes = most_unwritten.get();
    assert!(bytes < 2 << 20, "{bytes} bytes of rows were in memory at once");
}

#[test]
fn progress_is_reported_in_bytes_up_to_the_end_of_the_file() {
    let text: String = (0..20_000).map(|number| format!("w{number} {number} 1\n")).collect();
    for bytes in [text.clone().into_bytes(), gzipped(&text)] {
        let folder = tempfile::tempdir().unwrap();
        let (source, target) = (folder.path().join("text"), folder.path().join("table"));
        std::fs::write(&source, &bytes).unwrap();
        let answer = RefCell::new(Vec::new());
        WordVectors::convert(&source, &target, &|read, total| answer.borrow_mut().push((read, total))).unwrap();
        let answer = answer.into_inner();
        assert!(answer.len() > 4 && answer.is_sorted(), "{answer:?}");
        assert!(answer.iter().all(|&(_, total)| total == bytes.len() as u64));
        assert_eq!(answer.last().unwrap().0, bytes.len() as u64);
    }
}

#[test]
fn a_failed_conversion_leaves_no_files_and_the_old_table_untouched() {
    let (folder, vectors) = table(GLOVE);
    let (source, target) = (folder.path().join("text"), folder.path().join("table"));
    let before = std::fs::read(&target).unwrap();
    std::fs::write(folder.path().join("table.new"), "left by one that was killed").unwrap();
    std::fs::write(&source, "a 1 2\nb 1\n").unwrap();
    WordVectors::convert(&source, &target, &|_, _| {}).unwrap_err();
    assert_eq!(std::fs::read(&target).unwrap(), before);
    assert!(!folder.path().join("table.new").exists());
    // An open table keeps its mapping when a new one replaces it.
    std::fs::write(&source, "a 1 2\n").unwrap();
    WordVectors::convert(&source, &target, &|_, _| {}).unwrap();
    assert_eq!((vectors.len(), WordVectors::open(&target).unwrap().len()), (4, 1));
    vectors.check().unwrap();
}

#[test]
fn equal_texts_give_equal_bytes_and_any_change_another_fingerprint() {
    let (first, vectors) = table(GLOVE);
    let (second, same) = table(GLOVE);
    let bytes = |folder: &TempDir| std::fs::read(folder.path().join("table")).unwrap();
    assert_eq!(bytes(&first), bytes(&second));
    assert_eq!(vectors.fingerprint().unwrap(), same.fingerprint().unwrap());
    for changed in [GLOVE.replace("3 2 1", "3 2 1.5"), GLOVE.replace("paris", "parid"), GLOVE.replace("\nThe", "\nthE")]
    {
        let (_folder, other) = table(changed);
        assert_ne!(other.fingerprint().unwrap(), vectors.fingerprint().unwrap());
    }
}
