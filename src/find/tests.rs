//! Patterns read, refused and found.

#![allow(clippy::unwrap_used)]

use super::Pattern;
use crate::treebank::{Reader, Sentence};

const TEXT: &str = "\
1\tShe\tshe\tPRON\tPRP\tCase=Nom|Number=Sing\t2\tnsubj\t_\t_
2\treads\tread\tVERB\tVBZ\tNumber=Sing|Number[psor]=Plur\t0\troot\t_\t_
3\told\told\tADJ\tJJ\t_\t4\tamod\t_\t_
4\tletters\tletter\tNOUN\tNNS\tCase=Acc,Nom|Number=Plur\t2\tobj\t_\tSpaceAfter=No
5\tand\tand\tCCONJ\tCC\t_\t6\tcc\t_\t_
6\tbooks\tbook\tNOUN\tNNS\tNumber=Plur\t4\tconj:and\t_\t_
7\t\"\t_\tPUNCT\t_\t_\t2\tpunct\t_\t_

";

fn sentence() -> Sentence {
    Reader::new(TEXT.as_bytes(), "x").next().unwrap().unwrap()
}

fn found(pattern: &str) -> Vec<Vec<usize>> {
    let pattern: Pattern = pattern.parse().unwrap_or_else(|error| panic!("{error}"));
    pattern.find(&sentence(), usize::MAX).unwrap().into_iter().map(|one| one.words).collect()
}

fn refused(pattern: &str) -> String {
    pattern.parse::<Pattern>().unwrap_err().to_string()
}

#[test]
fn words_are_found_by_their_attributes() {
    for (pattern, expected) in [
        ("pattern { N [form=\"letters\"] }", vec![4]),
        ("pattern { N [lemma=letter] }", vec![4]),
        ("pattern { N [upos=NOUN|VERB] }", vec![2, 4, 6]),
        ("pattern { N [upos=NOUN, form=books] }", vec![6]),
        ("pattern { N [upos=NOUN]; N [form=books] }", vec![6]),
        ("pattern { N [upos<>NOUN|PUNCT|VERB] }", vec![1, 3, 5]),
        ("pattern { N [xpos=re\"NN.?\"] }", vec![4, 6]),
        ("pattern { N [form=re\"o\"] }", vec![]),
        ("pattern { N [Case=Nom] }", vec![1, 4]),
        ("pattern { N [Case<>Acc] }", vec![1]),
        ("pattern { N [!Case, Number] }", vec![2, 6]),
        ("pattern { N [Number[psor]=Plur] }", vec![2]),
        ("pattern { N [misc.SpaceAfter=No] }", vec![4]),
        ("pattern { N [deprel=conj] }", vec![]),
        ("pattern { N [deprel=\"conj:and\"] }", vec![6]),
        ("pattern { N [!lemma] }", vec![7]),
        ("pattern { N [form=\"\\\"\"] }", vec![7]),
        ("pattern { N [] }", vec![1, 2, 3, 4, 5, 6, 7]),
    ] {
        assert_eq!(found(pattern), expected.into_iter().map(|word| vec![word]).collect::<Vec<_>>(), "{pattern}");
    }
}

#[test]
fn edges_have_labels_with_all_their_subtypes() {
    assert_eq!(found("pattern { V [upos=VERB]; V -[obj]-> N; N [form=\"letters\"] }"), [[2, 4]]);
    assert_eq!(found("pattern { A -[conj]-> B }"), [[4, 6]]);
    assert_eq!(found("pattern { A -[conj:and|amod]-> B }"), [[4, 3], [4, 6]]);
    assert_eq!(found("pattern { A -[con]-> B }"), [[0; 2]; 0]);
    assert_eq!(found("pattern { A -[^nsubj|punct]-> B; A [upos=VERB] }"), [[2, 4]]);
    assert_eq!(found("pattern { A -> B; A [form=letters] }"), [[4, 3], [4, 6]]);
    assert_eq!(found("pattern { ROOT -[root]-> V }"), [[2]]);
    assert_eq!(found("pattern { A -> B; B -> C }").len(), 3);
    assert_eq!(found("pattern { A -> A }"), [[0]; 0]);
}

#[test]
fn words_have_an_order() {
    assert_eq!(found("pattern { A < B; B [form=letters] }"), [[3, 4]]);
    assert_eq!(found("pattern { A << B; B [form=reads] }"), [[1, 2]]);
    assert_eq!(found("pattern { A -[obj]-> B; B << A }"), [[0; 2]; 0]);
    assert_eq!(found("pattern { A [form=reads]; A < B; B < C }"), [[2, 3, 4]]);
}

