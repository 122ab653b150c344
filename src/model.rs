//! A trained model, in memory and on disk: the configuration, the tables, and the parameters and summed support of the
//! head model and the label model.

use crate::config::{Aggregate, Basis, Config};
use crate::edge::EdgeModel;
use crate::encoder::{Encoder, Numbered, Parameters, Pretrained, Vocabulary};
use crate::error::{Error, Result};
use crate::files::{Sealed, TensorFile, to_json, write_tensors};
use crate::score::Scorer;
use crate::support::{support_rows, support_sums};
use crate::task::Task;
use crate::treebank::{Splits, TextTables};
use candle_core::Device;
use citree_index::sums::Sums;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The format version. Files of other versions are refused.
const VERSION: &str = "1";

const RESTORE: &str = "restore the file from a copy, or train again";

/// Everything that the parser needs.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// The configuration it was trained with.
    pub config: Config,
    /// The vocabulary and the word splits.
    pub tables: Arc<Tables>,
    /// What the treebank shows of its text. Bundles of earlier versions lack it.
    pub text: Option<Arc<TextTables>>,
    /// The pretrained input.
    pub pretrained: Pretrained,
    /// The model that predicts heads.
    pub heads: Trained,
    /// The model that predicts labels.
    pub labels: Trained,
    /// Computed by [`Model::load`], or on first use.
    fingerprint: OnceLock<[u8; 32]>,
}

/// The files of a model.
#[derive(Clone, Debug)]
pub(crate) struct ModelFiles {
    /// The configuration, as TOML. It is written last, so a folder that has it is complete.
    pub config: PathBuf,
    /// The tables, as JSON.
    pub tables: PathBuf,
    /// What the treebank shows of its text, as JSON.
    pub text: PathBuf,
    /// The parameters and the summed support of the head model.
    pub heads: PathBuf,
    /// The parameters and the summed support of the label model.
    pub labels: PathBuf,
}

/// The tables learnt from a training treebank.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tables {
    /// The ids of words, characters and labels.
    pub vocabulary: Vocabulary,
    /// How tokens are split into syntactic words.
    pub splits: Splits,
}

/// Everything that a network is built from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blueprint<'a> {
    /// The sizes and the seed.
    pub config: &'a Config,
    /// Words, characters and labels.
    pub vocabulary: &'a Vocabulary,
    /// The pretrained input.
    pub pretrained: &'a Pretrained,
    /// The device of its tensors.
    pub device: &'a Device,
}

/// One of the two models with its support.
#[derive(Clone, Debug)]
pub(crate) struct Trained {
    task: Task,
    /// Its variables, without those of a shared encoder.
    pub parameters: Parameters,
    /// The network over them.
    pub edges: EdgeModel,
    /// The summed support edges, if inference is by instances.
    pub sums: Option<Sums>,
}

impl Model {
    /// A model from its parts.
    pub(crate) fn new(
        config: Config,
        tables: impl Into<Arc<Tables>>,
        pretrained: Pretrained,
        heads: Trained,
        labels: Trained,
    ) -> Self {
        Self { config, tables: tables.into(), text: None, pretrained, heads, labels, fingerprint: OnceLock::new() }
    }

    /// The same model with what a treebank shows of its text.
    pub(crate) fn with_text(self, text: TextTables) -> Self {
        Self { text: Some(Arc::new(text)), ..self }
    }

    /// The same model with summed support.
    pub(crate) fn with_sums(&self, [heads, labels]: [Sums; 2]) -> Self {
        let mut model = self.clone();
        (model.heads.sums, model.labels.sums) = (Some(heads), Some(labels));
        model
    }

    /// Writes the files. Each is replaced atomically.
    pub(crate) fn save(&self, files: &ModelFiles) -> Result<()> {
        Sealed::JSON.write(&files.tables, &to_json("the tables", &self.tables)?)?;
        self.text.as_ref().map_or(Ok(()), |text| files.write_text(text))?;
        self.heads.save(&files.heads)?;
        self.labels.save(&files.labels)?;
        Sealed::TOML.write(&files.config, &self.config.to_toml())
    }

    /// A hash of everything that determines edge vectors: configuration, tables, parameters and pretrained input. An
    /// index is valid only for the model it was built with.
    pub(crate) fn fingerprint(&self) -> Result<[u8; 32]> {
        if let Some(fingerprint) = self.fingerprint.get() {
            return Ok(*fingerprint);
        }
        let mut fingerprint = Fingerprint::new(&self.config, &self.tables)?;
        for trained in [&self.heads, &self.labels] {
            fingerprint.add(&trained.parameters.values()?);
        }
        let fingerprint = fingerprint.finish(&self.pretrained)?;
        Ok(*self.fingerprint.get_or_init(|| fingerprint))
    }

