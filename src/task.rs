//! The two decisions of a parser, each with a model of its own.

/// Which of the two decisions of a parser a model is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Which word is the head.
    Heads,
    /// Which label the edge has.
    Labels,
}

impl Task {
    /// Both, in the order in which they are trained.
    pub(crate) const ALL: [Self; 2] = [Self::Heads, Self::Labels];

    /// The name in files and messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Heads => "heads",
            Self::Labels => "labels",
        }
    }

    /// How many classes of support edges the task has.
    pub(crate) fn classes(self, labels: usize) -> usize {
        match self {
            Self::Heads => 1,
            Self::Labels => labels,
        }
    }
}
