//! All that is said about a sentence, as one object: what `citree explain --format json` prints and the server answers.

use super::{Change, Explainer, Explanation, Flip, Options, WhyNot, changes};
use crate::error::Result;
use crate::parse::Analysis;
#[cfg(feature = "cli")]
use crate::parse::{Parse, Parser};
use crate::treebank::Sentence;
use serde::Serialize;

/// The version of the JSON form, described in docs/explain.schema.json.
pub(crate) const SCHEMA: u32 = 2;

/// What is asked about a sentence.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Which edges to explain, and how far.
    pub options: Options,
    /// Edges that somebody expected instead.
    pub why_not: Vec<Expected>,
    /// Whether to find what would have to be missing for each decision to be another.
    pub flip: bool,
}

/// An edge that somebody expected; written `4:2` or `4:2:obj`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The id of the dependent.
    pub dependent: usize,
    /// The id of the head, 0 for ROOT.
    pub head: usize,
    /// The label, where that is asked about too.
    pub label: Option<String>,
}

impl std::str::FromStr for Expected {
    type Err = &'static str;
    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let wrong = "write WORD:HEAD or WORD:HEAD:LABEL, such as 4:2 or 4:2:obj; 0 is ROOT";
        let mut parts = text.splitn(3, ':');
        let mut number = || parts.next().and_then(|part| part.parse().ok()).ok_or(wrong);
        Ok(Self { dependent: number()?, head: number()?, label: parts.next().map(str::to_string) })
    }
}

/// All that is said about a sentence.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Answer {
    /// The version of this form.
    pub schema: u32,
    /// The parse, and the edges that were asked for.
    #[serde(flatten)]
    pub explanation: Explanation,
    /// What argues for and against the alternatives.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub why_not: Vec<WhyNot>,
    /// What would have to be missing, for each explained edge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flips: Vec<Flip>,
    /// Edges that are others than before, where some training sentences were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<Change>>,
}

#[cfg(feature = "cli")]
impl Answer {
    /// A parse about which nothing was asked.
    pub(crate) fn of_parse(sentence: &Sentence, parse: &Parse, parser: &Parser) -> Self {
        let explanation = Explanation::of_parse(sentence, parse, parser);
        Self { schema: SCHEMA, explanation, why_not: Vec::new(), flips: Vec::new(), changes: None }
    }
}

impl Explainer {
    /// Answers a question about a sentence that was analysed; `before` is its analysis with all training sentences.
    pub fn answer(
        &self,
        sentence: &Sentence,
        analysis: &Analysis,
        question: &Question,
        before: Option<&Analysis>,
    ) -> Result<Answer> {
        let explanation = self.explain_analysis(sentence, analysis, &question.options)?;
        let mut why_not = Vec::with_capacity(question.why_not.len());
        for expected in &question.why_not {
            why_not.push(self.why_not(&explanation.words, analysis, expected, question.options.count)?);
        }
        let mut flips = Vec::new();
        if question.flip {
            for edge in &explanation.edges {
                flips.push(self.flip(analysis, edge.dependent)?);
            }
        }
        let changes = before.map(|before| changes(&before.parse, &analysis.parse));
        Ok(Answer { schema: SCHEMA, explanation, why_not, flips, changes })
    }
}
