//! Sentences that cannot be read or parsed: what happens to them, and what the user is told.

use crate::cli::printable::printable;
use crate::error::Error;
use std::io::Write;
use std::process::ExitCode;

/// Sentences whose errors are shown; of more, the number is said.
const MOST_SHOWN: u64 = 100;

/// What to do with a sentence that cannot be read or parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum OnError {
    /// End, after all sentences before it were written
    Stop,
    /// Leave it out, and go on
    Skip,
    /// Write its lines as they are, and go on; for CoNLL-U
    Copy,
}

/// Counts good and bad sentences, and reports the bad ones.
pub(super) struct Bad {
    on_error: OnError,
    good: u64,
    skipped: u64,
    copied: u64,
}

/// Whether an error is about one sentence, so that others can be parsed.
pub(super) fn is_of_a_sentence(error: &Error) -> bool {
    match error {
        Error::Treebank { .. } | Error::SentenceTooLong { .. } => true,
        // A line of text that is not UTF-8.
        Error::Io { source, .. } => source.kind() == std::io::ErrorKind::InvalidData,
        _ => false,
    }
}

impl Bad {
    pub(super) fn new(on_error: OnError) -> Self {
        Self { on_error, good: 0, skipped: 0, copied: 0 }
    }

    /// Counts a sentence that was parsed.
    pub(super) fn good(&mut self) {
        self.good += 1;
    }

    /// Takes a sentence that cannot be parsed, and says whether to copy its lines if they are `there`. Fails if the run ends.
    pub(super) fn take(&mut self, place: &str, error: anyhow::Error, there: bool) -> anyhow::Result<bool> {
        let message = match error.downcast_ref::<Error>() {
            Some(of_run) if !is_of_a_sentence(of_run) => return Err(error),
            Some(Error::SentenceTooLong { .. }) => format!("{place}: {error}"),
            // The message of any other begins with its place.
            _ => error.to_string(),
        };
        if self.on_error == OnError::Stop {
            anyhow::bail!("{message}");
        }
        let copy = self.on_error == OnError::Copy && there;
        let number = self.skipped + self.copied;
        if number < MOST_SHOWN {
            let what = if copy { "copied" } else { "skipped" };
            writeln!(std::io::stderr(), "citree: {what}: {}", printable(&message))?;
        } else if number == MOST_SHOWN {
            writeln!(std::io::stderr(), "citree: further errors are counted, but not shown")?;
        }
        *(if copy { &mut self.copied } else { &mut self.skipped }) += 1;
        Ok(copy)
    }

    /// Says at the end how many there were.
    pub(super) fn summary(&self) -> anyhow::Result<ExitCode> {
        let Self { good, skipped, copied, .. } = self;
        let bad = skipped + copied;
        if bad == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        let parts = [(skipped, "skipped"), (copied, "copied")].into_iter().filter(|(count, _)| **count > 0);
        let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
        writeln!(
            std::io::stderr(),
            "citree: {bad} of {} sentences could not be parsed: {}",
            good + bad,
            parts.join(", ")
        )?;
        Ok(ExitCode::from(1))
    }
}
