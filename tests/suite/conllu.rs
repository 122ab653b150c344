//! Reading and writing CoNLL-U: valid files come back byte for byte, invalid ones get a clear message, and no input makes
//! the reader panic.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use crate::what_is_needed::{EWT, IMST, ROUNDTRIP, beside, needs};
use citree::treebank::{Reader, Sentence, read_all, read_trees, write_sentence};
use std::io::{BufReader, Read};

/// A valid sentence with every feature of CoNLL-U: comments, a range, empty nodes at the start, in a range and before one, DEPS,
/// MISC, a form with a space, and forms that look like other things.
const RICH: &str = "\
# newdoc id = d1\n# sent_id = s1\n# text = Don't go 10 000 miles # really\n#an odd comment\t with a tab\n\
0.1\t_\t_\t_\t_\t_\t_\t_\t0:root\t_\n\
1-2\tDon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=Yes\n\
1\tDo\tdo\tAUX\tVB\tMood=Imp\t3\taux\t3:aux\t_\n\
1.1\tx\t_\t_\t_\t_\t_\t_\t1:dep|2:dep\t_\n\
1.2\ty\t_\t_\t_\t_\t_\t_\t_\t_\n\
2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t3:advmod\t_\n\
3\tgo\tgo\tVERB\tVB\t_\t0\troot\t0:root\tA=1|B=2\n\
4\t10 000\t10 000\tNUM\tCD\t_\t5\tnummod\t5:nummod\t_\n\
5\tmiles\tmile\tNOUN\tNNS\tNumber=Plur\t3\tobj\t3:obj\t_\n\
5.1\tz\t_\t_\t_\t_\t_\t_\t_\t_\n\
6\t#\t#\tSYM\t#\t_\t7\tdep\t_\t_\n\
7\treally\t_\t_\t_\t_\t_\t_\t_\tÄ=ö\n\n";

fn sentences_and_errors(bytes: &[u8]) -> (Vec<Sentence>, Vec<String>) {
    let (mut sentences, mut errors) = (Vec::new(), Vec::new());
    for item in Reader::new(bytes, "x.conllu") {
        match item {
            Ok(sentence) => sentences.push(sentence),
            Err(error) => errors.push(error.to_string()),
        }
    }
    (sentences, errors)
}

fn written(sentences: &[Sentence]) -> Vec<u8> {
    let mut out = Vec::new();
    for sentence in sentences {
        write_sentence(&mut out, sentence).unwrap();
    }
    out
}

/// The only error of a text.
fn error_of(text: impl AsRef<[u8]>) -> String {
    let (_, errors) = sentences_and_errors(text.as_ref());
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors.into_iter().next().unwrap()
}

/// `She bought bread .` with one line changed.
fn with_line(number: usize, line: &str) -> String {
    let mut lines = [
        "# text = She bought bread.",
        "1\tShe\tshe\tPRON\t_\t_\t2\tnsubj\t_\t_",
        "2\tbought\tbuy\tVERB\t_\t_\t0\troot\t_\t_",
        "3\tbread\tbread\tNOUN\t_\t_\t2\tobj\t_\tSpaceAfter=No",
        "4\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_",
    ];
    lines[number - 1] = line;
    lines.join("\n") + "\n\n"
}

#[test]
fn the_dev_files_of_four_treebanks_come_back_byte_for_byte() {
    needs!(EWT, IMST, ROUNDTRIP);
    for (folder, file, count) in [
        (EWT, "en_ewt-ud-dev.conllu", 2002),
        (IMST, "tr_imst-ud-dev.conllu", 988),
        (ROUNDTRIP, "fi_tdt-ud-dev.conllu", 1364),
        (ROUNDTRIP, "it_isdt-ud-dev.conllu", 564),
    ] {
        let path = beside(folder).join(file);
        let sentences = read_all(&path).unwrap();
        assert_eq!(sentences.len(), count, "{file}");
        assert!(written(&sentences) == std::fs::read(&path).unwrap(), "{file} changed");
        assert_eq!(read_trees(&path).unwrap().len(), count, "{file}");
    }
}

