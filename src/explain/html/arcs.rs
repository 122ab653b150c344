//! A sentence drawn as SVG: its words in a row, and an arc above for every edge.

use super::layout::Layout;
use super::tree::Tree;
use super::wording::escape;
use super::{Links, anchor, rows};
use crate::treebank::MultiwordToken;

/// The width of the page. A wider tree is drawn from top to bottom instead.
const WIDEST: f32 = 1140.0;

/// Room for words and their numbers, below all arcs.
const BOTTOM: f32 = 48.0;
/// Room for surface tokens that stand for several words, below that.
const TOKENS: f32 = 26.0;

/// The style of a standalone drawing.
const STYLE: &str = include_str!("svg.css");

/// Draws a sentence inside a page.
pub(super) fn tree(tree: &Tree<'_>, links: Links<'_>) -> String {
    let layout = Layout::new(tree);
    if layout.width > WIDEST {
        return rows::tree(tree, links);
    }
    let direction = if layout.mirrored { "rtl" } else { "ltr" };
    format!(
        "<div class=\"tree\" dir=\"{direction}\"><svg {} role=\"group\" aria-label=\"Dependency tree\">\n{}</svg></div>\n",
        size(layout.width, height(tree, &layout)),
        elements(tree, &layout, links),
    )
}

/// Draws a sentence as a file of its own, for any program that shows SVG.
pub(super) fn file(tree: &Tree<'_>) -> String {
    let mut below = Below::default();
    below.add(tree);
    below.file(&tree.words.join(" "))
}

/// Sentences drawn one below the other, for one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Below {
    drawn: String,
    width: f32,
    height: f32,
}

impl Below {
    /// Draws one more.
    pub(super) fn add(&mut self, tree: &Tree<'_>) {
        let layout = Layout::new(tree);
        let (width, height) = (layout.width, height(tree, &layout));
        let elements = elements(tree, &layout, Links::None);
        self.drawn.push_str(&match self.height {
            0.0 => elements,
            y => format!("<svg y=\"{y:.0}\" width=\"{width:.0}\" height=\"{height:.0}\">\n{elements}</svg>\n"),
        });
        self.width = self.width.max(width);
        self.height += height;
    }

    /// Its size so far, in bytes.
    #[cfg(feature = "cli")]
    pub(super) fn size(&self) -> usize {
        self.drawn.len()
    }

    /// The file, for any program that shows SVG. `spoken` says what it shows.
    pub(super) fn file(&self, spoken: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" {} role=\"img\" aria-label=\"{}\">\n<style>{STYLE}</style>\n\
             <rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
            size(self.width, self.height),
            escape(spoken),
            self.drawn,
        )
    }
}

fn height(tree: &Tree<'_>, layout: &Layout) -> f32 {
    let tokens = if tree.tokens().next().is_some() { TOKENS } else { 0.0 };
    layout.base + BOTTOM + tokens
}

fn size(width: f32, height: f32) -> String {
    format!("width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\"")
}

fn elements(tree: &Tree<'_>, layout: &Layout, links: Links<'_>) -> String {
    let edges = (1..=tree.words.len()).map(|word| linked(tree, links, word, &edge(tree, layout, word)));
    edges.chain(tree.tokens().map(|token| brace(layout, token))).collect()
}

/// A surface token below the words that it stands for.
fn brace(layout: &Layout, token: &MultiwordToken) -> String {
    let start = layout.x(layout.centers[token.first] - layout.widths[token.first] / 2.0 + 3.0);
    let end = layout.x(layout.centers[token.last] + layout.widths[token.last] / 2.0 - 3.0);
    let (middle, top) = ((start + end) / 2.0, layout.base + BOTTOM - 3.0);
    format!(
        "<path class=\"brace\" d=\"M{start:.1} {top:.1}v5H{end:.1}v-5\"/><text class=\"token\" x=\"{middle:.1}\" \
         y=\"{:.1}\">{}</text>\n",
        top + 20.0,
        escape(&token.form),
    )
}

/// The arc into a word, with the word.
fn edge(tree: &Tree<'_>, layout: &Layout, word: usize) -> String {
    let head = layout.heads[word];
    let (foot, base) = (layout.x(layout.feet[word].1), layout.base);
    let (path, label_x, label_y) = match head {
        0 => (format!("M{foot:.1} 22V{:.1}", base - 7.0), foot, 38.0),
        _ => layout.arc(word),
    };
    let top =
        if head == 0 { format!("<text class=\"top\" x=\"{foot:.1}\" y=\"15\">ROOT</text>") } else { String::new() };
    let label = escape(&layout.labels[word]);
    let pill = layout.pills[word];
    let (x, half, word_y) = (layout.x(layout.centers[word]), layout.widths[word] / 2.0, base + 22.0);
    format!(
        "<path class=\"reach\" d=\"{path}\"/><path class=\"arc\" d=\"{path}\"/>\
         <path class=\"tip\" d=\"M{:.1} {:.1}h9l-4.5 8z\"/>{top}\
         <rect class=\"pill\" x=\"{:.1}\" y=\"{:.1}\" width=\"{pill:.1}\" height=\"18\" rx=\"9\"/>\
         <text class=\"label\" x=\"{label_x:.1}\" y=\"{:.1}\">{label}</text>\
         <rect class=\"under\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"40\" rx=\"7\"/>\
         <text class=\"word\" x=\"{x:.1}\" y=\"{word_y:.1}\">{}</text>\
         <text class=\"number\" x=\"{x:.1}\" y=\"{:.1}\">{word}</text>",
        foot - 4.5,
        base - 8.0,
        label_x - pill / 2.0,
        label_y - 9.0,
        label_y + 4.0,
        x - half,
        base + 3.0,
        2.0 * half,
        escape(&tree.words[word - 1]),
        base + 38.0,
    )
}

/// Wraps the drawing of an edge into a link to its explanation, if there is one.
pub(super) fn linked(tree: &Tree<'_>, links: Links<'_>, word: usize, drawing: &str) -> String {
    let shade = tree.shade(word);
    let spoken = escape(&tree.spoken(word));
    match links {
        Links::Panels { place, explained } if explained.contains(&word) => {
            let anchor = anchor(place, word);
            format!(
                "<a class=\"edge {shade}\" href=\"#{anchor}\" aria-controls=\"{anchor}\" aria-label=\"{spoken}\">\
                 <title>{spoken}</title>{drawing}</a>\n"
            )
        }
        Links::Panels { .. } => format!(
            "<g class=\"edge silent {shade}\" role=\"img\" aria-label=\"{spoken}; not explained here\">\
             <title>{spoken}; not explained here</title>{drawing}</g>\n"
        ),
        // The script of the page handles the click.
        #[cfg(feature = "serve")]
        Links::Page => format!(
            "<a class=\"edge {shade}\" href=\"#\" data-edge=\"{word}\" aria-expanded=\"false\" aria-label=\"{spoken}\">\
             <title>{spoken}</title>{drawing}</a>\n"
        ),
        Links::None => format!("<g class=\"edge {shade}\"><title>{spoken}</title>{drawing}</g>\n"),
    }
}
