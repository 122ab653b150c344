//! Writes the index that `tests/it/frozen.rs` opens for ever: run once for each version of the format, before it is
//! released, and never again for the same one: `cargo run -p citree-index --example freeze`.
#![allow(clippy::unwrap_used, dead_code)]

#[path = "../tests/it/make.rs"]
mod make;
#[path = "../tests/it/random.rs"]
mod random;

use make::Treebank;

fn main() {
    let version = format!("version-{}", citree_index::VERSION);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frozen").join(version);
    assert!(!folder.exists(), "{} is frozen already", folder.display());
    Treebank::to_freeze().build(&folder);
    std::fs::remove_file(folder.join("LOCK")).unwrap();
}
