//! Parses the lines of one sentence column by column, and records every flaw, not only the first.

use super::id::{Id, parse_id, parse_number};
use super::lines::{Line, RawBlock};
use super::problem::{COLUMNS, Problem, shorten};
use super::sentence::{EmptyNode, MultiwordToken, Sentence, Word};

/// The result of parsing one block of lines.
#[derive(Debug)]
pub(super) struct ParsedBlock {
    /// The sentence; `None` if it has an unhandled problem or if the block is only blank lines.
    pub sentence: Option<Sentence>,
    /// The line of every word of the sentence.
    pub word_lines: Vec<u64>,
    /// Every flaw, in the order of the lines.
    pub problems: Vec<Problem>,
    /// The lines themselves.
    #[cfg(any(feature = "cli", feature = "internals"))]
    pub lines: Vec<Line>,
    /// Whether all of its lines are there.
    #[cfg(feature = "cli")]
    pub whole: bool,
}

/// Problems of one sentence that are kept; of more, the number is said. Otherwise a file that is no treebank could fill the
/// memory.
const MOST_PROBLEMS: usize = 100;

/// Parses one block of lines.
pub(super) fn parse_block(block: RawBlock) -> ParsedBlock {
    let mut parser = BlockParser { problems: block.problems, next_id: 1, ..BlockParser::default() };
    for line in &block.lines {
        parser.line(line);
        parser.forget();
    }
    parser.end(&block.lines);
    parser.forget();
    let BlockParser { sentence, word_lines, mut problems, forgotten, .. } = parser;
    problems.sort_by_key(|problem| problem.line);
    problems.extend(forgotten.map(|(line, count)| {
        let found = format!("the sentence has {count} more problem{}", if count == 1 { "" } else { "s" });
        Problem::error(line, 1, found, "the first are listed").remedy("mend those, and check again")
    }));
    let shown: Vec<(u64, &str)> =
        block.lines.iter().filter_map(|line| Some((line.number, surface_form(&line.text)?))).collect();
    for problem in &mut problems {
        problem.show(&shown);
    }
    let readable = problems.iter().all(|problem| problem.handled) && !sentence.words.is_empty();
    ParsedBlock {
        sentence: readable.then_some(sentence),
        word_lines,
        problems,
        #[cfg(any(feature = "cli", feature = "internals"))]
        lines: block.lines,
        #[cfg(feature = "cli")]
        whole: !block.truncated,
    }
}

#[derive(Default)]
struct BlockParser {
    sentence: Sentence,
    word_lines: Vec<u64>,
    problems: Vec<Problem>,
    /// The id expected for the next word. After a wrong id, counting continues from there.
    next_id: usize,
    /// Whether a range line precedes the next word.
    range_open: bool,
    ids_sound: bool,
    in_words: bool,
    /// The line of the first problem that was not kept, and how many there are.
    forgotten: Option<(u64, usize)>,
}

impl BlockParser {
    fn line(&mut self, line: &Line) {
        if line.text.starts_with('#') {
            if self.in_words {
                self.problems.push(
                    Problem::error(line.number, 1, "a comment stands inside the sentence", "comments come before it")
                        .remedy("move the comment up before the first word, or put a blank line before it"),
                );
            } else {
                self.sentence.comments.push(line.text.clone());
            }
            return;
        }
        if !self.in_words {
            (self.in_words, self.ids_sound) = (true, true);
        }
        let columns: Vec<&str> = line.text.split('\t').collect();
        let Ok(columns) = <[&str; 10]>::try_from(columns.as_slice()) else {
            self.ids_sound = false;
            // Counts the line as a word, so that the following lines are not reported too.
            if let Some(Id::Word(id)) = parse_id(columns[0]) {
                self.next_id = id + 1;
            }
            let column = (columns.len() + 1).min(11);
            let found = format!("the line has {} column{}", columns.len(), if columns.len() == 1 { "" } else { "s" });
            self.problems.push(
                Problem::error(line.number, column, found, "10 are needed, with tabs between them")
                    .remedy("fill empty columns with _ and look for spaces where tabs should be"),
            );
            return;
        };
        self.check_columns(line.number, &columns);
        match parse_id(columns[0]) {
            Some(Id::Word(id)) => self.word(line.number, id, &columns),
            Some(Id::Range(first, last)) => self.range(line.number, first, last, &columns),
            Some(Id::Empty(after, number)) => self.empty(line.number, after, number, &columns),
            None => {
                let found = format!("ID is {}", shorten(columns[0]));
                self.id_problem(
                    line.number,
                    found,
                    "an id is a number, a range such as 3-4, or an empty node such as 3.1",
                );
            }
        }
    }

    /// Keeps only the first problems.
    fn forget(&mut self) {
        let more = self.problems.split_off(self.problems.len().min(MOST_PROBLEMS));
        if let Some(first) = more.first() {
            let (line, count) = self.forgotten.unwrap_or((first.line, 0));
            self.forgotten = Some((line, count + more.len()));
        }
    }

