//! Findings and groups as comma-separated values, for a spreadsheet.

use super::place;
use crate::audit::{Finding, Group};
use std::io::Write;
use std::path::Path;

/// Writes a row for each finding.
pub(super) fn findings(out: &mut impl Write, findings: &[Finding], file: Option<&Path>) -> anyhow::Result<()> {
    let names = "place,sent_id,dependent,form,head,head_form,label,kind,suggested_head,suggested_head_form,\
                 suggested_label,score,rule,says,text";
    writeln!(out, "{names}")?;
    for finding in findings {
        let cells = [
            place(finding, file),
            finding.sent_id.clone(),
            finding.dependent.to_string(),
            finding.form(finding.dependent).to_string(),
            finding.head.to_string(),
            finding.form(finding.head).to_string(),
            finding.label.clone(),
            finding.kind.to_string(),
            finding.suggested_head.to_string(),
            finding.form(finding.suggested_head).to_string(),
            finding.suggested_label.clone(),
            format!("{:.4}", finding.score),
            finding.rule.clone().unwrap_or_default(),
            finding.says.clone(),
            finding.text(),
        ];
        writeln!(out, "{}", cells.map(|cell| quoted(&cell)).join(","))?;
    }
    Ok(())
}

/// Writes a row for each group.
pub(super) fn groups(out: &mut impl Write, groups: &[Group]) -> anyhow::Result<()> {
    writeln!(out, "kind,label,suggested_label,size,expected_errors,as_it_is,as_suggested,words")?;
    for group in groups {
        let words: Vec<String> = group.words.iter().map(|(word, count)| format!("{word} {count}")).collect();
        let cells = [
            group.kind.to_string(),
            group.label.clone(),
            group.suggested_label.clone(),
            group.size.to_string(),
            format!("{:.2}", group.expected_errors),
            group.as_it_is.to_string(),
            group.as_suggested.to_string(),
            words.join("; "),
        ];
        writeln!(out, "{}", cells.map(|cell| quoted(&cell)).join(","))?;
    }
    Ok(())
}

/// A cell, in quotation marks if it needs them. A spreadsheet must not take the text of a treebank for a formula, so text
/// that begins like one is preceded by an apostrophe.
fn quoted(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@']) && cell.len() > 1;
    let cell = if formula { format!("'{cell}") } else { cell.to_string() };
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn cells_with_commas_and_quotation_marks_are_quoted_and_formulas_are_text() {
        assert_eq!(quoted("amod"), "amod");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"no\""), "\"say \"\"no\"\"\"");
        assert_eq!(quoted("=1+2"), "'=1+2");
        assert_eq!(quoted("-"), "-");
    }
}
