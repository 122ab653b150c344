//! Where results go: the standard output, or a file that appears when it is whole.

use crate::error::Error;
use crate::files::{remove_unpublished, write_output};
use flate2::{Compression, write::GzEncoder};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Where to write.
#[derive(clap::Args)]
pub(super) struct Destination {
    /// The file to write; one whose name ends in .gz is compressed by gzip; - is the standard output
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    output: PathBuf,
}

impl Destination {
    /// Lets `work` write there. If it fails, no file appears; what went to the standard output is out.
    pub(super) fn write<T>(&self, work: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>) -> anyhow::Result<T> {
        if self.output == Path::new("-") {
            let mut out = BufWriter::new(std::io::stdout().lock());
            let done = work(&mut out)?;
            out.flush()?;
            return Ok(done);
        }
        ctrlc::set_handler(|| {
            remove_unpublished();
            std::process::exit(130);
        })?;
        let mut done = None;
        let written = write_output(&self.output, |out| {
            let worked = match self.is_compressed() {
                false => work(out),
                true => {
                    let mut packed = GzEncoder::new(out, Compression::default());
                    let worked = work(&mut packed);
                    worked.and_then(|value| packed.finish().map(|_| value).map_err(Into::into))
                }
            };
            let failed = worked.is_err();
            done = Some(worked);
            if failed { Err(Error::Stopped) } else { Ok(()) }
        });
        match done {
            Some(Ok(value)) => written.map(|()| value).map_err(Into::into),
            Some(Err(error)) => Err(error),
            None => Err(written.err().unwrap_or(Error::Stopped).into()),
        }
    }

    fn is_compressed(&self) -> bool {
        self.output.extension().is_some_and(|ending| ending == "gz")
    }
}
