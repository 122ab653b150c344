//! The fields of API requests, and their checks against the limits.

use super::body::FromText;
use super::input::sentences;
use super::limits::Limits;
use super::problem::Problem;
use super::rule_request::RuleRequest;
use crate::explain::{By, Expected, Options, Question};
use crate::parse::Parser;
use crate::rule::Rule;
use crate::task::Task;
use crate::treebank::Sentence;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The most splits of a request. There are fewer that differ.
const MOST_SPLITS: usize = 16;

/// The citations of a decision that cost as much as parsing a word.
const CITATIONS_PER_WORD: usize = 10;
/// The cost of splitting the evidence of an edge by anything but label, in words.
const SPLITTING: usize = 3;
/// The cost of a contrast, in words: it compares and sorts all training edges.
const CONTRASTING: usize = 20;

/// Sentences to parse: exactly one of the three fields.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ParseRequest {
    /// Running text, cut into sentences and words as in the treebank. A blank line ends a paragraph.
    text: Option<String>,
    /// Each line of `text` is one sentence.
    lines: bool,
    /// Sentences in CoNLL-U. Their heads and labels are ignored.
    conllu: Option<String>,
    /// The words of one sentence.
    words: Option<Vec<String>>,
}

/// Sentences to explain, and what to report about them.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ExplainRequest {
    /// Running text, cut into sentences and words as in the treebank. A blank line ends a paragraph.
    text: Option<String>,
    /// Each line of `text` is one sentence.
    lines: bool,
    /// Sentences in CoNLL-U. Their heads and labels are ignored.
    conllu: Option<String>,
    /// The words of one sentence.
    words: Option<Vec<String>>,
    /// The rule: `"sum"`, `"heads=knn,labels=sum"`, `{"name": "nca", "temperature": 64}`, or one for heads and one for
    /// labels: `{"heads": {"name": "knn", "neighbors": 10}, "labels": {"name": "sum"}}`. By default the bundle's own.
    rule: Option<RuleRequest>,
    /// Training edges to cite for each decision, on each side; by default those that vote, up to 20, or 10.
    count: Option<usize>,
    /// Only the edges of these words, from 1; all if empty.
    edges: Vec<usize>,
    /// Only edges whose head or label is less probable than this.
    below: Option<f32>,
    /// Break scores and margins down by `label` (the default), `treebank`, `document`, `genre`, `prefix:N`, `dependent` or
    /// `head`.
    by: Option<Vec<String>>,
    /// Alternative edges to contrast with the chosen ones, as `WORD:HEAD` or `WORD:HEAD:LABEL`; 0 is ROOT.
    why_not: Vec<String>,
}

/// Edges to find neighbours of: those of some sentences, or one training edge.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct NeighborsRequest {
    /// Running text, cut into sentences and words as in the treebank. A blank line ends a paragraph.
    text: Option<String>,
    /// Each line of `text` is one sentence.
    lines: bool,
    /// Sentences in CoNLL-U.
    conllu: Option<String>,
    /// The words of one sentence.
    words: Option<Vec<String>>,
    /// The number of a training edge, instead of sentences.
    edge: Option<u32>,
    /// The generation of the index that the number refers to. Any other is refused, because its numbers differ.
    pub(super) generation: Option<u64>,
    /// The model whose vectors are compared: `heads` or `labels`.
    space: Space,
    /// Neighbours per edge; 10 by default.
    count: Option<usize>,
    /// Use the edges given in CoNLL-U instead of those that the parser predicts.
    pub(super) gold: bool,
    /// Leave out the edge's own training sentence.
    pub(super) others: bool,
    /// Compare with every training edge, so that no nearer one is missed.
    pub(super) exact: bool,
}

/// One of the two models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Space {
    /// The model that predicts heads.
    #[default]
    Heads,
    /// The model that predicts labels.
    Labels,
}

