//! The work of the engine: the sentences of several requests go through the encoder together, then each request is
//! answered by itself.

use super::cache::{Analyses, AnalysisCache, Key};
use super::engine::{Bounds, Engine, Work};
use super::limits::Limits;
use super::metrics::Metrics;
use super::problem::Problem;
use super::snapshot::Snapshot;
use crate::explain::{Explainer, Explanation};
use crate::parse::Analysis;
use crate::rule::Rule;
use crate::treebank::Sentence;
use std::sync::Arc;

/// How much more work a word is by a rule that compares its candidates with every training edge.
pub(super) const COMPARING: usize = 20;

/// A request, ready to be worked on.
pub(super) struct QueuedRequest {
    /// What all of it is answered from.
    snapshot: Arc<Snapshot>,
    /// What it wants parsed; may be empty.
    sentences: Vec<Sentence>,
    /// The rule that decides.
    rule: Rule,
    /// Work beyond that, in words.
    more: usize,
    /// Whether the same sentences will be asked about again soon, as the page does.
    again: bool,
    /// Makes the answer; called again, for this request alone, where something failed.
    answer: Box<Answer>,
}

impl QueuedRequest {
    /// A request about some sentences, or about none.
    pub(super) fn new(
        snapshot: Arc<Snapshot>,
        sentences: Vec<Sentence>,
        rule: Rule,
        answer: impl Fn(&Context<'_>) -> Result<Reply, Problem> + Send + Sync + 'static,
    ) -> Self {
        Self { snapshot, sentences, rule, more: 0, again: false, answer: Box::new(answer) }
    }

    /// The same where it is more work than parsing so many words.
    pub(super) fn with_more(self, more: usize) -> Self {
        Self { more, ..self }
    }

    /// The same where more will be asked about these sentences.
    pub(super) fn coming_again(self) -> Self {
        Self { again: true, ..self }
    }
}

type Answer = dyn Fn(&Context<'_>) -> Result<Reply, Problem> + Send + Sync;

/// What an answer is made from.
pub(super) struct Context<'a> {
    /// The bundle.
    pub(super) snapshot: &'a Snapshot,
    /// Its explainer, deciding by the rule of the request.
    pub(super) explainer: &'a Explainer,
    /// The sentences of the request.
    pub(super) sentences: &'a [Sentence],
    /// Their analyses; `None` for one without words.
    pub(super) analyses: &'a [Option<Analysis>],
}

impl<'a> Context<'a> {
    /// The sentences that have words, with their analyses.
    pub(super) fn analysed(&self) -> impl Iterator<Item = (&'a Sentence, &'a Analysis)> {
        let both = self.sentences.iter().zip(self.analyses);
        both.filter_map(|(sentence, analysis)| Some((sentence, analysis.as_ref()?)))
    }
}

impl Context<'_> {
    /// The sentences that have words as they were analysed, with no edge explained.
    pub(super) fn explanations(&self) -> impl Iterator<Item = Explanation> {
        self.analysed().map(|(sentence, analysis)| self.explainer.unexplained(sentence, analysis))
    }
}

/// The body of an answer.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) kind: &'static str,
    pub(super) body: Vec<u8>,
}

impl Reply {
    pub(super) fn json(value: &impl serde::Serialize) -> Result<Self, Problem> {
        let body = serde_json::to_vec(value).map_err(|_| Problem::internal())?;
        Ok(Self { kind: "application/json", body })
    }

    pub(super) fn html(text: String) -> Self {
        Self { kind: "text/html; charset=utf-8", body: text.into_bytes() }
    }
}

/// What the engine's threads share.
pub(super) struct Compute {
    metrics: Arc<Metrics>,
    cache: AnalysisCache,
}

impl Compute {
    /// Starts the threads.
    pub(super) fn start(metrics: &Arc<Metrics>, limits: &Limits, threads: usize) -> std::io::Result<Engine<Self>> {
        let bounds =
            Bounds { threads, together: limits.batch, waiting: limits.waiting_words, patience: limits.waiting_time };
        Engine::start(Self { metrics: metrics.clone(), cache: AnalysisCache::default() }, bounds)
    }

