//! Reads floret's `.floret`: a line with the numbers of the model, then a row for each bucket of n-grams. No word has a row of
//! its own.

use super::grams::{Grams, Hash, LONGEST, MOST_ROWS};
use super::text::Text;
use crate::error::Result;

/// A `.floret`, read line by line.
pub(super) struct Floret {
    text: Text,
    pub(super) grams: Grams,
}

const REMEDY: &str = "write it with floret's `save_floret_vectors`";

impl Floret {
    /// The text as a `.floret` if its first line is that of one; otherwise the text.
    pub(super) fn begins(mut text: Text) -> Result<Result<Self, Text>> {
        let Some(fields) = fields(text.first_line()) else { return Ok(Err(text)) };
        let [buckets, dims, shortest, longest, rows, seed] = fields;
        let sound = (1..u64::from(u32::MAX)).contains(&buckets)
            && (1..=longest).contains(&shortest)
            && longest <= LONGEST
            && (1..=MOST_ROWS).contains(&rows);
        let (Ok(seed), true) = (u32::try_from(seed), sound) else {
            let expected = format!("n-grams have 1 to {LONGEST} characters and 1 to {MOST_ROWS} rows");
            return Err(text.bad("other numbers".to_string(), expected, REMEDY));
        };
        let grams = Grams { buckets, lengths: [shortest, longest], hash: Hash::Floret { rows, seed } };
        text.begin_rows(dims)?;
        Ok(Ok(Self { text, grams }))
    }

    /// Number of values in a row.
    pub(super) fn dims(&self) -> usize {
        self.text.dims()
    }

    /// Bytes read, and the size of the file.
    pub(super) fn progress(&self) -> (u64, u64) {
        self.text.progress()
    }

    /// Reads the next row, which must have this number.
    pub(super) fn row(&mut self, number: u64, values: &mut Vec<f32>) -> Result<()> {
        let found = self.text.next(values)?.map(<[u8]>::to_vec);
        if found.as_deref() == Some(number.to_string().as_bytes()) {
            return Ok(());
        }
        let found = found.map_or("the end of the file".to_string(), |found| format!("`{}`", found.escape_ascii()));
        Err(self.text.bad(found, format!("row {number} comes next"), REMEDY))
    }
}

/// The numbers of a first line: buckets, values, shortest and longest n-gram, rows of an n-gram, seed. The marks of a word
/// follow; only the usual ones are supported.
fn fields(line: &[u8]) -> Option<[u64; 6]> {
    let mut fields = std::str::from_utf8(line).ok()?.split(' ');
    let mut numbers = [0; 6];
    for number in &mut numbers {
        *number = fields.next()?.parse().ok()?;
    }
    (fields.next() == Some("<") && fields.next() == Some(">") && fields.next().is_none()).then_some(numbers)
}
