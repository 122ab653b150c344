//! Numbers and findings in words, the same in all output formats.

mod answers;

pub(crate) use answers::{
    ENDED_EARLY, MOST_IS_MISSING, MOST_OF_ALL, change, change_count, chosen_by_tree, contrast, flip, flip_by_tree,
    flip_sentences, no_alternative,
};

use super::{Citation, Coverage, Explanation, Rationale, RollUp};

/// From this share on, citations carry nearly all of a decision.
const NEARLY_ALL: f64 = 0.9;
/// Below this share, they only illustrate it.
const ILLUSTRATION: f64 = 0.1;

/// The rule that decided, and how much treebanks count by it.
pub(crate) fn rule(explanation: &Explanation) -> String {
    let times = |(name, weight): (&String, &f64)| match *weight {
        0.0 => format!("; no edge of {name} counts"),
        weight => format!("; every edge of {name} counts {weight} times"),
    };
    let weights: String = explanation.weights.iter().map(times).collect();
    explanation.rule.describe() + &weights
}

/// A share as a percentage: `97.3 %`, `0.005 %`. Only exact values are shown as `0 %` or `100 %`.
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

/// A score or a part of one, with four significant digits.
pub(crate) fn number(value: f64) -> String {
    let (size, sign) = (value.abs(), if value < 0.0 { "−" } else { "" });
    let digits = match size {
        _ if !value.is_finite() => return "–".to_string(),
        0.0 => 0,
        1000.0.. => 0,
        1e-6.. => (3 - size.log10().floor() as i32).clamp(0, 9) as usize,
        _ => return format!("{sign}{}", format!("{size:.1e}").replace('-', "−")),
    };
    format!("{sign}{size:.digits$}")
}

/// A number with a fixed number of decimals.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let size = format!("{:.decimals$}", value.abs());
    let negative = value < 0.0 && size.bytes().any(|digit| matches!(digit, b'1'..=b'9'));
    if negative { format!("−{size}") } else { size }
}

/// The same, with a sign for positive numbers too.
pub(crate) fn signed(value: f64) -> String {
    if value > 0.0 { format!("+{}", number(value)) } else { number(value) }
}

/// A count with commas between the thousands.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// What a share above 100 % or below 0 means.
pub(crate) const UNUSUAL_SHARES: &str =
    "Parts for and against add up to the margin, so a part can be above 100 % of it or below 0.";

/// Whether a share that is shown for a decision is above 100 % or below 0.
pub(crate) fn has_unusual_shares(rationale: &Rationale) -> bool {
    let groups = rationale.roll_ups.iter().flat_map(|roll_up| &roll_up.groups).filter_map(|group| group.margin_share);
    let shares = rationale.coverage.margin.into_iter().chain(groups);
    !rationale.is_chosen_by_tree() && shares.into_iter().any(|share| !(0.0..=1.0).contains(&share))
}

/// How many of the cited edges speak against a choice, and their weight; `None` if nothing speaks against it.
pub(crate) fn votes(rationale: &Rationale) -> Option<String> {
    let (against, whole) = (rationale.against.len() as u64, rationale.coverage.against);
    let cited = rationale.coverage.cited as u64;
    (against > 0 || whole > 0.0).then(|| {
        let verb = if against == 1 { "speaks" } else { "speak" };
        format!(
            "{} of {} cited {verb} against it; all that speaks against it is {} of what counts.",
            count(against),
            count(cited),
            percent(whole)
        )
    })
}

/// What a rejected edge shows: the head that its word really has.
pub(crate) fn really(citation: &Citation) -> Option<String> {
    let head = citation.gold_head?;
    let form = head.checked_sub(1).and_then(|at| citation.source.words.get(at)).map_or("ROOT", String::as_str);
    Some(format!("really {} of {form}", citation.label))
}

fn edges(of: u64) -> String {
    format!("{} training edges", count(of))
}

