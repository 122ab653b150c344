//! The labels of training edges: those that the model was trained with, then those that added sentences brought.
//!
//! An edge vector does not depend on the label, so a label that the model never saw can be cited and decided on as soon as
//! an edge has it.

use super::groups::GroupNames;
use citree_index::Index;

/// The names of labels by number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Labels {
    names: Vec<String>,
    /// How many of them the model was trained with.
    trained: usize,
}

impl Labels {
    /// Those that the model was trained with.
    pub(super) fn trained(names: &[String]) -> Self {
        Self { names: names.to_vec(), trained: names.len() }
    }

    /// Those of an index. Each segment lists all that were there when it was written, so the longest list has them all.
    pub(super) fn of(index: &Index, trained: &[String]) -> Self {
        let mut labels = Self::trained(trained);
        // Most indexes have none, and names take time to read.
        if index.manifest().classes as usize > trained.len() {
            let read = |bytes: &[u8]| serde_json::from_slice::<GroupNames>(bytes).unwrap_or_default().labels;
            labels.names.extend(index.attachments().map(read).max_by_key(Vec::len).unwrap_or_default());
        }
        labels
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Those that the model was not trained with.
    pub(super) fn brought(&self) -> &[String] {
        &self.names[self.trained..]
    }

    pub(super) fn number(&self, name: &str) -> Option<u32> {
        let place = self.names[..self.trained].binary_search_by(|label| label.as_str().cmp(name)).ok();
        let brought = || Some(self.trained + self.brought().iter().position(|label| label == name)?);
        place.or_else(brought).map(|place| place as u32)
    }

    /// Adds a label, unless it is there.
    pub(super) fn bring(&mut self, name: &str) {
        if self.number(name).is_none() {
            self.names.push(name.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_are_brought_get_the_next_numbers_and_keep_them() {
        let mut labels = Labels::trained(&["amod".to_string(), "nsubj".to_string()]);
        for name in ["advcl:x", "nsubj", "advcl:x", "aux:y"] {
            labels.bring(name);
        }
        assert_eq!(labels.brought(), ["advcl:x", "aux:y"]);
        assert_eq!(["amod", "nsubj", "advcl:x", "aux:y"].map(|name| labels.number(name)), [0, 1, 2, 3].map(Some));
        assert_eq!(labels.number("aux"), None);
    }
}
