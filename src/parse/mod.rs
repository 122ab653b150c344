//! Parsing: candidates, decisions, heads and labels. Fast mode compares with the summed support. Other rules, and the
//! exact mode, decide again by comparing with individual training edges.

mod analysis;
mod decision;
mod fast;
mod probability;
mod tree;

pub use analysis::Analysis;
pub use decision::{Candidate, Choice, Decision};

use crate::bundle::{Bundle, MeasuredRules};
use crate::config::{Aggregate, Basis, Similarity, System};
use crate::encoder::{Numbered, Pretrained};
use crate::error::{Error, Result};
use crate::evidence::{Evidence, Weighing};
use crate::model::{Model, Tables};
use crate::rule::{Rule, Scale};
use crate::score::{Scorer, best};
use crate::support::support_rows;
use crate::task::Task;
use crate::treebank::Sentence;
use candle_core::Device;
use rayon::prelude::*;
use std::sync::Arc;

/// The longest supported sentence: the number of candidates grows with the square of the length.
pub(crate) const MOST_WORDS: usize = 4000;

/// How heads are chosen from scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decode {
    /// The best tree with one root. Only its root edge is labelled `root`.
    #[default]
    Tree,
    /// The best head of each word on its own, as in the paper. The result need not be a tree.
    Greedy,
}

/// The settings of a parser.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// How heads are chosen from scores.
    pub decode: Decode,
    /// How similarities become a score; by default as the model was trained.
    pub aggregate: Option<Aggregate>,
    /// How evidence becomes a score; by default the bundle's own rule.
    pub rule: Option<Rule>,
    /// The paper's explainable mode: compare with every training edge one by one, for decisions and for citations.
    pub exact: bool,
}

/// A parser ready to run. Cheap to clone, safe to share.
///
/// ```no_run
/// let parser = citree::Bundle::open("en.citree")?.parser()?;
/// let sentence = parser.split("Anna doesn't like the rain.");
/// for parse in parser.parse(&[sentence])? {
///     println!("{:?} {:?}", parse.heads, parse.labels);
/// }
/// # Ok::<(), citree::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Parser {
    tables: Tables,
    pretrained: Pretrained,
    system: System,
    /// Whether both scorers share an encoder, which then runs once.
    shared: bool,
    heads: Scorer,
    labels: Scorer,
    decode: Decode,
    /// The number of the label `root`, if the treebank has it.
    root: Option<usize>,
    by: Weighing,
    measured: Arc<MeasuredRules>,
    /// The training edges that decide; `None` for a bundle without an index.
    evidence: Option<Arc<Evidence>>,
}

/// The parse of one sentence. All vectors start with an entry for ROOT, whose value is not meaningful.
#[derive(Clone, Debug, PartialEq)]
pub struct Parse {
    /// The head of every word.
    pub heads: Vec<usize>,
    /// The label of every edge.
    pub labels: Vec<String>,
    /// The probability of the head among the positions that the rule considered.
    pub head_probabilities: Vec<f32>,
    /// The probability of the label among those that the decoder allows.
    pub label_probabilities: Vec<f32>,
}

impl Bundle {
    /// A parser with default settings: the bundle's own rule and the best tree.
    pub fn parser(&self) -> Result<Parser> {
        self.parser_with(&Settings::default())
    }

    /// A parser with custom settings. If the bundle has an index, its training edges decide; otherwise the sums stored
    /// by training decide.
    pub fn parser_with(&self, settings: &Settings) -> Result<Parser> {
        // A system that decides by weights does not look at training edges.
        let by_instances = self.model().config.system.inference == Basis::Instances;
        let rule = match &settings.rule {
            Some(rule) => rule.clone(),
            // Its own rule may need training edges that are not there.
            None if !self.has_index() => Rule::sum(),
            None => self.rules().own.clone(),
        };
        let evidence = match by_instances && (self.has_index() || !rule.is_linear() || settings.exact) {
            true => Some(Arc::new(Evidence::new(self.index()?.clone()))),
            false => None,
        };
        let settings = Settings { rule: Some(rule), ..settings.clone() };
        Parser::new(self.model(), evidence, self.rules().clone(), &settings, self.device())
    }
}

impl Parser {
    /// A parser from a model and the training edges that decide. Without them, the sums stored by training decide.
    pub(crate) fn new(
        model: &Model,
        evidence: Option<Arc<Evidence>>,
        measured: Arc<MeasuredRules>,
        settings: &Settings,
        device: &Device,
    ) -> Result<Self> {
        let system = model.config.system;
        let aggregate = settings.aggregate.unwrap_or(model.config.aggregate);
        let scorers = match (&evidence, system.inference) {
            (Some(evidence), Basis::Instances) => {
                let scorer =
                    |task, edges| Scorer::new(edges, support_rows(&evidence.support(task), aggregate, device)?);
                [scorer(Task::Heads, &model.heads.edges)?, scorer(Task::Labels, &model.labels.edges)?]
            }
            _ => [model.heads.scorer(aggregate, device)?, model.labels.scorer(aggregate, device)?],
        };
        let [heads, labels] = scorers;
        let factor = match system.similarity {
            Similarity::Cosine => model.config.scale,
            Similarity::Dot => 1.0,
        };
        // Temperatures were fitted to scores of the model's own size.
        let measured = match aggregate == model.config.aggregate {
            true => measured,
            false => Arc::new(MeasuredRules { own: measured.own.clone(), measured: Vec::new() }),
        };
        let by = Weighing { rule: Rule::sum(), scale: Scale { factor, aggregate }, exact: settings.exact };
        let parser = Self {
            tables: model.tables.clone(),
            pretrained: model.pretrained.clone(),
            system,
            shared: model.config.share_encoder,
            heads,
            labels,
            decode: settings.decode,
            root: model.tables.vocabulary.labels().iter().position(|label| label == "root"),
            by,
            measured,
            evidence,
        };
        let rule = settings.rule.clone().unwrap_or_else(|| parser.measured.own.clone());
        parser.deciding_by(&rule)
    }

