//! The form in which `check` and `audit` write findings: `FILE:LINE:COLUMN` for editors, and JSON lines that begin alike.

use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// A finding as a JSON line. The finding itself has `line` and `column`.
#[derive(Serialize)]
pub(super) struct Located<'a, T> {
    /// The file that it is in, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<&'a Path>,
    /// What is wrong, in one line.
    pub message: String,
    #[serde(flatten)]
    pub finding: T,
}

impl<T: Serialize> Located<'_, T> {
    pub(super) fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        serde_json::to_writer(&mut *out, self)?;
        writeln!(out)
    }
}