fn verdict(score: f64, margin: Option<(f64, &str)>, single: bool, all_for: bool) -> String {
    let rival = margin.map_or("", |(_, rival)| rival);
    let margin = margin.map_or(score, |(margin, _)| margin);
    let (carry, illustrate, speak, they, do_not) = match single {
        true => ("carries", "illustrates", "speaks", "it", "does not"),
        false => ("carry", "illustrate", "speak", "they", "do not"),
    };
    if score.min(margin) >= NEARLY_ALL {
        format!("{carry} nearly all of this decision")
    } else if score.abs().max(margin.abs()) < ILLUSTRATION {
        format!("{illustrate} this decision, {they} {do_not} carry it")
    } else if margin < 0.0 && !all_for {
        format!("{do_not} account for its lead")
    } else if margin < 0.0 {
        format!("{speak} for this choice, but not for its lead")
    } else if margin > 1.0 {
        format!("{carry} more than the whole margin; the other edges together speak for {rival}")
    } else {
        format!("{carry} part of this decision")
    }
}

/// Whether a nearer training edge can have been missed, and how exact shares are.
pub(crate) fn completeness(coverage: &Coverage) -> String {
    let estimated = match coverage.bounds {
        Some([low, high]) => {
            format!(" What far edges count is estimated, all together within {}.", percent((1.0 - low).max(high - 1.0)))
        }
        None => String::new(),
    };
    let found = match (coverage.exact, coverage.recall) {
        (true, _) => "Exact: compared with every training edge that counts, so no nearer one was missed.".to_string(),
        (false, Some(recall)) => format!(
            "Found by search, which finds {} of the nearest edges (measured when the index was built): a nearer one may be \
             missing.",
            percent(f64::from(recall))
        ),
        (false, None) => "Found by search, its recall not measured: a nearer one may be missing.".to_string(),
    };
    found + &estimated
}

impl Rationale {
    /// How far the citations carry a decision, in one sentence; `rival` is the runner-up's name.
    pub fn in_words(&self, rival: Option<&str>) -> String {
        let Coverage { score, margin, cited, of, .. } = self.coverage;
        if cited == 0 {
            return format!("No training edge is cited ({} count).", edges(of));
        }
        let (subject, carries, pronoun) = match cited {
            1 => ("The one cited edge".to_string(), "carries", "it"),
            _ => (format!("The {} cited edges", count(cited as u64)), "carry", "they"),
        };
        // If the runner-up is ahead, there is no margin to have a share of.
        let margin = margin.zip(rival).filter(|_| !self.is_chosen_by_tree());
        let lead = match margin {
            Some((margin, rival)) => format!(" and {} of the margin over {rival}", percent(margin)),
            None => String::new(),
        };
        let verdict = verdict(score, margin, cited == 1, self.against.is_empty());
        let counted = if of == 1 { "1 training edge counts".to_string() } else { format!("{} count", edges(of)) };
        format!("{subject} {carries} {} of the evidence{lead} ({counted}): {pronoun} {verdict}.", percent(score))
    }

    /// Whether the runner-up has the higher score, so that the tree constraint decided.
    pub(crate) fn is_chosen_by_tree(&self) -> bool {
        self.runner_up.as_ref().is_some_and(|second| second.margin < 0.0)
    }
}

impl RollUp {
    /// The groups with their shares of the margin, or of the evidence if there is no runner-up. A negative margin has no
    /// shares, so the parts themselves are shown.
    pub fn in_words(&self) -> String {
        let plus = |share: f64| if share > 0.0 { "+" } else { "" };
        let groups = self.groups.iter().map(|group| match (group.margin, group.margin_share) {
            (Some(part), _) if self.margin.is_some_and(|margin| margin < 0.0) => {
                format!("{} {}", group.name, signed(part))
            }
            (_, Some(share)) => format!("{} {}{}", group.name, plus(share), percent(share)),
            _ => format!("{} {}", group.name, percent(group.share)),
        });
        groups.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests;
