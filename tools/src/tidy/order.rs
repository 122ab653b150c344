//! The data-flow order: a module of `src` uses only modules before it.

use super::Violation;
use super::source::{Source, line_of, starts_word, word_at};

/// Reports each use of a module that comes after the file's own in `data_flow`, except in tests. `lib.rs` and `main.rs`
/// are exempt; every other module must be in the list.
pub fn check(source: &Source, data_flow: &[&str], violations: &mut Vec<Violation>) {
    let Some((module, depth)) = module_of(source.path) else { return };
    let rank = |name: &str| data_flow.iter().position(|module| *module == name);
    let Some(own) = rank(module) else {
        violations.push(Violation::new(source.path, 1, format!("module `{module}` is missing in tidy's DATA_FLOW")));
        return;
    };
    for (at, name) in top_level_names(&source.code, depth) {
        let line = line_of(&source.code, at);
        if rank(name).is_some_and(|used| used > own) && !source.is_test(line) {
            let message = format!("`{module}` uses `{name}`, which stands below it in the data flow");
            violations.push(Violation::new(source.path, line, message));
        }
    }
}

/// The top-level module of a file of the root crate, and how many modules deep the file is.
fn module_of(path: &str) -> Option<(&str, usize)> {
    let inside = path.strip_prefix("src/")?.strip_suffix(".rs")?;
    if matches!(inside, "lib" | "main") {
        return None;
    }
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    Some((inside.split('/').next()?, inside.split('/').count()))
}

/// The names after `crate::`, or after enough `super::` to reach the crate root, alone or in braces, with their
/// positions.
fn top_level_names(code: &str, depth: usize) -> Vec<(usize, &str)> {
    let mut names = Vec::new();
    for prefix in ["crate::".to_owned(), "super::".repeat(depth)] {
        for (start, _) in code.match_indices(&prefix) {
            if starts_word(code, start) && !code[..start].ends_with("::") {
                names.extend(names_from(code, start + prefix.len()));
            }
        }
    }
    names
}

/// The name at byte `start`, or the first name of each item in the braces there.
fn names_from(code: &str, start: usize) -> Vec<(usize, &str)> {
    if !code[start..].starts_with('{') {
        return vec![(start, word_at(&code[start..]))];
    }
    let mut names = Vec::new();
    let mut depth = 0;
    let mut expects_name = true;
    for (at, c) in code[start..].char_indices().map(|(offset, c)| (start + offset, c)) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => expects_name = true,
            _ if depth == 1 && expects_name && starts_word(code, at) => {
                names.push((at, word_at(&code[at..])));
                expects_name = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: &[&str] = &["error", "treebank", "parse", "cli"];

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let mut violations = Vec::new();
        check(&Source::new(path, text), FLOW, &mut violations);
        violations.iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn a_module_may_use_itself_and_those_above() {
        let text =
            "use crate::error::Error;\nuse crate::{treebank, parse::tree};\nuse crate::Sentence;\nuse super::tree;\n";
        assert_eq!(lines("src/parse/mst.rs", text), [0_usize; 0]);
    }

    #[test]
    fn uses_of_later_modules_are_found_in_any_form_of_path() {
        assert_eq!(lines("src/treebank/mod.rs", "use crate::parse;\n"), [1]);
        assert_eq!(lines("src/treebank.rs", "\nfn f() -> crate::cli::Args {}\n"), [2]);
        let group = "use crate::{\n    error::{Error, Result},\n    parse::{self, tree},\n    cli,\n};\n";
        assert_eq!(lines("src/treebank/read.rs", group), [3, 4]);
        assert_eq!(lines("src/treebank/read.rs", "use super::super::parse::tree;\n"), [1]);
        assert_eq!(lines("src/error.rs", "use super::treebank;\n"), [1]);
    }

    #[test]
    fn names_that_only_look_like_later_modules_are_ignored() {
        assert_eq!(lines("src/treebank/read.rs", "use super::parse::number;\nuse std::cli;\n"), [0_usize; 0]);
        assert_eq!(lines("src/treebank/read.rs", "// crate::cli\npub(crate) fn cli() {}\n"), [0_usize; 0]);
        assert_eq!(lines("src/treebank/read.rs", "use crate::error::parse;\nmy_crate::cli();\n"), [0_usize; 0]);
        assert_eq!(lines("src/lib.rs", "use crate::cli;\n"), [0_usize; 0]);
        assert_eq!(lines("index/src/error.rs", "use crate::cli;\n"), [0_usize; 0]);
    }

    #[test]
    fn tests_may_use_any_module() {
        assert_eq!(lines("src/error.rs", "#[cfg(test)]\nmod tests {\n    use crate::cli;\n}\n"), [0_usize; 0]);
        assert_eq!(lines("src/error/tests.rs", "use crate::cli;\n"), [0_usize; 0]);
    }

    #[test]
    fn a_module_missing_from_the_order_is_found() {
        assert_eq!(lines("src/misc/mod.rs", "//! P\n"), [1]);
        assert_eq!(lines("src/utils.rs", "//! P\n"), [1]);
    }
}
