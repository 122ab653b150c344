//! A Rust file prepared for the rules: its code without comments and literals, and which lines belong to tests.

/// A Rust file with its comments, strings and characters blanked out, at the same positions.
pub struct Source<'a> {
    /// Relative to the repository root.
    pub path: &'a str,
    /// As written.
    pub text: &'a str,
    /// As written, with a space for each character of a comment or a literal.
    pub code: String,
    test_lines: Vec<bool>,
}

impl<'a> Source<'a> {
    /// Blanks `text` and finds its test modules.
    pub fn new(path: &'a str, text: &'a str) -> Self {
        let code = blank(text);
        let whole = path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs");
        let mut test_lines = vec![whole; code.lines().count() + 1];
        for range in test_items(&code) {
            test_lines[line_of(&code, range.start) - 1..line_of(&code, range.end)].fill(true);
        }
        Source { path, text, code, test_lines }
    }

    /// Whether a line, from 1, is part of an item under `#[cfg(test)]` or of a test file.
    pub fn is_test(&self, line: usize) -> bool {
        self.test_lines.get(line - 1).copied().unwrap_or(false)
    }

    /// Every identifier or keyword of the code, with its line and the rest of that line.
    pub fn words(&self) -> impl Iterator<Item = (usize, &str, &str)> {
        self.code.lines().enumerate().flat_map(|(index, line)| {
            let starts = line.char_indices().filter(|&(at, _)| starts_word(line, at));
            starts.map(move |(at, _)| {
                let word = word_at(&line[at..]);
                (index + 1, word, &line[at + word.len()..])
            })
        })
    }
}

/// The line of byte `at`, from 1.
pub fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The identifier at the start of `text`; empty if there is none.
pub fn word_at(text: &str) -> &str {
    &text[..text.find(|c| !is_word(c)).unwrap_or(text.len())]
}

/// Whether an identifier starts at byte `at`.
pub fn starts_word(text: &str, at: usize) -> bool {
    text[at..].starts_with(is_word) && !text[..at].ends_with(is_word)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The byte ranges of items under `#[cfg(test)]`, including the attribute.
fn test_items(code: &str) -> impl Iterator<Item = std::ops::Range<usize>> {
    code.match_indices("#[cfg(test)]").map(|(start, _)| {
        let mut depth = 0;
        for (offset, c) in code[start..].char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth <= 1 => return start..start + offset,
                '}' => depth -= 1,
                ';' if depth == 0 => return start..start + offset,
                _ => {}
            }
        }
        start..code.len()
    })
}

fn blank(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after_word = code.ends_with(is_word);
        let length = literal_length(rest, after_word);
        if length == 0 {
            code.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            let (literal, remainder) = rest.split_at(length);
            code.extend(literal.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = remainder;
        }
    }
    code
}

/// The length in bytes of the comment or literal at the start of `rest`; 0 for code.
fn literal_length(rest: &str, after_word: bool) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment_length(rest);
    }
    if let Some(body) = rest.strip_prefix('"') {
        return 1 + quoted_length(body, '"');
    }
    if let Some(body) = rest.strip_prefix('\'') {
        let mut ahead = body.chars();
        let is_character = match ahead.next() {
            Some('\\') => true,
            _ => ahead.next() == Some('\''), // otherwise a lifetime
        };
        return if is_character { 1 + quoted_length(body, '\'') } else { 0 };
    }
    let prefix = ["r", "br", "cr"].into_iter().find_map(|prefix| rest.strip_prefix(prefix)).filter(|_| !after_word);
    if let Some(hashes) = prefix {
        let count = hashes.len() - hashes.trim_start_matches('#').len();
        if hashes[count..].starts_with('"') {
            let opening = rest.len() - hashes.len() + count + 1;
            let closing = format!("\"{}", "#".repeat(count));
            return rest[opening..].find(&closing).map_or(rest.len(), |at| opening + at + closing.len());
        }
    }
    0
}

fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length in bytes up to and including the closing `quote`. A backslash escapes the next character.
fn quoted_length(body: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    body.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_code_is_kept_in_place() {
        let cases = [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ \n d */ e", "a              \n      e"),
            (r#"f("a\"b", c)"#, "f(      , c)"),
            ("f(r#\"a\"b\"#, c)", "f(        , c)"),
            ("for\"x\"", "for   "),
            (r"('a', '\'', '\\', b)", "(   ,     ,     , b)"),
            ("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)"),
            ("\"é\" é", "    é"),
            ("\"unclosed", "         "),
        ];
        for (text, code) in cases {
            assert_eq!(blank(text), code, "{text}");
        }
    }

    #[test]
    fn test_modules_end_with_their_last_brace_and_test_files_are_all_tests() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() { \"}\"; }\n}\n\
                    fn c() {}\n#[cfg(test)]\nmod t;\nfn d() {}\n";
        let source = Source::new("src/a.rs", text);
        let tests: Vec<usize> = (1..=9).filter(|&line| source.is_test(line)).collect();
        assert_eq!(tests, [2, 3, 4, 5, 7, 8]);
        assert!(Source::new("src/parse/tree/tests.rs", "fn a() {}\n").is_test(1));
        assert!(!Source::new("src/attests.rs", "fn a() {}\n").is_test(1));
    }

    #[test]
    fn words_are_whole_identifiers() {
        let source = Source::new("src/a.rs", "let unsafe_code = dbg!(x1);\n\ny");
        let words: Vec<_> = source.words().map(|(line, word, _)| (line, word)).collect();
        assert_eq!(words, [(1, "let"), (1, "unsafe_code"), (1, "dbg"), (1, "x1"), (3, "y")]);
    }
}
