//! Any text as the configuration of a model, its tables, or what was measured of rules. The first byte says which.
#![no_main]

use std::cell::LazyCell;

use citree::internals::{read_configuration, read_rules, read_tables};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    thread_local!(static FOLDER: LazyCell<tempfile::TempDir> = LazyCell::new(citree_fuzz::folder));
    let [which, text @ ..] = data else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    match which {
        b't' => read_tables(text),
        b'r' => FOLDER.with(|folder| {
            std::fs::write(folder.path().join("rules.json"), text).expect("a file");
            read_rules(folder.path());
        }),
        _ => read_configuration(text),
    }
});
