//! Aligns gold and system words by their characters, like the official evaluator.
//!
//! The forms of a file, without spaces, are one string of characters. Tokens match if they cover the same characters.
//! The words inside a multiword token cover no characters of their own; they are aligned by the longest common
//! subsequence of their forms.

use crate::error::{Error, Result};
use crate::treebank::{Sentence, Word};
use std::ops::Range;

/// The largest alignment table for the words of multiword tokens, which normally have a handful of words.
const MAX_CELLS: usize = 1 << 24;

/// All words of a file, in text order.
pub(super) struct Side<'a> {
    characters: Vec<char>,
    pub tokens: Vec<Range<usize>>,
    pub sentences: Vec<Range<usize>>,
    pub words: Vec<SideWord<'a>>,
}

/// One word of a file.
pub(super) struct SideWord<'a> {
    /// The characters of the word, or of the multiword token that contains it.
    span: Range<usize>,
    in_multiword_token: bool,
    form: String,
    /// The index of the head in the whole file; `None` is ROOT.
    pub head: Option<usize>,
    pub label: &'a str,
    /// Its line in the file.
    pub columns: &'a Word,
    /// The distance to the head in words; 0 for ROOT.
    pub distance: usize,
    /// The number of words in its sentence.
    pub sentence_length: usize,
}

/// The words that match in both files.
pub(super) struct Alignment {
    /// The gold word and the system word of each pair, ascending.
    pub pairs: Vec<(usize, usize)>,
    /// The gold word of each system word.
    pub gold_of: Vec<Option<usize>>,
}

impl<'a> Side<'a> {
    /// Indexes a file. `name` identifies it in messages.
    pub(super) fn new(sentences: &'a [Sentence], name: &str) -> Result<Self> {
        let mut side = Side { characters: vec![], tokens: vec![], sentences: vec![], words: vec![] };
        for (number, sentence) in sentences.iter().enumerate() {
            let start = side.characters.len();
            side.add(sentence).ok_or_else(|| Error::Evaluation {
                found: format!("sentence {} of the {name} file has a word without HEAD", number + 1),
                expected: "every word needs one".to_owned(),
                remedy: "parse the file first; `citree check FILE` counts the words without a head",
            })?;
            side.sentences.push(start..side.characters.len());
        }
        Ok(side)
    }

    fn add(&mut self, sentence: &'a Sentence) -> Option<()> {
        let offset = self.words.len();
        let mut ranges = sentence.multiword_tokens().iter().peekable();
        let mut range_last = 0;
        for (id, word) in (1..).zip(sentence.words()) {
            if let Some(range) = ranges.next_if(|range| range.first == id) {
                self.add_token(&range.form);
                range_last = range.last;
            } else if id > range_last {
                self.add_token(&word.form);
            }
            let in_multiword_token = id <= range_last;
            let form = if in_multiword_token { word.form.clone() } else { without_spaces(&word.form).collect() };
            let head = word.head?;
            self.words.push(SideWord {
                span: self.tokens.last()?.clone(),
                in_multiword_token,
                form,
                head: head.checked_sub(1).map(|place| offset + place),
                label: &word.label,
                columns: word,
                distance: if head == 0 { 0 } else { head.abs_diff(id) },
                sentence_length: sentence.words().len(),
            });
        }
        Some(())
    }

    fn add_token(&mut self, form: &str) {
        let start = self.characters.len();
        self.characters.extend(without_spaces(form));
        self.tokens.push(start..self.characters.len());
    }

    fn ends_span(&self, word: usize, span_end: usize) -> bool {
        let Some(word) = self.words.get(word) else { return true };
        if word.in_multiword_token { word.span.start >= span_end } else { word.span.end > span_end }
    }
}

impl Alignment {
    /// Aligns the words of two files over the same text.
    pub(super) fn new(gold: &Side<'_>, system: &Side<'_>) -> Result<Self> {
        same_text(gold, system)?;
        let mut pairs = Vec::new();
        let (mut g, mut s) = (0, 0);
        while let (Some(gold_word), Some(system_word)) = (gold.words.get(g), system.words.get(s)) {
            if gold_word.in_multiword_token || system_word.in_multiword_token {
                let (gold_words, system_words) = multiword_span(gold, system, g, s);
                (g, s) = (gold_words.end, system_words.end);
                align_forms(gold, system, gold_words, system_words, &mut pairs)?;
            } else if gold_word.span == system_word.span {
                pairs.push((g, s));
                (g, s) = (g + 1, s + 1);
            } else if gold_word.span.start <= system_word.span.start {
                g += 1;
            } else {
                s += 1;
            }
        }
        let mut gold_of = vec![None; system.words.len()];
        for &(g, s) in &pairs {
            gold_of[s] = Some(g);
        }
        Ok(Self { pairs, gold_of })
    }
}

