//! The sentences to parse, each with its place in the input, and those that cannot be read.

use super::bad::is_of_a_sentence;
use crate::cli::input::{Input, with_hint};
use crate::parse::Parser;
use crate::treebank::{Block, Sentence, open};

/// A sentence of the input.
pub(super) struct Given {
    /// Where it is, for messages.
    pub(super) place: String,
    /// The sentence, or why it cannot be read.
    pub(super) sentence: anyhow::Result<Sentence>,
    /// The lines of one that cannot be read.
    pub(super) lines: Option<Vec<u8>>,
}

/// All sentences. An outer error ends the input.
pub(super) fn sentences<'a>(
    input: &'a Input,
    parser: &'a Parser,
) -> anyhow::Result<Box<dyn Iterator<Item = anyhow::Result<Given>> + 'a>> {
    let Some(file) = input.conllu() else {
        let mut number = 0;
        let text = input.sentences(parser)?.map(move |sentence| {
            number += 1;
            match sentence {
                // A line that is not UTF-8 leaves those after it readable.
                Err(error) if !error.downcast_ref().is_some_and(is_of_a_sentence) => Err(error),
                sentence => Ok(Given { place: format!("sentence {number} of the input"), sentence, lines: None }),
            }
        });
        return Ok(Box::new(text));
    };
    let mut reader = open(file)?;
    let name = if input.is_stdin() { "<stdin>".to_string() } else { file.display().to_string() };
    let mut first = true;
    Ok(Box::new(std::iter::from_fn(move || {
        let first = std::mem::take(&mut first);
        match reader.next_block().transpose()? {
            Err(error) => Some(Err(error.into())),
            Ok(Block { line, sentence, lines }) => {
                let sentence = sentence.map_err(|error| if first { with_hint(error) } else { error.into() });
                Some(Ok(Given { place: format!("{name}:{line}"), sentence, lines }))
            }
        }
    })))
}
