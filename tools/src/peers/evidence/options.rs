//! The options of `peers evidence`.

use crate::arguments::given;
use anyhow::ensure;
use std::path::PathBuf;

/// The help text.
pub const USAGE: &str = "\
usage: cargo xtask peers evidence --bundle BUNDLE --dev FILE --train FILE [OPTIONS]

Measures adding and removing evidence, searching beside many additions, merging, and what an example teaches; shows that two
treebanks in one bundle decide as one of both.

  --bundle BUNDLE a bundle with an index; a copy of it is changed
  --dev FILE      a treebank with sentences to add, which are not in the bundle
  --train FILE    the treebank that the bundle was indexed from, for an index of a tenth of it
  --parts A,B,..  what to measure: change, search, merge, teach, split [default: all]
  --rounds N      rounds; the variants alternate [default: 20]
  --lessons N     sentences to teach with [default: 50]

change runs the binary of `cargo build --release`, so build it first.
";

/// A part that can be measured separately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// Adding and removing one sentence.
    Change,
    /// Searching beside a hundred additions, and in one index of the same edges.
    Search,
    /// Merging, compared with building.
    Merge,
    /// What corrected sentences change.
    Teach,
    /// Two treebanks in one bundle, compared with one treebank of both.
    Split,
}

const PARTS: [(&str, Part); 5] = [
    ("change", Part::Change),
    ("search", Part::Search),
    ("merge", Part::Merge),
    ("teach", Part::Teach),
    ("split", Part::Split),
];

/// What to measure, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub bundle: PathBuf,
    pub dev: PathBuf,
    pub train: PathBuf,
    pub parts: Vec<Part>,
    pub rounds: usize,
    pub lessons: usize,
    /// The options as given, for the heading of the report.
    pub given: String,
}

impl Options {
    /// Parses pairs of name and value.
    pub fn new(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self {
            bundle: PathBuf::new(),
            dev: PathBuf::new(),
            train: PathBuf::new(),
            parts: PARTS.map(|(_, part)| part).to_vec(),
            rounds: 20,
            lessons: 50,
            given: arguments.join(" "),
        };
        for given in given(arguments, USAGE) {
            let given = given?;
            match given.name {
                "--bundle" => options.bundle = PathBuf::from(given.value),
                "--dev" => options.dev = PathBuf::from(given.value),
                "--train" => options.train = PathBuf::from(given.value),
                "--parts" => options.parts = given.parts(&PARTS)?,
                "--rounds" => options.rounds = given.number()?,
                "--lessons" => options.lessons = given.number()?,
                _ => return Err(given.unknown()),
            }
        }
        let needed = [&options.bundle, &options.dev, &options.train];
        ensure!(
            needed.iter().all(|path| !path.as_os_str().is_empty()),
            "--bundle, --dev and --train are needed\n\n{USAGE}"
        );
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_chosen_and_missing_input_is_refused_by_name() {
        let input = ["--bundle", "b", "--dev", "d", "--train", "t"];
        let options = Options::new(&[&input[..], &["--parts", "teach"]].concat()).expect("options");
        assert_eq!(options.parts, [Part::Teach]);
        assert!(Options::new(&input[..4]).expect_err("refused").to_string().contains("--train"));
    }
}
