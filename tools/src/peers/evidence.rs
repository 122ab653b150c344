//! Measures what it costs to change evidence, and what an example teaches.

mod options;
mod split;
mod teach;
mod times;

pub use options::{Options, USAGE};

use crate::search::release_build;
use crate::train::processor;
use anyhow::{Context, ensure};
use citree::Bundle;
use citree::treebank::{Sentence, read_trees};
use options::Part;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Measures the requested parts and prints a table for each. The bundle itself is not changed: a copy is.
pub fn run(options: &Options) -> anyhow::Result<()> {
    release_build("evidence")?;
    let dev = read_trees(&options.dev)?;
    ensure!(!dev.is_empty(), "{}: no sentences", options.dev.display());
    let folder = tempfile::tempdir()?;
    let copied = Copied { folder: folder.path().join("whole.citree"), dev };
    copy(&options.bundle, &copied.folder)?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "`cargo xtask peers evidence {}`\n\n{} training edges; {}.",
        options.given,
        Bundle::open(&copied.folder)?.index()?.accepted(),
        processor()
    )?;
    for part in &options.parts {
        let table = match part {
            Part::Change => times::change(&copied, options)?,
            Part::Search => times::search(&copied, options)?,
            Part::Merge => times::merge(&copied, options)?,
            Part::Teach => teach::teach(&copied, options)?,
            Part::Split => split::split(&copied, options)?,
        };
        writeln!(out, "\n{}", table.trim_end())?;
    }
    Ok(())
}

/// A copy of the bundle, and sentences that are not in it.
struct Copied {
    folder: PathBuf,
    dev: Vec<Sentence>,
}

impl Copied {
    fn open(&self) -> anyhow::Result<Bundle> {
        Ok(Bundle::open(&self.folder)?)
    }
}

/// Sentences of some length under names that are not in the evidence.
fn lessons(dev: &[Sentence], words: std::ops::RangeInclusive<usize>, count: usize) -> anyhow::Result<Vec<Sentence>> {
    let fits = |sentence: &&Sentence| words.contains(&sentence.words().len());
    let mut lessons: Vec<Sentence> = dev.iter().filter(fits).take(count).cloned().collect();
    ensure!(lessons.len() == count, "fewer than {count} sentences of the dev set have {words:?} words");
    for (number, lesson) in lessons.iter_mut().enumerate() {
        lesson.set_comment("sent_id", &format!("lesson-{number}"));
    }
    Ok(lessons)
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to)?,
            false => drop(std::fs::copy(entry.path(), to)?),
        }
    }
    Ok(())
}
