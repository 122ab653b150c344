//! Finding sentences by a pattern over words and edges, in the manner of Grew.
//!
//! ```
//! use citree::find::Pattern;
//! use citree::treebank::starter;
//! let pattern: Pattern = r#"pattern { V -[obj]-> N; N [form="letters"] } without { N -[amod]-> A }"#.parse()?;
//! for sentence in starter::train() {
//!     for found in pattern.find(&sentence, 10)? {
//!         println!("{}: word {}", sentence.sent_id().unwrap_or(""), found.words[0]);
//!     }
//! }
//! # Ok::<(), citree::Error>(())
//! ```
//!
//! `scan` cuts a pattern into tokens, `read` makes a [`Pattern`] of them, `search` finds its matches in a sentence.

mod read;
mod scan;
mod search;
#[cfg(test)]
mod tests;

use crate::error::Result;
use crate::treebank::Sentence;
use regex::Regex;

/// A pattern over words and edges.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The names of the words, those of `pattern` first, in the order in which they are looked for.
    main: Block,
    /// What must not be found besides.
    without: Vec<Block>,
}

/// One block in braces.
#[derive(Clone, Debug, Default)]
struct Block {
    /// The names of its words. Those of the main block come first, in a block of what must not be there.
    names: Vec<String>,
    rules: Vec<Rule>,
}

/// A condition on one word or two, by their places among the names.
#[derive(Clone, Debug)]
enum Rule {
    Word {
        word: usize,
        test: Test,
    },
    /// An edge with one of these labels, or with any but these.
    Edge {
        head: End,
        dependent: usize,
        labels: Vec<String>,
        negated: bool,
    },
    /// The first stands before the second, directly or anywhere.
    Order {
        first: usize,
        second: usize,
        directly: bool,
    },
    /// Two words have the same value of an attribute, or different ones.
    Same {
        words: [usize; 2],
        attributes: [Attribute; 2],
        negated: bool,
    },
}

/// The head of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Root,
    Word(usize),
}

/// A condition on one attribute.
#[derive(Clone, Debug)]
struct Test {
    attribute: Attribute,
    values: Values,
}

#[derive(Clone, Debug)]
enum Values {
    /// There is a value.
    Any,
    /// There is none.
    None,
    /// One of these.
    OneOf(Vec<Value>),
    /// There is one, but none of these.
    NoneOf(Vec<Value>),
}

#[derive(Clone, Debug)]
enum Value {
    Text(String),
    Regex(Regex),
}

/// What a word has.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Attribute {
    Form,
    Lemma,
    Upos,
    Xpos,
    Label,
    /// A feature of FEATS.
    Feature(String),
    /// A key of MISC.
    Misc(String),
}

/// Words that fit a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Match {
    /// The ids of the words, in the order of [`Pattern::names`].
    pub words: Vec<usize>,
}

impl Pattern {
    /// The names of the words that a match has, in the order in which the pattern names them first.
    pub fn names(&self) -> &[String] {
        &self.main.names
    }

    /// The matches in a sentence, at most `most` of them, by the ids of their words. Different names stand for different words.
    ///
    /// # Errors
    /// The pattern leaves so much open that the sentence has too many combinations of words.
    pub fn find(&self, sentence: &Sentence, most: usize) -> Result<Vec<Match>> {
        search::matches(self, sentence, most)
    }

    /// The columns of CoNLL-U, besides FORM, HEAD and DEPREL, that the pattern asks for. Training sentences of a bundle lack them.
    pub fn other_columns(&self) -> Vec<&'static str> {
        let mut columns: Vec<&'static str> = Vec::new();
        for rule in std::iter::once(&self.main).chain(&self.without).flat_map(|block| &block.rules) {
            let attributes: &[Attribute] = match rule {
                Rule::Word { test, .. } => std::slice::from_ref(&test.attribute),
                Rule::Same { attributes, .. } => attributes,
                _ => &[],
            };
            columns.extend(attributes.iter().filter_map(Attribute::column));
        }
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}

impl Attribute {
    fn column(&self) -> Option<&'static str> {
        match self {
            Self::Form | Self::Label => None,
            Self::Lemma => Some("LEMMA"),
            Self::Upos => Some("UPOS"),
            Self::Xpos => Some("XPOS"),
            Self::Feature(_) => Some("FEATS"),
            Self::Misc(_) => Some("MISC"),
        }
    }
}
