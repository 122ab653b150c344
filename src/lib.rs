//! citree
pub mod config;
pub mod edge;
pub mod encoder;
pub mod error;
pub mod ops;
pub mod random;
pub mod treebank;
