//! Explanations for a terminal: the arcs, then the answers to what was asked, then each edge with what speaks for it.

use super::Answer;
use crate::cli::printable::Printable;
use crate::cli::style::Style;
use crate::cli::{arcs, columns};
use crate::explain::wording::{
    self, MOST_OF_ALL, UNUSUAL_SHARES, completeness, fixed, has_unusual_shares, percent, signed,
};
use crate::explain::{Contrast, EdgeExplanation, Explanation, Flip, FlipSet, Rationale, Repeats, WhyNot, repeats};
use crate::parse::Parse;
use crate::rule::Rule;
use crate::task::Task;
use std::io::Write;

/// The least width that citations are cut to.
const NARROWEST: usize = 24;
/// Edges of a flip set that are named.
const NAMED: usize = 5;

/// How much to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// The answers, and the rationale of each edge.
    Edges,
    /// The answers alone.
    Answers,
}

/// Writes all that is said about a sentence, the answers first.
pub(super) fn write(out: &mut impl Write, answer: &Answer, detail: Detail) -> anyhow::Result<()> {
    let explanation = &answer.explanation;
    let style = Style::of_terminal();
    let out = Printable::new(out, style.colours);
    let mut page = Page { out, style, explanation, shares_explained: false };
    if let Some(sent_id) = &explanation.sent_id {
        page.title(sent_id)?;
    }
    if let Some(warning) = &explanation.warning {
        page.line(&format!("warning: this {warning}\n"))?;
    }
    let forms: Vec<&str> = explanation.words.iter().map(String::as_str).collect();
    page.line(&arcs::draw(&forms, &explanation.multiword_tokens, &parse(explanation)))?;
    if explanation.rule != Rule::sum() || !explanation.weights.is_empty() {
        page.line(&format!("rule: {}\n", wording::rule(explanation)))?;
    }
    if let Some(changes) = &answer.changes {
        for change in changes {
            page.line(&wording::change(change, explanation))?;
        }
        page.line(&format!("{}\n", wording::change_count(changes.len(), explanation.words.len())))?;
    }
    for why_not in &answer.why_not {
        page.why_not(why_not)?;
    }
    for flip in &answer.flips {
        page.flip(flip)?;
    }
    if !answer.flips.is_empty() {
        page.line("")?;
    }
    match detail {
        Detail::Edges => explanation.edges.iter().try_for_each(|edge| page.edge(edge)),
        Detail::Answers => {
            let word = answer.why_not.first().map_or("WORD".to_string(), |why| why.dependent.to_string());
            page.line(&format!("For all the evidence behind an edge, add --edge {word}.\n"))
        }
    }
}

struct Page<'a, W> {
    out: W,
    style: Style,
    explanation: &'a Explanation,
    /// Whether it was said what a share above 100 % means: once is enough.
    shares_explained: bool,
}

