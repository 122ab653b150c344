//! Numbers and findings in plain words, the same wherever they are shown.

use super::{Coverage, Rationale, RollUp};

/// From this share on, citations carry nearly all of a decision.
const NEARLY_ALL: f64 = 0.9;
/// Below this share, they only illustrate it.
const ILLUSTRATION: f64 = 0.1;

/// A share as a percentage: `97.3 %`, `0.005 %`; never `0 %` or `100 %` for what is not.
pub(crate) fn percent(share: f64) -> String {
    let value = share * 100.0;
    let size = value.abs();
    let sign = if value < 0.0 { "−" } else { "" };
    let digits = match size {
        _ if !value.is_finite() => return "–".to_string(),
        _ if value < 100.0 && value > 99.95 => return "over 99.9 %".to_string(),
        0.0 | 100.0 => 0,
        1.0.. => 1,
        0.1.. => 2,
        1e-6.. => (-size.log10().floor()) as usize,
        _ => return "under 0.000001 %".to_string(),
    };
    format!("{sign}{size:.digits$} %")
}

/// A score or a part of one, with four digits that count.
pub(crate) fn number(value: f64) -> String {
    let (size, sign) = (value.abs(), if value < 0.0 { "−" } else { "" });
    let digits = match size {
        _ if !value.is_finite() => return "–".to_string(),
        0.0 => 0,
        1000.0.. => 0,
        1e-6.. => (3 - size.log10().floor() as i32).clamp(0, 9) as usize,
        _ => return format!("{sign}{size:.1e}"),
    };
    format!("{sign}{size:.digits$}")
}

/// The same with its sign even where it is positive.
pub(crate) fn signed(value: f64) -> String {
    if value > 0.0 { format!("+{}", number(value)) } else { number(value) }
}

/// A count with commas between the thousands.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// How far the citations carry a decision, in one sentence; `rival` is the runner-up's name.
pub fn coverage(rationale: &Rationale, rival: Option<&str>) -> String {
    let Coverage { score, margin, cited, of, .. } = rationale.coverage;
    if cited == 0 {
        return format!("No training edge is cited ({} count).", edges(of));
    }
    let (subject, carries, pronoun) = match cited {
        1 => ("The one cited edge".to_string(), "carries", "it"),
        _ => (format!("The {} cited edges", count(cited as u64)), "carry", "they"),
    };
    let lead = match (margin, rival) {
        (Some(margin), Some(rival)) => format!(" and {} of the margin over {rival}", percent(margin)),
        _ => String::new(),
    };
    let verdict = verdict(score, margin, cited == 1);
    let counted = if of == 1 { "1 training edge counts".to_string() } else { format!("{} count", edges(of)) };
    format!("{subject} {carries} {} of the evidence{lead} ({counted}): {pronoun} {verdict}.", percent(score))
}

fn edges(of: u64) -> String {
    format!("{} training edges", count(of))
}

fn verdict(score: f64, margin: Option<f64>, single: bool) -> &'static str {
    let margin = margin.unwrap_or(score);
    let pick = |one, many| if single { one } else { many };
    if score.min(margin) >= NEARLY_ALL {
        pick("carries nearly all of this decision", "carry nearly all of this decision")
    } else if score.abs().max(margin.abs()) < ILLUSTRATION {
        pick("illustrates this decision, it does not carry it", "illustrate this decision, they do not carry it")
    } else if margin < 0.0 {
        pick("speaks for this choice, but not for its lead", "speak for this choice, but not for its lead")
    } else {
        pick("carries part of this decision", "carry part of this decision")
    }
}

/// Whether a nearer training edge can have been missed.
pub fn completeness(coverage: &Coverage) -> String {
    match (coverage.exact, coverage.recall) {
        (true, _) => "Exact: compared with every training edge that counts, so no nearer one was missed.".to_string(),
        (false, Some(recall)) => format!(
            "Found by search, which finds {} of the nearest edges (measured when the index was built): a nearer one may be \
             missing.",
            percent(f64::from(recall))
        ),
        (false, None) => "Found by search, its recall not measured: a nearer one may be missing.".to_string(),
    }
}

impl RollUp {
    /// The groups with their shares of the margin, or of the evidence where nothing was second.
    pub fn in_words(&self) -> String {
        let plus = |share: f64| if share > 0.0 { "+" } else { "" };
        let groups = self.groups.iter().map(|group| match group.margin_share {
            Some(share) => format!("{} {}{}", group.name, plus(share), percent(share)),
            None => format!("{} {}", group.name, percent(group.share)),
        });
        groups.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rationale(score: f64, margin: Option<f64>, cited: usize, of: u64) -> Rationale {
        let coverage = Coverage { score, margin, cited, of, exact: false, recall: Some(0.9834) };
        Rationale { score: 1.0, probability: 0.5, runner_up: None, citations: vec![], coverage, roll_ups: vec![] }
    }

    #[test]
    fn percentages_keep_what_matters_and_never_round_to_none_or_all() {
        let percentages = [0.0, 1.0, 0.9732, 0.99999, 0.0042, 0.000051, 1e-9, -0.031, 3.12, f64::NAN].map(percent);
        let expected = [
            "0 %",
            "100 %",
            "97.3 %",
            "over 99.9 %",
            "0.42 %",
            "0.005 %",
            "under 0.000001 %",
            "−3.1 %",
            "312.0 %",
            "–",
        ];
        assert_eq!(percentages, expected);
    }

    #[test]
    fn numbers_have_four_digits_that_count_and_a_true_minus() {
        let numbers = [0.0, 12.345678, -0.00123456, 204_585.4, 1.0, 3.2e-9].map(number);
        assert_eq!(numbers, ["0", "12.35", "−0.001235", "204585", "1.000", "3.2e-9"]);
        assert_eq!((signed(0.5), signed(-0.5)), ("+0.5000".to_string(), "−0.5000".to_string()));
        assert_eq!([7, 999, 1000, 204_585, 1_000_000].map(count), ["7", "999", "1,000", "204,585", "1,000,000"]);
    }

    #[test]
    fn the_words_for_coverage_follow_the_shares() {
        let say = |rationale: Rationale, rival| coverage(&rationale, rival);
        assert_eq!(
            say(rationale(0.000051, Some(0.000042), 10, 204_585), Some("‘saw’")),
            "The 10 cited edges carry 0.005 % of the evidence and 0.004 % of the margin over ‘saw’ (204,585 training \
             edges count): they illustrate this decision, they do not carry it."
        );
        assert!(
            say(rationale(0.97, Some(0.99), 10, 50), Some("x")).ends_with("they carry nearly all of this decision.")
        );
        assert!(say(rationale(0.97, Some(0.4), 10, 50), Some("x")).ends_with("they carry part of this decision."));
        assert!(say(rationale(0.5, Some(-0.4), 10, 50), Some("x")).ends_with("but not for its lead."));
        assert_eq!(
            say(rationale(1.0, None, 1, 1), None),
            "The one cited edge carries 100 % of the evidence (1 training edge counts): it carries nearly all of this \
             decision."
        );
        assert_eq!(say(rationale(0.0, None, 0, 9), None), "No training edge is cited (9 training edges count).");
    }

    #[test]
    fn a_search_says_what_it_finds() {
        let mut coverage = rationale(0.1, None, 1, 1).coverage;
        assert!(completeness(&coverage).contains("98.3 % of the nearest"));
        coverage.recall = None;
        assert!(completeness(&coverage).contains("not measured"));
        coverage.exact = true;
        assert!(completeness(&coverage).starts_with("Exact"));
    }
}
