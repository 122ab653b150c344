//! Finds the matches of a pattern in a sentence: word after word, with every rule checked as soon as its words are chosen.

use super::{Attribute, Block, End, Match, Pattern, Rule, Test, Value, Values};
use crate::error::{Error, Result};
use crate::treebank::{Sentence, Word};

/// Words tried in one sentence before the search gives up.
const MOST_TRIED: u64 = 20_000_000;
/// Matches in one sentence that are too many to be meant; they would fill the memory.
const MOST_FOUND: usize = 100_000;

pub(super) fn matches(pattern: &Pattern, sentence: &Sentence, most: usize) -> Result<Vec<Match>> {
    let mut tried = 0;
    let mut found = Vec::new();
    let main = Search::new(&pattern.main, sentence.words(), 0);
    let without: Vec<Search> =
        (pattern.without.iter()).map(|block| Search::new(block, sentence.words(), pattern.main.names.len())).collect();
    let mut chosen = vec![0; pattern.main.names.len()];
    let complete = main.each(&mut chosen, 0, &mut tried, &mut |words, tried| {
        for absent in &without {
            let mut more = words.to_vec();
            more.resize(absent.block.names.len(), 0);
            // The search stops at the first match, which is one too many.
            let none = absent.each(&mut more, 0, tried, &mut |_, _| Some(false))?;
            if !none {
                return Some(true);
            }
        }
        if found.len() == MOST_FOUND {
            return None;
        }
        if found.len() < most {
            found.push(Match { words: words.to_vec() });
        }
        Some(found.len() < most)
    });
    if complete.is_none() {
        let name = sentence.name().into_owned();
        return Err(Error::PatternTooWide { sentence: name, words: sentence.words().len() });
    }
    // The order in which words are looked for depends on the rules. Users see the order of the text.
    found.sort_by(|a, b| a.words.cmp(&b.words));
    Ok(found)
}

/// A block and a sentence.
struct Search<'a> {
    block: &'a Block,
    words: &'a [Word],
    /// The places of names in the order in which they are looked for, without those that are known.
    order: Vec<usize>,
    /// The rules that can be checked after each of them.
    rules: Vec<Vec<&'a Rule>>,
    /// The rules about words that are known before.
    before: Vec<&'a Rule>,
}

/// What to do with a match: `Some(true)` goes on, `Some(false)` ends the search, `None` gives up.
type OnMatch<'m> = dyn FnMut(&[usize], &mut u64) -> Option<bool> + 'm;

impl<'a> Search<'a> {
    /// The first `known` names have their words already.
    fn new(block: &'a Block, words: &'a [Word], known: usize) -> Self {
        let count = block.names.len();
        let mut placed: Vec<bool> = (0..count).map(|name| name < known).collect();
        let mut order = Vec::new();
        while order.len() + known < count {
            // Next is a word that most rules tie to those that are chosen, so that few words have to be tried.
            let tied = |name: &usize| {
                let to_placed = |rule: &&Rule| {
                    let own = names(rule);
                    own.contains(name) && own.iter().all(|other| other == name || placed[*other])
                };
                block.rules.iter().filter(to_placed).map(weight).sum::<usize>()
            };
            let next = (0..count).filter(|name| !placed[*name]).max_by_key(|name| (tied(name), count - name));
            let Some(next) = next else { break };
            placed[next] = true;
            order.push(next);
        }
        let step = |rule: &Rule| {
            let steps = names(rule).into_iter().filter(|name| *name >= known);
            steps.filter_map(|name| order.iter().position(|own| *own == name)).max()
        };
        let rules = (0..order.len()).map(|at| block.rules.iter().filter(|rule| step(rule) == Some(at)).collect());
        let before = block.rules.iter().filter(|rule| step(rule).is_none()).collect();
        Self { rules: rules.collect(), block, words, before, order }
    }

    /// Calls `on_match` with every match, until it says otherwise.
    fn each(&self, chosen: &mut [usize], step: usize, tried: &mut u64, on_match: &mut OnMatch<'_>) -> Option<bool> {
        if step == 0 && !self.before.iter().all(|rule| self.holds(rule, chosen)) {
            return Some(true);
        }
        let Some(&name) = self.order.get(step) else { return on_match(chosen, tried) };
        for word in self.candidates(name, step, chosen) {
            *tried += 1;
            if *tried > MOST_TRIED {
                return None;
            }
            // Different names stand for different words.
            if chosen.contains(&word) {
                continue;
            }
            chosen[name] = word;
            let holds = self.rules[step].iter().all(|rule| self.holds(rule, chosen));
            let goes_on = if holds { self.each(chosen, step + 1, tried, on_match) } else { Some(true) };
            chosen[name] = 0;
            if goes_on != Some(true) {
                return goes_on;
            }
        }
        Some(true)
    }

