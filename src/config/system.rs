//! The names of the paper's six systems.

use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// What a score is computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A learnt weight vector.
    Weights,
    /// The training edges themselves.
    Instances,
}

/// How two edge vectors are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Similarity {
    /// Inner product.
    Dot,
    /// Cosine times τ.
    Cosine,
}

/// One of the paper's systems: the basis of learning, the basis of inference, and the similarity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct System {
    /// What scores are computed from in training.
    pub learning: Basis,
    /// What scores are computed from in parsing.
    pub inference: Basis,
    /// How edge vectors are compared.
    pub similarity: Similarity,
}

impl System {
    /// Instances in learning and inference, with cosine: the default.
    pub(crate) const IIC: Self =
        Self { learning: Basis::Instances, inference: Basis::Instances, similarity: Similarity::Cosine };

    /// The names of all six systems, in the order of the paper's table.
    pub(crate) const NAMES: [&str; 6] = ["WWd", "WWc", "WId", "WIc", "IId", "IIc"];
}

impl FromStr for System {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let (learning, inference) = match &name.get(..2) {
            Some("WW") => (Basis::Weights, Basis::Weights),
            Some("WI") => (Basis::Weights, Basis::Instances),
            Some("II") => (Basis::Instances, Basis::Instances),
            _ => return Err(format!("no system {name}; there are {}", Self::NAMES.join(", "))),
        };
        let similarity = match name.get(2..) {
            Some("d") => Similarity::Dot,
            Some("c") => Similarity::Cosine,
            _ => return Err(format!("no system {name}; there are {}", Self::NAMES.join(", "))),
        };
        Ok(Self { learning, inference, similarity })
    }
}

impl std::fmt::Display for System {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let basis = |basis| if basis == Basis::Weights { "W" } else { "I" };
        let similarity = if self.similarity == Similarity::Dot { "d" } else { "c" };
        write!(f, "{}{}{similarity}", basis(self.learning), basis(self.inference))
    }
}

impl TryFrom<String> for System {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        name.parse()
    }
}

impl From<System> for String {
    fn from(system: System) -> String {
        system.to_string()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn all_six_systems_are_read_and_written_by_name() {
        for name in System::NAMES {
            assert_eq!(name.parse::<System>().unwrap().to_string(), name);
        }
        for name in ["IWc", "IIx", "II", "ÜÜc", "IIcc", ""] {
            assert!(name.parse::<System>().is_err(), "{name}");
        }
    }
}