impl<W: Write> Page<'_, W> {
    fn line(&mut self, line: &str) -> anyhow::Result<()> {
        Ok(writeln!(self.out, "{line}")?)
    }

    fn title(&mut self, title: &str) -> anyhow::Result<()> {
        self.line(&self.style.bold(title))
    }

    fn wrapped(&mut self, indent: &str, line: &str) -> anyhow::Result<()> {
        Ok(self.style.wrapped(&mut self.out, indent, line)?)
    }

    /// A word as its number and form.
    fn name(&self, word: usize) -> String {
        format!("{word} {}", self.explanation.form(word))
    }

    fn edge(&mut self, edge: &EdgeExplanation) -> anyhow::Result<()> {
        let (word, head) = (self.name(edge.dependent), self.name(edge.head));
        self.title(&format!("{word}: {} of {head}", edge.label))?;
        self.rationale("head", &head, &edge.attachment)?;
        self.rationale("label", &edge.label, &edge.labelling)?;
        self.line("")
    }

    /// One of the two decisions about an edge.
    fn rationale(&mut self, what: &str, chosen: &str, rationale: &Rationale) -> anyhow::Result<()> {
        let rival = rationale.runner_up.as_ref().map(|second| match (second.head, &second.label) {
            (Some(head), _) => self.name(head),
            (None, label) => label.clone().unwrap_or_default(),
        });
        let next = rationale.runner_up.as_ref().zip(rival.as_ref()).map_or(String::new(), |(second, rival)| {
            format!("; next {rival}, {:.3}, margin {}", second.probability, fixed(second.margin, 2))
        });
        self.line(&format!("  {what} {chosen}, probability {:.3}{next}", rationale.probability))?;
        match &rival {
            None => self.wrapped("    ", &wording::no_alternative(what, rationale, &self.explanation.rule))?,
            Some(rival) if rationale.is_chosen_by_tree() => {
                self.wrapped("    ", &wording::chosen_by_tree(what, rival))?;
            }
            Some(_) => {}
        }
        self.wrapped("    ", &rationale.in_words(rival.as_deref()))?;
        if let Some(votes) = wording::votes(rationale) {
            self.wrapped("    ", &votes)?;
        }
        self.wrapped("    ", &completeness(&rationale.coverage))?;
        let split = !rationale.against.is_empty();
        for (side, cited) in [("for", &rationale.citations), ("against", &rationale.against)] {
            if split && !cited.is_empty() {
                self.line(&format!("     {side} {chosen}:"))?;
            }
            self.citations(&repeats(cited), |repeats| percent(repeats.share()))?;
        }
        for roll_up in &rationale.roll_ups {
            let of = if roll_up.margin.is_some() { "margin" } else { "evidence" };
            // A group stays with its part.
            let groups = roll_up.in_words().replace(' ', "\u{a0}").replace(",\u{a0}", ", ");
            self.wrapped("    ", &format!("{of} by {}: {groups}", roll_up.by))?;
        }
        if has_unusual_shares(rationale) && !std::mem::replace(&mut self.shares_explained, true) {
            self.wrapped("    ", UNUSUAL_SHARES)?;
        }
        Ok(())
    }

    /// Citations, a line each; `part` is what they bring.
    fn citations(&mut self, cited: &[Repeats<'_>], part: impl Fn(&Repeats<'_>) -> String) -> anyhow::Result<()> {
        let id = |repeats: &Repeats<'_>| match repeats.count() {
            1 => repeats.first.source.sent_id.clone(),
            several => format!("{} ({several} × the same)", repeats.first.source.sent_id),
        };
        let widest = |text: &dyn Fn(&Repeats<'_>) -> String| {
            cited.iter().map(|repeats| columns::width(&text(repeats))).max().unwrap_or(0)
        };
        // A rejected edge has no label of its own.
        let label = |repeats: &Repeats<'_>| match repeats.first.gold_head {
            Some(_) => "not".to_string(),
            None => repeats.first.label.clone(),
        };
        let (label_width, part_width) = (widest(&label), widest(&part));
        let id_width = widest(&id).min(self.style.width / 4);
        for repeats in cited {
            let similarity = fixed(f64::from(repeats.first.similarity), 4);
            let part = part(repeats);
            let lead = format!(
                "      {similarity}  {part:>part_width$}  {}  {}  ",
                columns::pad(&label(repeats), label_width),
                columns::pad(&columns::cut(&id(repeats), id_width), id_width),
            );
            let really = wording::really(repeats.first).map_or(String::new(), |really| format!("  ({really})"));
            let taken = columns::width(&lead) + columns::width(&really);
            let room = self.style.width.saturating_sub(taken).max(NARROWEST);
            self.line(&format!("{lead}{}{really}", self.style.marked(repeats.first, room)))?;
        }
        Ok(())
    }

    fn why_not(&mut self, why_not: &WhyNot) -> anyhow::Result<()> {
        let word = self.name(why_not.dependent);
        if let Some(contrast) = &why_not.head {
            self.contrast(&format!("the head of {word}"), contrast)?;
        }
        if let Some(contrast) = &why_not.label {
            // With another head, the label is the one that the edge to that head would get.
            let edge = match &why_not.head {
                Some(head) => format!("the label of {word} under {}", head.alternative),
                None => format!("the label of {word}"),
            };
            self.contrast(&edge, contrast)?;
        }
        Ok(())
    }

    fn contrast(&mut self, what: &str, contrast: &Contrast) -> anyhow::Result<()> {
        let Contrast { chosen, alternative, margin, .. } = contrast;
        self.title(&format!("Why is {what} {chosen}, not {alternative}?"))?;
        self.wrapped("  ", &wording::contrast(contrast, chosen, alternative))?;
        for (side, arguments) in [("for", &contrast.arguments_for), ("against", &contrast.arguments_against)] {
            if !arguments.is_empty() {
                self.line(&format!("  the strongest {side} {chosen}, by similarity and contribution:"))?;
            }
            // What edges bring, not shares: those for and those against add up to the margin.
            let part =
                |repeats: &Repeats<'_>| repeats.margin_share().map_or(String::new(), |share| signed(share * margin));
            self.citations(&repeats(arguments), part)?;
        }
        self.line("")
    }

    fn flip(&mut self, flip: &Flip) -> anyhow::Result<()> {
        let word = self.name(flip.dependent);
        let edge = self.explanation.edges.iter().find(|edge| edge.dependent == flip.dependent);
        let what = format!("the head of {word}");
        let rule = &self.explanation.rule;
        let rival = edge.and_then(|edge| edge.attachment.runner_up.as_ref()).and_then(|second| second.head);
        match (rival, edge) {
            (Some(rival), _) if flip.forced => self.line(&wording::flip_by_tree(&what, &self.name(rival)))?,
            (None, Some(edge)) => {
                self.line(&format!("{word}: {}", wording::no_alternative("head", &edge.attachment, rule)))?;
            }
            _ => {
                let instead = flip.head.as_ref().and_then(|set| set.instead.parse().ok()).map(|head| self.name(head));
                self.flip_set(Task::Heads, &what, flip.head.as_ref(), &instead.unwrap_or_default())?;
                self.ended_early(flip, "head")?;
            }
        }
        let what = format!("the label of {word}");
        match edge {
            Some(edge) if edge.labelling.runner_up.is_none() && flip.found_nothing_for_label() => {
                self.line(&format!("{word}: {}", wording::no_alternative("label", &edge.labelling, rule)))
            }
            _ => {
                let instead = flip.label.as_ref().map_or("", |set| set.instead.as_str());
                self.flip_set(Task::Labels, &what, flip.label.as_ref(), instead)?;
                self.ended_early(flip, "label")
            }
        }
    }

    fn ended_early(&mut self, flip: &Flip, decision: &str) -> anyhow::Result<()> {
        match flip.ended_early.contains(&decision) {
            true => self.line(&format!("  {}", wording::ENDED_EARLY)),
            false => Ok(()),
        }
    }

    fn flip_set(&mut self, task: Task, what: &str, set: Option<&FlipSet>, instead: &str) -> anyhow::Result<()> {
        self.line(&wording::flip(what, set, instead, self.explanation.rule.of(task)))?;
        let Some(set) = set.filter(|set| set.edges > 0) else { return Ok(()) };
        self.line(&format!("  {}", wording::flip_sentences(set)))?;
        if set.edges as f64 > MOST_OF_ALL * set.of_edges as f64 {
            self.line(&format!("  {}", wording::MOST_IS_MISSING))
        } else if set.edges > 0 {
            let first: Vec<&str> = set.first_edges.iter().take(NAMED).map(String::as_str).collect();
            self.line(&format!("  first of them: {}", first.join(" ")))
        } else {
            Ok(())
        }
    }
}

fn parse(explanation: &Explanation) -> Parse {
    let side = |at: usize| std::iter::once(1.0).chain(explanation.probabilities.iter().map(move |p| p[at])).collect();
    Parse {
        heads: std::iter::once(0).chain(explanation.heads.iter().copied()).collect(),
        labels: std::iter::once(String::new()).chain(explanation.labels.iter().cloned()).collect(),
        head_probabilities: side(0),
        label_probabilities: side(1),
    }
}
