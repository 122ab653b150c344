//! A page of gold trees with parses below them, and tables of what differs.

use super::wording::{Name, escape, isolated};
use super::{FRAME, Links, Tree, arcs, counted, legend};
use crate::evaluate::{Comparison, ErrorKind, ParseSummary, SentenceDifferences};
use crate::treebank::Sentence;

/// The confusions that a table shows.
const SHOWN: usize = 25;

/// Files that were compared, by their names.
pub(crate) struct Compared<'a> {
    /// The gold trees, then the parses.
    pub(crate) files: Vec<&'a [Sentence]>,
    /// Their names.
    pub(crate) names: Vec<String>,
}

/// A page with the tables of a comparison and the trees of some of its sentences.
pub(crate) fn beside(compared: &Compared<'_>, comparison: &Comparison, shown: &[&SentenceDifferences]) -> String {
    let title = format!("{} beside {}", compared.names[1..].join(" and "), compared.names[0]);
    let legends = [
        legend("gold", "obj", "an edge of the gold tree"),
        legend("sure", "obj", "an edge that is right"),
        legend("doubtful unlikely", "obj", "one that is not; point at it for the gold edge"),
    ];
    let header = format!(
        "<p class=\"soft\">{}, {}; {} shown.</p>\n<ul class=\"legend\">\n{}</ul>\n",
        counted(comparison.sentences.len(), "sentence"),
        counted(comparison.words, "word"),
        counted(shown.len(), "sentence"),
        legends.concat(),
    );
    let sentences: String = shown.iter().map(|one| sentence(compared, one)).collect();
    FRAME.page(&title, &header, &format!("{}{sentences}", tables(compared, comparison)))
}

fn tables(compared: &Compared<'_>, comparison: &Comparison) -> String {
    let mut html =
        "<article class=\"sentence\">\n<div class=\"panel open\"><table><thead><tr><th></th><th>UAS</th><th>LAS</th>\
                    <th>wrong head</th><th>wrong label</th><th>both wrong</th></tr></thead><tbody>\n"
            .to_string();
    for (name, parse) in compared.names[1..].iter().zip(&comparison.parses) {
        let errors = [ErrorKind::Head, ErrorKind::Label, ErrorKind::Both];
        let errors = errors.map(|kind| format!("<td>{}</td>", parse.errors.get(&kind).copied().unwrap_or_default()));
        html.push_str(&format!(
            "<tr><th>{}</th><td>{:.2}</td><td>{:.2}</td>{}</tr>\n",
            isolated(name),
            100.0 * parse.uas.f1,
            100.0 * parse.las.f1,
            errors.concat(),
        ));
    }
    html.push_str("</tbody></table>\n");
    if let Some(found) = &comparison.significance {
        let part = |what: &str, one: &crate::evaluate::PairedDifference| {
            let [low, high] = one.interval;
            format!(
                "{what} {:+.2} ({:+.2} to {:+.2}, p = {:.4})",
                100.0 * one.difference,
                100.0 * low,
                100.0 * high,
                one.p
            )
        };
        html.push_str(&format!(
            "<p>The second less the first: {}; {}. Paired bootstrap over sentences, {} samples, seed {}; the middle 95 % in \
             brackets.</p>\n",
            part("UAS", &found.uas),
            part("LAS", &found.las),
            found.samples,
            found.seed,
        ));
    }
    html.extend(compared.names[1..].iter().zip(&comparison.parses).map(|(name, parse)| confusions(name, parse)));
    html + "</div></article>\n"
}

fn confusions(name: &str, parse: &ParseSummary) -> String {
    let row = |one: &crate::evaluate::Confusion| {
        let (gold, predicted) = (isolated(&one.gold), isolated(&one.predicted));
        format!("<tr><th>{gold} → {predicted}</th><td>{}</td><td>{}</td></tr>\n", one.words, one.head_correct)
    };
    let rows: String = parse.confusions.iter().take(SHOWN).map(row).collect();
    format!(
        "<details><summary>Labels confused by {} ({})</summary><table><thead><tr><th>gold → predicted</th><th>words</th>\
         <th>with the right head</th></tr></thead><tbody>\n{rows}</tbody></table></details>\n",
        isolated(name),
        counted(parse.confusions.len(), "pair"),
    )
}

/// The trees of a sentence below each other.
fn sentence(compared: &Compared<'_>, shown: &SentenceDifferences) -> String {
    let name = shown.sent_id.as_ref().map_or_else(|| format!("Sentence {}", shown.number), |sent_id| isolated(sent_id));
    let score = |(name, scores): (&String, &crate::evaluate::SentenceScores)| {
        format!(
            "{} UAS {}/{words}, LAS {}/{words}",
            isolated(name),
            scores.heads_correct,
            scores.labelled_correct,
            words = shown.words
        )
    };
    let scores: Vec<String> = compared.names[1..].iter().zip(&shown.parses).map(score).collect();
    let mut html = format!(
        "<article class=\"sentence\" id=\"s{}\">\n<header><h2>{name}</h2><p class=\"soft\">{}</p></header>\n",
        shown.number,
        scores.join("; "),
    );
    for (at, (file, name)) in compared.files.iter().zip(&compared.names).enumerate() {
        let Some(sentence) = file.get(shown.number - 1) else { continue };
        let words: Vec<String> = sentence.forms().map(str::to_string).collect();
        let heads: Vec<usize> = sentence.words().iter().map(|word| word.head.unwrap_or_default()).collect();
        let labels: Vec<String> = sentence.words().iter().map(|word| word.label.clone()).collect();
        let mut corrections = vec![None; if at == 0 { 0 } else { words.len() }];
        for difference in shown.differences.iter().filter(|one| at > 0 && one.predicted[at - 1].error.is_some()) {
            let gold = &difference.gold;
            let head = Name::of_word(&words, gold.head).plain();
            corrections[difference.word - 1] = Some(format!("gold: {} of {head}", gold.label));
        }
        let tokens = sentence.multiword_tokens();
        let tree = Tree {
            words: &words,
            heads: &heads,
            labels: &labels,
            tokens,
            probabilities: None,
            corrections: &corrections,
        };
        html.push_str(&format!("<p class=\"beside soft\">{}</p>\n{}", escape(name), arcs::tree(&tree, Links::None)));
    }
    html + "</article>\n"
}
