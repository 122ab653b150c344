//! Writes the index that `tests/it/frozen.rs` opens. Run it once for each version of the format, before its release:
//! `cargo run -p citree-index --example freeze`.
#![allow(clippy::unwrap_used, dead_code)]

#[path = "../tests/it/make.rs"]
mod make;
#[path = "../tests/it/random.rs"]
mod random;

use make::Data;

fn main() {
    let version = format!("version-{}", citree_index::container::VERSION);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/frozen").join(version);
    assert!(!folder.exists(), "{} is frozen already", folder.display());
    Data::to_freeze().build_version_3(&folder);
    std::fs::remove_file(folder.join("LOCK")).unwrap();
}
