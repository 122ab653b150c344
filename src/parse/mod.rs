//! Parsing: candidates, decisions, heads and labels. Fast mode compares with the summed support. Other rules, and the
//! exact mode, decide again by comparing with individual training edges.

mod analysis;
mod decision;
mod decoder;
mod fast;
mod output;
mod probability;
mod tree;

pub use analysis::Analysis;
pub(crate) use decision::{Candidate, Choice, Decision};
pub use decoder::Decode;
pub use output::Parse;

use crate::bundle::{Bundle, MeasuredRules};
use crate::config::{Aggregate, Basis, Similarity, System};
use crate::encoder::{Numbered, Pretrained};
use crate::error::{Error, Result};
use crate::evidence::{Evidence, Weighing};
use crate::flow::{Flow, Interrupt};
use crate::model::{Model, Tables};
use crate::rule::{Rule, Scale};
use crate::score::Scorer;
use crate::support::support_rows;
use crate::task::Task;
use crate::treebank::{Cutter, Running, Sentence, TextTables, Unseen};
use candle_core::Device;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::PathBuf;
use std::sync::Arc;

/// The longest supported sentence: the number of candidates grows with the square of the length.
pub(crate) const MOST_WORDS: usize = 4000;

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
    /// The treebanks whose edges count; all if none is named.
    pub treebanks: Vec<String>,
    /// How many times an edge of a treebank counts, by the treebank's name; once if it has no weight here.
    pub weights: Vec<(String, f64)>,
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
    tables: Arc<Tables>,
    text: Option<Arc<TextTables>>,
    pretrained: Pretrained,
    system: System,
    /// Whether both scorers share an encoder, which then runs once.
    shared: bool,
    heads: Scorer,
    labels: Scorer,
    decode: Decode,
    /// The labels it can predict.
    label_names: Arc<[String]>,
    /// The number of the label `root`, if the treebank has it.
    root: Option<usize>,
    /// Labels of which no training edge is left.
    empty_labels: Vec<usize>,
    by: Weighing,
    measured: Arc<MeasuredRules>,
    /// The training edges that decide; `None` for a bundle without an index.
    evidence: Option<Arc<Evidence>>,
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
        let chosen = !settings.treebanks.is_empty() || !settings.weights.is_empty();
        let evidence = match by_instances && (self.has_index() || !rule.is_linear() || settings.exact || chosen) {
            true => Some(self.evidence_for(settings)?),
            false => None,
        };
        let settings = Settings { rule: Some(rule), ..settings.clone() };
        Parser::new(self.model(), evidence, self.rules().clone(), &settings, self.device())
    }

    /// The training edges that count under some settings.
    pub(crate) fn evidence_for(&self, settings: &Settings) -> Result<Arc<Evidence>> {
        let all = Evidence::new(self.index()?.clone());
        Ok(Arc::new(all.of_treebanks(&settings.treebanks, &settings.weights)?))
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
                let scorer = |task, edges| {
                    Scorer::new(edges, support_rows(&evidence.support(task, aggregate), aggregate, device)?)
                };
                [scorer(Task::Heads, &model.heads.edges)?, scorer(Task::Labels, &model.labels.edges)?]
            }
            _ => [model.heads.scorer(aggregate, device)?, model.labels.scorer(aggregate, device)?],
        };
        let [heads, labels] = scorers;
        evidence.as_ref().map_or(Ok(()), |evidence| evidence.edges().intact())?;
        let factor = match system.similarity {
            Similarity::Cosine => model.config.scale,
            Similarity::Dot => 1.0,
        };
        // Temperatures were fitted to scores of the model's own size.
        let measured = match aggregate == model.config.aggregate {
            true => measured,
            false => Arc::new(MeasuredRules { own: measured.own.clone(), measured: Vec::new() }),
        };
        let (scale, interrupt) = (Scale { factor, aggregate }, Interrupt::default());
        let by = Weighing { rule: Rule::sum(), scale, exact: settings.exact, interrupt };
        let known = model.tables.vocabulary.labels();
        let label_names: Arc<[String]> = evidence.as_ref().map_or(known, |evidence| evidence.edges().labels()).into();
        if system.inference == Basis::Instances
            && let Some(evidence) = &evidence
        {
            evidence.require_labels()?;
        }
        let count = |label: usize| evidence.as_ref().map_or(1, |evidence| evidence.count_of_label(label as u32));
        let parser = Self {
            tables: model.tables.clone(),
            text: model.text.clone(),
            pretrained: model.pretrained.clone(),
            system,
            shared: model.config.share_encoder,
            heads,
            labels,
            decode: settings.decode,
            root: label_names.iter().position(|label| label == "root"),
            empty_labels: (0..label_names.len()).filter(|label| count(*label) == 0).collect(),
            label_names,
            by,
            measured,
            evidence,
        };
        let rule = settings.rule.clone().unwrap_or_else(|| parser.measured.own.clone());
        parser.deciding_by(&rule)
    }

    /// The same parser with another rule.
    pub(crate) fn deciding_by(&self, rule: &Rule) -> Result<Self> {
        // Decisions and answers name the temperature, whether it was given or is that of the model.
        let rule = rule.with_scale(self.by.scale);
        let parser = Self { by: Weighing { rule: rule.clone(), ..self.by.clone() }, ..self.clone() };
        if !rule.is_linear() || parser.by.exact {
            parser.require_instances()?;
        }
        rule.check(self.system.similarity == Similarity::Cosine)
            .map_err(|message| Error::Explanation { message: format!("{message} (this is {})", self.system) })?;
        Ok(parser)
    }

    /// The same parser, which asks between two steps of its work whether to go on, from any thread. If not, what it does
    /// ends with [`Error::Stopped`].
    ///
    /// ```no_run
    /// use citree::{Bundle, Flow};
    /// use std::time::{Duration, Instant};
    /// let deadline = Instant::now() + Duration::from_secs(1);
    /// let ask = move || if Instant::now() < deadline { Flow::Continue } else { Flow::Stop };
    /// let parser = Bundle::open("en.citree")?.parser()?.interrupted_by(ask);
    /// # Ok::<(), citree::Error>(())
    /// ```
    pub fn interrupted_by(&self, ask: impl Fn() -> Flow + Send + Sync + 'static) -> Self {
        self.with_interrupt(Interrupt::new(ask))
    }

    /// The same parser with this question.
    pub(crate) fn with_interrupt(&self, interrupt: Interrupt) -> Self {
        Self { by: Weighing { interrupt, ..self.by.clone() }, ..self.clone() }
    }

    /// The rule in use.
    pub fn rule(&self) -> &Rule {
        &self.by.rule
    }

    /// How many times the edges of a treebank count, where that is not once.
    pub(crate) fn weights_by_name(&self) -> BTreeMap<String, f64> {
        self.evidence.as_ref().map_or_else(BTreeMap::new, |evidence| evidence.weights_by_name())
    }

    /// Whether a rule compares every candidate with every training edge, which takes long.
    pub fn reads_all_by(&self, rule: &Rule) -> bool {
        rule.reads_all(self.system.similarity == Similarity::Cosine)
    }

    /// Splits a line of plain text into the words of one sentence, as in the training treebank.
    pub fn split(&self, line: &str) -> Sentence {
        self.tables.splits.split(line)
    }

    /// Cuts running text into sentences and words, as in the training treebank. A blank line ends a paragraph. Each token
    /// has its place in the text, in characters, as `TokenRange` in MISC.
    ///
    /// ```no_run
    /// let parser = citree::Bundle::open("en.citree")?.parser()?;
    /// for sentence in parser.sentences("Mr. Li slept. It rained.") {
    ///     println!("{:?}", sentence.text());
    /// }
    /// # Ok::<(), citree::Error>(())
    /// ```
    pub fn sentences(&self, text: &str) -> impl Iterator<Item = Sentence> {
        // Memory that is text already can be read without errors.
        self.running(text.as_bytes(), "text").filter_map(Result::ok)
    }

    /// The same for text that is read. `name` is what messages call it.
    pub(crate) fn running<R: BufRead>(&self, read: R, name: impl Into<PathBuf>) -> Running<'_, R> {
        let cutter = Cutter { splits: &self.tables.splits, tables: self.text.as_deref() };
        Running::new(cutter, read, name)
    }

    /// Says so if a sentence looks as if it were of another language than the training treebank, by the words, pieces of
    /// words and characters that the treebank never showed. Small treebanks show too little to tell.
    pub fn warning(&self, sentence: &Sentence) -> Option<String> {
        self.unseen(sentence).filter(Unseen::is_foreign).map(|unseen| unseen.to_string())
    }

    /// How much of a sentence the treebank never showed.
    pub(crate) fn unseen(&self, sentence: &Sentence) -> Option<Unseen> {
        self.text.as_ref()?.unseen(sentence)
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

    /// Refuses training edges of which something that was read so far differs from its checksum.
    fn intact(&self) -> Result<()> {
        self.evidence.as_ref().map_or(Ok(()), |evidence| evidence.edges().intact())
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
        &self.label_names
    }

    /// The number of a label, if it can predict it.
    pub(crate) fn label(&self, name: &str) -> Option<usize> {
        self.labels().iter().position(|label| label == name)
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
}
