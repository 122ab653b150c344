//! Rules about comments: names of sentences, and the text, which the words must spell.

use super::{Row, Validator, Violation, hashed};
use crate::treebank::id::Id;
use crate::treebank::lines::Line;
use crate::treebank::problem::shorten;

impl Validator {
    pub(super) fn test_comments(&mut self, comments: &[&Line], rows: &[Row<'_>], found: &mut Vec<Violation>) {
        let Some(first) = rows.first() else { return };
        self.test_name(comments, first, found);
        self.test_parallel(comments, found);
        let of = |key| comments.iter().filter(move |comment| is_bare(&comment.text, key));
        for (key, rule) in [("newdoc", "multiple-newdoc"), ("newpar", "multiple-newpar")] {
            if let Some(second) = of(key).nth(1) {
                found.push(violation(second, rule, format!("there is a second # {key}"), "one begins here"));
            }
        }
        if let Some(begins) = of("newdoc").chain(of("newpar")).next().filter(|_| self.joined) {
            let what = "the sentence before ends with SpaceAfter=No".to_string();
            found.push(violation(begins, "spaceafter-newdocpar", what, "a document or paragraph begins here"));
        }
        let texts: Vec<(&Line, &str)> =
            comments.iter().filter_map(|comment| Some((*comment, value(&comment.text, "text")?))).collect();
        match texts[..] {
            [] => {
                found.push(first.violation(1, "missing-text", "there is no # text".to_string(), "a sentence has one"))
            }
            [(comment, text)] => self.test_text(comment, text, rows, found),
            [_, (second, _), ..] => {
                let what = "there is a second # text".to_string();
                found.push(violation(second, "multiple-text", what, "a sentence has one"));
            }
        }
    }

    fn test_name(&mut self, comments: &[&Line], first: &Row<'_>, found: &mut Vec<Violation>) {
        let is_name = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
        let mut names = Vec::new();
        for comment in comments {
            match value(&comment.text, "sent_id") {
                Some(name) if is_name(name) => names.push((*comment, name)),
                _ if ["# sent_id", "#sent_id"].iter().any(|start| comment.text.starts_with(start)) => {
                    let what = format!("the comment is {}", shorten(&comment.text));
                    found.push(violation(
                        comment,
                        "invalid-sent-id",
                        what,
                        "it is # sent_id = NAME, without white space",
                    ));
                }
                _ => {}
            }
        }
        match names[..] {
            [] => {
                let what = "there is no # sent_id".to_string();
                found.push(first.violation(1, "missing-sent-id", what, "a sentence has one"));
            }
            [(comment, name)] => {
                if !self.sent_ids.insert(hashed(name)) {
                    let what = format!("sent_id is {}", shorten(name));
                    found.push(violation(comment, "non-unique-sent-id", what, "a sentence above has the same"));
                }
                if name.matches('/').nth(1).is_some() {
                    let what = format!("sent_id is {}", shorten(name));
                    found.push(violation(comment, "slash-in-sent-id", what, "it has at most one slash"));
                }
            }
            [_, (second, _), ..] => {
                let what = "there is a second # sent_id".to_string();
                found.push(violation(second, "multiple-sent-id", what, "a sentence has one"));
            }
        }
    }

    fn test_parallel(&mut self, comments: &[&Line], found: &mut Vec<Violation>) {
        let mut names = Vec::new();
        for comment in comments {
            match value(&comment.text, "parallel_id") {
                Some(name) if is_parallel(name) => names.push((*comment, name)),
                _ if ["# parallel_id", "#parallel_id"].iter().any(|start| comment.text.starts_with(start)) => {
                    let what = format!("the comment is {}", shorten(&comment.text));
                    let expected = "it is # parallel_id = corpus/sentence, then /altN, /partN or /altNpartN, if any";
                    found.push(violation(comment, "invalid-parallel-id", what, expected));
                }
                _ => {}
            }
        }
        match names[..] {
            [(comment, name)] if !self.parallel_ids.insert(hashed(name)) => {
                let what = format!("parallel_id is {}", shorten(name));
                found.push(violation(comment, "non-unique-parallel-id", what, "a sentence above has the same"));
            }
            [_, (second, _), ..] => {
                let what = "there is a second # parallel_id".to_string();
                found.push(violation(second, "multiple-parallel-id", what, "a sentence has one"));
            }
            _ => {}
        }
    }

    /// The forms of the tokens spell the text, with a space after each that has no `SpaceAfter=No`.
    fn test_text(&mut self, comment: &Line, text: &str, rows: &[Row<'_>], found: &mut Vec<Violation>) {
        if text.is_empty() {
            found.push(violation(comment, "empty-text", "# text is empty".to_string(), "it has the words"));
        } else if text.ends_with(char::is_whitespace) {
            let what = "# text ends with white space".to_string();
            found.push(violation(comment, "text-trailing-whitespace", what, "it ends with the last token"));
        }
        let (mut rest, mut inside, mut mismatch) = (text, 0, false);
        for row in rows {
            let [_, form, .., misc] = row.columns;
            test_space(row, inside, found);
            match row.id {
                Id::Empty(..) => continue,
                Id::Range(_, last) => inside = last,
                Id::Word(id) if id <= inside => continue,
                Id::Word(_) => {}
            }
            let Some(after) = rest.strip_prefix(form) else {
                if !mismatch {
                    let near: String = rest.chars().take(form.chars().count() + 20).collect();
                    let what = format!("the text goes on with {}", shorten(&near));
                    found.push(row.violation(2, "text-form-mismatch", what, format!("FORM is {}", shorten(form))));
                }
                mismatch = true;
                continue;
            };
            self.joined = misc.split('|').any(|pair| pair == "SpaceAfter=No");
            rest = after;
            if !self.joined {
                if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
                    let what = "MISC has no SpaceAfter=No".to_string();
                    found.push(row.violation(10, "missing-spaceafter", what, "the text has no space after this token"));
                }
                rest = rest.trim_start();
            }
        }
        if !rest.is_empty() {
            let what = format!("# text ends with {}", shorten(rest));
            found.push(violation(comment, "text-extra-chars", what, "the tokens end before that"));
        }
    }
}

/// What MISC says about the space after a token.
fn test_space(row: &Row<'_>, inside: usize, found: &mut Vec<Violation>) {
    let misc = row.columns[9];
    let what = || format!("MISC is {}", shorten(misc));
    let mut report = |rule, expected: &str| found.push(row.violation(10, rule, what(), expected));
    if misc.contains("NoSpaceAfter=Yes") {
        report("nospaceafter-yes", "that is written SpaceAfter=No");
    }
    if misc.split('|').any(|pair| pair.starts_with("SpaceAfter=") && pair != "SpaceAfter=No") {
        report("spaceafter-value", "the only value of SpaceAfter is No");
    }
    match row.id {
        Id::Empty(..) if misc.contains("SpaceAfter=No") => {
            report("spaceafter-empty-node", "an empty node is not in the text");
        }
        Id::Word(id) if id <= inside && misc.contains("SpaceAfter=No") => {
            report("spaceafter-mwt-node", "it stands on the line of the multiword token");
        }
        _ => {}
    }
}

fn violation(comment: &Line, rule: &'static str, found: String, expected: &str) -> Violation {
    Violation { line: comment.number, column: 1, rule: rule.into(), found, expected: expected.to_string() }
}

/// The value of a comment `# key = value`, with the white space at its end.
fn value<'a>(comment: &'a str, key: &str) -> Option<&'a str> {
    let rest = comment.strip_prefix('#')?.trim_start().strip_prefix(key)?.trim_start();
    Some(rest.strip_prefix('=')?.trim_start())
}

