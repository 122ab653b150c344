//! The options of `peers search` and `peers growth`.

use anyhow::{Context, bail, ensure};
use std::path::PathBuf;

/// The help text of both.
pub const USAGE: &str = "\
usage: cargo xtask peers search --bundle BUNDLE --queries FILE [OPTIONS]
       cargo xtask peers growth --bundle BUNDLE --queries FILE [OPTIONS]

search compares nearest-neighbour search with hnswlib, FAISS, USearch and hnsw_rs. growth measures ours with growing
numbers of rows.

  --bundle BUNDLE the rows to search in: the head vectors of its index
  --queries FILE  a treebank; its gold edges are the queries
  --threads N     threads for building, bulk search and exact search [default: 2]
  --rounds N      rounds; the libraries alternate [default: 5]
  --slice N       queries per round of single-thread search [default: 1000]
  --exact N       queries per round of exact search [default: 5000]
  --plot FILE     the file of the plot [default: search.svg or growth.svg]
  --sizes N,N,..  numbers of rows; growth only [default: 20000,200000,2000000]

Indexes are written to the system's temporary folder (TMPDIR) and removed afterwards.
";

/// What to measure, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    pub bundle: PathBuf,
    pub queries: PathBuf,
    pub threads: usize,
    pub rounds: usize,
    pub slice: usize,
    pub exact: usize,
    pub plot: Option<PathBuf>,
    pub sizes: Vec<usize>,
    /// The options as given, for the heading of the report.
    pub given: String,
}

impl Options {
    /// Parses pairs of name and value.
    pub fn new(arguments: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self {
            bundle: PathBuf::new(),
            queries: PathBuf::new(),
            threads: 2,
            rounds: 5,
            slice: 1000,
            exact: 5000,
            plot: None,
            sizes: vec![20_000, 200_000, 2_000_000],
            given: arguments.join(" "),
        };
        for pair in arguments.chunks(2) {
            let &[name, value] = pair else { bail!("{} needs a value\n\n{USAGE}", pair[0]) };
            let number = |value: &str| {
                let number: usize = value.parse().with_context(|| format!("{name} {value}: not a number"))?;
                ensure!(number > 0, "{name} must be 1 or more");
                anyhow::Ok(number)
            };
            match name {
                "--bundle" => options.bundle = PathBuf::from(value),
                "--queries" => options.queries = PathBuf::from(value),
                "--threads" => options.threads = number(value)?,
                "--rounds" => options.rounds = number(value)?,
                "--slice" => options.slice = number(value)?,
                "--exact" => options.exact = number(value)?,
                "--plot" => options.plot = Some(PathBuf::from(value)),
                "--sizes" => options.sizes = value.split(',').map(number).collect::<anyhow::Result<_>>()?,
                _ => bail!("no option {name}\n\n{USAGE}"),
            }
        }
        let complete = !options.bundle.as_os_str().is_empty() && !options.queries.as_os_str().is_empty();
        ensure!(complete, "--bundle and --queries are needed\n\n{USAGE}");
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: [&str; 4] = ["--bundle", "b", "--queries", "q"];

    #[test]
    fn the_input_is_required_and_the_rest_has_defaults() {
        let options = Options::new(&INPUT).expect("options");
        assert_eq!((options.threads, options.plot), (2, None));
        for without in 0..2 {
            let rest: Vec<&str> =
                INPUT.chunks(2).enumerate().filter(|(i, _)| *i != without).flat_map(|(_, p)| p.to_vec()).collect();
            assert!(Options::new(&rest).expect_err("refused").to_string().contains(INPUT[2 * without]));
        }
    }

    #[test]
    fn sizes_are_comma_separated_numbers() {
        let options = Options::new(&[&INPUT[..], &["--sizes", "10,20"]].concat()).expect("options");
        assert_eq!(options.sizes, [10, 20]);
        assert!(Options::new(&[&INPUT[..], &["--sizes", "10,x"]].concat()).is_err());
    }
}
