//! `citree verify`: whether everything in a bundle is as it was written.

use super::machine::Machine;
use citree::encoder::Pretrained;
use citree::indexing::TrainingEdges;
use citree::model::Model;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Check every byte of a bundle's index and pretrained input, and that the model fits them.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  citree verify en.citree

Reads the whole index: checksums, edge records, rows, sums, compact rows and links against each other, and
whether every edge can be found. Then the word vectors and the BERT folder, where the bundle has them.

Exit status: 0 all is well, 1 something is not as it was written, 2 the check could not run.")]
pub struct Args {
    /// The bundle, as `citree train` made it
    bundle: PathBuf,
    #[command(flatten)]
    machine: Machine,
}

/// Verifies, and says what is wrong on the standard output.
pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let device = args.machine.start()?;
    let model = Model::load(&args.bundle, &device)?;
    let edges = TrainingEdges::open(&args.bundle, &model)?;
    let mut out = std::io::stdout().lock();
    let index = edges.index();
    let problem = index.verify().err().map(|error| citree::error::Error::from(error).to_string());
    let unread = || (0..edges.sentences()).find_map(|number| edges.sentence(number).err());
    let altered = || Pretrained::check(&args.bundle, model.config.bert.train).err();
    match problem.or_else(|| unread().or_else(altered).map(|error| error.to_string())) {
        Some(problem) => {
            writeln!(out, "{problem}")?;
            Ok(ExitCode::from(1))
        }
        None => {
            let manifest = index.manifest();
            let (generation, edges, sentences) = (index.generation(), manifest.records, manifest.sources);
            writeln!(out, "all is well: generation {generation}, {edges} edges of {sentences} sentences")?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