    /// The same parser with another rule.
    pub fn deciding_by(&self, rule: &Rule) -> Result<Self> {
        let parser = Self { by: Weighing { rule: rule.clone(), ..self.by.clone() }, ..self.clone() };
        if !rule.is_linear() || parser.by.exact {
            parser.require_instances()?;
        }
        rule.check(self.system.similarity == Similarity::Cosine)
            .map_err(|message| Error::Explanation { message: format!("{message} (this is {})", self.system) })?;
        Ok(parser)
    }

    /// The rule in use.
    pub fn rule(&self) -> &Rule {
        &self.by.rule
    }

    /// Splits a line of plain text into the words of one sentence, as in the training treebank.
    pub fn split(&self, line: &str) -> Sentence {
        self.tables.splits.split(line)
    }

    /// Parses sentences, in order. Existing heads and labels are ignored.
    pub fn parse(&self, sentences: &[Sentence]) -> Result<Vec<Parse>> {
        let analyses = self.analyse(sentences)?;
        Ok(analyses.into_iter().map(|analysis| analysis.map_or_else(Parse::empty, |analysis| analysis.parse)).collect())
    }

    /// Parses sentences and keeps the scores and states behind each parse; `None` for a sentence without words.
    pub fn analyse(&self, sentences: &[Sentence]) -> Result<Vec<Option<Analysis>>> {
        let analyses = self.analyse_by_sums(sentences)?;
        let decide = |analysis: Option<Analysis>| analysis.map(|analysis| self.decide(analysis)).transpose();
        analyses.into_par_iter().map(decide).collect()
    }

    /// The scorer of one of the two tasks.
    pub(crate) fn scorer(&self, task: Task) -> &Scorer {
        match task {
            Task::Heads => &self.heads,
            Task::Labels => &self.labels,
        }
    }

    /// The labels it can predict. A label's number is its index.
    pub fn labels(&self) -> &[String] {
        self.tables.vocabulary.labels()
    }

    pub(crate) fn tables(&self) -> &Tables {
        &self.tables
    }

    /// How evidence becomes a score.
    pub(crate) fn by(&self) -> &Weighing {
        &self.by
    }

    /// The training edges that decide.
    pub(crate) fn evidence(&self) -> Result<&Arc<Evidence>> {
        self.evidence.as_ref().ok_or_else(|| Error::Explanation {
            message: "this parser has no index, so no training edge decides; build one with `citree index`".to_string(),
        })
    }

    /// Refuses a system that decides by learnt weights, not by training edges.
    pub(crate) fn require_instances(&self) -> Result<()> {
        let system = self.system;
        if system.inference == Basis::Instances {
            return Ok(());
        }
        let message = format!(
            "{system} decides by learnt weights, so no training edge carries its decisions; train WIc or IIc to explain \
             them, or look at `citree neighbors`"
        );
        Err(Error::Explanation { message })
    }

    /// Whether training edges decide, rather than learned weights, and are there to be compared with.
    pub(crate) fn decides_by_edges(&self) -> bool {
        self.evidence.is_some()
    }

    /// Sentences as input of the models.
    pub(crate) fn number(&self, sentences: &[Sentence]) -> Result<Vec<Numbered>> {
        self.pretrained.number(&self.tables.vocabulary, sentences)
    }

    /// The heads of a sentence with `n` positions, from the scores of all candidates, `[dependent][head]`.
    fn choose_heads(&self, scores: &[f32], n: usize) -> Vec<usize> {
        match self.decode {
            Decode::Tree => tree::best_tree(scores, n),
            Decode::Greedy => tree::greedy(scores, n),
        }
    }

    /// Whether the decoder allows a label for an edge from this head.
    fn allows_label(&self, label: usize, head: usize) -> bool {
        match (self.decode, self.root) {
            (Decode::Tree, Some(root)) => (label == root) == (head == 0) || self.labels().len() == 1,
            _ => true,
        }
    }

    /// The label of an edge from this head, from the scores of all labels.
    pub(crate) fn choose_label(&self, scores: &[f32], head: usize) -> usize {
        match (self.decode, self.root) {
            (Decode::Tree, Some(root)) if head == 0 => root,
            (Decode::Tree, Some(root)) if scores.len() > 1 => best(scores, Some(root)),
            _ => best(scores, None),
        }
    }
}

impl Parse {
    fn empty() -> Self {
        Self {
            heads: vec![0],
            labels: vec![String::new()],
            head_probabilities: vec![1.0],
            label_probabilities: vec![1.0],
        }
    }

    /// Writes heads and labels into the sentence, and probabilities into MISC if `scores` is set. Clears DEPS, because
    /// the enhanced graph belongs to the previous annotation.
    pub fn annotate(&self, sentence: &mut Sentence, scores: bool) {
        for (index, word) in sentence.words_mut().iter_mut().enumerate() {
            let position = index + 1;
            word.head = Some(self.heads[position]);
            word.label.clone_from(&self.labels[position]);
            word.deps = "_".to_string();
            if scores {
                word.set_misc("HeadProb", &format!("{:.4}", self.head_probabilities[position]));
                word.set_misc("LabelProb", &format!("{:.4}", self.label_probabilities[position]));
            }
        }
    }
}
