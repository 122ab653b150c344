//! A dependency parser that cites its sources.
//!
//! Every edge that citree predicts is scored by its similarity to the gold edges of a training treebank, after
//! *Instance-Based Neural Dependency Parsing* (Ouchi et al., TACL 2021). Data flows one way through the modules:
//!
//! [`treebank`] reads CoNLL-U or plain text → [`encoder`] turns words into states → [`edge`] turns a dependent and a
//! head into an edge vector → [`support`] sums the vectors of all gold edges → [`score`] compares candidates with the
//! sums → [`model`] keeps all of that in a folder → [`indexing`] keeps every gold edge beside it → [`parse`] chooses
//! trees → [`train`] learns the whole → [`explain`] names the training edges behind a parse → [`evaluate`] judges; [`lab`]
//! makes the paper's experiments with all of it, [`serve`] puts it on a page and behind an API.
//! [`ops`] has the tensor operations, [`config`] every setting; [`fetch`] gets treebanks.
//!
//! Train, index, parse and explain, in twenty lines:
//!
//! ```
//! use citree::config::{Config, Preset};
//! use citree::explain::{Explainer, Options, Settings, words};
//! use citree::train::{Plan, Silent, Start, train};
//! use citree::treebank::starter;
//!
//! # fn main() -> Result<(), citree::error::Error> {
//! # let folder = std::env::temp_dir().join(format!("citree-doc-{}", std::process::id()));
//! # let bundle = folder.join("demo.citree");
//! let device = citree::device::pick("cpu")?;
//! let config = Config { epochs: 2, ..Config::preset(Preset::Demo) };
//! let (treebank, dev, none) = (starter::train(), starter::dev(), citree::encoder::Pretrained::default());
//! let plan = Plan { config: &config, pretrained: &none, train: &treebank, dev: &dev, device: &device };
//! let model = train(&plan, &bundle, Start::Fresh, &mut Silent)?;
//! let model = model.expect("nobody stopped it");
//! citree::indexing::build(&model, &treebank, &bundle, &|_| {})?;
//!
//! let explainer = Explainer::new(&model, &bundle, Settings::default(), &device)?;
//! let sentence = explainer.parser().split("Anna doesn't like the rain.");
//! for explanation in explainer.explain(&[sentence], &Options::default())?.iter().flatten() {
//!     for edge in &explanation.edges {
//!         println!("{} ← {} {}", explanation.form(edge.dependent), explanation.form(edge.head), edge.label);
//!         println!("  {}", words::coverage(&edge.attachment, None));
//!         for citation in &edge.attachment.citations {
//!             println!("  {:.4} {} {}", citation.similarity, citation.source.sent_id, citation.label);
//!         }
//!     }
//!     assert_eq!(explanation.heads.iter().filter(|&&head| head == 0).count(), 1);
//! }
//! # std::fs::remove_dir_all(&folder).ok();
//! # Ok(())
//! # }
//! ```

pub mod config;
pub mod device;
pub mod edge;
pub mod encoder;
pub mod error;
pub mod evaluate;
pub mod explain;
pub mod fetch;
pub mod files;
pub mod indexing;
pub mod lab;
pub mod model;
pub mod ops;
pub mod parse;
pub mod random;
pub mod score;
pub mod serve;
pub mod support;
pub mod train;
pub mod treebank;
