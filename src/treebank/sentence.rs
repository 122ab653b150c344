//! A sentence as in CoNLL-U: comments, words, multiword tokens and empty nodes, every field verbatim.

use serde::Serialize;
use std::borrow::Cow;

/// One sentence. Writing it gives back what was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence {
    pub(super) comments: Vec<String>,
    pub(super) words: Vec<Word>,
    pub(super) multiword_tokens: Vec<MultiwordToken>,
    pub(super) empty_nodes: Vec<EmptyNode>,
}

/// One syntactic word; its id is its position in the sentence, counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The word as written.
    pub form: String,
    /// The dictionary form, `_` if unknown.
    pub lemma: String,
    /// The universal part of speech, `_` if unknown.
    pub upos: String,
    /// The treebank's own part of speech, `_` if unknown.
    pub xpos: String,
    /// The morphological features, `_` if none.
    pub feats: String,
    /// The id of the head, 0 for ROOT, `None` for `_`.
    pub head: Option<usize>,
    /// The relation to the head (DEPREL), `_` if unknown.
    pub label: String,
    /// The enhanced dependencies, `_` if none.
    pub deps: String,
    /// Anything else, as `Key=Value` pairs between `|`, `_` if none.
    pub misc: String,
}

/// A surface token that stands for several words, such as `don't` for `do` and `n't`.
///
/// In JSON it has its words and its form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MultiwordToken {
    /// The id of its first word.
    pub first: usize,
    /// The id of its last word.
    pub last: usize,
    /// The token as written.
    pub form: String,
    /// The columns LEMMA to DEPS, verbatim with their tabs.
    #[serde(skip)]
    pub(super) middle: String,
    /// Anything else, as in [`Word::misc`].
    #[serde(skip)]
    pub misc: String,
}

/// A node of the enhanced graph that is not in the text, such as `8.1`. The parser ignores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EmptyNode {
    /// The id of the word it follows, 0 before the first.
    pub after: usize,
    /// Its number among the empty nodes after that word, from 1.
    pub number: usize,
    /// The columns FORM to MISC, verbatim with their tabs.
    pub(super) columns: String,
}

impl Sentence {
    /// A sentence of bare words without annotation, for parsing. White space inside a form becomes one space and an
    /// empty form becomes `_`, so that the sentence can always be written.
    pub fn from_forms(forms: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let words = forms.into_iter().map(|form| Word::new(&form.into())).collect();
        Self { words, ..Self::default() }
    }

    /// The comment lines, verbatim with their `#`.
    pub fn comments(&self) -> &[String] {
        &self.comments
    }

    /// Sets the comment `# key = value`, replacing an older one with that key.
    pub fn set_comment(&mut self, key: &str, value: &str) {
        let line = format!("# {key} = {}", one_line(value));
        match self.comments.iter().position(|comment| comment_value(comment, key).is_some()) {
            Some(place) => self.comments[place] = line,
            None => self.comments.push(line),
        }
    }

    /// The value of `# sent_id = …`.
    pub fn sent_id(&self) -> Option<&str> {
        self.comment("sent_id")
    }

    /// The `sent_id`, or a name made of the words for a sentence without one. Equal words make equal names, so that the
    /// sentence is found again in another file.
    pub(crate) fn name(&self) -> Cow<'_, str> {
        self.sent_id().filter(|sent_id| !sent_id.is_empty()).map_or_else(
            || {
                let mut words = blake3::Hasher::new();
                for form in self.forms() {
                    words.update(form.as_bytes()).update(b"\n");
                }
                Cow::Owned(format!("words-{}", &words.finalize().to_hex()[..12]))
            },
            Cow::Borrowed,
        )
    }

    /// The value of `# text = …`.
    pub fn text(&self) -> Option<&str> {
        self.comment("text")
    }

    /// The document that starts with this sentence: the value of `# newdoc id = …`, empty for a bare `# newdoc`.
    pub(crate) fn document(&self) -> Option<&str> {
        let bare = || self.comments.iter().any(|c| c.trim_start_matches('#').trim() == "newdoc").then_some("");
        self.comment("newdoc id").or_else(bare)
    }

    /// Whether a paragraph begins with this sentence.
    pub(super) fn begins_paragraph(&self) -> bool {
        let begins = |comment: &String| {
            matches!(comment.trim_start_matches('#').split_whitespace().next(), Some("newpar" | "newdoc"))
        };
        self.comments.iter().any(begins)
    }

    /// The syntactic words; the word with id `i` is `words()[i - 1]`.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// The syntactic words, mutable for annotation.
    pub fn words_mut(&mut self) -> &mut [Word] {
        &mut self.words
    }

    /// The surface tokens that stand for several words, in order.
    pub fn multiword_tokens(&self) -> &[MultiwordToken] {
        &self.multiword_tokens
    }

    /// The nodes of the enhanced graph that are not in the text, in order.
    #[cfg(any(feature = "cli", feature = "internals"))]
    pub(crate) fn empty_nodes(&self) -> &[EmptyNode] {
        &self.empty_nodes
    }

    /// The forms of the words.
    pub fn forms(&self) -> impl ExactSizeIterator<Item = &str> {
        self.words.iter().map(|word| word.form.as_str())
    }

    /// The head of every word, if every word has one.
    pub fn gold_heads(&self) -> Option<Vec<usize>> {
        self.words.iter().map(|word| word.head).collect()
    }

    fn comment(&self, key: &str) -> Option<&str> {
        self.comments.iter().find_map(|comment| comment_value(comment, key))
    }
}

