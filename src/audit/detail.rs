//! Makes findings of suspicious edges: the suggestion, what similar edges say, and examples of both sides.

use super::finding::marked;
use super::judge::{Judge, JudgedEdge, Nearby};
use super::vectors::Vectors;
use super::{Example, Finding, Kind, NEIGHBORS, kind};
use crate::error::Result;
use crate::task::Task;
use citree_index::Hit;
use std::collections::{BTreeMap, HashMap};

/// Examples of each side.
const EXAMPLES: usize = 3;
/// Sentences that are looked up together; bounds the memory.
const CHUNK: usize = 512;

/// The findings of edges, in their order.
pub(super) fn findings(judge: &Judge<'_>, edges: &[JudgedEdge]) -> Result<Vec<Finding>> {
    let mut of_sentences: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, edge) in edges.iter().enumerate() {
        of_sentences.entry(edge.subject).or_default().push(at);
    }
    let numbers: Vec<usize> = of_sentences.keys().copied().collect();
    let mut found: Vec<Option<Finding>> = vec![None; edges.len()];
    for numbers in numbers.chunks(CHUNK) {
        let all = judge.vectors(numbers)?;
        let wanted: HashMap<(usize, usize), usize> = numbers
            .iter()
            .flat_map(|number| &of_sentences[number])
            .map(|&at| ((edges[at].subject, edges[at].word), at))
            .collect();
        let vectors = all.only(|place| wanted.contains_key(&place));
        for (row, near) in judge.nearby(&vectors)?.iter().enumerate() {
            let at = wanted[&vectors.places[row]];
            found[at] = Some(finding(judge, &edges[at], &vectors, row, near)?);
        }
    }
    Ok(found.into_iter().flatten().collect())
}

fn finding(judge: &Judge<'_>, edge: &JudgedEdge, vectors: &Vectors, row: usize, near: &Nearby) -> Result<Finding> {
    let subject = &judge.subjects[edge.subject];
    let at = edge.word - 1;
    let kind = kind(edge).unwrap_or(Kind::Label);
    let (head, label) = match (kind, edge.rival) {
        (Kind::Head, Some(rival)) => (rival.head, Some(rival.label)),
        _ => (subject.heads[at], edge.other),
    };
    let suggested = label.map_or(subject.labels[at].as_str(), |label| judge.name(label));
    let [as_it_is, as_suggested] = match kind {
        Kind::Head => [near.heads.clone(), rival_neighbors(judge, edge, vectors, row, head)?],
        Kind::Label => {
            let own = judge.label_of(edge);
            let labels_row = vectors.label_row(row);
            [judge.nearest_of_label(labels_row, edge.subject, own, EXAMPLES)?, with_label(judge, &near.labels, label)]
        }
    };
    let nearest = near.labels.iter().map(|hit| hit.record).zip(judge.labels_of(&near.labels)).collect();
    let mut finding = Finding {
        line: subject.lines.get(at).copied(),
        sent_id: subject.sent_id.clone(),
        words: subject.words.clone().into(),
        dependent: edge.word,
        head: subject.heads[at],
        label: subject.labels[at].clone(),
        kind,
        suggested_head: head,
        suggested_label: suggested.to_string(),
        score: edge.score,
        says: String::new(),
        as_it_is: examples(judge, &as_it_is)?,
        as_suggested: examples(judge, &as_suggested)?,
        nearest,
    };
    finding.says = says(judge, edge, &finding);
    Ok(finding)
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

fn with_label(judge: &Judge<'_>, hits: &[Hit], label: Option<u32>) -> Vec<Hit> {
    let own = |hit: &&Hit| judge.evidence.edges().record(hit.record).map(|edge| edge.label) == label;
    hits.iter().filter(own).copied().collect()
}

/// What the most similar edges say.
fn says(judge: &Judge<'_>, edge: &JudgedEdge, finding: &Finding) -> String {
    let votes = &edge.votes;
    let labels = || {
        let other = edge.other.map_or("another label", |label| judge.name(label));
        let some = |count: usize| if count == 0 { "none".to_string() } else { count.to_string() };
        let of = |at: usize| {
            let (count, all, own) = (some(votes.other[at]), votes.all[at], some(votes.own[at]));
            format!("{other} in {count} of the {all} most similar edges, {} in {own}", finding.label)
        };
        format!("{}; by the head model {}", of(0), of(1))
    };
    match (finding.kind, edge.rival) {
        (Kind::Head, Some(rival)) => format!(
            "{} is the likelier head: by similar edges it is right by odds of {:.1} to 1, and {} by {:.1} to 1; {}",
            finding.form(rival.head),
            rival.odds.exp(),
            finding.form(finding.head),
            votes.head.exp(),
            labels()
        ),
        _ => labels(),
    }
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
