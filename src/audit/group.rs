//! Groups: findings that break the same rule, or have the same suggestion and a word or a neighbour in common, are one
//! inconsistency.

use super::{Example, Finding, Kind};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Of the nearest edges with the suggested label, how many can join two findings.
const SHARED: usize = 3;
/// Findings and examples shown of a group.
const SHOWN: usize = 5;

/// Findings that are probably the same error.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Group {
    /// What seems to be wrong.
    pub kind: Kind,
    /// The rule of the Universal Dependencies guidelines that all its findings break, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The label of its edges.
    pub label: String,
    /// The label that similar edges suggest.
    pub suggested_label: String,
    /// How many findings it has.
    pub size: usize,
    /// How many of them are errors, by their scores.
    pub expected_errors: f64,
    /// The most frequent dependents of its findings, with their numbers.
    pub words: Vec<(String, usize)>,
    /// Of the training edges that are similar to its findings, how many have the label of its edges.
    pub as_it_is: usize,
    /// How many have the suggested label.
    pub as_suggested: usize,
    /// All its edges, by sentence and dependent.
    pub members: Vec<(String, usize)>,
    /// The most suspicious of its findings.
    pub findings: Vec<Finding>,
    /// Similar edges that are annotated as its findings are.
    pub examples_as_it_is: Vec<Example>,
    /// Similar edges that are annotated as suggested.
    pub examples_as_suggested: Vec<Example>,
}

/// Groups findings. The groups with most expected errors come first. `label` is the number of a label.
pub(super) fn group(findings: &[Finding], label: impl Fn(&str) -> Option<u32>) -> Vec<Group> {
    let mut parts = Parts((0..findings.len()).collect());
    let (mut first, mut of_rules): (HashMap<Link<'_>, usize>, HashMap<&str, usize>) = Default::default();
    for (at, finding) in findings.iter().enumerate() {
        if let Some(rule) = &finding.rule {
            let other = *of_rules.entry(rule).or_insert(at);
            parts.join(at, other);
            continue;
        }
        let suggested = label(&finding.suggested_label);
        let pair = (finding.kind, finding.label.as_str(), finding.suggested_label.as_str());
        let near = finding.nearest.iter().filter(|(_, label)| Some(*label) == suggested).take(SHARED);
        let near = near.map(|(edge, _)| Shared::Neighbor(*edge));
        for shared in std::iter::once(Shared::Word(finding.form(finding.dependent).to_lowercase())).chain(near) {
            let other = *first.entry((pair, shared)).or_insert(at);
            parts.join(at, other);
        }
    }
    let mut members: BTreeMap<usize, Vec<&Finding>> = BTreeMap::new();
    for (at, finding) in findings.iter().enumerate() {
        members.entry(parts.of(at)).or_default().push(finding);
    }
    let mut groups: Vec<Group> = members.values().filter_map(|members| Group::of(members, &label)).collect();
    groups.sort_by(|a, b| b.expected_errors.total_cmp(&a.expected_errors));
    groups
}

/// What two findings of one group have in common.
#[derive(PartialEq, Eq, Hash)]
enum Shared {
    Word(String),
    Neighbor(u32),
}

type Link<'a> = ((Kind, &'a str, &'a str), Shared);

/// Sets that can be joined: each number leads to another one of its set, at last to the first.
struct Parts(Vec<usize>);

impl Parts {
    fn of(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.of(one), self.of(other));
        self.0[one.max(other)] = one.min(other);
    }
}

