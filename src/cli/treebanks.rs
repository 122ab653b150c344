//! The options about the treebanks of a bundle, which several verbs share.

use crate::parse::Settings;

/// Which treebanks count, and how much.
#[derive(clap::Args)]
pub(super) struct TreebankOptions {
    /// Count only the edges of these treebanks, as `citree evidence BUNDLE list` names them
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', help_heading = "Treebanks")]
    from: Vec<String>,
    /// Count the edges of a treebank so many times, such as gum=0.5; may be given several times
    #[arg(long, value_name = "NAME=WEIGHT", value_parser = weight, help_heading = "Treebanks")]
    weight: Vec<(String, f64)>,
}

impl TreebankOptions {
    /// These settings with the treebanks that were asked for.
    pub(super) fn choose(&self, settings: Settings) -> Settings {
        Settings { treebanks: self.from.clone(), weights: self.weight.clone(), ..settings }
    }
}

/// Reads the weight of a treebank.
pub(super) fn weight(text: &str) -> Result<(String, f64), String> {
    let parts = text.split_once('=').and_then(|(name, weight)| Some((name.to_string(), weight.parse().ok()?)));
    parts.ok_or_else(|| "a weight is the name of a treebank, `=` and a number, such as gum=0.5".to_string())
}