    /// Reads the files of a model and computes its fingerprint. `pretrained` loads the pretrained input.
    pub(crate) fn load(
        files: &ModelFiles,
        pretrained: impl FnOnce(&Config) -> Result<Pretrained>,
        device: &Device,
    ) -> Result<Self> {
        let text = Sealed::TOML.read(&files.config, RESTORE)?;
        let config = Config::from_toml(&text, &files.config).map_err(|error| match error {
            Error::Config { path, message } => Error::unfit(&path, "the configuration of the model", &message, RESTORE),
            other => other,
        })?;
        let text = Sealed::JSON.read(&files.tables, RESTORE)?;
        let tables: Tables = serde_json::from_str(&text).map_err(|e| Error::Bundle {
            path: files.tables.clone(),
            expected: "the tables of this bundle".to_string(),
            found: e.to_string(),
            remedy: "train again, or restore the file".to_string(),
        })?;
        let text = files.read_text()?.map(Arc::new);
        let pretrained = pretrained(&config)?;
        let mut fingerprint = Fingerprint::new(&config, &tables)?;
        let blueprint = Blueprint { config: &config, vocabulary: &tables.vocabulary, pretrained: &pretrained, device };
        let heads = Trained::load(Task::Heads, &blueprint, None, &files.heads, &mut fingerprint)?;
        let shared = heads.shared(&config);
        let labels = Trained::load(Task::Labels, &blueprint, shared, &files.labels, &mut fingerprint)?;
        let fingerprint = OnceLock::from(fingerprint.finish(&pretrained)?);
        // Frozen once, not again for each parser that is made from it.
        let (heads, labels) = (heads.frozen()?, labels.frozen()?);
        Ok(Self { config, tables: Arc::new(tables), text, pretrained, heads, labels, fingerprint })
    }
}

impl ModelFiles {
    /// Writes what a treebank shows of its text.
    pub(crate) fn write_text(&self, text: &TextTables) -> Result<()> {
        Sealed::JSON.write(&self.text, &to_json("what the treebank shows of its text", text)?)
    }

    /// Reads what the treebank shows of its text, if the file is there.
    fn read_text(&self) -> Result<Option<TextTables>> {
        let remedy = "restore the file, or remove it and run `citree index`, which learns it again";
        if !self.text.exists() {
            return Ok(None);
        }
        let text = Sealed::JSON.read(&self.text, remedy)?;
        let unfit = |found: &str| Error::unfit(&self.text, "what a treebank shows of its text", found, remedy);
        let tables: TextTables = serde_json::from_str(&text).map_err(|error| unfit(&error.to_string()))?;
        match tables.version() {
            TextTables::VERSION => Ok(Some(tables)),
            other => Err(unfit(&format!("version {other} of it, not {}", TextTables::VERSION))),
        }
    }
}

/// A fingerprint under construction.
struct Fingerprint(blake3::Hasher);

impl Fingerprint {
    fn new(config: &Config, tables: &Tables) -> Result<Self> {
        let mut hasher = blake3::Hasher::new();
        for text in [config.to_toml(), to_json("the tables", tables)?] {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        Ok(Self(hasher))
    }

    /// Adds the parameters of one of the two models.
    fn add(&mut self, parameters: &BTreeMap<String, Vec<f32>>) {
        for (name, values) in parameters {
            self.0.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes());
            self.0.update(&(values.len() as u64).to_le_bytes());
            // Converts in chunks that fit the CPU cache: BERT has tens of millions of values.
            let mut bytes = [0; 4 * 4096];
            for piece in values.chunks(4096) {
                let room = bytes.as_chunks_mut::<4>().0;
                room.iter_mut().zip(piece).for_each(|(bytes, value)| *bytes = value.to_le_bytes());
                self.0.update(&bytes[..4 * piece.len()]);
            }
        }
    }

    fn finish(mut self, pretrained: &Pretrained) -> Result<[u8; 32]> {
        pretrained.hash(&mut self.0)?;
        Ok(self.0.finalize().into())
    }
}

impl Trained {
    /// A model with new parameters, over its own or a shared encoder. The two tasks use different seeds.
    pub(crate) fn new(task: Task, blueprint: &Blueprint, shared: Option<&Encoder>) -> Result<Self> {
        Self::with_parameters(Parameters::default(), task, blueprint, shared)
    }

    fn with_parameters(
        mut parameters: Parameters,
        task: Task,
        blueprint: &Blueprint,
        shared: Option<&Encoder>,
    ) -> Result<Self> {
        let Blueprint { config, vocabulary, pretrained, device } = *blueprint;
        let seed = config.seed.wrapping_mul(2).wrapping_add(u64::from(task == Task::Labels));
        let config = Config { seed, ..config.clone() };
        let classes = task.classes(vocabulary.labels().len());
        let weights = (config.system.learning == Basis::Weights).then_some(classes);
        let encoder = match shared {
            Some(encoder) => encoder.clone(),
            None => Encoder::new(&config, vocabulary, pretrained, &mut parameters, device)?,
        };
        let edges = EdgeModel::new(&config, encoder, weights, &mut parameters, device)?;
        Ok(Self { task, parameters, edges, sums: None })
    }

