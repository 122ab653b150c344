//! Plain text is split into words almost as in the treebank.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use super::perturb::Random;
use crate::what_is_needed::{EWT, IMST, beside, needs};
use citree::evaluate::{Scores, evaluate};
use citree::internals::{cutter, foreign, splitter};
use citree::treebank::{Sentence, read_all};
use std::path::Path;

/// The F1 of words when the text of a dev file is split as learned from the train file.
fn word_f1(treebank: &str, code: &str) -> f64 {
    let folder = beside(treebank);
    let read = |part: &str| read_all(&folder.join(format!("{code}-ud-{part}.conllu"))).unwrap();
    let (split, gold) = (splitter(&read("train")), read("dev"));
    let system: Vec<Sentence> = gold.iter().map(|s| attach_to_root(split(s.text().unwrap()))).collect();
    let scores = evaluate(&gold, &system).unwrap();
    println!("{treebank}: tokens {:.4}, words {:.4}", scores.tokens.f1, scores.words.f1);
    scores.words.f1
}

fn attach_to_root(mut sentence: Sentence) -> Sentence {
    sentence.words_mut().iter_mut().for_each(|word| word.head = Some(0));
    sentence
}

/// The running text of a treebank: a space between sentences, a blank line between paragraphs.
fn running_text(sentences: &[Sentence]) -> String {
    let begins = |sentence: &Sentence| {
        sentence.comments().iter().any(|comment| comment.starts_with("# newpar") || comment.starts_with("# newdoc"))
    };
    let mut text = String::new();
    for sentence in sentences {
        text += if text.is_empty() { "" } else { [" ", "\n\n"][usize::from(begins(sentence))] };
        text += sentence.text().unwrap();
    }
    text
}

/// The scores of the running text of a dev file, cut as learned from the train file, or by the rules of Unicode.
fn scores_of_running_text(treebank: &str, code: &str, learnt: bool) -> Scores {
    let folder = beside(treebank);
    let read = |part: &str| read_all(&folder.join(format!("{code}-ud-{part}.conllu"))).unwrap();
    let gold = read("dev");
    let cut = cutter(&read("train"), learnt);
    let system: Vec<Sentence> = cut(&running_text(&gold)).into_iter().map(attach_to_root).collect();
    let scores = evaluate(&gold, &system).unwrap();
    println!(
        "{treebank}: running text, {}: tokens {:.4}, words {:.4}, sentences {:.4}",
        if learnt { "learnt" } else { "Unicode" },
        scores.tokens.f1,
        scores.words.f1,
        scores.sentences.f1
    );
    scores
}

#[test]
fn running_english_is_cut_as_in_ewt_and_far_better_than_by_unicode() {
    needs!(EWT);
    let scores = scores_of_running_text(EWT, "en_ewt", true);
    assert!(scores.words.f1 > 0.990 && scores.sentences.f1 > 0.87, "{scores:?}");
    assert!(scores.sentences.f1 > scores_of_running_text(EWT, "en_ewt", false).sentences.f1 + 0.1);
}

#[test]
fn running_turkish_is_cut_as_in_imst() {
    needs!(IMST);
    let scores = scores_of_running_text(IMST, "tr_imst", true);
    assert!(scores.words.f1 > 0.980 && scores.sentences.f1 > 0.96, "{scores:?}");
    assert!(scores.sentences.f1 >= scores_of_running_text(IMST, "tr_imst", false).sentences.f1);
}

#[test]
fn no_sentence_of_a_dev_set_is_taken_for_another_language_and_ten_of_another_are() {
    needs!(EWT, IMST);
    let read = |treebank: &str, code: &str, part: &str| {
        read_all(&beside(treebank).join(format!("{code}-ud-{part}.conllu"))).unwrap()
    };
    let devs = [read(EWT, "en_ewt", "dev"), read(IMST, "tr_imst", "dev")];
    for (own, train) in [read(EWT, "en_ewt", "train"), read(IMST, "tr_imst", "train")].iter().enumerate() {
        let foreign = foreign(train);
        let count = |some: &[Sentence], size: usize| some.chunks_exact(size).filter(|chunk| foreign(chunk)).count();
        assert_eq!((count(&devs[own], 1), count(&devs[own], 10)), (0, 0));
        let other = &devs[1 - own];
        println!("{} of {} foreign sentences alone", count(other, 1), other.len());
        assert!(count(other, 10) * 100 >= other.len() / 10 * 99, "{} of {}", count(other, 10), other.len() / 10);
    }
}

#[test]
fn english_text_is_split_as_in_ewt() {
    needs!(EWT);
    let f1 = word_f1(EWT, "en_ewt");
    assert!(f1 > 0.990, "{f1}");
}

#[test]
fn turkish_text_is_split_as_in_imst() {
    needs!(IMST);
    let f1 = word_f1(IMST, "tr_imst");
    assert!(f1 > 0.982, "{f1}");
}

#[test]
fn no_character_of_any_line_is_lost() {
    let starter = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/treebank/starter/train.conllu");
    let split = splitter(&read_all(&starter).unwrap());
    let pieces = [
        "don't",
        "Zoe’s",
        "cannot",
        " ",
        "  ",
        "\t",
        ".",
        "...",
        ":)",
        "$5.99",
        "3rd",
        "e\u{301}",
        "İ",
        "ß",
        "猫",
        "🙂",
        "#",
        "👩\u{200d}👧",
        "\u{0}",
        "\u{202e}",
        "n't",
        "'",
        "’",
        "\"",
        "-",
        "http://a.b/c?d=e",
        "x@y.z",
        "@",
        "://",
        "www.",
        "_",
    ];
    let mut random = Random(7);
    for _ in 0..3000 {
        let line: String = (0..random.below(12)).map(|_| pieces[random.below(pieces.len())]).collect();
        let sentence = split(&line);
        let mut surface = String::new();
        let mut next = 1;
        while let Some(word) = sentence.words().get(next - 1) {
            let range = sentence.multiword_tokens().iter().find(|token| token.first == next);
            surface += range.map_or(&word.form, |token| &token.form);
            next = range.map_or(next, |token| token.last) + 1;
        }
        assert_eq!(surface, line.split_whitespace().collect::<String>(), "{line:?}");
    }
}

#[test]
fn a_line_of_a_megabyte_without_a_space_is_split_like_any_other() {
    let line = "a.b-".repeat(1 << 18);
    assert!(splitter(&[])(&line).words().len() > 1 << 18);
}
