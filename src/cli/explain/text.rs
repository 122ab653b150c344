//! Explanations for a terminal: the arcs, then each edge with what speaks for it.

use super::Answer;
use crate::cli::arcs;
use crate::explain::wording::{completeness, count, coverage, percent};
use crate::explain::{Citation, Contrast, FlipSet, Rationale};
use crate::parse::Parse;
use crate::rule::Rule;
use crate::treebank::Sentence;
use std::io::{IsTerminal, Write};

/// The least width that citations are cut to.
const NARROWEST: usize = 24;
const WIDTH: usize = 100;

/// Writes all that is said about a sentence.
pub(super) fn write(out: &mut impl Write, answer: &Answer) -> anyhow::Result<()> {
    let explanation = &answer.explanation;
    let style = Style::of_terminal();
    if let Some(sent_id) = &explanation.sent_id {
        writeln!(out, "{}", style.bold(sent_id))?;
    }
    let sentence = Sentence::from_forms(explanation.words.iter().cloned());
    writeln!(out, "{}", arcs::draw(&sentence, &parse(answer)))?;
    if explanation.rule != Rule::default() {
        writeln!(out, "rule: {}\n", explanation.rule.describe())?;
    }
    for change in answer.changes.iter().flatten() {
        let ((head, label), (new_head, new_label)) = (&change.with, &change.without);
        let form = &explanation.words[change.dependent - 1];
        writeln!(
            out,
            "{} {form}: was {label} of {head} {}, is {new_label} of {new_head} {}",
            change.dependent,
            explanation.form(*head),
            explanation.form(*new_head)
        )?;
    }
    if let Some(changes) = &answer.changes {
        writeln!(out, "without these sentences {} of {} edges change\n", changes.len(), explanation.words.len())?;
    }
    for edge in &explanation.edges {
        let head = format!("{} {}", edge.head, explanation.form(edge.head));
        let form = explanation.form(edge.dependent);
        writeln!(out, "{}", style.bold(&format!("{} {form}: {} of {head}", edge.dependent, edge.label)))?;
        rationale(out, &format!("head {head}"), &edge.attachment, |at| explanation.form(at).to_string(), &style)?;
        rationale(
            out,
            &format!("label {}", edge.label),
            &edge.labelling,
            |at| explanation.form(at).to_string(),
            &style,
        )?;
        writeln!(out)?;
    }
    for why_not in &answer.why_not {
        for contrast in why_not.head.iter().chain(&why_not.label) {
            contrasted(
                out,
                &format!("{} {}", why_not.dependent, explanation.form(why_not.dependent)),
                contrast,
                &style,
            )?;
        }
    }
    for flip in &answer.flips {
        let word = format!("{} {}", flip.dependent, explanation.form(flip.dependent));
        flipped(out, &format!("the head of {word}"), flip.head.as_ref())?;
        flipped(out, &format!("the label of {word}"), flip.label.as_ref())?;
    }
    if !answer.flips.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

fn rationale(
    out: &mut impl Write,
    what: &str,
    rationale: &Rationale,
    form: impl Fn(usize) -> String,
    style: &Style,
) -> anyhow::Result<()> {
    write!(out, "  {what}, probability {:.3}", rationale.probability)?;
    let name = rationale.runner_up.as_ref().map(|second| match (second.head, &second.label) {
        (Some(head), _) => format!("{head} {}", form(head)),
        (None, label) => label.clone().unwrap_or_default(),
    });
    if let (Some(second), Some(name)) = (&rationale.runner_up, &name) {
        write!(out, "; next {name}, {:.3}, margin {:.2}", second.probability, second.margin)?;
    }
    writeln!(out)?;
    for line in [coverage(rationale, name.as_deref()), completeness(&rationale.coverage)] {
        style.wrapped(out, "    ", &line)?;
    }
    citations(out, &rationale.citations, |citation| percent(citation.share), style)?;
    for roll_up in &rationale.roll_ups {
        let of = if roll_up.margin.is_some() { "margin" } else { "evidence" };
        style.wrapped(out, "    ", &format!("{of} by {}: {}", roll_up.by, roll_up.in_words()))?;
    }
    Ok(())
}

fn citations(
    out: &mut impl Write,
    citations: &[Citation],
    share: impl Fn(&Citation) -> String,
    style: &Style,
) -> anyhow::Result<()> {
    let widest =
        |text: &dyn Fn(&Citation) -> String| citations.iter().map(|c| text(c).chars().count()).max().unwrap_or(0);
    let (label_width, id_width) =
        (widest(&|c| c.label.clone()), widest(&|c| c.source.sent_id.clone()).min(style.width / 4));
    let share_width = widest(&|c| share(c));
    for citation in citations {
        let (similarity, label) = (citation.similarity, &citation.label);
        let share = share(citation);
        let id = cut(&citation.source.sent_id, id_width);
        let lead = format!("      {similarity:.4}  {share:>share_width$}  {label:<label_width$}  {id:<id_width$}  ");
        let room = style.width.saturating_sub(lead.chars().count()).max(NARROWEST);
        writeln!(out, "{lead}{}", style.marked(citation, room))?;
    }
    Ok(())
}

fn contrasted(out: &mut impl Write, word: &str, contrast: &Contrast, style: &Style) -> anyhow::Result<()> {
    let Contrast { chosen, alternative, scores, .. } = contrast;
    writeln!(out, "{}", style.bold(&format!("{word}: why {chosen}, not {alternative}?")))?;
    writeln!(out, "  scores {:.3} and {:.3}", scores[0], scores[1])?;
    let sides = [
        ("for", contrast.in_favour, &contrast.arguments_for),
        ("against", contrast.against, &contrast.arguments_against),
    ];
    for (name, (sum, number), arguments) in sides {
        writeln!(
            out,
            "  {} training edges argue {name} {chosen}, by {sum:+.4} together; most strongly",
            count(number)
        )?;
        citations(out, arguments, |citation| citation.margin_share.map(percent).unwrap_or_default(), style)?;
    }
    writeln!(out)?;
    Ok(())
}

fn flipped(out: &mut impl Write, what: &str, flip: Option<&FlipSet>) -> anyhow::Result<()> {
    let Some(flip) = flip else {
        writeln!(out, "{what} stays whatever training edges are missing")?;
        return Ok(());
    };
    let share = flip.edges as f64 / flip.of_edges.max(1) as f64;
    let (edges, of) = (count(flip.edges as u64), count(flip.of_edges));
    let least = if flip.smallest { "at least" } else { "some" };
    writeln!(
        out,
        "{what} would be {} without {least} {edges} of {of} training edges ({})",
        flip.instead,
        percent(share)
    )?;
    match flip.sentences {
        Some(number) => {
            let (number, of) = (count(number as u64), count(u64::from(flip.of_sentences)));
            writeln!(out, "  or without {number} of {of} whole sentences")?;
        }
        None => writeln!(out, "  no set of whole sentences does it")?,
    }
    if share > 0.5 {
        writeln!(out, "  that is most of the treebank: no few edges carry this decision")?;
    } else if flip.edges > 0 {
        writeln!(out, "  first of them: {}", flip.first_edges.iter().take(5).cloned().collect::<Vec<_>>().join(" "))?;
    }
    Ok(())
}

fn parse(answer: &Answer) -> Parse {
    let explanation = &answer.explanation;
    let side = |at: usize| std::iter::once(1.0).chain(explanation.probabilities.iter().map(move |p| p[at])).collect();
    Parse {
        heads: std::iter::once(0).chain(explanation.heads.iter().copied()).collect(),
        labels: std::iter::once(String::new()).chain(explanation.labels.iter().cloned()).collect(),
        head_probabilities: side(0),
        label_probabilities: side(1),
    }
}

fn cut(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_string(),
    }
}

