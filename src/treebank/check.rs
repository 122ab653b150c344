//! Checks a whole treebank: counts its contents and reports every problem.

use super::guidelines::breaches;
use super::problem::{Problem, shorten};
use super::reader::{Reader, tree_problems};
use super::sentence::Sentence;
use super::validator::{Validator, Violation};
use crate::error::Result;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::BufRead;

/// What a treebank contains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    /// Readable sentences.
    pub sentences: u64,
    /// Sentences that cannot be read.
    pub refused_sentences: u64,
    /// Syntactic words.
    pub words: u64,
    /// Surface tokens that stand for several words.
    pub multiword_tokens: u64,
    /// Empty nodes of enhanced graphs.
    pub empty_nodes: u64,
    /// Documents, by their `# newdoc` comments.
    pub documents: u64,
    /// Words whose head is `_`.
    pub words_without_head: u64,
    /// Problems, handled ones included.
    pub problems: u64,
    /// Number of occurrences of each label (DEPREL).
    pub labels: BTreeMap<String, u64>,
}

/// One report of a check, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// A problem. The problems of a readable sentence precede it.
    Problem(Problem),
    /// A readable sentence.
    Sentence(Sentence),
}

/// Checks a treebank and reports every problem, trees included, and every readable sentence. Memory does not grow with
/// the file, but for a hash of each `sent_id`. Stops early only if the file cannot be read or `report` fails. The level is
/// that of the official validator: 1 is about the format, 2 about what every treebank of Universal Dependencies has, and 3 about
/// its guidelines. Whether annotated sentences are trees is tested at every level.
pub(crate) fn check<R: BufRead>(
    mut reader: Reader<R>,
    level: u8,
    mut report: impl FnMut(Finding) -> Result<()>,
) -> Result<Summary> {
    let (mut summary, mut validator) = (Summary::default(), Validator::default());
    while let Some(block) = reader.next_parsed()? {
        let mut problems = block.problems;
        if let Some(sentence) = &block.sentence {
            let faults = tree_problems(sentence, &block.word_lines, false);
            if faults.is_empty() {
                let shown: Vec<(u64, &str)> = block.word_lines.iter().copied().zip(sentence.forms()).collect();
                let mut broken = validator.violations(level, &block.lines);
                if level >= 3 && sentence.gold_heads().is_some() {
                    broken.extend(broken_guidelines(sentence, &block.word_lines));
                }
                problems.extend(broken.into_iter().map(|violation| problem(violation, &shown)));
            }
            problems.extend(faults);
            summary.add(sentence);
        } else if problems.iter().any(|problem| !problem.handled) {
            summary.refused_sentences += 1;
        }
        problems.sort_by_key(|problem| (problem.line, problem.column));
        summary.problems += problems.len() as u64;
        problems.into_iter().map(Finding::Problem).try_for_each(&mut report)?;
        block.sentence.into_iter().map(Finding::Sentence).try_for_each(&mut report)?;
    }
    Ok(summary)
}

/// The rules of the guidelines that a sentence breaks, but for those of lower levels.
fn broken_guidelines<'a>(sentence: &'a Sentence, word_lines: &'a [u64]) -> impl Iterator<Item = Violation> + 'a {
    let violation = |breach: super::Breach| {
        let word = &sentence.words()[breach.word - 1];
        let found = match (breach.column(), word.head) {
            (7, Some(head)) => format!("HEAD is {head}"),
            _ => format!("DEPREL is {}", shorten(&word.label)),
        };
        let (line, column) = (word_lines[breach.word - 1], breach.column());
        Violation { line, column, rule: breach.rule.into(), found, expected: breach.message }
    };
    breaches(sentence).into_iter().filter(|breach| breach.rule != "0-is-not-root").map(violation)
}

/// A broken rule as a problem, with the sentence around it.
fn problem(violation: Violation, shown: &[(u64, &str)]) -> Problem {
    let Violation { line, column, rule, found, expected } = violation;
    let mut problem = Problem::handled(line, column, found, format!("{expected} ({rule})")).remedy(
        "https://universaldependencies.org/validation-rules.html has the rules; --level 1 looks at the format only",
    );
    problem.show(shown);
    problem
}

impl Summary {
    fn add(&mut self, sentence: &Sentence) {
        self.sentences += 1;
        self.words += sentence.words().len() as u64;
        self.multiword_tokens += sentence.multiword_tokens().len() as u64;
        self.empty_nodes += sentence.empty_nodes().len() as u64;
        self.documents += u64::from(sentence.document().is_some());
        for word in sentence.words() {
            self.words_without_head += u64::from(word.head.is_none());
            if word.label != "_" {
                *self.labels.entry(word.label.clone()).or_default() += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn checked(text: &str) -> (Summary, Vec<String>, usize) {
        let (mut problems, mut sentences) = (Vec::new(), 0);
        let summary = check(Reader::new(text.as_bytes(), "x"), 1, |finding| {
            match finding {
                Finding::Problem(problem) => problems.push(problem.to_string()),
                Finding::Sentence(_) => sentences += 1,
            }
            Ok(())
        });
        (summary.unwrap(), problems, sentences)
    }

    #[test]
    fn every_problem_is_listed_with_its_line_not_only_the_first() {
        let text = "1\ta\t\tX\t_\t_\t9\troot\t_\t_\n2\tb\t_\tX Y\t_\t_\tx\tdep\t_\t_\n\n\
                    # fine\n1\tc\t_\t_\t_\t_\t0\troot\t_\t_\n\n\
                    1\td\t_\t_\t_\t_\t2\tdep\t_\t_\n2\te\t_\t_\t_\t_\t1\tdep\t_\t_\n";
        let (summary, problems, sentences) = checked(text);
        let places: Vec<&str> = problems.iter().map(|problem| problem.split(": ").next().unwrap()).collect();
        assert_eq!(places, ["1:3", "1:7", "2:4", "2:7", "7:7", "7:7", "8:10"], "{problems:#?}");
        assert_eq!((summary.problems, sentences), (7, 2));
        assert_eq!((summary.sentences, summary.refused_sentences, summary.words), (2, 1, 3));
        assert_eq!(summary.labels, BTreeMap::from([("root".to_owned(), 1), ("dep".to_owned(), 2)]));
    }

    #[test]
    fn cr_lf_and_the_byte_order_mark_are_listed_once() {
        let text = "\u{feff}1\ta\t_\t_\t_\t_\t0\troot\t_\t_\r\n\r\n1\ta\t_\t_\t_\t_\t0\troot\t_\t_\r\n\r\n";
        let (summary, problems, _) = checked(text);
        assert_eq!(summary.sentences, 2);
        assert_eq!(
            problems,
            [
                "1:1: the file starts with a byte order mark, but CoNLL-U has none: [a]",
                "1:10: the line ends in CR LF, but CoNLL-U lines end in LF: [a]"
            ]
        );
    }

    #[test]
    fn a_treebank_without_heads_is_counted_without_problems() {
        let (summary, problems, _) = checked("1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n");
        assert_eq!((summary.words_without_head, problems), (1, vec![]));
    }
}