#[test]
fn everything_that_conllu_has_comes_back_byte_for_byte() {
    let text = RICH.repeat(2);
    let (sentences, errors) = sentences_and_errors(text.as_bytes());
    assert_eq!((sentences.len(), errors), (2, vec![]));
    assert_eq!(String::from_utf8(written(&sentences)).unwrap(), text);
    let first = &sentences[0];
    assert_eq!(first.forms().collect::<Vec<_>>(), ["Do", "n't", "go", "10 000", "miles", "#", "really"]);
    assert_eq!(first.sent_id(), Some("s1"));
    assert_eq!(first.text(), Some("Don't go 10 000 miles # really"));
    assert_eq!(first.multiword_tokens().len(), 1);
    assert_eq!(first.gold_heads(), None);
}

#[test]
fn a_head_out_of_range_names_the_place_and_shows_the_sentence() {
    let error = error_of(with_line(4, "3\tbread\tbread\tNOUN\t_\t_\t31\tobj\t_\t_"));
    assert!(
        error.starts_with("x.conllu:4:7: HEAD is 31, but the sentence has 4 words: She bought [bread] .\n"),
        "{error}"
    );
}

#[test]
fn each_flaw_of_a_line_gets_its_own_message() {
    let word = "\tbread\tbread\tNOUN\t_\t_\t2\tobj\t_\t_";
    for (line, expected) in [
        ("3\tbread\tbread\tNOUN".to_owned(), "x.conllu:4:5: the line has 4 columns, but 10 are needed"),
        (format!("3{word}\t_"), "x.conllu:4:11: the line has 11 columns, but 10 are needed"),
        ("3 bread bread NOUN _ _ 2 obj _ _".to_owned(), "x.conllu:4:2: the line has 1 column, but 10"),
        (format!("2{word}"), "x.conllu:4:1: ID is 2 again, but 3 comes next: She bought [bread] ."),
        (format!("7{word}"), "x.conllu:4:1: ID is 7, but 3 comes next"),
        (format!("03{word}"), "x.conllu:4:1: ID is 03, but an id is a number"),
        (format!("+3{word}"), "x.conllu:4:1: ID is +3, but an id is a number"),
        (format!("99999999999999999999{word}"), "x.conllu:4:1: ID is 99999999999999999999, but an id"),
        (format!("x{word}"), "x.conllu:4:1: ID is x, but an id is a number"),
        (format!("3-2{word}"), "x.conllu:4:1: ID is 3-2, but a range goes from"),
        (format!("3.1{word}"), "x.conllu:4:1: ID is 3.1, but an empty node here is 2.1"),
        (format!("0{word}"), "x.conllu:4:1: ID is 0, but 3 comes next"),
        ("3\tbread\t\tNOUN\t_\t_\t2\tobj\t_\t_".to_owned(), "x.conllu:4:3: LEMMA is empty, but every column"),
        ("3\t\tbread\tNOUN\t_\t_\t2\tobj\t_\t_".to_owned(), "x.conllu:4:2: FORM is empty, but every column"),
        ("3\tb\tb\tNO UN\t_\t_\t2\tobj\t_\t_".to_owned(), "x.conllu:4:4: UPOS is \"NO UN\", but only FORM, LEMMA"),
        ("3\tb\tb\tNOUN\t_\t_\t-1\tobj\t_\t_".to_owned(), "x.conllu:4:7: HEAD is -1, but a head is the id"),
        ("3\tb\tb\tNOUN\t_\t_\tx\tobj\t_\t_".to_owned(), "x.conllu:4:7: HEAD is x, but a head is the id"),
        ("# comment".to_owned(), "x.conllu:4:1: a comment stands inside the sentence, but"),
    ] {
        let (sentences, errors) = sentences_and_errors(with_line(4, &line).as_bytes());
        assert_eq!((sentences.len(), errors.len()), (0, 1), "{line:?}: {errors:?}");
        assert!(errors[0].starts_with(expected), "{line:?} gives {:?}", errors[0]);
        assert!(errors[0].lines().nth(1).is_some_and(|remedy| remedy.len() > 10), "no remedy: {:?}", errors[0]);
    }
}

