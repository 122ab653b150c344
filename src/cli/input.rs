//! Sentences as the user gives them: a CoNLL-U file, plain text, or the standard input.

use crate::parse::Parser;
use crate::treebank::{Sentence, open};
use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};

/// Which sentences to read.
#[derive(clap::Args)]
pub(super) struct Input {
    /// The sentences in CoNLL-U; - is the standard input
    #[arg(default_value = "-")]
    file: PathBuf,
    /// The input is plain text, one sentence a line
    #[arg(long)]
    text: bool,
}

impl Input {
    /// The sentences, one by one; plain text is cut as the parser's treebank would.
    pub(super) fn sentences<'a>(
        &'a self,
        parser: &'a Parser,
    ) -> anyhow::Result<Box<dyn Iterator<Item = anyhow::Result<Sentence>> + 'a>> {
        if !self.text {
            return Ok(Box::new(open(&self.file)?.map(|sentence| Ok(sentence?))));
        }
        let sentence = move |(number, line): (usize, std::io::Result<String>)| match line {
            Ok(line) if line.trim().is_empty() => None,
            Ok(line) => Some(Ok(parser.split(line.trim()))),
            Err(e) => Some(Err(anyhow::anyhow!("{}:{}: {e}", self.file.display(), number + 1))),
        };
        Ok(Box::new(lines(&self.file)?.enumerate().filter_map(sentence)))
    }

    /// Whether a person types the sentences.
    pub(super) fn is_typed(&self) -> bool {
        self.file == Path::new("-") && std::io::stdin().is_terminal()
    }
}

fn lines(path: &Path) -> anyhow::Result<Box<dyn Iterator<Item = std::io::Result<String>>>> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin().lock().lines()));
    }
    let file = std::fs::File::open(path).map_err(|e| anyhow::anyhow!("{}: {e}", path.display()))?;
    Ok(Box::new(BufReader::new(file).lines()))
}
