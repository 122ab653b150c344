//! The work of the engine: the sentences of several requests go through the encoder together, then each request is
//! answered by itself.

use super::engine::{Bounds, Engine, Work};
use super::limits::Limits;
use super::live::{Current, Live};
use super::memory::{Key, Memory, Readings};
use super::metrics::Metrics;
use super::problem::Problem;
use crate::explain::{Explainer, Explanation, Inference, Reading};
use crate::treebank::Sentence;
use std::sync::Arc;

/// How much more work a word is by a rule that compares its candidates with every training edge.
pub(super) const COMPARING: usize = 20;

/// A request, ready to be worked on.
pub(super) struct Ask {
    /// What it wants parsed; may be empty.
    sentences: Vec<Sentence>,
    /// The rule that decides.
    inference: Inference,
    /// Work beyond that, in words.
    more: usize,
    /// Whether the same sentences will be asked about again soon, as the page does.
    again: bool,
    /// Makes the answer; called again, for this request alone, where something failed.
    answer: Box<Answer>,
}

impl Ask {
    /// A request about some sentences, or about none.
    pub(super) fn new(
        sentences: Vec<Sentence>,
        inference: Inference,
        answer: impl Fn(&Context<'_>) -> Result<Reply, Problem> + Send + Sync + 'static,
    ) -> Self {
        Self { sentences, inference, more: 0, again: false, answer: Box::new(answer) }
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
    pub(super) current: &'a Current,
    /// Its explainer, deciding by the rule of the request.
    pub(super) explainer: &'a Explainer,
    /// The sentences of the request.
    pub(super) sentences: &'a [Sentence],
    /// How they were read; `None` for one without words.
    pub(super) readings: &'a [Option<Reading>],
}

impl<'a> Context<'a> {
    /// The sentences that have words, with how they were read.
    pub(super) fn read(&self) -> impl Iterator<Item = (&'a Sentence, &'a Reading)> {
        self.sentences.iter().zip(self.readings).filter_map(|(sentence, reading)| Some((sentence, reading.as_ref()?)))
    }
}

impl Context<'_> {
    /// The sentences that have words as they were read, with no edge explained.
    pub(super) fn explanations(&self) -> impl Iterator<Item = Explanation> {
        self.read().map(|(sentence, reading)| self.explainer.unexplained(sentence, reading))
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
    live: Arc<Live>,
    metrics: Arc<Metrics>,
    memory: Memory,
}

impl Compute {
    /// Starts the threads.
    pub(super) fn start(
        live: &Arc<Live>,
        metrics: &Arc<Metrics>,
        limits: &Limits,
        threads: usize,
    ) -> std::io::Result<Engine<Self>> {
        let bounds =
            Bounds { threads, together: limits.batch, waiting: limits.waiting_words, patience: limits.waiting_time };
        Engine::start(Self { live: live.clone(), metrics: metrics.clone(), memory: Memory::default() }, bounds)
    }
}

impl Work for Compute {
    type Ask = Ask;
    type Answer = Result<Reply, Problem>;

    fn size(&self, ask: &Ask) -> usize {
        let words: usize = ask.sentences.iter().map(|sentence| sentence.words().len()).sum();
        1 + ask.more + words * if ask.inference == Inference::Sum { 1 } else { COMPARING }
    }

    fn sentences(&self, ask: &Ask) -> usize {
        ask.sentences.len()
    }

    fn work(&self, asks: &[&Ask], done: &mut dyn FnMut(usize, Self::Answer)) {
        let current = self.live.current();
        // What the sum rule takes is not worth remembering.
        let slow = |ask: &Ask| ask.again && ask.inference != Inference::Sum;
        let key = |ask: &Ask| slow(ask).then(|| Key::new(&current, ask.inference, &ask.sentences));
        let keys: Vec<Option<Key>> = asks.iter().map(|ask| key(ask)).collect();
        let known: Vec<Option<Readings>> = keys.iter().map(|key| self.memory.recall(key.as_ref()?)).collect();
        let unknown = asks.iter().zip(&known).filter(|(_, known)| known.is_none());
        let sentences: Vec<Sentence> = unknown.flat_map(|(ask, _)| ask.sentences.iter().cloned()).collect();
        let mut analyses = match current.explainer.parser().analyse(&sentences) {
            Ok(analyses) => analyses,
            // Alone it is its own fault; of several, each is tried alone.
            Err(error) => {
                return if let [_] = asks {
                    done(0, Err(error.into()))
                };
            }
        };
        self.metrics.parsed(sentences.iter().map(|sentence| sentence.words().len()).sum());
        let mut first = 0;
        let mut order: Vec<(usize, usize)> = Vec::with_capacity(asks.len());
        for (place, ask) in asks.iter().enumerate() {
            order.push((place, first));
            first += if known[place].is_none() { ask.sentences.len() } else { 0 };
        }
        // Nobody waits for what is more work than their own.
        order.sort_by_key(|&(place, _)| self.size(asks[place]));
        for (place, first) in order {
            let ask = asks[place];
            let mut answer = || {
                let explainer = current.explainer.deciding_by(ask.inference)?;
                let readings = match &known[place] {
                    Some(readings) => readings.clone(),
                    None => {
                        let own = analyses[first..][..ask.sentences.len()].iter_mut().map(Option::take);
                        let read = own.map(|analysis| analysis.map(|analysis| explainer.reading(analysis)).transpose());
                        Arc::new(read.collect::<crate::error::Result<Vec<_>>>()?)
                    }
                };
                if let (Some(key), None) = (&keys[place], &known[place]) {
                    self.memory.keep(key.clone(), &readings);
                }
                let (current, sentences) = (&*current, ask.sentences.as_slice());
                (ask.answer)(&Context { current, explainer: &explainer, sentences, readings: &readings })
            };
            done(place, answer());
        }
    }

    fn failed(&self, panicked: bool) -> Self::Answer {
        if panicked {
            self.metrics.panicked();
        }
        Err(Problem::internal())
    }

    fn taken(&self, asks: usize) {
        self.metrics.taken(asks);
    }

    fn waits(&self, size: usize) {
        self.metrics.waits(size);
    }
}

#[cfg(test)]
mod tests;
