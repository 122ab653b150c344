//! What an example teaches: sentences with an error are added with one edge corrected, and all others are parsed again.

use super::{Copied, Options};
use crate::search::say;
use anyhow::ensure;
use citree::parse::{Parse, Settings};
use citree::treebank::Sentence;
use citree::{Bundle, Rule};
use std::collections::HashSet;
use std::fmt::Write as _;

/// The treebank that the corrected sentences are added to, and the weights that it is given.
const LESSONS: &str = "lessons";
const WEIGHTS: [f64; 4] = [1.0, 4.0, 16.0, 64.0];

/// An edge that was wrong, and how: the form, and the predicted and the right label.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Mistake {
    form: String,
    predicted: String,
    gold: String,
    /// Whether the head was wrong.
    head: bool,
}

/// A correction of one word of one sentence.
struct Lesson {
    sentence: usize,
    word: usize,
    mistake: Mistake,
}

/// Teaches by each rule, on its own errors.
pub fn teach(copied: &Copied, options: &Options) -> anyhow::Result<String> {
    let mut out = format!(
        "{} dev sentences with an error, evenly spaced, each added with its predicted parse and one edge corrected; the dev \
         set of {} words parsed before and after, by the best tree:\n\n\
         | rule | evidence of each sentence | weight | corrected edges right now | alike and wrong before: same confusion, same word | of these right now | same \
         confusion, other words | of these right now | other edges that changed | of these to right | to wrong |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        options.lessons,
        copied.dev.iter().map(|sentence| sentence.words().len()).sum::<usize>()
    );
    let knn = Rule::knn(Rule::NEIGHBORS)?;
    for (rule, weights) in [(Rule::sum(), &[1.0][..]), (knn, &WEIGHTS)] {
        say(&format!("teach: {rule}"))?;
        by_rule(copied, options, &rule, weights, &mut out)?;
    }
    Ok(out)
}

fn by_rule(copied: &Copied, options: &Options, rule: &Rule, weights: &[f64], out: &mut String) -> anyhow::Result<()> {
    let parsed = |bundle: &Bundle, weights: Vec<(String, f64)>| -> anyhow::Result<Vec<Parse>> {
        let settings = Settings { rule: Some(rule.clone()), weights, ..Settings::default() };
        Ok(bundle.parser_with(&settings)?.parse(&copied.dev)?)
    };
    let bundle = copied.open()?;
    let before = parsed(&bundle, Vec::new())?;
    let lessons = lessons(&copied.dev, &before, options.lessons);
    ensure!(lessons.len() == options.lessons, "only {} sentences have an error that can be corrected", lessons.len());
    for (alone, name) in [(false, "all edges"), (true, "the corrected edge")] {
        let taught: Vec<Sentence> = lessons.iter().map(|lesson| corrected(lesson, copied, &before, alone)).collect();
        bundle.evidence().to_treebank(LESSONS).with_new_labels().add(&taught)?.commit("")?;
        let taught = copied.open()?;
        for &weight in weights {
            let after = parsed(&taught, vec![(LESSONS.to_string(), weight)])?;
            let row = changes(copied, &lessons, &before, &after);
            let _ = writeln!(out, "| {rule} | {name} | {weight} | {row} |");
        }
        bundle.evidence().undo("")?;
    }
    Ok(())
}

/// What the lessons changed: those edges, others like them, and the rest.
fn changes(copied: &Copied, lessons: &[Lesson], before: &[Parse], after: &[Parse]) -> String {
    let at: HashSet<(usize, usize)> = lessons.iter().map(|lesson| (lesson.sentence, lesson.word)).collect();
    let exact: HashSet<&Mistake> = lessons.iter().map(|lesson| &lesson.mistake).collect();
    let kind = |mistake: &Mistake| (mistake.predicted.clone(), mistake.gold.clone(), mistake.head);
    let kinds: HashSet<_> = lessons.iter().map(|lesson| kind(&lesson.mistake)).collect();
    let [mut own, mut same, mut same_right, mut alike, mut alike_right] = [0; 5];
    let [mut others, mut to_right, mut to_wrong] = [0; 3];
    for (number, sentence) in copied.dev.iter().enumerate() {
        for word in 1..=sentence.words().len() {
            let right = |parse: &Parse| mistake(sentence, parse, word).is_none();
            let (was, is) = (mistake(sentence, &before[number], word), right(&after[number]));
            match &was {
                _ if at.contains(&(number, word)) => own += usize::from(is),
                Some(mistake) if exact.contains(mistake) => {
                    same += 1;
                    same_right += usize::from(is);
                }
                Some(mistake) if kinds.contains(&kind(mistake)) => {
                    alike += 1;
                    alike_right += usize::from(is);
                }
                _ => {
                    let edge = |parse: &Parse| (parse.heads[word], parse.labels[word].clone());
                    others += usize::from(edge(&before[number]) != edge(&after[number]));
                    to_right += usize::from(was.is_some() && is);
                    to_wrong += usize::from(was.is_none() && !is);
                }
            }
        }
    }
    format!(
        "{own} of {} | {same} | {same_right} | {alike} | {alike_right} | {others} | {to_right} | {to_wrong}",
        lessons.len()
    )
}

/// How the edge of a word is wrong; `None` if it is right.
fn mistake(sentence: &Sentence, parse: &Parse, word: usize) -> Option<Mistake> {
    let gold = sentence.words().get(word - 1)?;
    let head = gold.head != Some(parse.heads[word]);
    (head || gold.label != parse.labels[word]).then(|| Mistake {
        form: gold.form.to_lowercase(),
        predicted: parse.labels[word].clone(),
        gold: gold.label.clone(),
        head,
    })
}

/// The first correctable error of sentences that are evenly spaced among those that have one.
fn lessons(dev: &[Sentence], before: &[Parse], count: usize) -> Vec<Lesson> {
    let mut found = Vec::new();
    for (number, (sentence, parse)) in dev.iter().zip(before).enumerate() {
        let wrong = (1..=sentence.words().len()).filter_map(|word| Some((word, mistake(sentence, parse, word)?)));
        let fits = |(word, _): &(usize, Mistake)| is_tree_with(sentence, parse, *word);
        let lesson = wrong.into_iter().find(fits);
        found.extend(lesson.map(|(word, mistake)| Lesson { sentence: number, word, mistake }));
    }
    let stride = found.len().div_euclid(count.max(1)).max(1);
    found.into_iter().step_by(stride).take(count).collect()
}

/// Whether the parse is a tree with the right head of one word: following heads from there never comes back.
fn is_tree_with(sentence: &Sentence, parse: &Parse, word: usize) -> bool {
    let Some(head) = sentence.words()[word - 1].head else { return false };
    // Another root, or none, would be two changes.
    if (head == 0) != (parse.heads[word] == 0) {
        return false;
    }
    let mut at = head;
    while at != 0 && at != word {
        at = parse.heads[at];
    }
    at == 0
}

/// A sentence with its parse, and one edge corrected, which is all its evidence or a part of it.
fn corrected(lesson: &Lesson, copied: &Copied, before: &[Parse], alone: bool) -> Sentence {
    let (gold, parse) = (&copied.dev[lesson.sentence], &before[lesson.sentence]);
    let mut sentence = gold.clone();
    for (at, word) in sentence.words_mut().iter_mut().enumerate() {
        if at + 1 != lesson.word {
            word.head = Some(parse.heads[at + 1]);
            word.label.clone_from(&parse.labels[at + 1]);
            if alone {
                word.misc = "Evidence=No".to_string();
            }
        }
    }
    sentence
}