impl Space {
    pub(super) fn task(self) -> Task {
        match self {
            Self::Heads => Task::Heads,
            Self::Labels => Task::Labels,
        }
    }
}

macro_rules! from_text {
    ($($request:ty),*) => {$(
        impl FromText for $request {
            fn of_text(text: String) -> Self {
                Self { text: Some(text), ..Self::default() }
            }
            fn of_conllu(text: String) -> Self {
                Self { conllu: Some(text), ..Self::default() }
            }
        }
    )*};
}
from_text!(ParseRequest, ExplainRequest, NeighborsRequest);

impl ParseRequest {
    pub(super) fn sentences(&self, parser: &Parser, limits: &Limits) -> Result<Vec<Sentence>, Problem> {
        let (text, conllu, words) = (self.text.as_deref(), self.conllu.as_deref(), self.words.as_deref());
        let some = sentences(text, self.lines, conllu, words, parser, limits)?;
        compared(parser, parser.rule(), &some, limits)?;
        Ok(some)
    }
}

/// Refuses more words than may be compared with every training edge, if the rule does that.
fn compared(parser: &Parser, rule: &Rule, sentences: &[Sentence], limits: &Limits) -> Result<(), Problem> {
    let words: usize = sentences.iter().map(|sentence| sentence.words().len()).sum();
    if parser.reads_all_by(rule) && words > limits.compared_words {
        return Err(Problem::unfit(format!(
            "{words} words, but the {rule} rule takes at most {} at a time here: it compares with every training edge; send \
             fewer, or use the sum rule",
            limits.compared_words
        )));
    }
    Ok(())
}

impl ExplainRequest {
    pub(super) fn sentences(&self, parser: &Parser, limits: &Limits) -> Result<Vec<Sentence>, Problem> {
        let (text, conllu, words) = (self.text.as_deref(), self.conllu.as_deref(), self.words.as_deref());
        let some = sentences(text, self.lines, conllu, words, parser, limits)?;
        compared(parser, &self.rule(parser.rule())?, &some, limits)?;
        Ok(some)
    }

    /// The rule that is asked for, or the bundle's own.
    pub(super) fn rule(&self, own: &Rule) -> Result<Rule, Problem> {
        self.rule.as_ref().map_or_else(|| Ok(own.clone()), RuleRequest::rule)
    }

    /// The question about each of the sentences.
    pub(super) fn question(&self, sentences: &[Sentence], rule: &Rule, limits: &Limits) -> Result<Question, Problem> {
        let usual = rule.citations().min(limits.count);
        let count = count(Some(self.count.unwrap_or(usual)), limits)?;
        let by = match &self.by {
            None => Options::default().by,
            // Before any work that grows with their number.
            Some(names) if names.len() > MOST_SPLITS => {
                return Err(Problem::unfit(format!("`by` names at most {MOST_SPLITS} splits")));
            }
            Some(names) => {
                let mut by: Vec<By> = names
                    .iter()
                    .map(|name| name.parse())
                    .collect::<Result<_, String>>()
                    .map_err(|error| Problem::unfit(format!("`by`: {error}")))?;
                let mut seen = Vec::new();
                by.retain(|by| {
                    !seen.contains(by) && {
                        seen.push(*by);
                        true
                    }
                });
                by
            }
        };
        let contrasts = self.why_not.len() * sentences.len();
        if contrasts > limits.why_not {
            return Err(Problem::unfit(format!(
                "`why_not` asks for {contrasts} contrasts, one for each alternative and sentence; at most {} at a time here",
                limits.why_not
            )));
        }
        let why_not: Vec<Expected> = self
            .why_not
            .iter()
            .map(|text| text.parse().map_err(|error: &str| Problem::unfit(format!("`why_not`: {error}"))))
            .collect::<Result<_, _>>()?;
        if self.edges.len() > limits.sentence_words {
            return Err(Problem::unfit(format!("`edges` has at most {} words here", limits.sentence_words)));
        }
        let explained = sentences.iter().map(|sentence| explained(sentence, &self.edges)).sum::<usize>();
        // Two decisions, and under rules that count something against a choice two lists each.
        let lists = if rule.is_linear() { 2 } else { 4 };
        bounded(lists * count * explained, limits)?;
        let fine = by.iter().filter(|by| **by != By::Label).count();
        if explained * fine > limits.compared_words {
            return Err(Problem::unfit(format!(
                "splitting {explained} edges by anything but label takes too long: edges times splits are at most {} on this \
                 server; name fewer `edges`",
                limits.compared_words
            )));
        }
        if self.below.is_some_and(|below| !(0.0..=1.0).contains(&below)) {
            return Err(Problem::unfit("`below` is a probability, between 0 and 1".to_string()));
        }
        let options = Options { count, by, words: self.edges.clone(), below: self.below };
        Ok(Question { options, why_not, flip: false })
    }
}

