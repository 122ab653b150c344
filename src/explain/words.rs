//! Numbers of a rationale in words, the same wherever one is shown.

use super::{Coverage, Inference, Rationale, RollUp};

/// Shares below which citations only illustrate a decision, and from which they carry it.
const PART: f64 = 0.25;
const MOST: f64 = 0.75;

/// A share in percent, with as many digits as it has to say.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let size = percent.abs();
    let digits = match size {
        _ if size == 0.0 || size >= 10.0 => 0,
        _ if size >= 1.0 => 1,
        _ if size >= 1e-9 => 1 + (-size.log10()).ceil() as usize,
        _ => return "0 %".to_string(),
    };
    format!("{percent:.digits$} %").replace('-', "−")
}

/// A number with commas between thousands.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|part| std::str::from_utf8(part).ok()).collect();
    parts.join(",")
}

impl Rationale {
    /// How far the citations carry the decision, in a sentence.
    pub fn coverage_in_words(&self) -> String {
        let Coverage { score, margin, cited, of, .. } = self.coverage;
        let edges = if cited == 1 { "edge carries" } else { "edges carry" };
        let over = match (margin, &self.runner_up) {
            (Some(margin), Some(_)) => format!(" and {} of the margin", percent(margin)),
            _ => String::new(),
        };
        let verdict = match margin.map_or(score, |margin| margin.min(score)) {
            share if share >= MOST => "the decision rests on them",
            share if share >= PART => "part of the decision rests on them",
            _ => "they illustrate the decision, they do not carry it",
        };
        format!(
            "{cited} cited {edges} {} of the evidence{over}, of {} that count: {verdict}",
            percent(score),
            thousands(of)
        )
    }

    /// Where the citations come from, in a few words.
    pub fn search_in_words(&self) -> String {
        match (self.coverage.exact, self.coverage.recall) {
            (true, _) => "the nearest of all".to_string(),
            (false, Some(recall)) => format!("by search, recall {recall:.3}"),
            (false, None) => "by search".to_string(),
        }
    }
}

impl RollUp {
    /// The groups with their shares of the margin, or of the score where nothing was second.
    pub fn in_words(&self) -> String {
        let signed = |share: f64| match share {
            share if share > 0.0 => format!("+{}", percent(share)),
            share => percent(share),
        };
        let groups = self.groups.iter().map(|group| match group.margin_share {
            Some(share) => format!("{} {}", group.name, signed(share)),
            None => format!("{} {}", group.name, percent(group.share)),
        });
        groups.collect::<Vec<_>>().join(", ")
    }
}

impl std::fmt::Display for Inference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sum => f.write_str("sum"),
            Self::Nca { temperature } => write!(f, "nca, temperature {temperature}"),
            Self::Knn { neighbors } => write!(f, "knn, {neighbors} neighbours"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_keep_what_they_have_to_say() {
        let shares = [(0.62, "62 %"), (0.0525, "5.3 %"), (0.000_049, "0.0049 %"), (-0.31, "−31 %"), (0.0, "0 %")];
        shares.iter().for_each(|(share, text)| assert_eq!(percent(*share), *text));
        assert_eq!(thousands(204_585), "204,585");
        assert_eq!(thousands(7), "7");
    }
}
