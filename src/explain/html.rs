//! Explanations as a page.

use super::Explanation;

/// A page of explanations.
pub fn page(_explanations: &[Explanation], title: &str) -> String {
    title.to_string()
}