    /// The words that can have a name: the head of a chosen word, the neighbour of one, or all.
    fn candidates(&self, name: usize, step: usize, chosen: &[usize]) -> std::ops::RangeInclusive<usize> {
        for rule in &self.rules[step] {
            let one = match rule {
                Rule::Edge { head: End::Word(head), dependent, .. } if *head == name && dependent != head => {
                    self.words[chosen[*dependent] - 1].head
                }
                Rule::Order { first, second, directly: true } if *first == name && second != first => {
                    chosen[*second].checked_sub(1)
                }
                Rule::Order { first, second, directly: true } if *second == name && second != first => {
                    Some(chosen[*first] + 1)
                }
                _ => continue,
            };
            let one = one.filter(|word| (1..=self.words.len()).contains(word));
            return one.map_or(std::ops::RangeInclusive::new(1, 0), |word| word..=word);
        }
        1..=self.words.len()
    }

    fn holds(&self, rule: &Rule, chosen: &[usize]) -> bool {
        let word = |name: usize| &self.words[chosen[name] - 1];
        match rule {
            Rule::Word { word: name, test } => test.holds(word(*name)),
            Rule::Edge { head, dependent, labels, negated } => {
                let head = match head {
                    End::Root => 0,
                    End::Word(name) => chosen[*name],
                };
                let dependent = word(*dependent);
                let is_of = |label: &String| covers(label, &dependent.label);
                dependent.head == Some(head) && labels.iter().any(is_of) != *negated
            }
            Rule::Order { first, second, directly } => match directly {
                true => chosen[*first] + 1 == chosen[*second],
                false => chosen[*first] < chosen[*second],
            },
            Rule::Same { words, attributes, negated } => {
                let values = [0, 1].map(|at: usize| attributes[at].of(word(words[at])));
                values[0].is_some() && values[1].is_some() && (values[0] == values[1]) != *negated
            }
        }
    }
}

/// The names that a rule is about.
fn names(rule: &Rule) -> Vec<usize> {
    match rule {
        Rule::Word { word, .. } => vec![*word],
        Rule::Edge { head: End::Root, dependent, .. } => vec![*dependent],
        Rule::Edge { head: End::Word(head), dependent, .. } => vec![*head, *dependent],
        Rule::Order { first, second, .. } => vec![*first, *second],
        Rule::Same { words, .. } => words.to_vec(),
    }
}

/// How much a rule narrows the words that have to be tried.
fn weight(rule: &Rule) -> usize {
    match rule {
        Rule::Edge { head: End::Word(_), .. } => 100,
        Rule::Order { directly: true, .. } => 100,
        Rule::Edge { .. } => 20,
        Rule::Word { .. } => 10,
        Rule::Order { .. } | Rule::Same { .. } => 1,
    }
}

/// Whether a label is the one that was named. A name without a subtype stands for all its subtypes.
fn covers(named: &str, label: &str) -> bool {
    label.strip_prefix(named).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

impl Test {
    fn holds(&self, word: &Word) -> bool {
        let value = self.attribute.of(word);
        let is_one_of =
            |values: &[Value]| value.is_some_and(|value| values.iter().any(|one| one.is(&self.attribute, value)));
        match &self.values {
            Values::Any => value.is_some(),
            Values::None => value.is_none(),
            Values::OneOf(values) => is_one_of(values),
            Values::NoneOf(values) => value.is_some() && !is_one_of(values),
        }
    }
}

impl Value {
    fn is(&self, attribute: &Attribute, value: &str) -> bool {
        let is = |value: &str| match self {
            Self::Text(text) => text == value,
            Self::Regex(regex) => regex.is_match(value),
        };
        // A feature can have several values: Case=Acc,Nom.
        is(value) || matches!(attribute, Attribute::Feature(_)) && value.split(',').any(is)
    }
}

impl Attribute {
    /// The value that a word has.
    fn of<'w>(&self, word: &'w Word) -> Option<&'w str> {
        let set = |value: &'w str| Some(value).filter(|value| *value != "_");
        match self {
            Self::Form => Some(&word.form),
            // The lemma of _ is _.
            Self::Lemma => Some(word.lemma.as_str()).filter(|lemma| *lemma != "_" || word.form == "_"),
            Self::Upos => set(&word.upos),
            Self::Xpos => set(&word.xpos),
            Self::Label => set(&word.label),
            Self::Feature(name) => word
                .feats
                .split('|')
                .find_map(|pair| pair.split_once('=').filter(|(key, _)| key == name))
                .map(|(_, value)| value),
            Self::Misc(name) => word.misc(name),
        }
    }
}
