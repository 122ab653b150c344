//! A dependency parser that cites its sources.
//!
//! Every edge that citree predicts is scored by its similarity to the gold edges of a training treebank, after
//! *Instance-Based Neural Dependency Parsing* (Ouchi et al., TACL 2021). Data flows one way through the modules:
//!
//! [`treebank`] reads CoNLL-U or plain text → [`encoder`] turns words into states → [`edge`] turns a dependent and a
//! head into an edge vector → [`support`] sums the vectors of all gold edges → [`score`] compares candidates with the
//! sums → [`model`] keeps all of that in a folder → [`parse`] chooses trees → [`train`] learns the whole →
//! [`evaluate`] judges. [`ops`] has the tensor operations, [`config`] every setting; [`fetch`] gets treebanks.
//!
//! Train, parse and judge, in twenty lines:
//!
//! ```
//! use citree::config::{Config, Preset};
//! use citree::parse::{Decode, Parser};
//! use citree::train::{Silent, Start, train};
//! use citree::treebank::starter;
//!
//! # fn main() -> Result<(), citree::error::Error> {
//! # let folder = std::env::temp_dir().join(format!("citree-doc-{}", std::process::id()));
//! # let bundle = folder.join("demo.citree");
//! let device = citree::device::pick("cpu")?;
//! let config = Config { epochs: 2, ..Config::preset(Preset::Demo) };
//! let model = train(&config, &starter::train(), &starter::dev(), &bundle, Start::Fresh, &device, &mut Silent)?;
//! let model = model.expect("nobody stopped it");
//!
//! let parser = Parser::new(&model, Decode::Tree, config.aggregate, &device)?;
//! let mut sentence = parser.split("Anna doesn't like the rain.");
//! let parses = parser.parse(std::slice::from_ref(&sentence))?;
//! parses[0].annotate(&mut sentence, true);
//! for word in sentence.words() {
//!     println!("{} ← {:?} {} {}", word.form, word.head, word.label, word.misc);
//! }
//! assert_eq!(sentence.words().iter().filter(|word| word.head == Some(0)).count(), 1);
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
pub mod model;
pub mod ops;
pub mod parse;
pub mod random;
pub mod score;
pub mod support;
pub mod train;
pub mod treebank;
