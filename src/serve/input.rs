//! Reads the sentences of a request: plain text, CoNLL-U or words, within the limits.

use super::limits::Limits;
use super::problem::Problem;
use crate::parse::Parser;
use crate::treebank::{Reader, Sentence};

/// The most characters in a word.
const MOST_LETTERS: usize = 400;
/// The most bytes in a line of text, per word that a sentence can have.
const LINE_BYTES: usize = 40;
/// The most lines of a CoNLL-U sentence besides its words.
const COMMENTS: usize = 200;

/// The sentences of a request, which must give exactly one of the three inputs. With `lines`, each line of the text is a
/// sentence.
pub(super) fn sentences(
    text: Option<&str>,
    lines: bool,
    conllu: Option<&str>,
    words: Option<&[String]>,
    parser: &Parser,
    limits: &Limits,
) -> Result<Vec<Sentence>, Problem> {
    let mut bounded = Bounded { sentences: Vec::new(), words: 0, limits };
    match (text, conllu, words) {
        (Some(text), None, None) if !lines => {
            // A text that is far too long is refused before it is cut into sentences.
            if text.len() > limits.words * LINE_BYTES {
                return Err(Problem::unfit(format!("at most {} words at a time here; split the text", limits.words)));
            }
            parser.sentences(text).try_for_each(|sentence| bounded.add(sentence))?;
        }
        (Some(text), None, None) => {
            for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
                // A line that is far too long is refused before it is split into words.
                if line.len() > limits.sentence_words * LINE_BYTES {
                    let bytes = line.len();
                    return Err(Problem::unfit(format!(
                        "a line of {bytes} bytes is too long for one sentence; split it"
                    )));
                }
                bounded.add(parser.split(line))?;
            }
        }
        (None, Some(conllu), None) => {
            let lines = conllu.lines().map(|line| usize::from(!line.trim().is_empty()));
            let longest = lines.scan(0, |run, line| {
                *run = (*run + line) * line;
                Some(*run)
            });
            if longest.max() > Some(2 * limits.sentence_words + COMMENTS) {
                return Err(Problem::unfit("a sentence has too many lines; an empty line ends a sentence"));
            }
            Reader::new(conllu.as_bytes(), "conllu").try_for_each(|sentence| bounded.add(sentence?))?;
        }
        (None, None, Some(words)) => {
            bounded.fits(words.len())?;
            bounded.add(Sentence::from_forms(words.iter().map(String::as_str)))?;
        }
        _ => return Err(Problem::bad("give one of `text`, `conllu` and `words`")),
    }
    if bounded.words == 0 {
        return Err(Problem::unfit("the request has no words"));
    }
    Ok(bounded.sentences)
}

/// Sentences within the limits so far. Input beyond a limit is refused before all of it is read.
struct Bounded<'a> {
    sentences: Vec<Sentence>,
    words: usize,
    limits: &'a Limits,
}

impl Bounded<'_> {
    /// Refuses a sentence that is too long.
    fn fits(&self, words: usize) -> Result<(), Problem> {
        let most = self.limits.sentence_words;
        match words > most {
            true => Err(Problem::unfit(format!(
                "a sentence has {words} words, but this server parses at most {most}; split it"
            ))),
            false => Ok(()),
        }
    }

    fn add(&mut self, sentence: Sentence) -> Result<(), Problem> {
        let words = sentence.words().len();
        self.fits(words)?;
        self.words += words;
        let letters = sentence.forms().map(|form| form.chars().count()).max().unwrap_or_default();
        if letters > MOST_LETTERS {
            return Err(Problem::unfit(format!(
                "a word has {letters} characters, at most {MOST_LETTERS} are read here"
            )));
        }
        if self.words > self.limits.words {
            return Err(Problem::unfit(format!("at most {} words at a time here", self.limits.words)));
        }
        if self.sentences.len() == self.limits.sentences {
            return Err(Problem::unfit(format!("at most {} sentences at a time here", self.limits.sentences)));
        }
        self.sentences.push(sentence);
        Ok(())
    }
}
