//! Peers that rank edges by cross-fitted probabilities: disagreement of the models, and confident learning (cleanlab).

use super::corrections::Place;
use crate::torch::{self, PYTHON};
use anyhow::Context;
use citree::internals::{CrossFitted, CrossFittedEdge};
use std::process::Command;

const SCRIPT: &str = include_str!("cleanlab.py");
const PUNCT: &str = "punct";

fn place(edge: &CrossFittedEdge) -> Place {
    Place::new(&edge.place.0, edge.place.1)
}

/// The edges that the models see otherwise, the surest first.
pub fn disagreement(words: &CrossFitted) -> Vec<Place> {
    let mut found = Vec::new();
    for edge in words.edges.iter().filter(|edge| words.labels[edge.label] != PUNCT) {
        let others = edge.probabilities.iter().enumerate().filter(|(label, _)| *label != edge.label);
        let label = others.map(|(_, own)| *own).fold(0.0, f32::max);
        let [head, other_head] = edge.heads;
        let margin = (label - edge.probabilities[edge.label]).max(other_head - head);
        if margin > 0.0 {
            found.push((margin, place(edge)));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, place)| place).collect()
}

/// The version of cleanlab, checked to exist before anything is measured.
pub fn cleanlab_version() -> anyhow::Result<String> {
    torch::ask("import cleanlab; print(cleanlab.__version__)", "cleanlab")
}

/// The labels that cleanlab takes for errors, the least probable first.
pub fn cleanlab(words: &CrossFitted) -> anyhow::Result<Vec<Place>> {
    let folder = tempfile::tempdir()?;
    let labels: Vec<u8> = words.edges.iter().flat_map(|edge| (edge.label as u32).to_le_bytes()).collect();
    let all = words.edges.iter().flat_map(|edge| &edge.probabilities);
    let probabilities: Vec<u8> = all.flat_map(|own| own.to_le_bytes()).collect();
    std::fs::write(folder.path().join("labels.u32"), labels)?;
    std::fs::write(folder.path().join("probabilities.f32"), probabilities)?;
    // A script in a folder of its own imports nothing from the current one.
    let script = folder.path().join("rank.py");
    std::fs::write(&script, SCRIPT)?;
    let text = torch::run(Command::new(PYTHON).arg(script).arg(folder.path()))?;
    let mut found = Vec::new();
    for line in text.lines() {
        let number: usize = line.parse().with_context(|| format!("cleanlab wrote {line}"))?;
        let edge = words.edges.get(number).context("cleanlab wrote an edge that is not there")?;
        if words.labels[edge.label] != PUNCT {
            found.push(place(edge));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_that_the_models_see_otherwise_are_ranked_and_punctuation_is_left_out() {
        let edge = |word, label, own: f32, heads| CrossFittedEdge {
            place: ("s".to_string(), word),
            label,
            probabilities: if label == 0 { vec![own, 1.0 - own] } else { vec![1.0 - own, own] },
            heads,
        };
        let edges = vec![
            edge(1, 0, 0.4, [1.0, 0.0]),
            edge(2, 0, 0.9, [0.1, 0.9]),
            edge(3, 0, 0.9, [0.9, 0.1]),
            edge(4, 1, 0.0, [0.9, 0.1]),
        ];
        let words = CrossFitted { labels: vec!["obj".to_string(), PUNCT.to_string()], edges };
        assert_eq!(disagreement(&words), [Place::new("s", 2), Place::new("s", 1)]);
    }
}
