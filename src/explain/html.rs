//! Explanations as one self-contained web page: trees whose edges open to show the training edges behind them.

mod answers;
mod arcs;
#[cfg(feature = "cli")]
mod beside;
mod citations;
mod frame;
mod layout;
mod panel;
mod rows;
#[cfg(feature = "lab")]
mod snippet;
mod tree;
#[cfg(feature = "serve")]
pub(crate) mod view;
mod wording;

use super::wording::count;
use super::{Answer, Explanation};
#[cfg(feature = "cli")]
pub(crate) use beside::{Compared, beside};
pub(crate) use frame::Frame;
#[cfg(feature = "lab")]
pub(crate) use layout::{runs_right_to_left, text_width};
#[cfg(feature = "lab")]
pub(crate) use snippet::{Room, Snippet};
pub(crate) use tree::Tree;
pub(crate) use wording::escape;
use wording::isolated;

const FRAME: Frame = Frame {
    style: include_str!("html/page.css"),
    script: include_str!("html/page.js"),
    script_hash: "/H+6Y3qUSyapsRQhuCflBK5NxDHmOOTFBLq89mk+FVI=",
};

/// The link targets of the edges of a drawing.
#[derive(Clone, Copy, Debug)]
enum Links<'a> {
    /// The panels of the same file, for the words that have one.
    Panels { place: usize, explained: &'a [usize] },
    /// Panels that the served page requests.
    #[cfg(feature = "serve")]
    Page,
    /// No links.
    None,
}

/// A web page that shows explained sentences and the answers to what was asked about them. It needs no other file and no
/// network.
pub fn report(answers: &[Answer], title: &str) -> String {
    let sentence = |(answer, place): (&Answer, usize)| sentence(&answer.explanation, place, &answers::answers(answer));
    let sentences: String = answers.iter().zip(1..).map(sentence).collect();
    let explanations: Vec<&Explanation> = answers.iter().map(|answer| &answer.explanation).collect();
    FRAME.page(title, &summary(&explanations), &sentences)
}

/// The tree of an explained sentence as an SVG file that needs no other.
pub fn svg(explanation: &Explanation) -> String {
    arcs::file(&explanation.into())
}

/// Trees drawn below each other, for one picture.
#[cfg(feature = "cli")]
#[derive(Debug, Default)]
pub(crate) struct Drawing(arcs::Below);

#[cfg(feature = "cli")]
impl Drawing {
    /// Draws one more.
    pub(crate) fn add(&mut self, explanation: &Explanation) {
        self.0.add(&explanation.into());
    }

    /// Its size so far, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.0.size()
    }

    /// The picture. `title` says what it shows.
    pub(crate) fn file(&self, title: &str) -> String {
        self.0.file(title)
    }
}

/// What a page of trees starts with, before the first [`tree_of`].
#[cfg(feature = "cli")]
pub(crate) fn trees_start(title: &str) -> String {
    let legends = [
        legend("sure", "obj", "the paler, the less probable"),
        legend("doubtful", "obj ? 62 %", "suspicious: head or label below 80 %"),
        legend("doubtful unlikely", "obj ? 31 %", "below 50 %"),
    ];
    FRAME.start(title, &format!("<ul class=\"legend\">\n{}</ul>\n", legends.concat()))
}

/// What a page of trees ends with.
#[cfg(feature = "cli")]
pub(crate) const TREES_END: &str = Frame::END;

/// A sentence of a page of trees.
#[cfg(feature = "cli")]
pub(crate) fn tree_of(explanation: &Explanation, place: usize) -> String {
    let tree = Tree::from(explanation);
    article(explanation, place, &suspicious(&tree), &arcs::tree(&tree, Links::None))
}

