//! The two decisions of a parser, each with its own model.

/// A decision of the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// The head of a word.
    Heads,
    /// The label of an edge.
    Labels,
}

impl Task {
    /// Both tasks, in training order.
    pub(crate) const ALL: [Self; 2] = [Self::Heads, Self::Labels];

    /// The name in files and messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Heads => "heads",
            Self::Labels => "labels",
        }
    }

    /// The number of classes of support edges.
    pub(crate) fn classes(self, labels: usize) -> usize {
        match self {
            Self::Heads => 1,
            Self::Labels => labels,
        }
    }
}
