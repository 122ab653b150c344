//! Sentences that answer questions about a decision: why not, flip sets, changes.

use super::{count, number, percent, signed};
use crate::explain::flip::MOST_REMOVED;
use crate::explain::{Change, Contrast, Explanation, FlipSet, Rationale};
use crate::rule::{Rule, Scoring};
use crate::task::Task;

/// Above this share of all edges, a set that changes a decision is most of the treebank.
pub(crate) const MOST_OF_ALL: f64 = 0.5;
/// What such a set means.
pub(crate) const MOST_IS_MISSING: &str = "That is most of the treebank: no small set of edges carries this decision.";

/// Why there is no runner-up; `what` is a head or a label, which `rule` decided.
pub(crate) fn no_alternative(what: &str, rationale: &Rationale, rule: &Rule) -> String {
    let voted = what == "label" && rule.of(Task::Labels).score_without_votes().is_some();
    match (voted, rationale.coverage.against) {
        (true, 0.0) => "No other label has a vote.".to_string(),
        (true, _) => "The tree allows no other label that has a vote.".to_string(),
        _ => format!("The tree allows no other {what}."),
    }
}

/// Why something was chosen although the runner-up scores higher.
pub(crate) fn chosen_by_tree(what: &str, rival: &str) -> String {
    format!("The tree as a whole chose this {what}: {rival} has the higher score.")
}

/// The answer to "why not the other": which is ahead, by how much, and what speaks for and against it. The names are of
/// what was chosen and of what somebody expected.
pub(crate) fn contrast(contrast: &Contrast, chosen: &str, other: &str) -> String {
    let [score, rival] = contrast.scores.map(number);
    let ahead = if contrast.scores[0] < contrast.scores[1] {
        // A contrast does not record which of the two reasons applied.
        format!(
            "{other} has the higher score, {rival} against {score}, and yet {chosen} was chosen: a tree is chosen as a \
             whole, and rules other than sum consider only the heads that sum ranks highest."
        )
    } else {
        let margin = number(contrast.scores[0] - contrast.scores[1]);
        format!("{chosen} scores {score}, {other} {rival}: {chosen} is ahead by {margin}.")
    };
    let argue = |number: u64| {
        if number == 1 {
            "1 training edge argues".to_string()
        } else {
            format!("{} training edges argue", count(number))
        }
    };
    let ((in_favour, number_for), (against, number_against)) = (contrast.in_favour, contrast.against);
    format!(
        "{ahead} {} for {chosen} ({} together), {} against it ({}): {} in all.",
        argue(number_for),
        signed(in_favour),
        count(number_against),
        signed(against),
        signed(contrast.margin),
    )
}

/// The smallest set whose removal changes a decision. `what` names the decision, such as `the head of 4 letters`, and
/// `instead` what would be chosen.
pub(crate) fn flip(what: &str, flip: Option<&FlipSet>, instead: &str, rule: &dyn Scoring) -> String {
    let Some(flip) = flip else {
        return match rule.neighbors() {
            // The search removes one neighbour after another, up to this number.
            Some(_) => {
                format!("No set of up to {MOST_REMOVED} training edges was found without which {what} would change.")
            }
            None => format!("No set of training edges was found without which {what} would change."),
        };
    };
    if flip.edges == 0 {
        return format!("{} is {instead} already if no nearer training edge is missed by the search.", capital(what));
    }
    let share = percent(flip.edges as f64 / flip.of_edges.max(1) as f64);
    let (edges, of) = (count(flip.edges as u64), count(flip.of_edges));
    let least = if flip.smallest { "no smaller set does it" } else { "a smaller set may exist" };
    format!("{} would be {instead} without {edges} of {of} training edges ({share}); {least}.", capital(what))
}

/// The number of whole sentences whose removal does the same.
pub(crate) fn flip_sentences(flip: &FlipSet) -> String {
    match flip.sentences {
        Some(number) => {
            let (number, of) = (count(number as u64), count(u64::from(flip.of_sentences)));
            format!("Removing {number} of {of} whole sentences does it too.")
        }
        None => "No set of whole sentences that does it was found.".to_string(),
    }
}

/// What is added where the search for a set took too long.
pub(crate) const ENDED_EARLY: &str = "The search ended early: a set, or a smaller one, may exist.";

/// Why another head needs no training edge to be removed.
pub(crate) fn flip_by_tree(what: &str, rival: &str) -> String {
    format!("The tree as a whole chose {what}: {rival} has the higher score already.")
}

/// An edge that changes without some training sentences.
pub(crate) fn change(change: &Change, explanation: &Explanation) -> String {
    let named = |id: usize| if id == 0 { "ROOT".to_string() } else { format!("{id} {}", explanation.form(id)) };
    let ((head, label), (new_head, new_label)) = (&change.with, &change.without);
    let word = named(change.dependent);
    format!("{word}: was {label} of {}, is {new_label} of {}", named(*head), named(*new_head))
}

/// The number of edges that change.
pub(crate) fn change_count(changes: usize, words: usize) -> String {
    let verb = if changes == 1 { "changes" } else { "change" };
    format!("Without these training sentences {} of {} edges {verb}.", count(changes as u64), count(words as u64))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