#[test]
fn ranges_and_empty_nodes_out_of_order_are_refused() {
    let range = |ids: &str| format!("{ids}\tx\t_\t_\t_\t_\t_\t_\t_\t_\n");
    let word = |id: usize| format!("{id}\tw{id}\t_\t_\t_\t_\t_\t_\t_\t_\n");
    for (text, expected) in [
        (range("1-2") + &word(1) + &range("2-3") + &word(2) + &word(3), "3:1: ID is 2-3, but the range 1-2 reaches"),
        (word(1) + &range("1-2") + &word(2), "2:1: ID is 1-2, but a range stands before its first word"),
        (word(1) + &range("2-5") + &word(2), "2:1: ID is 2-5, but the sentence has 2 words"),
        (word(1) + &range("1.2"), "2:1: ID is 1.2, but an empty node here is 1.1"),
        (word(1) + &range("1.1") + &range("1.1"), "3:1: ID is 1.1, but an empty node here is 1.2"),
        (range("1-1") + &range("0.1") + &word(1), "2:1: ID is 0.1, but it comes before the range"),
    ] {
        let error = error_of(text.clone() + "\n");
        assert!(error.starts_with(&format!("x.conllu:{expected}")), "{text:?} gives {error:?}");
    }
}

#[test]
fn after_an_error_reading_continues_with_the_next_sentence() {
    let text = format!("{}{}{}", with_line(1, "# one"), with_line(4, "broken"), with_line(1, "# three"));
    let (sentences, errors) = sentences_and_errors(text.as_bytes());
    assert_eq!(sentences.iter().map(|s| s.comments()[0].as_str()).collect::<Vec<_>>(), ["# one", "# three"]);
    assert_eq!(errors.len(), 1);
    assert!(errors[0].starts_with("x.conllu:10:2: "), "{}", errors[0]);
}

#[test]
fn bytes_that_are_not_utf8_are_named_with_their_column() {
    let mut text = with_line(1, "# text").into_bytes();
    let place = text.windows(5).position(|bytes| bytes == b"bread").unwrap();
    text[place] = 0xE9;
    let error = error_of(&text);
    assert!(
        error.starts_with("x.conllu:4:2: byte 0xe9 is not UTF-8, but CoNLL-U is UTF-8: She bought [\u{fffd}read] .")
    );
}

#[test]
fn cr_lf_and_a_byte_order_mark_are_read_and_not_written() {
    let plain = with_line(1, "# text = x").repeat(2);
    let windows = format!("\u{feff}{}", plain.replace('\n', "\r\n"));
    let (sentences, errors) = sentences_and_errors(windows.as_bytes());
    assert_eq!(errors, Vec::<String>::new());
    assert_eq!(String::from_utf8(written(&sentences)).unwrap(), plain);
}

#[test]
fn missing_and_extra_blank_lines_are_repaired() {
    let plain = with_line(1, "# text = x");
    for text in [plain.trim_end().to_owned(), format!("{}\n", plain.trim_end()), format!("\n\n{plain} \t\n\n\n")] {
        let (sentences, errors) = sentences_and_errors(text.as_bytes());
        assert_eq!(errors, Vec::<String>::new());
        assert_eq!(String::from_utf8(written(&sentences)).unwrap(), plain);
    }
}

#[test]
fn an_empty_file_has_no_sentences_and_comments_alone_are_not_one() {
    assert_eq!(sentences_and_errors(b"").0, []);
    assert_eq!(sentences_and_errors(b"\n").1, Vec::<String>::new());
    assert!(error_of("# alone\n\n").starts_with("x.conllu:1:1: there are only comments, but a sentence has"));
}

#[test]
fn a_line_of_ten_megabytes_is_refused_and_the_next_sentence_read() {
    let huge = format!("3\t{}\t_\t_\t_\t_\t2\tobj\t_\t_", "x".repeat(10 << 20));
    let text = with_line(4, &huge) + &with_line(1, "# next");
    let (sentences, errors) = sentences_and_errors(text.as_bytes());
    assert_eq!((sentences.len(), errors.len()), (1, 1), "{errors:?}");
    assert!(
        errors[0].starts_with("x.conllu:4:1: the line has 10485780 bytes, but 1048576 are the limit"),
        "{}",
        errors[0]
    );
    assert!(errors[0].len() < 300);
}

/// Repeats the same bytes, generated while reading.
struct Repeated {
    unit: &'static [u8],
    made: usize,
    total: usize,
}

