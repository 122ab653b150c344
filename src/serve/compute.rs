//! The engine's computation. The sentences of several requests are encoded in one batch; then each request is answered
//! separately.

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
use citree_index::container::check_mapped;
use std::sync::Arc;

/// The cost factor of a word under a rule that compares its candidates with every training edge.
pub(super) const COMPARING: usize = 20;

/// A request ready for the engine.
pub(super) struct QueuedRequest {
    /// The snapshot that the whole response is computed from.
    snapshot: Arc<Snapshot>,
    /// The sentences to parse; can be empty.
    sentences: Vec<Sentence>,
    /// The rule that decides.
    rule: Rule,
    /// Additional cost, in words.
    more: usize,
    /// Whether the client will soon ask about the same sentences again, as the page does. Caches the analysis.
    again: bool,
    /// Computes the response. Called again for this request alone if a batch failed.
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

    /// Adds the cost of work beyond parsing, in words.
    pub(super) fn with_more(self, more: usize) -> Self {
        Self { more, ..self }
    }

    /// Whether its rule compares every candidate with every training edge.
    fn compares_all(&self) -> bool {
        self.snapshot.explainer.parser().reads_all_by(&self.rule)
    }

    /// Marks that the client will ask about these sentences again.
    pub(super) fn coming_again(self) -> Self {
        Self { again: true, ..self }
    }
}

type Answer = dyn Fn(&Context<'_>) -> Result<Reply, Problem> + Send + Sync;

/// The input of a response.
pub(super) struct Context<'a> {
    /// The pinned snapshot of the bundle.
    pub(super) snapshot: &'a Snapshot,
    /// Its explainer, under the rule of the request.
    pub(super) explainer: &'a Explainer,
    /// The sentences of the request.
    pub(super) sentences: &'a [Sentence],
    /// Their analyses; `None` for a sentence without words.
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
    /// The analysed sentences as explanations without any explained edge.
    pub(super) fn explanations(&self) -> impl Iterator<Item = Explanation> {
        self.analysed().map(|(sentence, analysis)| self.explainer.unexplained(sentence, analysis))
    }
}

/// The content type and the body of a response.
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

/// The state that the engine's threads share.
pub(super) struct Compute {
    metrics: Arc<Metrics>,
    cache: AnalysisCache,
}

impl Compute {
    /// Starts the engine's threads.
    pub(super) fn start(metrics: &Arc<Metrics>, limits: &Limits, threads: usize) -> std::io::Result<Engine<Self>> {
        let bounds = Bounds {
            threads,
            together: limits.batch,
            batch: limits.batch_words,
            short: limits.short_words,
            waiting: limits.waiting_words,
            patience: limits.waiting_time,
        };
        Engine::start(Self { metrics: metrics.clone(), cache: AnalysisCache::default() }, bounds)
    }

    /// Processes requests that pinned the same snapshot.
    fn work_from(
        &self,
        snapshot: &Snapshot,
        requests: &[&QueuedRequest],
        done: &mut dyn FnMut(usize, Result<Reply, Problem>),
    ) {
        if check_mapped().is_err() {
            return (0..requests.len()).for_each(|place| done(place, Err(Problem::damaged())));
        }
        // Other analyses are cheap, so they are not cached.
        let slow = |request: &QueuedRequest| request.again && request.compares_all();
        let key =
            |request: &QueuedRequest| slow(request).then(|| Key::new(snapshot, &request.rule, &request.sentences));
        let keys: Vec<Option<Key>> = requests.iter().map(|request| key(request)).collect();
        let cached: Vec<Option<Analyses>> = keys.iter().map(|key| self.cache.get(key.as_ref()?)).collect();
        let new = requests.iter().zip(&cached).filter(|(_, cached)| cached.is_none());
        let sentences: Vec<Sentence> = new.flat_map(|(request, _)| request.sentences.iter().cloned()).collect();
        let mut analyses = match snapshot.explainer.parser().analyse_by_sums(&sentences) {
            Ok(analyses) => analyses,
            // A single request gets the error. After an error in a batch, the engine retries each request alone.
            Err(error) => {
                let problem = || if check_mapped().is_ok() { error.into() } else { Problem::damaged() };
                return if let [_] = requests {
                    done(0, Err(problem()))
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
        // Smallest requests first, so that none waits for a larger one.
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
            let answer = answer();
            // What was computed from a file that was truncated meanwhile is not an answer.
            done(place, if check_mapped().is_ok() { answer } else { Err(Problem::damaged()) });
        }
    }
}

impl Work for Compute {
    type Request = QueuedRequest;
    type Answer = Result<Reply, Problem>;

    fn size(&self, request: &QueuedRequest) -> usize {
        let words: usize = request.sentences.iter().map(|sentence| sentence.words().len()).sum();
        1 + request.more + words * if request.compares_all() { COMPARING } else { 1 }
    }

    fn sentences(&self, request: &QueuedRequest) -> usize {
        request.sentences.len()
    }

    fn work(&self, requests: &[&QueuedRequest], done: &mut dyn FnMut(usize, Self::Answer)) {
        // The requests almost always share one snapshot. They differ only while requests of two generations are queued.
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
pub(super) mod tests;
