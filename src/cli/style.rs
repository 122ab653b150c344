//! How text looks in a terminal: its width, colours, and the words of a citation that fit.

use crate::cli::columns;
use crate::explain::Citation;
use std::io::{IsTerminal, Write};

/// The width where there is no terminal to ask.
const WIDTH: usize = 100;

/// Colours where they are wanted, brackets where not.
pub(super) struct Style {
    pub(super) colours: bool,
    pub(super) width: usize,
}

impl Style {
    pub(super) fn of_terminal() -> Self {
        let terminal = std::io::stdout().is_terminal();
        let colours = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let size = terminal_size::terminal_size().filter(|_| terminal).map(|(width, _)| usize::from(width.0));
        Self { colours, width: columns.or(size).unwrap_or(WIDTH) }
    }

    /// Writes a line broken between words to what fits, each part after `indent`. A number stays with its `%`.
    pub(super) fn wrapped(&self, out: &mut impl Write, indent: &str, line: &str) -> std::io::Result<()> {
        let line = line.replace(" %", "\u{a0}%");
        let mut used = 0;
        for word in line.split(' ') {
            let word = word.replace('\u{a0}', " ");
            let length = columns::width(&word);
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

    pub(super) fn bold(&self, text: &str) -> String {
        self.coloured("1", text)
    }

    /// Bad in red.
    pub(super) fn wrong(&self, text: &str) -> String {
        self.coloured("31", text)
    }

    /// Good in green.
    pub(super) fn right(&self, text: &str) -> String {
        self.coloured("32", text)
    }

    fn coloured(&self, colour: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{colour}m{text}\x1b[0m") } else { text.to_string() }
    }

    /// The sentence of a citation with its two words marked, cut to what fits around them.
    pub(super) fn marked(&self, citation: &Citation, room: usize) -> String {
        let width = |at: usize| {
            columns::width(&citation.source.words[at - 1]) + 1 + if at == citation.dependent { 2 } else { 0 }
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
