//! Tests that segmentation follows a few training sentences.

#![allow(clippy::unwrap_used)]
use super::splits::Splits;
use crate::treebank::{Reader, write_sentence};

fn learnt(lines: &[&str]) -> Splits {
    // `don't{do n't}` is a multiword token, `~` joins a token to the next.
    let sentences = lines.iter().map(|line| {
        let (mut text, mut id) = (String::new(), 1);
        for token in line.split("  ") {
            let (token, misc) = token.strip_suffix('~').map_or((token, "_"), |token| (token, "SpaceAfter=No"));
            let (form, words) = token.split_once('{').unwrap_or((token, ""));
            let words: Vec<&str> = words.trim_end_matches('}').split_whitespace().collect();
            if !words.is_empty() {
                text += &format!("{id}-{}\t{form}\t_\t_\t_\t_\t_\t_\t_\t{misc}\n", id + words.len() - 1);
            }
            for word in if words.is_empty() { vec![form] } else { words.clone() } {
                let misc = if words.is_empty() { misc } else { "_" };
                text += &format!("{id}\t{word}\t_\t_\t_\t_\t_\t_\t_\t{misc}\n");
                id += 1;
            }
        }
        Reader::new((text + "\n").as_bytes(), "x").next().unwrap().unwrap()
    });
    Splits::learn(&sentences.collect::<Vec<_>>())
}

fn words(splits: &Splits, line: &str) -> String {
    splits.split(line).forms().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_treebank_without_examples_leaves_unicode_words() {
    let splits = Splits::learn(&[]);
    assert_eq!(words(&splits, "She paid $5.99, didn't she?"), "She paid $ 5.99 , didn't she ?");
    assert_eq!(words(&splits, "Write to (bob@example.org)."), "Write to ( bob@example.org ) .");
    assert_eq!(words(&splits, "猫は好き。"), "猫 は 好 き 。");
    assert_eq!(words(&splits, " \t "), "");
}

#[test]
fn multiword_tokens_are_split_by_their_endings_and_get_range_lines() {
    let splits = learnt(&["I  don't{do n't}  know  Ann's{Ann 's}  cat~  .", "Tom's{Tom 's}  bus  was  late~  ."]);
    let sentence = splits.split("Zoe's bus doesn't stop.");
    let mut written = Vec::new();
    write_sentence(&mut written, &sentence).unwrap();
    let lines = String::from_utf8(written).unwrap();
    let shown: Vec<String> =
        lines.lines().filter(|line| line.contains('\t')).map(|line| line.replace("\t_", "")).collect();
    assert_eq!(sentence.text(), Some("Zoe's bus doesn't stop."));
    assert_eq!(
        shown,
        [
            "1-2\tZoe's",
            "1\tZoe",
            "2\t's",
            "3\tbus",
            "4-5\tdoesn't",
            "4\tdoes",
            "5\tn't",
            "6\tstop\tSpaceAfter=No",
            "7\t."
        ]
    );
}

#[test]
fn words_joined_without_a_range_are_split_without_a_range() {
    let splits = learnt(&["I  'm  gon~  na  go~  ."]);
    let sentence = splits.split("Gonna go.");
    assert_eq!(sentence.forms().collect::<Vec<_>>(), ["Gon", "na", "go", "."]);
    assert_eq!(sentence.multiword_tokens(), []);
    assert!(sentence.words()[0].joined_to_next() && !sentence.words()[1].joined_to_next());
}

#[test]
fn abbreviations_and_smileys_stay_whole_as_in_the_treebank() {
    let splits = learnt(&["Mr.  Li  slept~  .", "The  cat  ran~  .", "The  U.S.  won~  !", "Fine  :)"]);
    assert_eq!(words(&splits, "Mr. Zhou left the U.S. fine :)"), "Mr. Zhou left the U.S. fine :)");
    assert_eq!(words(&splits, "It ran."), "It ran .");
}

#[test]
fn splits_round_trip_through_json() {
    let splits = learnt(&["I  don't{do n't}  know~  ."]);
    let stored = serde_json::to_string(&splits).unwrap();
    assert_eq!(serde_json::from_str::<Splits>(&stored).unwrap(), splits);
}
