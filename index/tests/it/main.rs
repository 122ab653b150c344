//! Integration tests of the public API.
#![allow(clippy::unwrap_used)]

mod adjacency;
mod changes;
mod contrasts;
mod damage;
mod damage_in_use;
mod densities;
mod frozen;
mod generations;
mod groups;
mod make;
mod publishing;
mod queries;
mod random;
mod search;
mod sources;