/// The cost of answering a question besides parsing, in words.
pub(super) fn cost(question: &Question, sentences: &[Sentence]) -> usize {
    let options = &question.options;
    let explained = sentences.iter().map(|sentence| explained(sentence, &options.words)).sum::<usize>();
    let fine = options.by.iter().filter(|by| **by != By::Label).count();
    let each = options.count / CITATIONS_PER_WORD + SPLITTING * fine;
    explained * each + question.why_not.len() * sentences.len() * CONTRASTING
}

/// The number of words of a sentence whose edges are explained.
fn explained(sentence: &Sentence, words: &[usize]) -> usize {
    match words.len() {
        0 => sentence.words().len(),
        some => some,
    }
}

impl NeighborsRequest {
    /// The training edge of the request, if it names one.
    pub(super) fn training_edge(&self) -> Result<Option<u32>, Problem> {
        let sentences = self.text.is_some() || self.conllu.is_some() || self.words.is_some();
        match self.edge {
            Some(_) if sentences || self.gold => {
                Err(Problem::bad("`edge` is a training edge: send it without sentences and without `gold`"))
            }
            None if self.generation.is_some() => Err(Problem::bad("`generation` goes with `edge`")),
            edge => Ok(edge),
        }
    }

    /// The sentences of a request that names no training edge.
    pub(super) fn sentences(&self, parser: &Parser, limits: &Limits) -> Result<Vec<Sentence>, Problem> {
        let (text, conllu, words) = (self.text.as_deref(), self.conllu.as_deref(), self.words.as_deref());
        let some = sentences(text, self.lines, conllu, words, parser, limits)?;
        let words = some.iter().map(|sentence| sentence.words().len()).sum::<usize>();
        bounded(words * self.count(limits)?, limits)?;
        if self.exact && words > limits.compared_words {
            return Err(Problem::unfit(format!(
                "`exact` takes at most {} words at a time here",
                limits.compared_words
            )));
        }
        Ok(some)
    }

    pub(super) fn count(&self, limits: &Limits) -> Result<usize, Problem> {
        count(self.count, limits)
    }

    pub(super) fn space(&self) -> Task {
        self.space.task()
    }
}

/// The number of citations or neighbours, if it is within the limit.
pub(super) fn count(count: Option<usize>, limits: &Limits) -> Result<usize, Problem> {
    match count.unwrap_or(Options::default().count.min(limits.count)) {
        count if count > limits.count => Err(Problem::unfit(format!("`count` is at most {} here", limits.count))),
        count => Ok(count),
    }
}

fn bounded(citations: usize, limits: &Limits) -> Result<(), Problem> {
    match citations > limits.citations {
        false => Ok(()),
        true => Err(Problem::unfit(format!(
            "that can be {citations} training edges, but an answer has at most {} on this server; ask about fewer sentences or \
             `edges`, or set a smaller `count`",
            limits.citations
        ))),
    }
}
