//! The options of `peers serve`.

use crate::arguments::given;
use anyhow::ensure;
use std::path::PathBuf;
use std::time::Duration;

/// The help text.
pub const USAGE: &str = "\
usage: cargo xtask peers serve --bundle BUNDLE --dev FILE [OPTIONS]

Measures `citree serve` under load, on this machine only.

  --bundle BUNDLE   a bundle with an index
  --dev FILE        a treebank; up to 200 of its sentences of 20 words are sent
  --parts A,B,..    what to measure: latency, throughput, soak [default: latency,throughput]
  --clients N       clients at the same time, in throughput and soak [default: 16]
  --seconds N       seconds per measurement, after a warm-up [default: 20]
  --rounds N        rounds of throughput; the variants alternate [default: 3]
  --soak-minutes N  minutes of good and bad requests, then SIGTERM [default: 10]

Runs the binary of `cargo build --release`, so build it first. The exit status is 1 if soak found a failure.
";

/// A part that can be measured separately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// One client, one request after the other.
    Latency,
    /// One client and many, with and without batching of their requests.
    Throughput,
    /// Many clients with good and bad requests, for a long time.
    Soak,
}

const PARTS: [(&str, Part); 3] = [("latency", Part::Latency), ("throughput", Part::Throughput), ("soak", Part::Soak)];

/// What to measure, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub bundle: PathBuf,
    pub dev: PathBuf,
    pub parts: Vec<Part>,
    pub clients: usize,
    /// The time of each measurement.
    pub time: Duration,
    pub rounds: usize,
    pub soak: Duration,
    /// The options as given, for the heading of the report.
    pub given: String,
}

impl Options {
    /// Parses pairs of name and value.
    pub fn new(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self {
            bundle: PathBuf::new(),
            dev: PathBuf::new(),
            parts: vec![Part::Latency, Part::Throughput],
            clients: 16,
            time: Duration::from_secs(20),
            rounds: 3,
            soak: Duration::from_secs(600),
            given: arguments.join(" "),
        };
        for given in given(arguments, USAGE) {
            let given = given?;
            match given.name {
                "--bundle" => options.bundle = PathBuf::from(given.value),
                "--dev" => options.dev = PathBuf::from(given.value),
                "--parts" => options.parts = given.parts(&PARTS)?,
                "--clients" => options.clients = given.number()?,
                "--seconds" => options.time = Duration::from_secs(given.number()? as u64),
                "--rounds" => options.rounds = given.number()?,
                "--soak-minutes" => options.soak = Duration::from_secs(60 * given.number()? as u64),
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
    fn all_but_the_long_part_are_measured_unless_some_are_named() {
        assert_eq!(Options::new(&INPUT).expect("options").parts, [Part::Latency, Part::Throughput]);
        let options = Options::new(&[&INPUT[..], &["--parts", "soak"]].concat()).expect("options");
        assert_eq!(options.parts, [Part::Soak]);
    }

    #[test]
    fn options_set_their_fields() {
        let more = ["--clients", "3", "--seconds", "5", "--rounds", "2", "--soak-minutes", "4"];
        let options = Options::new(&[&INPUT[..], &more].concat()).expect("options");
        assert_eq!((options.clients, options.rounds), (3, 2));
        assert_eq!((options.time, options.soak), (Duration::from_secs(5), Duration::from_secs(240)));
        assert_eq!(options.given, "--bundle b --dev d --clients 3 --seconds 5 --rounds 2 --soak-minutes 4");
    }

    #[test]
    fn missing_input_invalid_values_and_unknown_names_are_refused_by_name() {
        assert!(Options::new(&INPUT[..2]).expect_err("refused").to_string().contains("--dev"));
        for wrong in [&["--clients", "0"][..], &["--seconds", "x"], &["--rounds"], &["--part", "soak"]] {
            let refused = Options::new(&[&INPUT[..], wrong].concat()).expect_err("refused");
            assert!(refused.to_string().contains(wrong[0]), "{refused}");
        }
        let refused = Options::new(&[&INPUT[..], &["--parts", "soak,speed"]].concat()).expect_err("refused");
        assert!(refused.to_string().contains("--parts speed"), "{refused}");
    }
}
