//! The treebank judged by itself: gold edges that similar edges contradict, with the edges that speak for either side.
//!
//! `subject` has the sentences that are judged, and `vectors` their edges. `judge` asks the index about them without their own
//! sentences and documents, `words` asks models that never saw these documents, and `signs` looks for broken rules and crossed
//! edges. `score` says how suspicious all that is. `detail` makes findings of the most suspicious edges, [`Group`]s join those
//! that are the same error. [`Decisions`] are what people say about findings; [`apply`] writes them
//! into a treebank.

mod apply;
mod decisions;
mod detail;
mod finding;
mod group;
pub mod html;
mod judge;
mod same_words;
mod score;
mod signs;
mod subject;
mod vectors;
pub(crate) mod words;

pub use apply::{Applied, apply};
pub use decisions::{Decision, Decisions, Verdict};
pub use finding::{Example, Finding, Kind};
pub use group::Group;

use crate::error::Result;
use crate::explain::Explainer;
use crate::train::Flow;
use crate::treebank::{LocatedSentence, Reader};
use judge::{Judge, JudgedEdge, Suggestion};
use same_words::SameWords;
use score::NEIGHBORS;
use std::path::Path;
use subject::{Documents, Subject};

/// The label of punctuation, whose heads follow from those of other words.
const PUNCT: &str = "punct";
/// The search for similar edges, in steps of progress; an epoch of a model of the words is one.
const SEARCH_STEPS: usize = 60;

/// A treebank to judge that is not the bundle's own evidence.
#[derive(Clone, Debug)]
pub struct Treebank(Vec<LocatedSentence>);

impl Treebank {
    /// Reads CoNLL-U. Every sentence must be a tree. `name` is the file name in messages.
    pub fn read(conllu: &[u8], name: &Path) -> Result<Self> {
        Ok(Self(Reader::new(conllu, name).located_trees()?))
    }
}

/// How often models of the words are trained by default.
pub const DEFAULT_FOLDS: usize = 5;

/// What to look for.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many findings to report at most.
    pub top: usize,
    /// Only findings of this kind.
    pub kind: Option<Kind>,
    /// Only findings whose two words are annotated as suggested in another document.
    pub inconsistent: bool,
    /// Models of the words are trained this often, each time without one of as many parts of the treebank. 0 trains none.
    pub folds: usize,
    /// Whether to judge punctuation too.
    pub punctuation: bool,
    /// Edges that were decided are no findings.
    pub decisions: Decisions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            top: 300,
            kind: None,
            inconsistent: false,
            folds: DEFAULT_FOLDS,
            punctuation: false,
            decisions: Decisions::default(),
        }
    }
}

/// The result of an audit.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Audit {
    /// The most suspicious edges, the most suspicious first.
    pub findings: Vec<Finding>,
    /// How many edges were judged.
    pub judged: usize,
    /// How many findings there are, those that are not reported included.
    pub found: usize,
    /// The labels of the model. A label's number is its index.
    labels: Vec<String>,
}

impl Audit {
    /// The findings in groups that are probably the same error. Those with most expected errors come first.
    pub fn groups(&self) -> Vec<Group> {
        let number = |name: &str| self.labels.iter().position(|label| label == name).map(|at| at as u32);
        group::group(&self.findings, number)
    }
}

impl Explainer {
    /// Judges the edges of a treebank, or those of the evidence itself if there is none, by the training edges that are most
    /// similar to them, by models of the words, and by the guidelines of Universal Dependencies. The sentence of an edge is
    /// no evidence about it, nor is its document. `tell` receives how many of how many steps were done, from several threads.
    ///
    /// ```no_run
    /// use citree::{audit::Options, train::Flow};
    /// let explainer = citree::Bundle::open("en.citree")?.explainer()?;
    /// for finding in explainer.audit(None, &Options::default(), &|_, _| Flow::Continue)?.findings {
    ///     println!("{} {}: {}", finding.sent_id, finding.title(), finding.says);
    /// }
    /// # Ok::<(), citree::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Stopped` if `tell` stops it.
    pub fn audit(
        &self,
        treebank: Option<&Treebank>,
        options: &Options,
        tell: &(dyn Fn(usize, usize) -> Flow + Sync),
    ) -> Result<Audit> {
        let edges = self.evidence().edges();
        let documents = Documents::of(edges)?;
        let subjects = match treebank {
            Some(Treebank(sentences)) => subject::of_file(edges, &documents, sentences)?,
            None => subject::of_evidence(edges, &documents)?,
        };
        let mut judge = Judge::new(self, &documents, &subjects, options.folds)?;
        let steps = judge.steps();
        let judged = judge.all(&|done| tell(done, steps))?;
        let same_words = SameWords::new(&subjects, |label| judge.labels[label]);
        let mut found: Vec<(JudgedEdge, Suggestion)> = judged
            .edges
            .into_iter()
            .filter(|edge| is_asked(options, &subjects[edge.subject], edge.word))
            .filter_map(|edge| Some((edge.suggestion(subjects[edge.subject].heads[edge.word - 1])?, edge)))
            .map(|(suggestion, edge)| (edge, suggestion))
            .filter(|(_, suggestion)| options.kind.is_none_or(|wanted| suggestion.kind == wanted))
            .filter(|(edge, suggestion)| {
                !options.inconsistent || judge.same_words(&same_words, edge, suggestion)[1] > 0
            })
            .collect();
        // Ties stay in the order of the treebank.
        found.sort_by(|(a, _), (b, _)| b.score.total_cmp(&a.score));
        let all = found.len();
        found.truncate(options.top);
        let findings = detail::findings(&judge, &same_words, &found)?;
        edges.intact()?;
        Ok(Audit { findings, judged: judged.count, found: all, labels: self.parser().labels().to_vec() })
    }
}

/// Whether an edge can be a finding at all.
fn is_asked(options: &Options, subject: &Subject<'_>, word: usize) -> bool {
    let (form, head, label) = (subject.form(word), subject.heads[word - 1], subject.label(word));
    (options.punctuation || label != PUNCT) && !options.decisions.holds_for(subject.sent_id(), word, form, head, label)
}
