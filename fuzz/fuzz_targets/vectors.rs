//! Word vectors: any bytes as a text, plain or gzipped, that is converted to a table; or a table with changes and repaired
//! checksums. The first byte says which.
#![no_main]

use std::cell::RefCell;
use std::io::Write;

use citree::internals::{convert_vectors, use_vectors};
use citree_fuzz::{Files, alone, folder, sign_container};
use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;

const TEXT: &[u8] = b"5 3\nthe 1 2 3\nrain -1 0.5 1e-3\nAnna 0 0 0\nlike 3 2 1\n. 7 7 7\n";

/// A table, and a folder for texts.
struct Target {
    texts: tempfile::TempDir,
    _folder: tempfile::TempDir,
    table: Files,
}

fn target() -> Target {
    alone();
    let (texts, folder) = (folder(), folder());
    let source = texts.path().join("text");
    std::fs::write(&source, TEXT).expect("a text");
    convert_vectors(&source, &folder.path().join("table")).expect("a table");
    Target { texts, table: Files::of(&[folder.path()]), _folder: folder }
}

fuzz_target!(|data: &[u8]| {
    thread_local!(static TARGET: RefCell<Target> = RefCell::new(target()));
    let [which, rest @ ..] = data else { return };
    TARGET.with_borrow_mut(|target| {
        if let b'm' = which {
            if let Some(path) = target.table.change(rest, |_, bytes, _| sign_container(bytes)) {
                let _ = use_vectors(path, &["the", "Rain", "anna", "unknown", ""]);
            }
            return;
        }
        let text = match which {
            b'g' => {
                let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
                zipped.write_all(rest).expect("a write to memory");
                zipped.finish().expect("a write to memory")
            }
            _ => rest.to_vec(),
        };
        let source = target.texts.path().join("text");
        std::fs::write(&source, text).expect("a text");
        let _ = convert_vectors(&source, &target.texts.path().join("converted"));
    });
});