/// The number of sentences and edges, the rule, and the legend.
fn summary(explanations: &[&Explanation]) -> String {
    let total = |number: &dyn Fn(&Explanation) -> usize| explanations.iter().map(|one| number(one)).sum::<usize>();
    let words = total(&|explanation| explanation.words.len());
    let explained = total(&|explanation| explanation.edges.len());
    let suspicious = total(&|explanation| Tree::from(explanation).suspicious());
    let rules = explanations.iter().fold(Vec::new(), |mut rules, explanation| {
        let rule = super::wording::rule(explanation);
        if !rules.contains(&rule) {
            rules.push(rule);
        }
        rules
    });
    let rules = if rules.is_empty() { String::new() } else { format!(" Rule: {}.", rules.join("; or ")) };
    let mut legends = legend("sure", "obj", "choose an edge to see why; the paler, the less probable");
    if suspicious > 0 {
        legends.push_str(&legend("doubtful", "obj ? 62 %", "suspicious: head or label below 80 %"));
    }
    let unlikely = |explanation: &Explanation| {
        let tree = Tree::from(explanation);
        (1..=tree.words.len()).any(|word| tree.certainty(word) < 0.5)
    };
    if explanations.iter().any(|explanation| unlikely(explanation)) {
        legends.push_str(&legend("doubtful unlikely", "obj ? 31 %", "below 50 %"));
    }
    if explained < words {
        legends.push_str(&legend("silent", "obj", "not explained here"));
    }
    format!(
        "<p class=\"soft\">{}, {}: {} explained, {} suspicious.{}</p>\n<ul class=\"legend\">\n{legends}</ul>\n",
        counted(explanations.len(), "sentence"),
        counted(words, "edge"),
        count(explained as u64),
        count(suspicious as u64),
        escape(&rules),
    )
}

/// An arc of one class and what it means.
fn legend(class: &str, label: &str, meaning: &str) -> String {
    let width = label.len() * 7 + 8;
    format!(
        "<li><svg width=\"116\" height=\"24\" aria-hidden=\"true\"><g class=\"{class}\"><path class=\"arc\" d=\"M2 23V18\
         Q2 12 12 12H104Q114 12 114 18V23\"/><rect class=\"pill\" x=\"{}\" y=\"3\" width=\"{width}\" height=\"18\" rx=\"9\"/>\
         <text class=\"label\" x=\"58\" y=\"16\">{label}</text></g></svg><span>{meaning}</span></li>\n",
        58 - width / 2
    )
}

/// A sentence: its name, its tree, answers to what was asked, and a panel for each explained edge.
fn sentence(explanation: &Explanation, place: usize, answers: &str) -> String {
    let tree = Tree::from(explanation);
    let mut remarks = suspicious(&tree);
    match explanation.words.len().saturating_sub(explanation.edges.len()) {
        0 => {}
        some => remarks.push(format!("{} not explained here", counted(some, "edge"))),
    }
    let explained: Vec<usize> = explanation.edges.iter().map(|edge| edge.dependent).collect();
    let panels: String = explanation.edges.iter().map(|edge| panel::panel(explanation, edge, place)).collect();
    let drawn = arcs::tree(&tree, Links::Panels { place, explained: &explained });
    article(explanation, place, &remarks, &format!("{drawn}{answers}{panels}"))
}

/// How many edges need a look, if any do.
fn suspicious(tree: &Tree<'_>) -> Vec<String> {
    let some = Some(tree.suspicious()).filter(|some| *some > 0);
    some.map(|some| format!("{} suspicious", counted(some, "edge"))).into_iter().collect()
}

/// A sentence with its name and remarks.
fn article(explanation: &Explanation, place: usize, remarks: &[String], content: &str) -> String {
    let name = match &explanation.sent_id {
        Some(sent_id) => isolated(sent_id),
        None => format!("Sentence {place}"),
    };
    let remarks = remarks.join(", ");
    format!(
        "<article class=\"sentence\" id=\"s{place}\">\n<header><h2>{name}</h2><p class=\"soft\">{remarks}</p></header>\n{content}\
         </article>\n"
    )
}

/// The id of an edge in links. It is stable, so that a link can be shared.
fn anchor(place: usize, dependent: usize) -> String {
    format!("s{place}-e{dependent}")
}

fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(number as u64), if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests;
