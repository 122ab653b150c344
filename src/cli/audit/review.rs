//! Asks about findings one by one at the terminal. Every answer is saved at once, so that a review can end at any time.

use super::text;
use crate::audit::{Decision, Decisions, Finding, Verdict};
use crate::cli::printable::Printable;
use std::io::{BufRead, Write};
use std::path::Path;

const KEYS: &str = "a accept   k keep   o HEAD LABEL other   s skip   q quit   (text after the answer is a note)";

/// Goes through findings and saves the decisions.
pub(super) fn run(findings: &[Finding], file: Option<&Path>, path: &Path) -> anyhow::Result<()> {
    let mut answers = std::io::stdin().lock().lines();
    let mut out = Printable::new(std::io::stdout().lock(), false);
    for (finding, number) in findings.iter().zip(1..) {
        writeln!(out, "\n{number} of {}", findings.len())?;
        text::whole(&mut out, finding, file)?;
        if finding.sent_id.is_empty() {
            writeln!(out, "its sentence has no sent_id, so a decision could not be found again; give it one")?;
            continue;
        }
        loop {
            write!(out, "{KEYS}\n> ")?;
            out.flush()?;
            let Some(answer) = answers.next().transpose()? else { return Ok(()) };
            match parse(answer.trim(), finding) {
                Ok(Answer::Decided(decision)) => {
                    // Read again, because others may have added decisions meanwhile.
                    let mut decisions = Decisions::read(path)?;
                    decisions.add(*decision);
                    decisions.write(path)?;
                    break;
                }
                Ok(Answer::Skip) => break,
                Ok(Answer::Quit) => return Ok(()),
                Err(message) => writeln!(out, "{message}")?,
            }
        }
    }
    Ok(())
}

enum Answer {
    Decided(Box<Decision>),
    Skip,
    Quit,
}

fn parse(answer: &str, finding: &Finding) -> Result<Answer, String> {
    let decided = |verdict, right: (usize, &str), note: &str| {
        Ok(Answer::Decided(Box::new(Decision::about(finding, verdict, right, note.trim()))))
    };
    let (key, rest) = answer.split_once(' ').unwrap_or((answer, ""));
    match key {
        "a" => decided(Verdict::Accept, (finding.suggested_head, &finding.suggested_label), rest),
        "k" => decided(Verdict::Keep, (finding.head, &finding.label), rest),
        "o" => {
            let mut parts = rest.splitn(3, ' ');
            let head = parts.next().and_then(|head| head.parse().ok());
            let head = head.filter(|head| *head <= finding.words.len() && *head != finding.dependent);
            let (Some(head), Some(label)) = (head, parts.next().filter(|label| !label.is_empty())) else {
                return Err(format!("give a head from 0 to {} and a label: o 3 obl", finding.words.len()));
            };
            decided(Verdict::Other, (head, label), parts.next().unwrap_or_default())
        }
        "s" => Ok(Answer::Skip),
        "q" => Ok(Answer::Quit),
        _ => Err(format!("`{key}` is no answer")),
    }
}