impl Group {
    /// A group of findings, the most suspicious first.
    fn of(members: &[&Finding], label: &impl Fn(&str) -> Option<u32>) -> Option<Self> {
        let first = members.first()?;
        let mut words: HashMap<String, usize> = HashMap::new();
        for finding in members {
            *words.entry(finding.form(finding.dependent).to_lowercase()).or_default() += 1;
        }
        let mut words: Vec<(String, usize)> = words.into_iter().collect();
        words.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        words.truncate(SHOWN);
        let near: HashSet<(u32, u32)> = members.iter().flat_map(|finding| finding.nearest.iter().copied()).collect();
        let with = |name: &str| {
            let label = label(name);
            near.iter().filter(|(_, own)| Some(*own) == label).count()
        };
        let examples = |of: fn(&Finding) -> &[Example]| {
            let mut seen = HashSet::new();
            let new = |example: &&Example| seen.insert((example.sent_id.clone(), example.dependent));
            members.iter().flat_map(|finding| of(finding)).filter(new).take(SHOWN).cloned().collect()
        };
        Some(Self {
            kind: first.kind,
            rule: first.rule.clone(),
            label: first.label.clone(),
            suggested_label: first.suggested_label.clone(),
            size: members.len(),
            expected_errors: members.iter().map(|finding| finding.score).sum(),
            words,
            as_it_is: with(&first.label),
            as_suggested: with(&first.suggested_label),
            members: members.iter().map(|finding| (finding.sent_id.clone(), finding.dependent)).collect(),
            findings: members.iter().take(SHOWN).map(|&finding| finding.clone()).collect(),
            examples_as_it_is: examples(|finding| &finding.as_it_is),
            examples_as_suggested: examples(|finding| &finding.as_suggested),
        })
    }

    /// What the group is about, in one line.
    pub fn title(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|(word, count)| format!("{word} {count}")).collect();
        let what = match (&self.rule, self.kind) {
            (Some(rule), _) => format!("{} breaks {rule}", self.label),
            (None, Kind::Label) => format!("{} → {}", self.label, self.suggested_label),
            (None, Kind::Head) => format!("{} → {} of another head", self.label, self.suggested_label),
        };
        let edges = if self.size == 1 { "edge" } else { "edges" };
        format!("{what}: {} {edges}, about {:.1} errors ({})", self.size, self.expected_errors, words.join(", "))
    }

    /// How many similar edges are on either side.
    pub fn says(&self) -> String {
        format!(
            "among the edges most similar to these, {} in {} and {} in {}",
            self.suggested_label, self.as_suggested, self.label, self.as_it_is
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(word: &str, suggested: &str, nearest: &[u32]) -> Finding {
        Finding {
            line: None,
            column: 8,
            sent_id: "s".to_string(),
            words: [word.to_string()].into(),
            dependent: 1,
            head: 0,
            label: "compound".to_string(),
            kind: Kind::Label,
            suggested_head: 0,
            suggested_label: suggested.to_string(),
            score: 0.5,
            rule: None,
            same_words_as_it_is: 0,
            same_words_as_suggested: 0,
            says: String::new(),
            as_it_is: Vec::new(),
            as_suggested: Vec::new(),
            nearest: nearest.iter().map(|&edge| (edge, 1)).collect(),
        }
    }

    #[test]
    fn findings_with_the_same_suggestion_and_a_word_or_a_neighbour_in_common_are_one_group() {
        let findings = [
            finding("New", "amod", &[1]),
            finding("flat", "amod", &[9]),
            finding("new", "amod", &[2]),
            finding("old", "amod", &[2]),
            finding("New", "flat", &[1]),
        ];
        let groups = group(&findings, |name| (name == "amod").then_some(1));
        let sizes: Vec<(usize, &str)> =
            groups.iter().map(|group| (group.size, group.suggested_label.as_str())).collect();
        assert_eq!(sizes, [(3, "amod"), (1, "amod"), (1, "flat")]);
        assert_eq!(groups[0].words, [("new".to_string(), 2), ("old".to_string(), 1)]);
        assert_eq!((groups[0].as_suggested, groups[0].as_it_is), (2, 0));
        assert_eq!(groups[0].expected_errors, 1.5);
    }

    #[test]
    fn findings_that_break_the_same_rule_are_one_group() {
        let breaks = |word: &str, rule: &str| Finding { rule: Some(rule.to_string()), ..finding(word, word, &[]) };
        let findings = [breaks("a", "leaf-cc"), breaks("b", "leaf-cc"), breaks("c", "orphan-parent")];
        let groups = group(&findings, |_| None);
        assert_eq!(groups.iter().map(|group| group.size).collect::<Vec<_>>(), [2, 1]);
        assert!(groups[0].title().starts_with("compound breaks leaf-cc: 2 edges"), "{}", groups[0].title());
    }
}
