//! `citree pack`: a bundle as one file, to share.

use super::progress::{advance, step_bar};
use crate::archive::{Origin, pack};
use crate::files::remove_unpublished;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Pack a bundle into one file, to share.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree pack en.citree en.citree.tar.zst --treebank UD_English-EWT --release 2.7 --license 'CC BY-SA 4.0'
  citree fetch en.citree.tar.zst --into elsewhere
  citree fetch https://example.org/en.citree.tar.zst --sha256 HASH

The bundle is verified first. The archive says where it comes from: treebank, release, licence, date, sizes, scores, the command \
that trained it, and the version of citree; look at it with `tar --zstd -xOf FILE --wildcards '*/pack.json'`. It has a checksum of \
every file. The same bundle gives the same bytes. A bundle contains words and sentences of its treebank, so the licence of the \
treebank says what you may share; pretrained input has its own.

The SHA-256 and the name of the file are printed, as sha256sum does.")]
pub(super) struct Args {
    /// The bundle, as `citree train` made it
    bundle: PathBuf,
    /// The file to make; its name ends in .tar.zst
    file: PathBuf,
    /// The treebank that it was trained on [default: of the archive that it was unpacked from]
    #[arg(long, value_name = "NAME")]
    treebank: Option<String>,
    /// The release of the treebank, such as 2.7
    #[arg(long, value_name = "NUMBER")]
    release: Option<String>,
    /// The licence of the bundle, such as 'CC BY-SA 4.0' [default: of the archive that it was unpacked from]
    #[arg(long, value_name = "LICENCE")]
    license: Option<String>,
}

/// Packs, and prints the hash.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    ctrlc::set_handler(|| {
        remove_unpublished();
        std::process::exit(130);
    })?;
    let bar = step_bar()?;
    let origin = Origin { treebank: args.treebank, release: args.release, license: args.license };
    let packed = pack(&args.bundle, &args.file, &origin, &mut |done, total| advance(&bar, "packing", done, total));
    bar.finish_and_clear();
    let packed = packed?;
    writeln!(std::io::stderr(), "packed {} files into {} bytes", packed.files, packed.bytes)?;
    writeln!(std::io::stdout(), "{}  {}", packed.sha256, args.file.display())?;
    Ok(ExitCode::SUCCESS)
}
