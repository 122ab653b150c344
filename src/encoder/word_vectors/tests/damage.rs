//! Tests of tables that are truncated, changed, or inconsistent although their checksums match.

use super::*;
use citree_index::container::Writer;

/// The contents of a table to write, valid or not.
#[derive(Clone)]
struct Forged {
    facts: [u64; FACTS],
    scales: Vec<f32>,
    ends: Vec<u64>,
    rows: Vec<u32>,
    fingerprint: [u8; 32],
}

impl Forged {
    /// Three words, "a", "bb" and "c", of two values.
    fn whole() -> Self {
        let mut forged = Self {
            facts: facts(3, 2, 0.5, None),
            scales: vec![1.0, 0.0, 2.0],
            ends: vec![1, 3, 4],
            rows: vec![2, 0, 1],
            fingerprint: [0; 32],
        };
        forged.fingerprint = forged.open().unwrap().content.fingerprint(None);
        forged
    }

    fn open(&self) -> Result<WordVectors> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        let mut file = Writer::create(path.clone(), KIND).unwrap();
        file.section(CODES, &[1i8, 2, 3, 4, 5, 6]).unwrap();
        file.section(SCALES, &self.scales).unwrap();
        file.section(SPELLINGS, b"abbc").unwrap();
        file.section(ENDS, &self.ends).unwrap();
        file.section(ROWS, &self.rows).unwrap();
        file.section(FINGERPRINT, &self.fingerprint).unwrap();
        file.finish(self.facts).unwrap();
        WordVectors::open(&path)
    }
}

#[test]
fn the_check_finds_an_inconsistent_table_without_a_panic() {
    let whole = Forged::whole();
    whole.open().unwrap().check().unwrap();
    let forge = |change: &dyn Fn(&mut Forged)| {
        let mut forged = whole.clone();
        change(&mut forged);
        // Gives the changed table a matching fingerprint, so that another check must find the change.
        forged.fingerprint = forged.open().unwrap().content.fingerprint(None);
        forged
    };
    let cases = [
        (forge(&|table| table.ends = vec![3, 1, 4]), "the end of word 1"),
        (forge(&|table| table.ends = vec![1, 3, u64::MAX]), "the end of word 2"),
        (forge(&|table| table.ends = vec![1, 2, 3]), "word 2 to be after"),
        (forge(&|table| table.ends = vec![0, 0, 4]), "word 1 to be after"),
        (forge(&|table| table.ends = vec![0, 1, 3]), "the end of the last word"),
        (forge(&|table| table.rows = vec![2, 3, 1]), "the row of word 1"),
        (forge(&|table| table.rows = vec![2, 0, 2]), "the row of word 2"),
        (forge(&|table| table.scales[1] = f32::NAN), "the scale of row 1"),
        (forge(&|table| table.scales[2] = -1.0), "the scale of row 2"),
        (Forged { fingerprint: [7; 32], ..whole.clone() }, "the fingerprint"),
    ];
    for (forged, part) in cases {
        let vectors = forged.open().unwrap();
        for word in ["", "a", "b", "bb", "c", "z"] {
            vectors.read(&vectors.place(word), &mut [0.0; 2]);
        }
        let error = vectors.check().unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("train again"), "{error}, not {part}");
    }
}

#[test]
fn a_header_that_contradicts_its_sections_is_refused_when_opened() {
    for (wrong, part) in [
        (facts(0, 2, 0.5, None), "the number of words"),
        (facts(3, 0, 0.5, None), "the number of words"),
        (facts(1 << 32, 2, 0.5, None), "the number of words"),
        (facts(3, 2, 0.0, None), "the factor"),
        (facts(3, 2, f64::NAN, None), "the factor"),
        (facts(3, 2, f64::INFINITY, None), "the factor"),
        (facts(2, 3, 0.5, None), "section 2"),
        (facts(3, usize::MAX, 0.5, None), "section 1"),
    ] {
        let message = Forged { facts: wrong, ..Forged::whole() }.open().unwrap_err().to_string();
        assert!(message.contains(part) && message.contains("train again"), "{message}");
    }
}

#[test]
fn a_truncated_table_is_an_error_with_a_remedy() {
    let (folder, vectors) = table(GLOVE);
    vectors.check().unwrap();
    let bytes = std::fs::read(folder.path().join("table")).unwrap();
    let path = folder.path().join("cut");
    for cut in 0..bytes.len() {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let message = WordVectors::open(&path).unwrap_err().to_string();
        assert!(message.contains("train again") && message.contains("/cut: expected"), "{message}");
    }
}

#[test]
fn the_check_finds_every_changed_byte_and_lookups_do_not_panic() {
    let (folder, _) = table(GLOVE);
    let bytes = std::fs::read(folder.path().join("table")).unwrap();
    for at in 0..bytes.len() {
        let path = folder.path().join(format!("changed-{at}"));
        let mut changed = bytes.clone();
        changed[at] ^= 0xff;
        std::fs::write(&path, changed).unwrap();
        let problem = match WordVectors::open(&path) {
            Ok(vectors) => {
                let words = ["the", "THE", "paris", "été", "none"];
                words.iter().for_each(|word| vectors.read(&vectors.place(word), &mut [0.0; 3]));
                vectors.check().err()
            }
            Err(error) => Some(error),
        };
        let message = problem.map(|error| error.to_string()).unwrap_or_default();
        assert!(message.contains("train again"), "byte {at}: {message}");
    }
}
