//! A bundle with a changed file of its model, or of what is noted beside it, as of an earlier version without checksums:
//! opening, describing and parsing end in an answer or an error.
#![no_main]

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use citree::internals::use_model;
use citree_fuzz::{Files, alone, bundle, fit_header, folder};
use libfuzzer_sys::fuzz_target;

struct Target {
    bundle: PathBuf,
    files: Files,
    _folder: tempfile::TempDir,
}

fn target() -> Target {
    alone();
    let folder = folder();
    let bundle = bundle(folder.path());
    let model = bundle.join("model");
    for file in ["model/config.toml", "model/tables.json", "rules.json", "about.json"] {
        without_checksum(&bundle.join(file));
    }
    ["heads.safetensors", "labels.safetensors"].iter().for_each(|file| without_checksum(&model.join(file)));
    use_model(&bundle).expect("a bundle of an earlier version");
    let files = Files::of(&[&model, &bundle.join("rules.json"), &bundle.join("about.json")]);
    Target { bundle, files, _folder: folder }
}

/// Gives the checksums of a file another name, so that no version knows them.
fn without_checksum(path: &Path) {
    let mut bytes = std::fs::read(path).expect("a file of the bundle");
    let known: [(&[u8], &[u8]); 3] =
        [(b"\\\"blake3\\\"", b"\\\"blakeX\\\""), (b"\\\"seal\\\"", b"\\\"seaX\\\""), (b"# blake3 ", b"# blakeX ")];
    for (from, to) in known {
        if let Some(at) = bytes.windows(from.len()).position(|part| part == from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
    // In JSON the checksum is the first key.
    if let Some(rest) = bytes.strip_prefix(b"{\"blake3\":\"") {
        let end = rest.iter().position(|byte| *byte == b',').expect("a key after it");
        bytes = [b"{", &rest[end + 1..]].concat();
    }
    std::fs::write(path, bytes).expect("a file of the bundle");
}

fuzz_target!(|data: &[u8]| {
    thread_local!(static TARGET: RefCell<Target> = RefCell::new(target()));
    TARGET.with_borrow_mut(|target| {
        if target.files.change(data, fit_header).is_some() {
            let _ = use_model(&target.bundle);
        }
    });
});
