//! The options of `hostile`.

use crate::arguments::given;
use anyhow::ensure;
use std::path::PathBuf;
use std::time::Duration;

/// The help text.
pub const USAGE: &str = "\
usage: cargo xtask hostile --bundle BUNDLE --dev FILE [OPTIONS]

Runs good clients against `citree serve`, alone and then beside hostile ones: slow, half-open, huge, malformed, expensive
and many. On this machine only.

  --bundle BUNDLE  a bundle with an index
  --dev FILE       a treebank; its sentences of 20 words are sent
  --minutes N      minutes beside hostile clients [default: 30]

Runs the binary of `cargo build --release`, so build it first. The exit status is 1 if a goal was missed.
";

/// What to serve, and how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub bundle: PathBuf,
    pub dev: PathBuf,
    pub time: Duration,
    /// The options as given, for the heading of the report.
    pub given: String,
}

impl Options {
    /// Parses pairs of name and value.
    pub fn new(arguments: &[&str]) -> anyhow::Result<Self> {
        let (bundle, dev, time) = (PathBuf::new(), PathBuf::new(), Duration::from_secs(30 * 60));
        let mut options = Self { bundle, dev, time, given: arguments.join(" ") };
        for given in given(arguments, USAGE) {
            let given = given?;
            match given.name {
                "--bundle" => options.bundle = PathBuf::from(given.value),
                "--dev" => options.dev = PathBuf::from(given.value),
                "--minutes" => options.time = Duration::from_secs(60 * given.number()? as u64),
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

    #[test]
    fn input_is_needed_and_options_set_their_fields() {
        let options = Options::new(&["--bundle", "b", "--dev", "d", "--minutes", "2"]).expect("options");
        assert_eq!(options.time, Duration::from_secs(120));
        assert!(Options::new(&["--bundle", "b"]).expect_err("refused").to_string().contains("--dev"));
        assert!(Options::new(&["--minute", "2"]).expect_err("refused").to_string().contains("--minute"));
    }
}