impl Word {
    /// A word with a form and nothing else.
    pub(crate) fn new(form: &str) -> Self {
        let none = || "_".to_owned();
        let form = one_line(form);
        Self {
            form: if form.is_empty() { none() } else { form },
            lemma: none(),
            upos: none(),
            xpos: none(),
            feats: none(),
            head: None,
            label: none(),
            deps: none(),
            misc: none(),
        }
    }

    /// The key in MISC that says whether an edge can be evidence.
    pub(crate) const EVIDENCE: &str = "Evidence";

    /// Whether its edge can be evidence: not if MISC has `Evidence=No`, because nobody has checked it.
    pub fn is_evidence(&self) -> bool {
        self.misc(Self::EVIDENCE) != Some("No")
    }

    /// The value of a key in MISC.
    pub fn misc(&self, key: &str) -> Option<&str> {
        misc_value(&self.misc, key)
    }

    /// Sets a key in MISC, replacing an older value, and leaves the other keys unchanged. White space in the value
    /// becomes one space and `|` becomes `/`, because MISC cannot hold them.
    pub(crate) fn set_misc(&mut self, key: &str, value: &str) {
        set_misc(&mut self.misc, key, value);
    }

    /// Removes a key from MISC.
    pub(crate) fn remove_misc(&mut self, key: &str) {
        let kept: Vec<&str> = self
            .misc
            .split('|')
            .filter(|pair| pair.strip_prefix(key).is_none_or(|rest| !rest.starts_with('=')))
            .collect();
        self.misc = if kept.is_empty() { "_".to_string() } else { kept.join("|") };
    }

    /// Whether the text has no space after this word.
    pub(crate) fn joined_to_next(&self) -> bool {
        self.misc("SpaceAfter") == Some("No")
    }
}

impl MultiwordToken {
    /// A token over the words `first..=last` without annotation.
    pub(crate) fn new(first: usize, last: usize, form: &str) -> Self {
        Self { first, last, form: one_line(form), middle: "_\t_\t_\t_\t_\t_\t_".to_owned(), misc: "_".to_owned() }
    }

    /// Sets a key in MISC like [`Word::set_misc`].
    pub(crate) fn set_misc(&mut self, key: &str, value: &str) {
        set_misc(&mut self.misc, key, value);
    }

    /// Whether the text has no space after this token.
    pub(crate) fn joined_to_next(&self) -> bool {
        misc_value(&self.misc, "SpaceAfter") == Some("No")
    }
}

fn misc_value<'a>(misc: &'a str, key: &str) -> Option<&'a str> {
    misc.split('|').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
}

fn set_misc(misc: &mut String, key: &str, value: &str) {
    let pair = format!("{key}={}", one_line(value).replace('|', "/"));
    if misc == "_" {
        *misc = pair;
    } else if misc_value(misc, key).is_none() {
        misc.push('|');
        misc.push_str(&pair);
    } else {
        let is_key = |old: &str| old.strip_prefix(key).is_some_and(|rest| rest.starts_with('='));
        let pairs: Vec<&str> = misc.split('|').map(|old| if is_key(old) { pair.as_str() } else { old }).collect();
        *misc = pairs.join("|");
    }
}

/// The value of a comment `# key = value`.
fn comment_value<'a>(comment: &'a str, key: &str) -> Option<&'a str> {
    let rest = comment.strip_prefix('#')?.trim_start().strip_prefix(key)?.trim_start();
    Some(rest.strip_prefix('=')?.trim())
}

/// Replaces every run of white space by one space, so that the text fits in one column.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_misc_adds_and_replaces_and_leaves_the_other_keys() {
        let mut word = Word::new("bread");
        word.set_misc("HeadProb", "0.5");
        assert_eq!(word.misc, "HeadProb=0.5");
        word.set_misc("SpaceAfter", "No");
        word.set_misc("HeadProb", "0.7");
        assert_eq!(word.misc, "HeadProb=0.7|SpaceAfter=No");
        assert_eq!((word.misc("HeadProb"), word.joined_to_next()), (Some("0.7"), true));
        word.set_misc("Note", "a|b\tc");
        assert_eq!(word.misc, "HeadProb=0.7|SpaceAfter=No|Note=a/b c");
    }

    #[test]
    fn comments_are_found_by_key_and_replaced() {
        let mut sentence = Sentence::from_forms(["Hi"]);
        sentence.set_comment("sent_id", "s1");
        sentence.set_comment("text", "Hi\nthere");
        sentence.set_comment("sent_id", "s2");
        assert_eq!(sentence.comments(), ["# sent_id = s2", "# text = Hi there"]);
        assert_eq!((sentence.sent_id(), sentence.text(), sentence.document()), (Some("s2"), Some("Hi there"), None));
        sentence.set_comment("newdoc id", "d");
        assert_eq!(sentence.document(), Some("d"));
    }

    #[test]
    fn a_text_comment_of_another_key_is_not_the_text() {
        let mut sentence = Sentence::from_forms(["Hi"]);
        sentence.set_comment("text_en", "Hello");
        assert_eq!(sentence.text(), None);
    }

    #[test]
    fn forms_that_a_column_cannot_hold_are_made_to_fit() {
        let sentence = Sentence::from_forms(["a\tb", "", "\n"]);
        assert_eq!(sentence.forms().collect::<Vec<_>>(), ["a b", "_", "_"]);
    }
}
