//! The options for configuration and pretrained input, which `train` and `lab` share.

use super::progress::step_bar;
use crate::config::{Aggregate, BertLayers, Config, Preset};
use crate::device::Device;
use crate::encoder::Pretrained;
use crate::encoder::pretrained::Sources;
use crate::train::Install;
use crate::treebank::Sentence;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Configuration and pretrained input.
#[derive(clap::Args)]
pub(super) struct Recipe {
    /// Where to start from: paper (100 epochs as in the paper), small (15 epochs), joint (heads and labels on one
    /// encoder, 8 epochs; made for a transformer), demo (tiny)
    #[arg(long, default_value = "small", value_parser = preset)]
    preset: Preset,
    /// A TOML file whose values replace the preset's
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How similarities become a score, in training and parsing: mean or sum
    #[arg(long, value_parser = aggregate)]
    aggregate: Option<Aggregate>,
    /// Passes over the training treebank
    #[arg(long)]
    epochs: Option<usize>,
    /// Frozen word vectors to start from: fastText .vec or GloVe .txt, gzipped or not; fastText .bin or .floret, with which
    /// no word is unknown
    #[arg(long, value_name = "FILE", help_heading = "Pretrained input")]
    word_vectors: Option<PathBuf>,
    /// The folder of a transformer to start from, as Hugging Face's tools write it, or a model that `citree fetch encoder`
    /// or another tool has downloaded, ORG/NAME: BERT, RoBERTa, XLM-R, MPNet, ALBERT, DistilBERT, ELECTRA, ModernBERT,
    /// DeBERTa-v3
    #[arg(long, visible_alias = "bert", value_name = "DIR", help_heading = "Pretrained input")]
    encoder: Option<PathBuf>,
    /// Which layers of it to read: last, as the paper; mix, a learnt mix of all
    #[arg(long, visible_alias = "bert-layers", value_parser = layers, requires = "encoder",
        help_heading = "Pretrained input")]
    encoder_layers: Option<BertLayers>,
    /// Train it along, at its own learning rate; it is frozen otherwise
    #[arg(long, visible_alias = "bert-train", requires = "encoder", help_heading = "Pretrained input")]
    encoder_train: bool,
    /// Note where its folder is, and its hash, instead of copying it
    #[arg(long, visible_alias = "bert-by-reference", requires = "encoder", help_heading = "Pretrained input")]
    encoder_by_reference: bool,
    /// Where to keep the states of a frozen transformer [default: citree in the user's cache folder]
    #[arg(long, value_name = "DIR", env = "CITREE_CACHE", help_heading = "Pretrained input")]
    cache: Option<PathBuf>,
}

/// Where pretrained input is stored.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// Its folder.
    pub(super) folder: &'a Path,
    /// Whether a training is resumed, so that the folder has its pretrained input already.
    pub(super) resumed: bool,
    /// The folder for the states of a frozen transformer if the user has no cache folder.
    pub(super) cache: &'a Path,
}

impl Recipe {
    /// The preset, overridden by the file, then by the options.
    pub(super) fn config(&self) -> anyhow::Result<Config> {
        let mut config = match &self.config {
            Some(path) => Config::load(self.preset, path)?,
            None => Config::preset(self.preset),
        };
        config.aggregate = self.aggregate.unwrap_or(config.aggregate);
        config.epochs = self.epochs.unwrap_or(config.epochs);
        config.bert.layers = self.encoder_layers.unwrap_or(config.bert.layers);
        config.bert.train |= self.encoder_train;
        Ok(config)
    }

    /// Installs the pretrained input into its folder, and computes the states of a frozen transformer for the treebanks.
    pub(super) fn pretrained(
        &self,
        place: Place<'_>,
        config: &Config,
        treebanks: [&[Sentence]; 2],
        interrupted: &(dyn Fn() -> bool + Sync),
        device: &Device,
    ) -> anyhow::Result<Pretrained> {
        let encoder = self.encoder.as_deref().map(crate::find_encoder).transpose()?;
        let sources = Sources {
            word_vectors: self.word_vectors.as_deref(),
            encoder: encoder.as_deref(),
            encoder_by_reference: self.encoder_by_reference,
        };
        let bar = step_bar()?;
        let show = |name: &'static str, done: u64, total: u64| {
            if bar.prefix() != name {
                bar.reset();
                bar.set_prefix(name);
            }
            bar.set_length(total);
            bar.set_position(done);
        };
        let cache = self.cache.clone().or_else(user_cache).unwrap_or_else(|| place.cache.to_path_buf());
        let install = Install { folder: place.folder, resumed: place.resumed, sources, cache: &cache, device };
        let pretrained = install.run(config, treebanks, &|name, done, total| {
            show(name, done, total);
            !interrupted()
        })?;
        bar.finish_and_clear();
        let mut stderr = std::io::stderr();
        if let Some(vectors) = &pretrained.vectors {
            writeln!(stderr, "word vectors: {} words, {} dimensions", vectors.len(), vectors.dims())?;
        }
        if let Some(transformer) = &pretrained.transformer {
            let (layers, dims) = (transformer.shape().layers, transformer.shape().dims);
            let how = if config.bert.train { "trained" } else { "frozen" };
            writeln!(stderr, "{}: {layers} layers, {dims} dimensions, {how}", transformer.family())?;
        }
        Ok(pretrained)
    }
}

/// The user's cache folder for citree.
fn user_cache() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    folder.or_else(|| set("LOCALAPPDATA")).map(|folder| folder.join(Path::new("citree")))
}

/// A preset by its name on the command line.
pub(super) fn preset(name: &str) -> Result<Preset, String> {
    match name {
        "paper" => Ok(Preset::Paper),
        "small" => Ok(Preset::Small),
        "joint" => Ok(Preset::Joint),
        "demo" => Ok(Preset::Demo),
        _ => Err("there are paper, small, joint and demo".to_string()),
    }
}

fn layers(name: &str) -> Result<BertLayers, String> {
    match name {
        "last" => Ok(BertLayers::Last),
        "mix" => Ok(BertLayers::Mix),
        _ => Err("there are last and mix".to_string()),
    }
}

/// An aggregate by its name on the command line.
pub(super) fn aggregate(name: &str) -> Result<Aggregate, String> {
    match name {
        "mean" => Ok(Aggregate::Mean),
        "sum" => Ok(Aggregate::Sum),
        _ => Err("there are mean and sum".to_string()),
    }
}
