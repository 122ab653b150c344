//! The options of `peers audit`.

use crate::arguments::given;
use anyhow::ensure;
use std::path::PathBuf;

/// The help text.
pub const USAGE: &str = "\
usage: cargo xtask peers audit --bundle BUNDLE --treebank FILE --corrections FILE --sentences FILE [--plot FILE]

Measures how many of the first findings were corrected in a later release of the treebank, beside chance, models of the
words trained on the rest, confident learning by these (pip install cleanlab), the variation-nuclei method and the edges
that the bundle's own parser sees otherwise.

  --bundle BUNDLE     a bundle trained on the treebank, with an index
  --treebank FILE     the treebank that was corrected later
  --corrections FILE  tab-separated: sent_id, word, form, head, label, later head, later label, kind; only the kinds
                      head and label are errors
  --sentences FILE    the sent_id of every sentence that was compared, one a line
  --plot FILE         draw precision by depth, as SVG
";

/// What to measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub bundle: PathBuf,
    pub treebank: PathBuf,
    pub corrections: PathBuf,
    pub sentences: PathBuf,
    pub plot: Option<PathBuf>,
    /// The options as given, for the heading of the report.
    pub given: String,
}

impl Options {
    /// Parses pairs of name and value.
    pub fn new(arguments: &[&str]) -> anyhow::Result<Self> {
        let none = PathBuf::new;
        let mut options = Self {
            bundle: none(),
            treebank: none(),
            corrections: none(),
            sentences: none(),
            plot: None,
            given: arguments.join(" "),
        };
        for given in given(arguments, USAGE) {
            let given = given?;
            let place = match given.name {
                "--bundle" => &mut options.bundle,
                "--treebank" => &mut options.treebank,
                "--corrections" => &mut options.corrections,
                "--sentences" => &mut options.sentences,
                "--plot" => options.plot.insert(none()),
                _ => return Err(given.unknown()),
            };
            *place = PathBuf::from(given.value);
        }
        let Self { bundle, treebank, corrections, sentences, .. } = &options;
        let complete = [bundle, treebank, corrections, sentences].iter().all(|path| !path.as_os_str().is_empty());
        ensure!(complete, "--bundle, --treebank, --corrections and --sentences are needed\n\n{USAGE}");
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_are_needed_and_unknown_options_are_refused_by_name() {
        let all = ["--bundle", "b", "--treebank", "t", "--corrections", "c", "--sentences", "s"];
        assert_eq!(Options::new(&all).expect("options").corrections, PathBuf::from("c"));
        assert!(Options::new(&all[..6]).expect_err("refused").to_string().contains("--sentences"));
        assert!(Options::new(&["--depth", "3"]).expect_err("refused").to_string().contains("--depth"));
    }
}
