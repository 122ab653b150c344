//! Any bytes as CoNLL-U: reading, checking at every level, writing and reading again, evaluating, learning how to split text.
#![no_main]

use std::sync::Once;

use citree::internals::read_conllu;
use libfuzzer_sys::fuzz_target;

static ALONE: Once = Once::new();

fuzz_target!(|data: &[u8]| {
    ALONE.call_once(citree_fuzz::alone);
    read_conllu(data);
});
