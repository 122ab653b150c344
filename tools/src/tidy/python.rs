//! Rules on the Python files of the package: the first line and the length, as for Rust files.

use super::{File, MOST_LINES, Violation};

/// Reports violations in a file of the package or of its tests.
pub fn check(file: &File, violations: &mut Vec<Violation>) {
    let of_package = file.path.starts_with("python/") && file.path.ends_with(".py");
    if !of_package {
        return;
    }
    let mut report = |line: usize, message: String| violations.push(Violation::new(&file.path, line, message));
    if !file.text.starts_with("\"\"\"") {
        report(1, "a file starts with a docstring that says its purpose".into());
    }
    let lines = file.text.lines().count();
    if lines > MOST_LINES {
        report(MOST_LINES + 1, format!("{lines} lines; a file has at most {MOST_LINES}"));
    }
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
    fn a_file_of_the_package_starts_with_its_purpose_and_is_not_long() {
        assert_eq!(lines("python/citree/a.py", "\"\"\"Purpose.\"\"\"\n"), [0_usize; 0]);
        assert_eq!(lines("python/tests/a.py", "import os\n"), [1]);
        let long = "\"\"\"Purpose.\"\"\"\n".to_owned() + &"x = 1\n".repeat(MOST_LINES);
        assert_eq!(lines("python/citree/a.py", &long), [MOST_LINES + 1]);
    }

    #[test]
    fn scripts_elsewhere_are_not_judged() {
        assert_eq!(lines("tools/src/peers/search.py", "import os\n"), [0_usize; 0]);
    }
}
