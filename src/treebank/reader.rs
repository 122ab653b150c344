//! Reads a treebank file sentence by sentence in constant memory, and continues after an invalid sentence.

use super::block::{ParsedBlock, parse_block};
use super::lines::BlockReader;
use super::problem::Problem;
use super::sentence::Sentence;
use super::source::open_text;
use super::tree::{TreeFault, tree_faults};
use crate::error::{Error, Result};
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// Reads sentences one by one. After an `Err` for a sentence, iteration continues with the next one.
pub struct Reader<R> {
    blocks: BlockReader<R>,
    name: PathBuf,
    failed: bool,
}

/// A sentence and where its words stand.
#[derive(Clone, Debug)]
pub(crate) struct LocatedSentence {
    pub sentence: Sentence,
    /// The line of every word in the file, from 1.
    pub word_lines: Vec<u64>,
}

/// What a block of lines is.
#[cfg(feature = "cli")]
pub(crate) struct Block {
    /// Its first line, from 1.
    pub line: u64,
    /// The sentence, or why there is none.
    pub sentence: Result<Sentence>,
    /// The lines of what is no sentence, with their ends, if all of them could be kept.
    pub lines: Option<Vec<u8>>,
}

/// Opens a treebank, plain or compressed by gzip; `-` is the standard input.
pub(crate) fn open(path: &Path) -> Result<Reader<Box<dyn BufRead + Send>>> {
    let name = if path == Path::new("-") { Path::new("<stdin>") } else { path };
    Ok(Reader::new(open_text(path)?, name))
}

/// Reads all sentences of a file, or returns the error of the first that cannot be read.
pub fn read_all(path: &Path) -> Result<Vec<Sentence>> {
    open(path)?.collect()
}

/// Reads all sentences of a file for training. Every word must have a head and a label, and every sentence must be a
/// tree with a single root.
pub fn read_trees(path: &Path) -> Result<Vec<Sentence>> {
    open(path)?.trees()
}

impl<R: BufRead> Reader<R> {
    /// Reads from any source. `name` is the file name in messages.
    pub fn new(read: R, name: impl Into<PathBuf>) -> Self {
        Self { blocks: BlockReader::new(read), name: name.into(), failed: false }
    }

    /// Reads all sentences and refuses those that are not labelled trees, like [`read_trees`].
    pub fn trees(self) -> Result<Vec<Sentence>> {
        Ok(self.located_trees()?.into_iter().map(|located| located.sentence).collect())
    }

    /// The same, with the line of every word.
    pub(crate) fn located_trees(mut self) -> Result<Vec<LocatedSentence>> {
        let mut sentences = Vec::new();
        while let Some(mut block) = self.next_parsed()? {
            if let Some(sentence) = &block.sentence {
                let mut faults = tree_problems(sentence, &block.word_lines, true);
                block.problems.append(&mut faults);
            }
            self.refuse(&block)?;
            let word_lines = block.word_lines;
            sentences.extend(block.sentence.map(|sentence| LocatedSentence { sentence, word_lines }));
        }
        Ok(sentences)
    }

    /// The next block with all its problems. Fails only on an I/O error.
    pub(super) fn next_parsed(&mut self) -> Result<Option<ParsedBlock>> {
        if self.failed {
            return Ok(None);
        }
        match self.blocks.next_block() {
            Ok(block) => Ok(block.map(parse_block)),
            Err(source) => {
                self.failed = true;
                Err(Error::Io { path: self.name.clone(), source })
            }
        }
    }

    /// The next sentence with its place; an outer error ends the file.
    #[cfg(feature = "cli")]
    pub(crate) fn next_block(&mut self) -> Result<Option<Block>> {
        while let Some(mut block) = self.next_parsed()? {
            let first = block.lines.first().map(|line| line.number);
            let line = first.or(block.problems.first().map(|problem| problem.line)).unwrap_or_default();
            match (self.refuse(&block), block.sentence.take()) {
                (Err(error), _) => {
                    let lines =
                        block.whole.then(|| block.lines.iter().flat_map(|line| line.bytes()).copied().collect());
                    return Ok(Some(Block { line, sentence: Err(error), lines }));
                }
                (Ok(()), Some(sentence)) => return Ok(Some(Block { line, sentence: Ok(sentence), lines: None })),
                (Ok(()), None) => {}
            }
        }
        Ok(None)
    }

    fn refuse(&self, block: &ParsedBlock) -> Result<()> {
        let Some(problem) = block.problems.iter().find(|problem| !problem.handled) else { return Ok(()) };
        let Problem { line, column, found, expected, sentence, remedy, .. } = problem.clone();
        let (found, expected, sentence) = (found.into(), expected.into(), sentence.into());
        Err(Error::Treebank { file: self.name.clone(), line, column, found, expected, sentence, remedy })
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Sentence>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let block = match self.next_parsed() {
                Ok(block) => block?,
                Err(error) => return Some(Err(error)),
            };
            if let Err(error) = self.refuse(&block) {
                return Some(Err(error));
            }
            if let Some(sentence) = block.sentence {
                return Some(Ok(sentence));
            }
        }
    }
}

/// The reasons why a readable sentence is not a labelled tree. A sentence without any head is unannotated, which is a
/// problem only if annotation is `required`.
pub(super) fn tree_problems(sentence: &Sentence, word_lines: &[u64], required: bool) -> Vec<Problem> {
    let mut problems = Vec::new();
    if !required && sentence.words().iter().all(|word| word.head.is_none()) {
        return problems;
    }
    for (word, &line) in sentence.words().iter().zip(word_lines) {
        if word.head.is_none() {
            let problem = Problem::error(line, 7, "HEAD is _", "a tree needs a head for every word");
            problems.push(problem.remedy("annotate the word, or leave the sentence out"));
        } else if word.label == "_" {
            let problem = Problem::error(line, 8, "DEPREL is _", "a tree needs a label for every word");
            problems.push(problem.remedy("annotate the word, or leave the sentence out"));
        }
    }
    for fault in sentence.gold_heads().map(|heads| tree_faults(&heads)).unwrap_or_default() {
        let (word, found, expected) = match fault {
            TreeFault::NoRoot => (1, "no word has HEAD 0".to_owned(), "a tree has one root"),
            TreeFault::SeveralRoots(roots) => {
                (roots[1], format!("words {} have HEAD 0", list(&roots)), "a tree has one root")
            }
            TreeFault::SelfHead(word) => (word, format!("HEAD is {word}"), "a word is not its own head"),
            TreeFault::Cycle(cycle) => {
                (cycle[0], format!("the heads go round: {}", round(&cycle)), "a tree has no cycle")
            }
        };
        let problem = Problem::error(word_lines[word - 1], 7, found, expected);
        problems.push(problem.remedy("correct the heads; `citree check FILE` lists every such sentence"));
    }
    let shown: Vec<(u64, &str)> = word_lines.iter().copied().zip(sentence.forms()).collect();
    for problem in &mut problems {
        problem.show(&shown);
    }
    problems
}

fn list(words: &[usize]) -> String {
    joined(words.iter(), ", ")
}

fn round(cycle: &[usize]) -> String {
    joined(cycle.iter().chain(cycle.first()), " → ")
}

/// Ids for a message, truncated if there are many.
fn joined<'a>(words: impl Iterator<Item = &'a usize>, between: &str) -> String {
    const MOST: usize = 12;
    let mut shown: Vec<String> = words.take(MOST + 1).map(usize::to_string).collect();
    if shown.len() > MOST {
        shown[MOST] = "…".to_owned();
    }
    shown.join(between)
}
