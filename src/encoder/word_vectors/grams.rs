//! Vectors of words that a table does not have: the mean of the vectors of their character n-grams, which share a fixed
//! number of rows by hashing, as in fastText and floret.

use citree_index::container::FACTS;

/// How words without a row of their own are put together. In the facts of a table from `PLACE` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Grams {
    /// Rows that n-grams share. They follow the rows of words.
    pub(super) buckets: u64,
    /// The characters of the shortest and of the longest n-gram.
    pub(super) lengths: [u64; 2],
    pub(super) hash: Hash,
}

/// How an n-gram finds its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hash {
    /// One row, by FNV-1a of its bytes.
    FastText,
    /// Several rows, by MurmurHash3. The word as a whole counts too.
    Floret { rows: u64, seed: u32 },
}

/// The place of the first fact.
const PLACE: usize = 3;
/// A hash of 128 bits gives four numbers.
pub(super) const MOST_ROWS: u64 = 4;
/// The longest n-grams that a table can ask for.
pub(super) const LONGEST: u64 = 64;
/// The most bytes of a word that are used, so that a word of any length costs little.
const LONGEST_WORD: usize = 1 << 10;

impl Grams {
    /// What the facts of a table say. `Ok(None)` if its words are all that it has.
    pub(super) fn of(facts: &[u64; FACTS]) -> Result<Option<Self>, &'static str> {
        let [buckets, shortest, longest, rows, seed] = std::array::from_fn(|at| facts[PLACE + at]);
        if buckets == 0 {
            return Ok(None);
        }
        if shortest == 0 || shortest > longest || longest > LONGEST {
            return Err("the lengths of n-grams");
        }
        let hash = match (rows, u32::try_from(seed)) {
            (0, _) => Hash::FastText,
            (1..=MOST_ROWS, Ok(seed)) => Hash::Floret { rows, seed },
            _ => return Err("the hash of n-grams"),
        };
        Ok(Some(Self { buckets, lengths: [shortest, longest], hash }))
    }

    pub(super) fn write(&self, facts: &mut [u64; FACTS]) {
        let (rows, seed) = match self.hash {
            Hash::FastText => (0, 0),
            Hash::Floret { rows, seed } => (rows, u64::from(seed)),
        };
        facts[PLACE..PLACE + 5].copy_from_slice(&[self.buckets, self.lengths[0], self.lengths[1], rows, seed]);
    }

    /// The buckets of a word, in order; a bucket counts as often as it occurs.
    pub(super) fn buckets(&self, word: &str) -> Vec<u64> {
        let end = (0..=word.len().min(LONGEST_WORD)).rev().find(|&end| word.is_char_boundary(end)).unwrap_or(0);
        let marked = format!("<{}>", &word[..end]);
        let ends: Vec<usize> = marked.char_indices().map(|(at, _)| at).chain([marked.len()]).collect();
        let [shortest, longest] = self.lengths.map(|length| length as usize);
        let mut buckets = Vec::new();
        if let Hash::Floret { .. } = self.hash {
            self.add(marked.as_bytes(), &mut buckets);
        }
        for start in 0..ends.len() - 1 {
            for length in shortest..=longest.min(ends.len() - 1 - start) {
                // fastText leaves out the marks alone.
                let alone = length == 1 && (start == 0 || start + 2 == ends.len());
                if !(alone && self.hash == Hash::FastText) {
                    self.add(&marked.as_bytes()[ends[start]..ends[start + length]], &mut buckets);
                }
            }
        }
        buckets
    }

    fn add(&self, gram: &[u8], buckets: &mut Vec<u64>) {
        match self.hash {
            Hash::FastText => buckets.push(u64::from(fnv(gram)) % self.buckets),
            Hash::Floret { rows, seed } => {
                let numbers = murmur(gram, seed).into_iter().take(rows as usize);
                buckets.extend(numbers.map(|number| u64::from(number) % self.buckets));
            }
        }
    }
}

/// FNV-1a with 32 bits. fastText takes bytes as signed numbers.
fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(2_166_136_261, |hash, &byte| (hash ^ (byte as i8) as u32).wrapping_mul(16_777_619))
}

/// MurmurHash3 with 128 bits for 64-bit processors, as four numbers.
fn murmur(bytes: &[u8], seed: u32) -> [u32; 4] {
    const FIRST: u64 = 0x87c3_7b91_1142_53d5;
    const SECOND: u64 = 0x4cf5_ad43_2745_937f;
    let mix_first = |k: u64| k.wrapping_mul(FIRST).rotate_left(31).wrapping_mul(SECOND);
    let mix_second = |k: u64| k.wrapping_mul(SECOND).rotate_left(33).wrapping_mul(FIRST);
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte));
    let (mut a, mut b) = (u64::from(seed), u64::from(seed));
    let blocks = bytes.chunks_exact(16);
    let rest = blocks.remainder();
    for block in blocks {
        a = (a ^ mix_first(number(&block[..8]))).rotate_left(27).wrapping_add(b);
        a = a.wrapping_mul(5).wrapping_add(0x52dc_e729);
        b = (b ^ mix_second(number(&block[8..]))).rotate_left(31).wrapping_add(a);
        b = b.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let (low, high) = rest.split_at(rest.len().min(8));
    b ^= mix_second(number(high));
    a ^= mix_first(number(low));
    let finish = |k: u64| {
        let k = (k ^ k >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let k = (k ^ k >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        k ^ k >> 33
    };
    let length = bytes.len() as u64;
    (a, b) = (a ^ length, b ^ length);
    a = a.wrapping_add(b);
    b = b.wrapping_add(a);
    (a, b) = (finish(a), finish(b));
    a = a.wrapping_add(b);
    b = b.wrapping_add(a);
    [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32]
}
