//! What the models of the words see of an edge, as hashes: the columns of both words, words around them, and the tree.

use crate::audit::subject::Subject;

/// Which columns a label model sees, beside the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// Parts of speech and morphological features.
    Grammar,
    /// Forms and lemmas.
    Words,
}

/// The columns of a word, hashed.
#[derive(Clone, Copy)]
struct Columns {
    form: u64,
    lemma: u64,
    suffix: u64,
    shape: u64,
    upos: u64,
    xpos: u64,
    feats: u64,
}

/// ROOT, and what is before and after a sentence.
const ROOT: Columns = Columns { form: 1, lemma: 1, suffix: 1, shape: 1, upos: 1, xpos: 1, feats: 1 };
const OUTSIDE: Columns = Columns { form: 2, lemma: 2, suffix: 2, shape: 2, upos: 2, xpos: 2, feats: 2 };
/// The label of ROOT.
const NONE: u64 = u64::MAX;

/// A sentence as the models see it. Words are ids, from 1.
pub(super) struct Tree {
    words: Vec<Columns>,
    heads: Vec<usize>,
    labels: Vec<u32>,
    /// The dependents of each word, and those of ROOT, without punctuation.
    children: Vec<Vec<usize>>,
}

impl Tree {
    pub(super) fn new(subject: &Subject<'_>, label: impl Fn(&str) -> u32) -> Self {
        let words = subject.sentence.words();
        let mut children = vec![Vec::new(); words.len() + 1];
        for (word, (&head, own)) in (1..).zip(subject.heads.iter().zip(words)) {
            if own.label != crate::audit::PUNCT {
                children[head].push(word);
            }
        }
        let columns = |word: &crate::treebank::Word| {
            let form = word.form.to_lowercase();
            let suffix = form.char_indices().rev().nth(2).map_or(&form[..], |(at, _)| &form[at..]);
            let lemma = if word.lemma == "_" { form.as_str() } else { &word.lemma };
            let [form, suffix, lemma] = [&form, suffix, lemma].map(hash);
            let [shape, upos, xpos, feats] =
                [&shape(&word.form), &word.upos, &word.xpos, &word.feats].map(|text| hash(text));
            Columns { form, lemma, suffix, shape, upos, xpos, feats }
        };
        Self {
            words: words.iter().map(columns).collect(),
            heads: subject.heads.clone(),
            labels: words.iter().map(|word| label(&word.label)).collect(),
            children,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    pub(super) fn head(&self, word: usize) -> usize {
        self.heads[word - 1]
    }

    pub(super) fn label(&self, word: usize) -> u32 {
        self.labels[word - 1]
    }

    fn columns(&self, word: usize) -> &Columns {
        word.checked_sub(1).map_or(&ROOT, |at| &self.words[at])
    }

    /// The word before another one, and the word after it.
    fn around(&self, word: usize) -> [&Columns; 2] {
        let inside = |place: Option<usize>| place.and_then(|at| self.words.get(at)).unwrap_or(&OUTSIDE);
        // ROOT has no neighbours.
        if word == 0 { [&OUTSIDE; 2] } else { [inside(word.checked_sub(2)), inside(Some(word))] }
    }

    /// The features of an edge, for its label. The label itself is none.
    pub(super) fn label_features(&self, word: usize, view: View, found: &mut Vec<u64>) {
        found.clear();
        let head = self.head(word);
        let (own, of) = (self.columns(word), self.columns(head));
        let ([before, after], [head_before, head_after]) = (self.around(word), self.around(head));
        let (side, distance) = (side(word, head), distance(word, head));
        let mut add = |template: u64, values: &[u64]| found.push(mixed(template, values));
        add(0, &[]);
        add(1, &[distance]);
        add(2, &[side]);
        match view {
            View::Grammar => {
                let single = [own.upos, own.xpos, own.feats, of.upos, of.xpos, of.feats];
                let around = [before.xpos, after.xpos, head_before.xpos, head_after.xpos];
                (10..).zip(single.into_iter().chain(around)).for_each(|(template, value)| add(template, &[value]));
                add(20, &[own.xpos, of.xpos]);
                add(21, &[own.xpos, of.xpos, distance]);
                add(22, &[own.upos, of.upos, side]);
                add(23, &[own.xpos, distance]);
                add(24, &[before.xpos, own.xpos]);
                add(25, &[own.xpos, after.xpos]);
                add(26, &[own.upos, own.feats, of.upos]);
                add(27, &[before.xpos, own.xpos, after.xpos]);
                add(28, &[own.xpos, of.feats, side]);
            }
            View::Words => {
                let single = [own.form, own.lemma, own.suffix, own.shape, of.form, of.lemma, of.suffix, of.shape];
                let around = [before.form, after.form, head_before.form, head_after.form];
                (30..).zip(single.into_iter().chain(around)).for_each(|(template, value)| add(template, &[value]));
                add(42, &[own.lemma, of.lemma]);
                add(43, &[own.form, side]);
                add(44, &[of.lemma, side]);
                add(45, &[before.form, own.form]);
                add(46, &[own.form, after.form]);
                add(47, &[own.suffix, of.suffix]);
                add(48, &[own.suffix, distance]);
                add(49, &[own.shape, of.shape, side]);
                add(50, &[own.form, own.shape]);
                add(51, &[own.form, distance]);
            }
        }
        self.tree_features(word, view, found);
    }

    /// The features of an edge that come from the labels around it.
    fn tree_features(&self, word: usize, view: View, found: &mut Vec<u64>) {
        let head = self.head(word);
        let (own, of, side) = (self.columns(word), self.columns(head), side(word, head));
        let label = |word: usize| word.checked_sub(1).map_or(NONE, |at| u64::from(self.labels[at]));
        let set = |words: &[usize]| {
            let mut labels: Vec<u64> = words.iter().map(|&child| label(child)).collect();
            labels.sort_unstable();
            labels.dedup();
            labels
        };
        let mut add = |template: u64, values: &[u64]| found.push(mixed(template, values));
        let labels = set(&self.children[word]);
        let (above, below) = (label(head), mixed(60, &labels));
        add(61, &[above]);
        add(62, &[below]);
        add(63, &[below, side]);
        add(64, &[below, above]);
        add(65, &[self.children[word].len().min(4) as u64]);
        for &own in &labels {
            add(66, &[own]);
            add(67, &[own, above]);
        }
        let siblings: Vec<usize> = self.children[head].iter().copied().filter(|&other| other != word).collect();
        for &other in &siblings {
            let after = u64::from(other > word);
            add(68, &[label(other)]);
            add(69, &[label(other), after, side]);
            match view {
                View::Grammar => add(70, &[label(other), own.xpos, after]),
                View::Words => add(71, &[label(other), self.columns(other).form]),
            }
        }
        add(72, &set(&siblings));
        for &child in &self.children[word] {
            match view {
                View::Grammar => {
                    add(73, &[self.columns(child).xpos, u64::from(child > word)]);
                    add(74, &[own.xpos, label(child)]);
                }
                View::Words => {
                    add(75, &[self.columns(child).form]);
                    add(76, &[self.columns(child).form, label(child), side]);
                }
            }
        }
        match view {
            View::Grammar => {
                add(77, &[own.xpos, below]);
                add(78, &[own.xpos, above]);
                add(79, &[own.xpos, above, of.xpos, side]);
                add(80, &[own.xpos, below, of.xpos, side]);
            }
            View::Words => {
                add(81, &[own.form, above]);
                add(82, &[own.suffix, below]);
            }
        }
    }

    /// The features of a word with a head that it has or could have, as numbers below `weights`, a power of two.
    pub(super) fn head_features(&self, word: usize, head: usize, weights: usize, found: &mut Vec<u32>) {
        found.clear();
        let (own, of) = (self.columns(word), self.columns(head));
        let ([before, after], [head_before, head_after]) = (self.around(word), self.around(head));
        let (side, distance, label) = (side(word, head), distance(word, head), u64::from(self.label(word)));
        let mut add = |template: u64, values: &[u64]| found.push(mixed(template, values) as u32 & (weights as u32 - 1));
        add(1, &[distance]);
        add(2, &[own.xpos, distance]);
        add(3, &[of.xpos, distance]);
        add(4, &[own.xpos, of.xpos]);
        add(5, &[own.xpos, of.xpos, distance]);
        add(6, &[own.upos, of.upos, distance]);
        add(7, &[own.xpos, of.xpos, before.xpos, head_before.xpos, side]);
        add(8, &[own.xpos, of.xpos, after.xpos, head_after.xpos, side]);
        add(9, &[own.xpos, of.xpos, before.xpos, head_after.xpos, side]);
        add(10, &[own.xpos, of.xpos, after.xpos, head_before.xpos, side]);
        add(11, &[own.upos, own.feats, of.upos, side]);
        add(12, &[own.upos, of.upos, of.feats, side]);
        // The parts of speech between the two words, as a set, and how many are those of either.
        let between = &self.words[word.min(head)..word.max(head) - 1];
        let parts = between.iter().fold(0, |parts: u64, other| parts | 1 << (other.upos % 31));
        let alike = |upos: u64| between.iter().filter(|other| other.upos == upos).count().min(3) as u64;
        add(13, &[own.xpos, of.xpos, parts]);
        add(14, &[own.upos, of.upos, parts, side]);
        add(15, &[own.upos, of.upos, alike(own.upos), alike(of.upos), side]);
        add(16, &[own.lemma, of.lemma]);
        add(17, &[own.lemma, of.lemma, side]);
        add(18, &[own.form, distance]);
        add(19, &[of.lemma, distance]);
        add(20, &[own.suffix, of.suffix, side]);
        add(21, &[own.shape, of.shape, distance]);
        add(22, &[own.form, of.xpos, side]);
        add(23, &[own.xpos, of.lemma, side]);
        add(24, &[own.form, of.xpos, distance]);
        add(25, &[own.lemma, of.upos, after.xpos, head_before.xpos, side]);
        add(26, &[label, distance]);
        add(27, &[label, of.xpos, distance]);
        add(28, &[label, of.xpos, head_after.xpos, side]);
        add(29, &[label, own.xpos, of.xpos, distance]);
        add(30, &[label, of.xpos, head_before.xpos, side]);
        add(31, &[label, of.lemma, side]);
        add(32, &[label, own.form, of.form]);
    }
}

/// Where a head is: before the word, after it, or ROOT.
fn side(word: usize, head: usize) -> u64 {
    if head == 0 { 2 } else { u64::from(head > word) }
}

/// How far a head is away, on which side.
fn distance(word: usize, head: usize) -> u64 {
    let steps = match head.abs_diff(word) {
        near @ 0..=5 => near,
        6..=9 => 6,
        10..=15 => 7,
        _ => 8,
    };
    if head == 0 { 99 } else { steps as u64 * 2 + side(word, head) }
}

/// The kinds of characters of a form: `Xx` for `New`, `dd` for `2004`. Of three or more alike, two count.
fn shape(form: &str) -> String {
    let mut shape = Vec::new();
    for character in form.chars() {
        let kind = match character {
            _ if character.is_numeric() => 'd',
            _ if character.is_uppercase() => 'X',
            _ if character.is_alphabetic() => 'x',
            _ => character,
        };
        if !shape.ends_with(&[kind, kind]) {
            shape.push(kind);
        }
    }
    shape.truncate(8);
    shape.into_iter().collect()
}

fn hash(text: &str) -> u64 {
    let hash =
        text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    mixed(0, &[hash])
}

/// The hash of a template and its values.
fn mixed(template: u64, values: &[u64]) -> u64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64| {
        let hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ (hash >> 33)
    };
    values.iter().fold(template.wrapping_mul(GOLDEN), |hash, value| mix(hash ^ value).wrapping_add(GOLDEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_and_shapes_are_told_apart_where_it_matters() {
        assert_eq!([distance(3, 0), distance(3, 4), distance(3, 2), distance(3, 30)], [99, 3, 2, 17]);
        assert_eq!(["New", "NATO", "2004", "e-mail", "I"].map(shape), ["Xxx", "XX", "dd", "x-xx", "X"]);
    }

    #[test]
    fn features_of_other_templates_values_and_orders_differ() {
        let all = [mixed(1, &[5, 6]), mixed(1, &[6, 5]), mixed(2, &[5, 6]), mixed(1, &[5]), mixed(1, &[])];
        let distinct: std::collections::HashSet<u64> = all.into_iter().collect();
        assert_eq!(distinct.len(), all.len());
    }
}