/// Whether this is `# key`, or `# key` and one more word. The validator does not look at `# newdoc id = …`.
fn is_bare(comment: &str, key: &str) -> bool {
    let rest = comment.strip_prefix('#').and_then(|rest| rest.trim_start().strip_prefix(key));
    rest.is_some_and(|rest| {
        rest.is_empty() || rest.starts_with(char::is_whitespace) && rest.split_whitespace().count() == 1
    })
}

fn is_parallel(name: &str) -> bool {
    let is_number = |digits: &str| !digits.starts_with('0') && digits.parse::<u64>().is_ok();
    let is_suffix = |suffix: &str| match suffix.strip_prefix("alt") {
        Some(alt) => {
            alt.split_once("part").map_or_else(|| is_number(alt), |(alt, part)| is_number(alt) && is_number(part))
        }
        None => suffix.strip_prefix("part").is_some_and(is_number),
    };
    let is_sentence = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit() || byte.is_ascii_lowercase())
    };
    match name.split('/').collect::<Vec<_>>()[..] {
        [corpus, sentence] => super::columns::is_lowercase(corpus) && is_sentence(sentence),
        [corpus, sentence, suffix] => {
            super::columns::is_lowercase(corpus) && is_sentence(sentence) && is_suffix(suffix)
        }
        _ => false,
    }
}
