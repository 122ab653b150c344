//! citree
pub mod config;
pub mod device;
pub mod edge;
pub mod encoder;
pub mod error;
pub mod evaluate;
pub mod fetch;
pub mod files;
pub mod model;
pub mod ops;
pub mod parse;
pub mod random;
pub mod score;
pub mod support;
pub mod train;
pub mod treebank;
