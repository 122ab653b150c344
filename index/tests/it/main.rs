//! The crate as its users see it.
#![allow(clippy::unwrap_used)]

mod damage;
mod frozen;
mod generations;
mod make;
mod random;
mod search;
