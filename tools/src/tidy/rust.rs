//! Rules on single Rust files: the first line, the length, and forbidden words.

use super::source::Source;
use super::{COMMAND_LINE, COMMAND_LINE_CRATES, MAY_PRINT, MOST_LINES, Violation, is_in};

const UNFINISHED: &[&str] = &["todo", "unimplemented", "dbg"];
const PRINTING: &[&str] = &["print", "println", "eprint", "eprintln"];

/// Reports violations in `source`. `unsafe_allowed` lists the files that may contain `unsafe`.
pub fn check(source: &Source, unsafe_allowed: &[&str], violations: &mut Vec<Violation>) {
    let mut report = |line: usize, message: String| violations.push(Violation::new(source.path, line, message));
    if !source.text.starts_with("//!") {
        report(1, "a file starts with a `//!` comment that says its purpose".into());
    }
    let lines = source.text.lines().count();
    if lines > MOST_LINES {
        report(MOST_LINES + 1, format!("{lines} lines; a file has at most {MOST_LINES}"));
    }
    for (line, word, rest) in source.words() {
        let is_macro = rest.starts_with('!') && !rest.starts_with("!=");
        if is_macro && UNFINISHED.contains(&word) {
            report(line, format!("`{word}!` is not for finished code"));
        }
        if is_macro && PRINTING.contains(&word) && !is_in(source.path, MAY_PRINT) && !source.is_test(line) {
            report(line, format!("`{word}!` outside the command line, the tools and the tests"));
        }
        let attribute = source.code.lines().nth(line - 1).is_some_and(|code| code.trim_start().starts_with("#["));
        if word == "ignore" && attribute && !is_slow_test(source.text, line) {
            report(
                line,
                "`#[ignore]`: run the test, delete it, or write `#[ignore = \"slow: …\"]` and list it in tests/README.md".into(),
            );
        }
        let in_library = source.path.starts_with("src/") && !is_in(source.path, COMMAND_LINE);
        if in_library && COMMAND_LINE_CRATES.contains(&word) {
            report(line, format!("`{word}` belongs to the command line ({})", COMMAND_LINE.join(", ")));
        }
        if word == "unsafe" && !unsafe_allowed.contains(&source.path) {
            report(line, "`unsafe` outside the files that tidy allows it in".into());
        } else if word == "unsafe" && !has_safety_comment(source.text, line) {
            report(line, "`unsafe` without a `// SAFETY:` comment above".into());
        }
    }
}

/// Whether the line ignores a slow test with a reason.
fn is_slow_test(text: &str, line: usize) -> bool {
    text.lines().nth(line - 1).is_some_and(|code| code.trim_start().starts_with("#[ignore = \"slow: "))
}

/// Whether the comments and attributes directly above a line contain `// SAFETY:`.
fn has_safety_comment(text: &str, line: usize) -> bool {
    let above: Vec<&str> = text.lines().take(line - 1).map(str::trim_start).collect();
    let mut attached = above.iter().rev().take_while(|code| code.starts_with("//") || code.starts_with("#["));
    attached.any(|comment| comment.starts_with("// SAFETY:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNSAFE_IN: &[&str] = &["index/src/map.rs"];

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let mut violations = Vec::new();
        check(&Source::new(path, text), UNSAFE_IN, &mut violations);
        violations.iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn a_file_must_start_with_its_purpose() {
        assert_eq!(lines("src/a.rs", "//! Purpose.\nuse std::fs;\n"), [0_usize; 0]);
        assert_eq!(lines("src/a.rs", "use std::fs;\n//! Purpose.\n"), [1]);
        assert_eq!(lines("index/src/a.rs", ""), [1]);
    }

    #[test]
    fn a_file_may_be_as_long_as_the_limit_and_no_longer() {
        let long = |lines: usize| "//! Purpose.\n".to_owned() + &"fn f() {}\n".repeat(lines - 1);
        assert_eq!(lines("src/a.rs", &long(MOST_LINES)), [0_usize; 0]);
        assert_eq!(lines("src/a.rs", &long(MOST_LINES + 1)), [MOST_LINES + 1]);
    }

    #[test]
    fn unfinished_code_is_found_even_in_tests_but_not_in_comments_strings_or_comparisons() {
        assert_eq!(lines("src/a.rs", "//! P\nfn f() { todo!() }\nfn g() { dbg!(1); }\n"), [2, 3]);
        assert_eq!(lines("tests/a.rs", "//! P\nfn f() { unimplemented!(\"later\") }\n"), [2]);
        assert_eq!(lines("src/a.rs", "//! P\n// todo!()\nfn f() { g(\"dbg!\", todo != 1) }\n"), [0_usize; 0]);
    }

    #[test]
    fn ignored_tests_are_found_however_the_attribute_is_written() {
        assert_eq!(lines("tests/a.rs", "//! P\n#[ignore]\nfn a() {}\n"), [2]);
        assert_eq!(lines("tests/a.rs", "//! P\n#[test] #[ignore = \"slow\"]\nfn a() {}\n"), [2]);
        assert_eq!(lines("tests/a.rs", "//! P\n    #[cfg_attr(miri, ignore)]\nfn a() {}\n"), [2]);
        assert_eq!(lines("src/a.rs", "//! P\nfn ignore() {}\n"), [0_usize; 0]);
        assert_eq!(lines("tests/a.rs", "//! P\n#[test]\n#[ignore = \"slow: an hour\"]\nfn a() {}\n"), [0_usize; 0]);
    }

    #[test]
    fn the_library_prints_only_in_its_tests() {
        let print = "//! P\nfn f() { println!(); eprintln!() }\n";
        assert_eq!(lines("src/parse/a.rs", print), [2, 2]);
        assert_eq!(lines("index/src/a.rs", print), [2, 2]);
        for path in ["src/cli/a.rs", "src/main.rs", "tools/src/main.rs", "tests/a.rs"] {
            assert_eq!(lines(path, print), [0_usize; 0], "{path}");
        }
        assert_eq!(
            lines("src/a.rs", "//! P\n#[cfg(test)]\nmod tests {\n    fn f() { eprintln!() }\n}\n"),
            [0_usize; 0]
        );
    }

    #[test]
    fn command_line_crates_stay_out_of_the_library() {
        let uses = "//! P\nuse anyhow::Result;\n#[derive(clap::Args)]\nstruct A(indicatif::ProgressBar);\n";
        assert_eq!(lines("src/fetch/mod.rs", uses), [2, 3, 4]);
        assert_eq!(lines("src/cli/fetch.rs", uses), [0_usize; 0]);
        assert_eq!(lines("tools/src/main.rs", uses), [0_usize; 0]);
        assert_eq!(lines("src/a.rs", "//! P\nfn clapping() {} // clap\n"), [0_usize; 0]);
    }

    #[test]
    fn unsafe_needs_an_allowed_file_and_a_reason() {
        let reasoned = "//! P\n// SAFETY: checked at load,\n// twice.\n#[inline]\nunsafe fn f() {}\n";
        assert_eq!(lines("index/src/map.rs", reasoned), [0_usize; 0]);
        assert_eq!(lines("src/a.rs", reasoned), [5]);
        assert_eq!(lines("index/src/map.rs", "//! P\n// SAFETY: far away\n\nunsafe fn f() {}\n"), [4]);
        assert_eq!(lines("src/a.rs", "//! P\n#![forbid(unsafe_code)]\n"), [0_usize; 0]);
    }
}
