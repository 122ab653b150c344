//! `citree find`: sentences of a treebank or of the evidence that fit a pattern.

use super::destination::Destination;
use super::printable::printable;
use super::style::Style;
use crate::bundle::Bundle;
use crate::find::{Match, Pattern};
use crate::treebank::{Sentence, open, write_sentence};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Find the sentences of a treebank, or the training sentences of a bundle, that fit a pattern.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  citree find dev.conllu 'pattern { V [upos=VERB]; V -[obj]-> N; N [form=\"letters\"] }'
  citree find en.citree 'pattern { V -[obj]-> N; N << V }' --top 20       objects before their verbs
  citree find dev.conllu 'pattern { N [upos=NOUN] } without { N -[det|amod]-> X }' --format conllu
  citree find train.conllu 'pattern { V -[nsubj]-> S; V.Number <> S.Number }' --format jsonl | jq .sent_id
  citree parse en.citree dev.conllu | citree find - 'pattern { ROOT -[root]-> N; N [upos<>VERB] }'

A pattern has conditions between braces, and what must not be there besides in further braces, after `without`:
  N [upos=VERB|AUX, lemma<>\"be\"]    a word: attribute = one of these values; <> has one, but none of these
  N [Case, !Number, form=re\".*ing\"] an attribute that is there; one that is not; a regular expression of the whole value
  N -[obj|iobj]-> M                 an edge from head to dependent; obj stands for all its subtypes
  N -[^punct]-> M                   an edge with any other label; N -> M has any; ROOT -> N
  N < M; N << M                     N directly before M; anywhere before
  N.lemma = M.lemma                 the same value; <> another one
Attributes are form, lemma, upos, xpos, deprel, misc.Key, and features, which begin with a capital. Different names are different words. \
% begins a comment. @FILE instead of the pattern takes it from a file.

The training sentences of a bundle have forms, heads and labels only. jsonl has an object a match: the number of the sentence, its sent_id, \
its words, and the id of each word that the pattern names. conllu has each sentence once, with its matches in comments.")]
pub(super) struct Args {
    /// A treebank, CoNLL-U, or a bundle; - is the standard input
    place: PathBuf,
    /// The pattern
    pattern: String,
    /// How to write the matches: text, jsonl or conllu
    #[arg(long, default_value = "text", value_parser = ["text", "jsonl", "conllu"])]
    format: String,
    /// End after this many matches
    #[arg(long, value_name = "N")]
    top: Option<usize>,
    #[command(flatten)]
    output: Destination,
}

/// Finds, and writes the matches.
pub(super) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let text = match args.pattern.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).map_err(|error| anyhow::anyhow!("{file}: {error}"))?,
        None => args.pattern.clone(),
    };
    let pattern: Pattern = text.parse()?;
    args.output.write(|out| {
        let left = args.top.unwrap_or(usize::MAX);
        let mut finder = Finder {
            pattern: &pattern,
            format: &args.format,
            style: Style::of_terminal(),
            out,
            left,
            sentences: 0,
            matches: 0,
            fit: 0,
        };
        match args.place.is_dir() {
            true => finder.bundle(&args.place)?,
            false => finder.file(&args.place)?,
        }
        finder.out.flush()?;
        let Finder { sentences, matches, fit, .. } = finder;
        writeln!(std::io::stderr(), "{matches} matches in {fit} of {sentences} sentences")?;
        Ok(ExitCode::SUCCESS)
    })
}

struct Finder<'a> {
    pattern: &'a Pattern,
    format: &'a str,
    style: Style,
    out: &'a mut dyn Write,
    /// How many more matches are wanted.
    left: usize,
    sentences: usize,
    matches: usize,
    /// Sentences with a match.
    fit: usize,
}

/// A match as JSON.
#[derive(Serialize)]
struct Found<'a> {
    sentence: usize,
    sent_id: Option<&'a str>,
    words: Vec<&'a str>,
    found: BTreeMap<&'a str, usize>,
}

impl Finder<'_> {
    fn file(&mut self, path: &Path) -> anyhow::Result<()> {
        for sentence in open(path)? {
            self.sentence(&sentence?)?;
            if self.left == 0 {
                break;
            }
        }
        Ok(())
    }

    fn bundle(&mut self, path: &Path) -> anyhow::Result<()> {
        let columns = self.pattern.other_columns();
        if !columns.is_empty() {
            anyhow::bail!(
                "a bundle has forms, heads and labels of its training sentences, but the pattern asks for {}; search the treebank itself",
                columns.join(", ")
            );
        }
        let bundle = Bundle::open(path)?;
        let edges = bundle.index()?;
        for number in 0..edges.sentences() {
            let stored = edges.sentence(number)?;
            let mut sentence = stored.tree();
            for (key, value) in [("sent_id", stored.sent_id), ("text", stored.text)] {
                if !value.is_empty() {
                    sentence.set_comment(key, value);
                }
            }
            self.sentence(&sentence)?;
            if self.left == 0 {
                break;
            }
        }
        edges.intact()?;
        Ok(())
    }

    fn sentence(&mut self, sentence: &Sentence) -> anyhow::Result<()> {
        self.sentences += 1;
        let found = self.pattern.find(sentence, self.left)?;
        if found.is_empty() {
            return Ok(());
        }
        self.left -= found.len();
        self.matches += found.len();
        self.fit += 1;
        let words: Vec<&str> = sentence.forms().collect();
        match self.format {
            "conllu" => {
                let mut sentence = sentence.clone();
                sentence.set_comment("found", &found.iter().map(|one| self.named(one)).collect::<Vec<_>>().join("; "));
                write_sentence(&mut self.out, &sentence)?;
            }
            "jsonl" => {
                for one in &found {
                    let named =
                        self.pattern.names().iter().map(String::as_str).zip(one.words.iter().copied()).collect();
                    let found = Found {
                        sentence: self.sentences,
                        sent_id: sentence.sent_id(),
                        words: words.clone(),
                        found: named,
                    };
                    writeln!(self.out, "{}", serde_json::to_string(&found)?)?;
                }
            }
            _ => {
                let name = sentence.sent_id().map_or_else(|| format!("sentence {}", self.sentences), str::to_string);
                for one in &found {
                    let shown: Vec<String> = (1..).zip(&words).map(|(id, form)| self.shown(one, id, form)).collect();
                    writeln!(self.out, "{}: {}", self.style.bold(&printable(&name)), shown.join(" "))?;
                }
            }
        }
        Ok(())
    }

    /// A match as `V=2 N=4`.
    fn named(&self, found: &Match) -> String {
        let named = self.pattern.names().iter().zip(&found.words).map(|(name, word)| format!("{name}={word}"));
        named.collect::<Vec<_>>().join(" ")
    }

    /// A word of a sentence, marked if it is in the match.
    fn shown(&self, found: &Match, id: usize, form: &str) -> String {
        let form = printable(form);
        match found.words.iter().position(|word| *word == id).and_then(|at| self.pattern.names().get(at)) {
            Some(name) => self.style.right(&format!("[{name}:{form}]")),
            None => form,
        }
    }
}