impl Read for Repeated {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = buffer.len().min(self.total - self.made);
        for (place, byte) in buffer[..length].iter_mut().enumerate() {
            *byte = self.unit[(self.made + place) % self.unit.len()];
        }
        self.made += length;
        Ok(length)
    }
}

#[test]
fn a_line_or_a_sentence_without_end_is_one_error() {
    let total = 40 << 20;
    for (unit, expected) in [
        (b"x".as_slice(), "big:1:1: the line has 41943040 bytes, but 1048576 are the limit"),
        (
            b"1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n".as_slice(),
            "big:220753:1: the sentence goes on, but 4194304 bytes are the limit",
        ),
    ] {
        let endless = BufReader::new(Repeated { unit, made: 0, total });
        let errors: Vec<String> = Reader::new(endless, "big").map(|item| item.unwrap_err().to_string()).collect();
        assert_eq!(errors.len(), 1);
        assert!(errors[0].starts_with(expected), "{}", errors[0]);
    }
}

#[test]
fn training_refuses_what_is_not_a_labelled_tree() {
    let line = |id: usize, head: &str, label: &str| format!("{id}\tw{id}\t_\t_\t_\t_\t{head}\t{label}\t_\t_\n");
    for (text, expected) in [
        (line(1, "2", "a") + &line(2, "1", "b"), "x:1:7: no word has HEAD 0, but a tree has one root: [w1] w2"),
        (
            line(1, "0", "root") + &line(2, "0", "root"),
            "x:2:7: words 1, 2 have HEAD 0, but a tree has one root: w1 [w2]",
        ),
        (line(1, "0", "root") + &line(2, "2", "b"), "x:2:7: HEAD is 2, but a word is not its own head: w1 [w2]"),
        (
            line(1, "0", "root") + &line(2, "3", "b") + &line(3, "2", "b"),
            "x:2:7: the heads go round: 2 → 3 → 2, but a tree has no cycle: w1 [w2] w3",
        ),
        (
            line(1, "0", "root") + &line(2, "_", "b"),
            "x:2:7: HEAD is _, but a tree needs a head for every word: w1 [w2]",
        ),
        (line(1, "0", "root") + &line(2, "1", "_"), "x:2:8: DEPREL is _, but a tree needs a label for every word"),
    ] {
        let text = text + "\n";
        let error = Reader::new(text.as_bytes(), "x").trees().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(Reader::new(text.as_bytes(), "x").filter(Result::is_ok).count(), 1, "parsing needs no tree");
    }
    assert_eq!(Reader::new(with_line(1, "# x").as_bytes(), "x").trees().unwrap().len(), 1);
}

#[test]
fn thousands_of_mutated_files_never_panic_and_what_is_read_can_be_written_and_read_again() {
    let valid = [RICH, &with_line(1, "# text = é"), RICH].concat().into_bytes();
    let mut state = 42_u64;
    let mut draw = |below: usize| {
        // SplitMix64: the same mutations in every run.
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % below as u64) as usize
    };
    let (mut read, mut refused) = (0, 0);
    for _ in 0..6000 {
        let mut bytes = valid.clone();
        for _ in 0..=draw(4) {
            let place = draw(bytes.len());
            match draw(6) {
                0 => bytes[place] = draw(256) as u8,
                1 => drop(bytes.remove(place)),
                2 => bytes.insert(place, b"\t\n\r #-._0123456789\xff"[draw(19)]),
                3 => bytes.truncate(place.max(1)),
                4 => {
                    let copied = bytes[place..(place + 1 + draw(60)).min(bytes.len())].to_vec();
                    let target = draw(bytes.len());
                    bytes.splice(target..target, copied);
                }
                _ => {
                    let end = (place + draw(40)).min(bytes.len() - 1);
                    bytes.drain(place.min(end)..end);
                }
            }
        }
        let (sentences, errors) = sentences_and_errors(&bytes);
        (read, refused) = (read + sentences.len(), refused + errors.len());
        assert_eq!(sentences_and_errors(&written(&sentences)), (sentences, vec![]));
    }
    assert!(read > 6000 && refused > 3000, "the mutations are too strong or too weak: {read} read, {refused} refused");
}