/// The number of spans that are in both lists.
pub(super) fn common_spans(gold: &[Range<usize>], system: &[Range<usize>]) -> usize {
    let (mut g, mut s, mut common) = (0, 0, 0);
    while let (Some(gold_span), Some(system_span)) = (gold.get(g), system.get(s)) {
        if gold_span.start == system_span.start {
            common += usize::from(gold_span.end == system_span.end);
        }
        let order = gold_span.start.cmp(&system_span.start);
        g += usize::from(order.is_le());
        s += usize::from(order.is_ge());
    }
    common
}

/// The words from `g` and `s` on that cover one stretch of text whose ends no multiword token of either file crosses.
fn multiword_span(gold: &Side<'_>, system: &Side<'_>, mut g: usize, mut s: usize) -> (Range<usize>, Range<usize>) {
    let (gold_word, system_word) = (&gold.words[g], &system.words[s]);
    let mut end = if gold_word.in_multiword_token {
        s += usize::from(!system_word.in_multiword_token && system_word.span.start < gold_word.span.start);
        gold_word.span.end
    } else {
        g += usize::from(gold_word.span.start < system_word.span.start);
        system_word.span.end
    };
    let (first_gold, first_system) = (g, s);
    while !gold.ends_span(g, end) || !system.ends_span(s, end) {
        let gold_is_next = match (gold.words.get(g), system.words.get(s)) {
            (Some(gold_word), Some(system_word)) => gold_word.span.start <= system_word.span.start,
            (gold_word, _) => gold_word.is_some(),
        };
        let word = if gold_is_next { &gold.words[g] } else { &system.words[s] };
        if word.in_multiword_token {
            end = end.max(word.span.end);
        }
        g += usize::from(gold_is_next);
        s += usize::from(!gold_is_next);
    }
    (first_gold..g, first_system..s)
}

/// Pairs words of equal form, ignoring case, along a longest common subsequence.
fn align_forms(
    gold: &Side<'_>,
    system: &Side<'_>,
    gold_words: Range<usize>,
    system_words: Range<usize>,
    pairs: &mut Vec<(usize, usize)>,
) -> Result<()> {
    let lower = |words: &[SideWord<'_>]| words.iter().map(|word| word.form.to_lowercase()).collect::<Vec<_>>();
    let (gold_forms, system_forms) =
        (lower(&gold.words[gold_words.clone()]), lower(&system.words[system_words.clone()]));
    let width = system_forms.len() + 1;
    if (gold_forms.len() + 1).saturating_mul(width) > MAX_CELLS {
        return Err(Error::Evaluation {
            found: format!("a multiword token has {} words", gold_forms.len().max(system_forms.len())),
            expected: "it should have a few".to_owned(),
            remedy: "look for a range line that covers too many words",
        });
    }
    // `common[g * width + s]` is the length of the longest common subsequence from g and s on.
    let mut common = vec![0_u32; (gold_forms.len() + 1) * width];
    for g in (0..gold_forms.len()).rev() {
        for s in (0..system_forms.len()).rev() {
            let both = if gold_forms[g] == system_forms[s] { 1 + common[(g + 1) * width + s + 1] } else { 0 };
            common[g * width + s] = both.max(common[(g + 1) * width + s]).max(common[g * width + s + 1]);
        }
    }
    let (mut g, mut s) = (0, 0);
    while g < gold_forms.len() && s < system_forms.len() {
        if gold_forms[g] == system_forms[s] {
            pairs.push((gold_words.start + g, system_words.start + s));
            (g, s) = (g + 1, s + 1);
        } else if common[g * width + s] == common[(g + 1) * width + s] {
            g += 1;
        } else {
            s += 1;
        }
    }
    Ok(())
}

fn same_text(gold: &Side<'_>, system: &Side<'_>) -> Result<()> {
    if gold.characters == system.characters {
        return Ok(());
    }
    let same = gold.characters.iter().zip(&system.characters).take_while(|(a, b)| a == b).count();
    let sentence = gold.sentences.partition_point(|span| span.end <= same) + 1;
    let around = |characters: &[char]| {
        let before: String = characters[same.saturating_sub(20)..same].iter().collect();
        let after: String = characters[same..].iter().take(20).collect();
        format!("{before}[{}]", if after.is_empty() { "nothing more" } else { &after })
    };
    Err(Error::Evaluation {
        found: format!("in gold sentence {sentence} the system file goes on with {}", around(&system.characters)),
        expected: format!("the gold file with {}", around(&gold.characters)),
        remedy: "both must hold the same sentences in the same order, spaces aside",
    })
}

/// The characters that are not spaces (Unicode category Zs).
fn without_spaces(form: &str) -> impl Iterator<Item = char> {
    let is_space = |c: &char| {
        matches!(c, ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
    };
    form.chars().filter(move |c| !is_space(c))
}
