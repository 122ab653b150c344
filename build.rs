//! The version that `citree --version` prints: with the commit, where a release is built from a repository.

use std::path::Path;
use std::process::Command;

fn main() {
    let mut version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo::rerun-if-changed=build.rs");
    // Debug builds would be compiled again after every commit. A package from a registry has no repository.
    if std::env::var("PROFILE").as_deref() == Ok("release") && Path::new(".git").exists() {
        println!("cargo::rerun-if-changed=.git/logs/HEAD");
        let output = Command::new("git").args(["rev-parse", "--short=10", "HEAD"]).output();
        if let Some(output) = output.ok().filter(|output| output.status.success()) {
            version += &format!(" ({})", String::from_utf8_lossy(&output.stdout).trim());
        }
    }
    println!("cargo::rustc-env=CITREE_VERSION={version}");
}