#[test]
fn values_of_two_words_are_compared() {
    assert_eq!(found("pattern { A -[conj]-> B; A.Number = B.Number }"), [[4, 6]]);
    assert_eq!(found("pattern { A -[nsubj]-> B; A.Case <> B.Case }"), [[0; 2]; 0], "one has no case");
    assert_eq!(found("pattern { A -[obj]-> B; A.Number <> B.Number }"), [[2, 4]]);
}

#[test]
fn what_must_not_be_there_is_not() {
    let nouns = "pattern { N [upos=NOUN] }";
    assert_eq!(found(&format!("{nouns} without {{ N -[amod]-> A }}")), [[6]]);
    assert_eq!(found(&format!("{nouns} without {{ N -[amod]-> A }} without {{ M -[conj]-> N }}")), [[0]; 0]);
    assert_eq!(found(&format!("{nouns} without {{ N -[amod]-> A; A [form=new] }}")), [[4], [6]]);
    assert_eq!(found(&format!("{nouns} without {{ N [form=books] }}")), [[4]]);
    assert_eq!(found(&format!("{nouns} without {{ X [upos=VERB] }}")), [[0]; 0]);
}

#[test]
fn different_names_are_different_words_and_comments_are_skipped() {
    assert_eq!(found("pattern { A [upos=NOUN]; B [upos=NOUN] } % both orders"), [[4, 6], [6, 4]]);
    assert_eq!(found("% first\npattern {\n  A [upos=NOUN];\n}"), [[4], [6]]);
}

#[test]
fn errors_point_at_the_place() {
    let message = refused("pattern { V [upos=]; }");
    assert!(message.starts_with("pattern, line 1, column 19: found `]`; expected a value"), "{message}");
    let mark = message.lines().last().unwrap();
    assert_eq!(mark.find('^'), message.lines().nth(1).unwrap().find(']'), "{message}");
    assert!(refused("pattern {\n  N [form=\"x] }").contains("line 2, column 11: the quotation mark is not closed"));
    for (pattern, expected) in [
        ("", "expected `pattern {`"),
        ("pattern { }", "the pattern has no word"),
        ("pattern { N [color=red] }", "there are form, lemma"),
        ("pattern { N [form=re\"(\"] }", "the regular expression cannot be used"),
        ("pattern { N [form=re\"(a{1000}){1000}\"] }", "the regular expression cannot be used"),
        ("pattern { N -[obj]- M }", "found `-`"),
        ("pattern { N -[]-> M }", "expected a label"),
        ("pattern { N }", "expected `[`, `-[`"),
        ("pattern { N [] M [] }", "expected `;` or `}`"),
        ("pattern { ROOT [form=x] }", "ROOT is the head of an edge only"),
        ("pattern { A -> ROOT }", "ROOT is the head of an edge only"),
        ("pattern { 1 [] }", "letters, digits and _"),
        ("pattern { N [] } global { }", "expected `without {`"),
        ("pattern { A[];B[];C[];D[];E[];F[];G[];H[];I[];J[];K[];L[];M[] }", "at most 12"),
    ] {
        let message = refused(pattern);
        assert!(message.contains(expected), "{pattern}: {message}");
    }
    assert!(refused(&"x".repeat(1 << 20)).contains("65536 are the limit"));
}

#[test]
fn no_prefix_of_a_pattern_and_no_text_panics() {
    let whole = "pattern { V [upos=VERB|AUX, !Case]; V -[^obj]-> N; N.form <> V.lemma; A << B } without { N [form=re\"x\\\"\"] } % ü";
    for (end, _) in whole.char_indices() {
        drop(whole[..end].parse::<Pattern>());
        drop(format!("{}\u{1f600}{}", &whole[..end], &whole[end..]).parse::<Pattern>());
    }
}

#[test]
fn a_pattern_that_leaves_everything_open_gives_up_instead_of_running_for_ever() {
    let long = Sentence::from_forms(vec!["word"; 4000]);
    let pattern: Pattern = "pattern { A []; B []; C [form=other] }".parse().unwrap();
    assert!(pattern.find(&long, 1).unwrap().is_empty(), "the rarest word is looked for first");
    let pattern: Pattern = "pattern { A []; B []; C []; A.form = B.form; C.form <> B.form }".parse().unwrap();
    let message = pattern.find(&long, 1).unwrap_err().to_string();
    assert!(message.contains("4000 words"), "{message}");
    let many: Pattern = "pattern { A []; B [] }".parse().unwrap();
    assert_eq!(many.find(&long, 5).unwrap().len(), 5);
    assert!(many.find(&long, usize::MAX).is_err(), "millions of matches");
}
