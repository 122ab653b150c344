//! Findings and groups as text for a terminal.

use super::place;
use crate::audit::{Example, Finding, Group};
use crate::cli::columns;
use crate::explain::wording::fixed;
use std::io::Write;
use std::path::Path;

/// Writes findings, each with what speaks for either side.
pub(super) fn findings(out: &mut impl Write, findings: &[Finding], file: Option<&Path>) -> anyhow::Result<()> {
    for finding in findings {
        whole(out, finding, file)?;
        writeln!(out)?;
    }
    Ok(())
}

/// Writes one finding.
pub(super) fn whole(out: &mut impl Write, finding: &Finding, file: Option<&Path>) -> anyhow::Result<()> {
    heading(out, "", finding, file)?;
    writeln!(out, "  {}", finding.says)?;
    examples(out, "as it is", &finding.as_it_is)?;
    examples(out, "as suggested", &finding.as_suggested)
}

/// Writes groups, each with its most suspicious findings and with examples of both sides.
pub(super) fn groups(out: &mut impl Write, groups: &[Group], file: Option<&Path>) -> anyhow::Result<()> {
    for group in groups {
        writeln!(out, "{}", group.title())?;
        writeln!(out, "  {}", group.says())?;
        for finding in &group.findings {
            heading(out, "  ", finding, file)?;
        }
        examples(out, "as it is", &group.examples_as_it_is)?;
        examples(out, "as suggested", &group.examples_as_suggested)?;
        writeln!(out)?;
    }
    Ok(())
}

fn heading(out: &mut impl Write, indent: &str, finding: &Finding, file: Option<&Path>) -> anyhow::Result<()> {
    let (place, score) = (place(finding, file), fixed(finding.score, 2));
    writeln!(out, "{indent}{place}: {score} {}", finding.title())?;
    writeln!(out, "{indent}  {}", finding.text())?;
    Ok(())
}

fn examples(out: &mut impl Write, side: &str, examples: &[Example]) -> anyhow::Result<()> {
    if examples.is_empty() {
        return Ok(());
    }
    writeln!(out, "  {side}:")?;
    let width = examples.iter().map(|example| columns::width(&example.label)).max().unwrap_or_default();
    for example in examples {
        let Example { sent_id, label, similarity, text, .. } = example;
        let similarity = fixed(f64::from(*similarity), 4);
        writeln!(out, "    {similarity}  {}  {text}  ({sent_id})", columns::pad(label, width))?;
    }
    Ok(())
}
