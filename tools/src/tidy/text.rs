//! Rules on the text of any file: white space, the final newline, and paths of single machines.

use super::{File, MACHINE_FOLDERS, Violation};

/// Reports violations in the text of `file`.
pub fn check(file: &File, violations: &mut Vec<Violation>) {
    let mut report = |line: usize, message: String| violations.push(Violation::new(&file.path, line, message));
    let is_prose_or_code = [".rs", ".md", ".toml", ".py", ".pyi"].iter().any(|ending| file.path.ends_with(ending));
    for (line, text) in file.text.split('\n').enumerate().map(|(index, text)| (index + 1, text)) {
        if is_prose_or_code && text.ends_with(char::is_whitespace) {
            report(line, "white space at the end of the line".into());
        }
        if is_prose_or_code && text.contains('\t') {
            report(line, "a tab; indent with spaces, write `\\t` in strings".into());
        }
        for folder in MACHINE_FOLDERS {
            let path = format!("/{folder}/");
            if text.match_indices(&path).any(|(at, _)| is_path_start(&text[..at])) {
                report(line, format!("`{path}…` is a path of one machine"));
            }
        }
    }
    if is_prose_or_code && !file.text.ends_with('\n') {
        report(file.text.split('\n').count(), "no newline at the end of the file".into());
    }
}

/// Whether a slash after `before` starts an absolute path, and does not continue a relative one, a URL or a variable.
fn is_path_start(before: &str) -> bool {
    !before.ends_with(|c: char| c.is_alphanumeric() || "._-~*})".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let mut violations = Vec::new();
        check(&File { path: path.to_owned(), text: text.to_owned() }, &mut violations);
        violations.iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn white_space_at_the_end_and_tabs_are_found_in_code_and_prose_only() {
        for path in ["a.rs", "docs/a.md", "Cargo.toml"] {
            assert_eq!(lines(path, "a\n    b c\n"), [0_usize; 0]);
            assert_eq!(lines(path, "a \nb\n\tc\nd\r\n"), [1, 3, 4], "{path}");
        }
        assert_eq!(lines("a.conllu", "1\tI\t_ \n"), [0_usize; 0]);
    }

    #[test]
    fn the_last_line_ends_with_a_newline() {
        assert_eq!(lines("a.rs", "a\nb"), [2]);
        assert_eq!(lines("a.md", ""), [1]);
        assert_eq!(lines("a.bin", "a"), [0_usize; 0]);
    }

    #[test]
    fn paths_of_one_machine_are_found_in_any_text() {
        for folder in MACHINE_FOLDERS {
            for (before, found) in
                [("", true), ("cp ", true), ("file://", true), ("\"", true), ("x.org", false), ("..", false)]
            {
                let text = format!("first\n{before}/{folder}/x\n");
                assert_eq!(lines("run.sh", &text), if found { vec![2] } else { vec![] }, "{text}");
            }
        }
        assert_eq!(lines("run.sh", "/usr/share /homework/\n"), [0_usize; 0]);
    }
}
