//! The options of `peers explain`.

use crate::arguments::given;
use anyhow::ensure;
use std::path::PathBuf;

/// The help text.
pub const USAGE: &str = "\
usage: cargo xtask peers explain --bundle BUNDLE --dev FILE [OPTIONS]

Compares the time of explaining with that of parsing.

  --bundle BUNDLE a bundle with an index
  --dev FILE      a treebank to parse and explain, with gold heads
  --parts A,B,..  what to measure: latency, rules, start, bulk [default: all]
  --sentences N   only the first N sentences, in rules and bulk [default: all]
  --rounds N      rounds of latency, rules and bulk; the variants alternate [default: 3]

start runs the binary of `cargo build --release`, so build it first.
";

/// A part that can be measured separately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// One sentence at a time.
    Latency,
    /// Parsing by each rule.
    Rules,
    /// From the start of the program to an explanation.
    Start,
    /// Many sentences at once.
    Bulk,
}

const PARTS: [(&str, Part); 4] =
    [("latency", Part::Latency), ("rules", Part::Rules), ("start", Part::Start), ("bulk", Part::Bulk)];

/// What to measure, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub bundle: PathBuf,
    pub dev: PathBuf,
    pub parts: Vec<Part>,
    pub sentences: usize,
    pub rounds: usize,
    /// The options as given, for the heading of the report.
    pub given: String,
}

impl Options {
    /// Parses pairs of name and value.
    pub fn new(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self {
            bundle: PathBuf::new(),
            dev: PathBuf::new(),
            parts: PARTS.map(|(_, part)| part).to_vec(),
            sentences: usize::MAX,
            rounds: 3,
            given: arguments.join(" "),
        };
        for given in given(arguments, USAGE) {
            let given = given?;
            match given.name {
                "--bundle" => options.bundle = PathBuf::from(given.value),
                "--dev" => options.dev = PathBuf::from(given.value),
                "--parts" => options.parts = given.parts(&PARTS)?,
                "--sentences" => options.sentences = given.number()?,
                "--rounds" => options.rounds = given.number()?,
                _ => return Err(given.unknown()),
            }
        }
        let complete = !options.bundle.as_os_str().is_empty() && !options.dev.as_os_str().is_empty();
        ensure!(complete, "--bundle and --dev are needed\n\n{USAGE}");
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: [&str; 4] = ["--bundle", "b", "--dev", "d"];

    #[test]
    fn all_parts_are_measured_unless_some_are_named() {
        assert_eq!(Options::new(&INPUT).expect("options").parts.len(), 4);
        let options = Options::new(&[&INPUT[..], &["--parts", "bulk,start"]].concat()).expect("options");
        assert_eq!(options.parts, [Part::Bulk, Part::Start]);
    }

    #[test]
    fn missing_input_and_unknown_parts_are_refused_by_name() {
        assert!(Options::new(&INPUT[..2]).expect_err("refused").to_string().contains("--dev"));
        let refused = Options::new(&[&INPUT[..], &["--parts", "bulk,speed"]].concat()).expect_err("refused");
        assert!(refused.to_string().contains("--parts speed"), "{refused}");
    }
}