    /// Works on requests that pinned the same snapshot.
    fn work_from(
        &self,
        snapshot: &Snapshot,
        requests: &[&QueuedRequest],
        done: &mut dyn FnMut(usize, Result<Reply, Problem>),
    ) {
        // What the sum rule takes is not worth caching.
        let slow = |request: &QueuedRequest| request.again && !request.rule.is_linear();
        let key =
            |request: &QueuedRequest| slow(request).then(|| Key::new(snapshot, &request.rule, &request.sentences));
        let keys: Vec<Option<Key>> = requests.iter().map(|request| key(request)).collect();
        let cached: Vec<Option<Analyses>> = keys.iter().map(|key| self.cache.get(key.as_ref()?)).collect();
        let new = requests.iter().zip(&cached).filter(|(_, cached)| cached.is_none());
        let sentences: Vec<Sentence> = new.flat_map(|(request, _)| request.sentences.iter().cloned()).collect();
        let mut analyses = match snapshot.explainer.parser().analyse_by_sums(&sentences) {
            Ok(analyses) => analyses,
            // Alone it is its own fault; of several, each is tried alone.
            Err(error) => {
                return if let [_] = requests {
                    done(0, Err(error.into()))
                };
            }
        };
        self.metrics.parsed(sentences.iter().map(|sentence| sentence.words().len()).sum());
        let mut first = 0;
        let mut order: Vec<(usize, usize)> = Vec::with_capacity(requests.len());
        for (place, request) in requests.iter().enumerate() {
            order.push((place, first));
            first += if cached[place].is_none() { request.sentences.len() } else { 0 };
        }
        // Nobody waits for what is more work than their own.
        order.sort_by_key(|&(place, _)| self.size(requests[place]));
        for (place, first) in order {
            let request = requests[place];
            let mut answer = || {
                let explainer = snapshot.explainer.deciding_by(&request.rule)?;
                let analyses = match &cached[place] {
                    Some(analyses) => analyses.clone(),
                    None => {
                        let own = analyses[first..][..request.sentences.len()].iter_mut().map(Option::take);
                        let decide = |analysis: Option<Analysis>| {
                            analysis.map(|analysis| explainer.parser().decide(analysis)).transpose()
                        };
                        Arc::new(own.map(decide).collect::<crate::error::Result<Vec<_>>>()?)
                    }
                };
                if let (Some(key), None) = (&keys[place], &cached[place]) {
                    self.cache.put(key.clone(), &analyses);
                }
                let sentences = request.sentences.as_slice();
                (request.answer)(&Context { snapshot, explainer: &explainer, sentences, analyses: &analyses })
            };
            done(place, answer());
        }
    }
}

impl Work for Compute {
    type Request = QueuedRequest;
    type Answer = Result<Reply, Problem>;

    fn size(&self, request: &QueuedRequest) -> usize {
        let words: usize = request.sentences.iter().map(|sentence| sentence.words().len()).sum();
        1 + request.more + words * if request.rule.is_linear() { 1 } else { COMPARING }
    }

    fn sentences(&self, request: &QueuedRequest) -> usize {
        request.sentences.len()
    }

    fn work(&self, requests: &[&QueuedRequest], done: &mut dyn FnMut(usize, Self::Answer)) {
        // All but ever the same: another only while requests of two generations wait.
        let mut places: Vec<usize> = (0..requests.len()).collect();
        while let Some(&first) = places.first() {
            let snapshot = &requests[first].snapshot;
            let (same, others): (Vec<usize>, Vec<usize>) =
                places.iter().partition(|&&place| Arc::ptr_eq(&requests[place].snapshot, snapshot));
            let own: Vec<&QueuedRequest> = same.iter().map(|&place| requests[place]).collect();
            self.work_from(snapshot, &own, &mut |at, answer| done(same[at], answer));
            places = others;
        }
    }

    fn failed(&self, panicked: bool) -> Self::Answer {
        if panicked {
            self.metrics.panicked();
        }
        Err(Problem::internal())
    }

    fn taken(&self, requests: usize) {
        self.metrics.taken(requests);
    }

    fn waits(&self, size: usize) {
        self.metrics.waits(size);
    }
}

#[cfg(test)]
mod tests;