    fn check_columns(&mut self, number: u64, columns: &[&str; 10]) {
        for (place, (name, value)) in COLUMNS.iter().zip(columns).enumerate() {
            let may_hold_spaces = matches!(*name, "FORM" | "LEMMA" | "MISC");
            if value.is_empty() {
                self.problems.push(
                    Problem::error(number, place + 1, format!("{name} is empty"), "every column holds something")
                        .remedy("write _ in the empty column"),
                );
            } else if value.contains(char::is_whitespace) && !may_hold_spaces {
                let found = format!("{name} is {:?}", shorten(value));
                self.problems.push(
                    Problem::error(number, place + 1, found, "only FORM, LEMMA and MISC may hold spaces")
                        .remedy("take the space out"),
                );
            } else if value.trim() != *value {
                let found = format!("{name} starts or ends with white space");
                self.problems.push(
                    Problem::handled(number, place + 1, found, "the column should hold none there")
                        .remedy("it is kept as it is"),
                );
            }
        }
    }

    fn word(&mut self, number: u64, id: usize, columns: &[&str; 10]) {
        if id != self.next_id {
            let expected = format!("{} comes next", self.next_id);
            let again = if id < self.next_id && id > 0 { " again" } else { "" };
            self.id_problem(number, format!("ID is {id}{again}"), &expected);
        }
        let [_, form, lemma, upos, xpos, feats, head, label, deps, misc] = columns.map(str::to_owned);
        let head = match head.as_str() {
            "_" => None,
            written => {
                let head = parse_number(written);
                if head.is_none() {
                    self.problems.push(
                        Problem::error(
                            number,
                            7,
                            format!("HEAD is {}", shorten(written)),
                            "a head is the id of a word or 0",
                        )
                        .remedy("write the id of the head, 0 for the root, or _ if it is unknown"),
                    );
                }
                head
            }
        };
        self.sentence.words.push(Word { form, lemma, upos, xpos, feats, head, label, deps, misc });
        self.word_lines.push(number);
        self.next_id = id.saturating_add(1);
        self.range_open = false;
    }

    fn range(&mut self, number: u64, first: usize, last: usize, columns: &[&str; 10]) {
        let inside = self.sentence.multiword_tokens.last().filter(|token| token.last >= first);
        if first > last {
            self.id_problem(number, format!("ID is {first}-{last}"), "a range goes from a lower id to a higher one");
        } else if let Some(token) = inside {
            let expected = format!("the range {}-{} reaches to word {}", token.first, token.last, token.last);
            self.id_problem(number, format!("ID is {first}-{last}"), &expected);
        } else if first != self.next_id {
            let expected = format!("a range stands before its first word, and word {} comes next", self.next_id);
            self.id_problem(number, format!("ID is {first}-{last}"), &expected);
        }
        self.sentence.multiword_tokens.push(MultiwordToken {
            first,
            last,
            form: columns[1].to_owned(),
            middle: columns[2..9].join("\t"),
            misc: columns[9].to_owned(),
        });
        self.range_open = true;
    }

    fn empty(&mut self, number: u64, after: usize, count: usize, columns: &[&str; 10]) {
        let last_here =
            self.sentence.empty_nodes.last().filter(|node| node.after == after).map_or(0, |node| node.number);
        let expected = (self.next_id - 1, last_here + 1);
        if (after, count) != expected {
            let expected = format!("an empty node here is {}.{}", expected.0, expected.1);
            self.id_problem(number, format!("ID is {after}.{count}"), &expected);
        } else if self.range_open {
            self.id_problem(number, format!("ID is {after}.{count}"), "it comes before the range of the next word");
        }
        self.sentence.empty_nodes.push(EmptyNode { after, number: count, columns: columns[1..].join("\t") });
    }

    fn id_problem(&mut self, number: u64, found: String, expected: &str) {
        self.ids_sound = false;
        self.problems.push(
            Problem::error(number, 1, found, expected).remedy(
                "number the words 1, 2, 3, …; ranges stand before their first word, empty nodes after their word",
            ),
        );
    }

    fn end(&mut self, lines: &[Line]) {
        let Some(last_line) = lines.last() else { return };
        let count = self.sentence.words.len();
        if count == 0 && self.problems.iter().all(|problem| problem.handled) {
            self.problems.push(
                Problem::error(last_line.number, 1, "there are only comments", "a sentence has at least one word")
                    .remedy("remove the comments, or the blank line after them"),
            );
        }
        // Heads cannot be checked if the ids are wrong.
        if !self.ids_sound {
            return;
        }
        for (word, &line) in self.sentence.words.iter().zip(&self.word_lines) {
            if let Some(head) = word.head.filter(|&head| head > count) {
                let expected = format!("the sentence has {count} word{}", if count == 1 { "" } else { "s" });
                self.problems.push(
                    Problem::error(line, 7, format!("HEAD is {head}"), expected).remedy("write the id of the head"),
                );
            }
        }
        if let Some(token) = self.sentence.multiword_tokens.iter().find(|token| token.last > count) {
            let line = self.word_lines.get(token.first - 1).map_or(last_line.number, |line| line - 1);
            let found = format!("ID is {}-{}", token.first, token.last);
            let expected = format!("the sentence has {count} words");
            self.problems.push(Problem::error(line, 1, found, expected).remedy("end the range at its last word"));
        }
    }
}

/// The form of a word line. Ranges and empty nodes are skipped, because they would show the text twice.
fn surface_form(line: &str) -> Option<&str> {
    let mut columns = line.split('\t');
    let id = columns.next()?;
    let shown = !line.starts_with('#') && !id.contains(['-', '.']);
    shown.then(|| columns.next().unwrap_or(id))
}
