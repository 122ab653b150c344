//! Rules on the documentation: every page of `docs` is reachable by links.

use super::{File, Violation};

/// Reports each file of `docs` without an incoming link, and a missing change log.
pub fn check(files: &[File], violations: &mut Vec<Violation>) {
    if !files.iter().any(|file| file.path == "CHANGELOG.md") {
        violations.push(Violation::new("CHANGELOG.md", 1, "the repository needs a CHANGELOG.md"));
    }
    let pages = files.iter().filter(|file| file.path == "README.md" || file.path.starts_with("docs/"));
    let links: Vec<(&str, String)> =
        pages.flat_map(|page| links(page).into_iter().map(|target| (page.path.as_str(), target))).collect();
    for file in files.iter().filter(|file| file.path.starts_with("docs/")) {
        if !links.iter().any(|(from, target)| *target == file.path && *from != file.path) {
            let message = "no link leads here from README.md or another file of docs";
            violations.push(Violation::new(&file.path, 1, message));
        }
    }
}

/// The link targets of a page, in Markdown or HTML, as paths from the repository root.
fn links(page: &File) -> Vec<String> {
    let mut targets = Vec::new();
    for opening in ["](", "]: ", "src=\"", "href=\""] {
        for (at, _) in page.text.match_indices(opening) {
            let target = &page.text[at + opening.len()..];
            let end = target.find(|c: char| c.is_whitespace() || ")#\"?".contains(c)).unwrap_or(target.len());
            targets.push(resolve(&page.path, &target[..end]));
        }
    }
    targets
}

/// Resolves `target` relative to the folder of `page`.
fn resolve(page: &str, target: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let file = |&(path, text): &(&str, &str)| File { path: path.to_owned(), text: text.to_owned() };
        let files: Vec<File> = files.iter().map(file).collect();
        let mut violations = Vec::new();
        check(&files, &mut violations);
        violations.into_iter().map(|violation| violation.path).collect()
    }

    #[test]
    fn pages_linked_from_the_readme_or_another_page_are_fine() {
        let files = [
            ("CHANGELOG.md", ""),
            ("README.md", "See [how](docs/how.md#top) and <img src=\"docs/curve.svg\">."),
            ("docs/how.md", "See [why](why.md), [the rest](./more/rest.md)."),
            ("docs/why.md", "[how]\n\n[how]: how.md"),
            ("docs/more/rest.md", "Back [up](../how.md)."),
            ("docs/curve.svg", ""),
        ];
        assert_eq!(found(&files), [""; 0]);
    }

    #[test]
    fn a_page_that_links_only_to_itself_is_found() {
        let files = [("CHANGELOG.md", ""), ("README.md", "docs/a.md"), ("docs/a.md", "[a](a.md)")];
        assert_eq!(found(&files), ["docs/a.md"]);
    }

    #[test]
    fn a_missing_change_log_is_found() {
        assert_eq!(found(&[("README.md", "")]), ["CHANGELOG.md"]);
    }
}