    /// The encoder that the other model shares, if the configuration shares one.
    pub(crate) fn shared(&self, config: &Config) -> Option<&Encoder> {
        config.share_encoder.then(|| self.edges.encoder())
    }

    /// The task that it decides.
    pub(crate) fn task(&self) -> Task {
        self.task
    }

    /// Encodes and sums the support set of models trained together, if inference is by instances.
    pub(crate) fn sum_support(
        models: &mut [Self],
        config: &Config,
        vocabulary: &Vocabulary,
        sentences: &[&Numbered],
    ) -> Result<()> {
        if config.system.inference == Basis::Instances {
            let edges: Vec<(Task, &EdgeModel)> = models.iter().map(|model| (model.task, &model.edges)).collect();
            let sums = support_sums(&edges, sentences, vocabulary.labels().len())?;
            models.iter_mut().zip(sums).for_each(|(model, sums)| model.sums = Some(sums));
        }
        Ok(())
    }

    /// A scorer over the model and its support.
    pub(crate) fn scorer(&self, aggregate: Aggregate, device: &Device) -> Result<Scorer> {
        let rows = match &self.sums {
            Some(sums) => support_rows(sums, aggregate, device)?,
            None => self.edges.weight_rows()?.ok_or_else(|| Error::Training {
                message: "the support of an instance-based model has not been summed".to_string(),
            })?,
        };
        Scorer::new(&self.edges, rows)
    }

    /// The same model, which is not trained further.
    fn frozen(self) -> Result<Self> {
        Ok(Self { edges: self.edges.frozen()?, ..self })
    }

    fn save(&self, path: &Path) -> Result<()> {
        let values = self.parameters.values()?;
        let shapes = self.parameters.iter().map(|(name, var)| (name.to_string(), var.dims().to_vec()));
        let f32s: Vec<_> = shapes.zip(values.values()).map(|((name, shape), v)| (name, shape, v.as_slice())).collect();
        let mut f64s = Vec::new();
        let mut notes = vec![("version", VERSION.to_string())];
        if let Some(sums) = &self.sums {
            f64s.push(("support".to_string(), vec![sums.counts().len(), sums.dims()], sums.sums()));
            notes.push(("counts", serde_json::to_string(sums.counts()).unwrap_or_default()));
        }
        write_tensors(path, &f32s, &f64s, &notes)
    }

    fn load(
        task: Task,
        blueprint: &Blueprint,
        shared: Option<&Encoder>,
        path: &Path,
        fingerprint: &mut Fingerprint,
    ) -> Result<Self> {
        let Blueprint { config, vocabulary, .. } = *blueprint;
        let file = TensorFile::read(path)?;
        let refuse = |expected: String, found: String, remedy: &str| Error::Bundle {
            path: path.to_path_buf(),
            expected,
            found,
            remedy: remedy.to_string(),
        };
        let version = file.note("version").unwrap_or_default();
        if version != VERSION {
            let remedy = "use the citree that made it, or train again with this one";
            return Err(refuse(format!("format version {VERSION}"), format!("version {version:?}"), remedy));
        }
        let unfit = |error: Error| {
            let expected = "the parameters of this configuration".to_string();
            refuse(expected, error.to_string(), "train again, or restore the file")
        };
        let room = std::fs::metadata(path).map_err(Error::io(path))?.len() / 4;
        let parameters = Parameters::blank(usize::try_from(room).unwrap_or(usize::MAX));
        let mut trained = Self::with_parameters(parameters, task, blueprint, shared).map_err(unfit)?;
        let fetch = |(name, _): (&str, _)| Some((name.to_string(), file.f32s(name)?));
        let values: BTreeMap<String, Vec<f32>> = trained.parameters.iter().filter_map(fetch).collect();
        fingerprint.add(&values);
        trained.parameters.set_values(&values).map_err(unfit)?;
        if config.system.inference == Basis::Instances {
            let counts = file.note("counts").and_then(|text| serde_json::from_str::<Vec<u64>>(&text).ok());
            let sums = counts.zip(file.f64s("support"));
            let sums = sums.and_then(|(counts, sums)| Sums::from_parts(config.edge_dim, sums, counts));
            let classes = task.classes(vocabulary.labels().len());
            trained.sums = Some(sums.filter(|sums| sums.counts().len() == classes).ok_or_else(|| {
                let expected = format!("summed support of {classes} classes");
                refuse(expected, "none that fits".to_string(), "train again, or restore the file")
            })?);
        }
        Ok(trained)
    }
}
