//! The `citree` command: exit codes, broken pipes, and nothing else.

mod cli;

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            // Where even the standard error is closed there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "citree: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether the reader of our output went away, as `head` does: no fault of anyone's.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<std::io::Error>())
        .any(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}
