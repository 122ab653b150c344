//! Makes findings of suspicious edges: the suggestion, what similar edges say, and examples of both sides.

use super::finding::marked;
use super::judge::{Judge, JudgedEdge, Nearby, Suggestion};
use super::same_words::SameWords;
use super::signs;
use super::vectors::Vectors;
use super::{Example, Finding, Kind, NEIGHBORS};
use crate::error::Result;
use crate::task::Task;
use citree_index::Hit;
use std::collections::{BTreeMap, HashMap};

/// Examples of each side.
const EXAMPLES: usize = 3;
/// Sentences that are looked up together; bounds the memory.
const CHUNK: usize = 512;

/// The findings of edges, in their order.
pub(super) fn findings(
    judge: &Judge<'_>,
    same_words: &SameWords,
    edges: &[(JudgedEdge, Suggestion)],
) -> Result<Vec<Finding>> {
    let mut of_sentences: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, (edge, _)) in edges.iter().enumerate() {
        of_sentences.entry(edge.subject).or_default().push(at);
    }
    let numbers: Vec<usize> = of_sentences.keys().copied().collect();
    let mut found: Vec<Option<Finding>> = vec![None; edges.len()];
    for numbers in numbers.chunks(CHUNK) {
        let all = judge.vectors(numbers)?;
        let wanted: HashMap<(usize, usize), usize> = numbers
            .iter()
            .flat_map(|number| &of_sentences[number])
            .map(|&at| ((edges[at].0.subject, edges[at].0.word), at))
            .collect();
        let vectors = all.only(|place| wanted.contains_key(&place));
        for (row, near) in judge.nearby(&vectors)?.iter().enumerate() {
            let at = wanted[&vectors.places[row]];
            let (edge, suggestion) = &edges[at];
            let mut finding = finding(judge, edge, suggestion, &vectors, row, near)?;
            [finding.same_words_as_it_is, finding.same_words_as_suggested] =
                judge.same_words(same_words, edge, suggestion);
            finding.says = says(judge, edge, &finding);
            found[at] = Some(finding);
        }
    }
    Ok(found.into_iter().flatten().collect())
}

fn finding(
    judge: &Judge<'_>,
    edge: &JudgedEdge,
    suggestion: &Suggestion,
    vectors: &Vectors,
    row: usize,
    near: &Nearby,
) -> Result<Finding> {
    let subject = &judge.subjects[edge.subject];
    let (at, own) = (edge.word - 1, judge.label_of(edge));
    let label = suggestion.label.unwrap_or(own);
    let [as_it_is, as_suggested] = match suggestion.kind {
        Kind::Head => [near.heads.clone(), rival_neighbors(judge, edge, vectors, row, suggestion.head)?],
        Kind::Label => {
            let nearest = |label| judge.nearest_of_label(vectors.label_row(row), edge.subject, label, EXAMPLES);
            [nearest(own)?, nearest(label)?]
        }
    };
    let rule = signs::broken_rule(subject, edge.word).filter(|_| edge.signs.broken);
    Ok(Finding {
        line: subject.lines.get(at).copied(),
        column: if suggestion.kind == Kind::Head { 7 } else { 8 },
        sent_id: subject.sent_id().to_string(),
        words: subject.sentence.forms().map(str::to_string).collect(),
        dependent: edge.word,
        head: subject.heads[at],
        label: subject.label(edge.word).to_string(),
        kind: suggestion.kind,
        suggested_head: suggestion.head,
        suggested_label: judge.name(label).to_string(),
        score: edge.score,
        rule: rule.as_ref().map(|rule| rule.rule.clone()),
        same_words_as_it_is: 0,
        same_words_as_suggested: 0,
        says: rule.map(|rule| rule.message).unwrap_or_default(),
        as_it_is: examples(judge, &as_it_is)?,
        as_suggested: examples(judge, &as_suggested)?,
        nearest: near.labels.iter().map(|hit| hit.record).zip(judge.labels_of(&near.labels)).collect(),
    })
}

/// The training edges nearest to the edge with another head.
fn rival_neighbors(
    judge: &Judge<'_>,
    edge: &JudgedEdge,
    vectors: &Vectors,
    row: usize,
    head: usize,
) -> Result<Vec<Hit>> {
    let rival = vectors.rivals[row].iter().find(|(other, _)| *other == head);
    let Some((_, rival)) = rival else { return Ok(Vec::new()) };
    Ok(judge.search(Some(Task::Heads), rival, &[edge.subject], NEIGHBORS)?.pop().unwrap_or_default())
}

/// What speaks against an edge, the strongest first. A finding comes with the rule that it breaks.
fn says(judge: &Judge<'_>, edge: &JudgedEdge, finding: &Finding) -> String {
    let mut parts = Vec::new();
    if finding.rule.is_some() {
        parts.push(format!("by the guidelines, {}", finding.says));
    }
    if edge.signs.crossed {
        parts.push("another edge crosses this one".to_string());
    }
    let rival = edge.rival.filter(|rival| rival.head == finding.suggested_head && edge.is_rival_likelier());
    if let Some(rival) = rival {
        parts.push(format!(
            "{} is the likelier head: by similar edges it is right by odds of {:.1} to 1, and {} by {:.1} to 1",
            finding.form(rival.head),
            rival.odds.exp(),
            finding.form(finding.head),
            edge.votes.head.exp()
        ));
    }
    let other = edge.other.map_or("another label", |label| judge.name(label));
    let votes = &edge.votes;
    let some = |count: usize| if count == 0 { "none".to_string() } else { count.to_string() };
    let of = |at: usize| {
        let (count, all, own) = (some(votes.other[at]), votes.all[at], some(votes.own[at]));
        format!("{other} in {count} of the {all} most similar edges, {} in {own}", finding.label)
    };
    parts.push(format!("{}; by the head model {}", of(0), of(1)));
    if let Some(words) = edge.words {
        let heads = match words.head_margin > 0.0 {
            true => format!(" and the head {}", finding.form(words.other_head)),
            false => String::new(),
        };
        parts.push(format!(
            "models of the words that never saw this document expect {} by {:.2} and {other} by {:.2}{heads}",
            finding.label, words.own, words.other
        ));
    }
    let (own, suggested) = (finding.same_words_as_it_is, finding.same_words_as_suggested);
    if own + suggested > 0 {
        let [own, suggested] = [own, suggested].map(some);
        parts.push(format!(
            "in other documents, the same two words are as suggested in {suggested} edges, as here in {own}"
        ));
    }
    parts.join("; ")
}

fn examples(judge: &Judge<'_>, hits: &[Hit]) -> Result<Vec<Example>> {
    let edges = judge.evidence.edges();
    let example = |hit: &Hit| {
        let (edge, sentence) = edges.edge(hit.record)?;
        let forms: Vec<&str> = sentence.words.iter().map(|word| word.form).collect();
        let (dependent, head) = (edge.dependent as usize, edge.head as usize);
        Ok(Example {
            sent_id: sentence.sent_id.to_string(),
            dependent,
            head,
            label: edges.label(edge.label).to_string(),
            similarity: hit.similarity,
            text: marked(&forms, dependent, head),
        })
    };
    hits.iter().take(EXAMPLES).map(example).collect()
}
