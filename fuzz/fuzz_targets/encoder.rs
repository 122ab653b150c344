//! The folder of a transformer, of any family, with a changed file: opening it, splitting words into pieces and computing their
//! states end in an answer or an error.
#![no_main]

use std::cell::RefCell;
use std::path::Path;

use citree::internals::use_encoder;
use citree_fuzz::{Files, alone, fit_header, folder};
use libfuzzer_sys::fuzz_target;

/// Tiny folders of every family, of every kind of tokenizer and of weights.
const VALUES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/reference/values");
const WORDS: [&str; 5] = ["Anna", "doesn't", "like", "", "réin."];

struct Target {
    files: Files,
    _folder: tempfile::TempDir,
}

fn target() -> Target {
    alone();
    // The library of tokenizers panics where it should refuse, and citree catches that. Other panics end the run.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.location().is_none_or(|place| !place.file().contains("/tokenizers-")) {
            usual(panic);
        }
    }));
    let folder = folder();
    let mut sources = vec![Path::new(VALUES).join("bert")];
    let encoders = std::fs::read_dir(Path::new(VALUES).join("encoders")).expect("the folders of the families");
    sources.extend(encoders.map(|entry| entry.expect("a folder").path()));
    for source in sources {
        let copy = folder.path().join(source.file_name().expect("a name"));
        std::fs::create_dir(&copy).expect("a folder");
        for entry in std::fs::read_dir(&source).expect("the folder of a family") {
            let path = entry.expect("a file").path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            // What the tests compare with.
            if ["gradients.safetensors", "states.safetensors", "pieces.json", "older.bin"].contains(&name) {
                continue;
            }
            std::fs::copy(&path, copy.join(name)).expect("a copy");
        }
        use_encoder(&copy, &WORDS).expect("a folder that opens");
    }
    // The form of PyTorch before archives.
    let (mpnet, older) = (Path::new(VALUES).join("encoders/mpnet"), folder.path().join("older"));
    std::fs::create_dir(&older).expect("a folder");
    for (from, to) in
        [("config.json", "config.json"), ("tokenizer.json", "tokenizer.json"), ("older.bin", "pytorch_model.bin")]
    {
        std::fs::copy(mpnet.join(from), older.join(to)).expect("a copy");
    }
    use_encoder(&older, &WORDS).expect("a folder that opens");
    Target { files: Files::of(&[folder.path()]), _folder: folder }
}

fuzz_target!(|data: &[u8]| {
    thread_local!(static TARGET: RefCell<Target> = RefCell::new(target()));
    TARGET.with_borrow_mut(|target| {
        if let Some(path) = target.files.change(data, fit_header) {
            let _ = use_encoder(path.parent().expect("its folder"), &WORDS);
        }
    });
});