/// Colours where they are wanted, brackets where not.
struct Style {
    colours: bool,
    width: usize,
}

impl Style {
    fn of_terminal() -> Self {
        let terminal = std::io::stdout().is_terminal();
        let colours = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let size = terminal_size::terminal_size().filter(|_| terminal).map(|(width, _)| usize::from(width.0));
        Self { colours, width: columns.or(size).unwrap_or(WIDTH) }
    }

    /// Writes a line broken between words to what fits, each part after `indent`.
    fn wrapped(&self, out: &mut impl Write, indent: &str, line: &str) -> std::io::Result<()> {
        let mut used = 0;
        for word in line.split(' ') {
            let length = word.chars().count();
            if used == 0 || used + 1 + length > self.width {
                if used > 0 {
                    writeln!(out)?;
                }
                write!(out, "{indent}{word}")?;
                used = indent.len() + length;
            } else {
                write!(out, " {word}")?;
                used += 1 + length;
            }
        }
        writeln!(out)
    }

    fn bold(&self, text: &str) -> String {
        if self.colours { format!("\x1b[1m{text}\x1b[0m") } else { text.to_string() }
    }

    /// The sentence of a citation with its two words marked, cut to what fits around them.
    fn marked(&self, citation: &Citation, room: usize) -> String {
        let width = |at: usize| {
            citation.source.words[at - 1].chars().count() + 1 + if at == citation.dependent { 2 } else { 0 }
        };
        let ends = [citation.dependent, citation.head].into_iter().filter(|&at| at > 0);
        let (mut first, mut last) = (ends.clone().min().unwrap_or(1), ends.max().unwrap_or(1));
        let mut used: usize = (first..=last).map(width).sum::<usize>() + 6;
        // What lies between two far words is left out in the middle.
        let far = used > room;
        loop {
            let before = (first > 1).then(|| width(first - 1)).filter(|w| used + w <= room);
            if let Some(width) = before {
                (first, used) = (first - 1, used + width);
            }
            let after = (last < citation.source.words.len()).then(|| width(last + 1)).filter(|w| used + w <= room);
            if let Some(width) = after {
                (last, used) = (last + 1, used + width);
            }
            if before.is_none() && after.is_none() {
                break;
            }
        }
        let near = |at: usize| [citation.dependent, citation.head].iter().any(|&end| end > 0 && at.abs_diff(end) <= 1);
        let mut words = Vec::new();
        let mut gap = first > 1;
        for at in first..=last {
            if far && !near(at) {
                gap = true;
                continue;
            }
            if std::mem::take(&mut gap) {
                words.push("…".to_string());
            }
            words.push(self.word(citation, at));
        }
        if last < citation.source.words.len() {
            words.push("…".to_string());
        }
        if citation.head == 0 {
            words.insert(0, if self.colours { "\x1b[1;34mROOT\x1b[0m".to_string() } else { "{ROOT}".to_string() });
        }
        words.join(" ")
    }

    fn word(&self, citation: &Citation, at: usize) -> String {
        let form = &citation.source.words[at - 1];
        match (at == citation.dependent, at == citation.head, self.colours) {
            (true, _, true) => format!("\x1b[1;32m{form}\x1b[0m"),
            (_, true, true) => format!("\x1b[1;34m{form}\x1b[0m"),
            (true, ..) => format!("[{form}]"),
            (_, true, _) => format!("{{{form}}}"),
            _ => form.clone(),
        }
    }
}
