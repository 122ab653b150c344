//! The paper's six systems: UAS and LAS over several seeds (Table 3).

use super::bench::{Bench, reading, system};
use super::corpus::{Corpus, short_hash};
use super::published;
use super::trainings::Training;
use super::{Cell, Lab, Report, Table};
use crate::config::System;
use crate::error::Result;
use crate::evaluate::evaluate;
use crate::parse::{Decode, Parser, Settings};
use crate::train::Stage;
use crate::treebank::Sentence;

pub(super) fn trainings(lab: &Lab) -> Vec<Training> {
    Training::all(&Corpus::Whole, &[Stage::Heads, Stage::Labels], &["WWd", "WWc", "IId", "IIc"], lab.seeds)
}

pub(super) fn cost(lab: &Lab) -> u64 {
    6 * lab.seeds.len() as u64 * reading(2 * lab.words(lab.train) + 2 * lab.words(judged(lab)))
}

/// What the systems are judged by.
fn judged<'a>(lab: &Lab<'a>) -> &'a [Sentence] {
    lab.test.unwrap_or(lab.dev)
}

pub(super) fn report(bench: &Bench) -> Result<Report> {
    let lab = bench.lab;
    let cost = cost(lab) / (6 * lab.seeds.len() as u64).max(1);
    // What was measured on the dev set goes by the name of the system alone.
    let (part, key) = match lab.test {
        Some(test) => ("test", format!("test-{}-", short_hash(test)?)),
        None => ("dev", String::new()),
    };
    let mut scores: Vec<Vec<[f64; 2]>> = Vec::new();
    for name in System::NAMES {
        let mut own = Vec::new();
        for &seed in lab.seeds {
            let what = format!("{key}accuracy-{name}-{seed}");
            own.push(bench.once(&Corpus::Whole, &what, cost, || accuracy(bench, name, seed))?);
        }
        scores.push(own);
    }
    let columns = ["", "Kulmizev et al. 2019"].into_iter().chain(System::NAMES);
    let mut table = Table::new("systems", "UAS / LAS, %", columns);
    let shown = |own: &Vec<[f64; 2]>| {
        let part = |at: usize| super::statistics::mean_and_deviation(&own.iter().map(|s| s[at]).collect::<Vec<_>>());
        let ((uas, uas_spread), (las, las_spread)) = (part(0), part(1));
        let spread = |spread: Option<f64>| spread.map_or(String::new(), |spread| format!(" ± {spread:.2}"));
        Cell::text(format!("{uas:.2}{} / {las:.2}{}", spread(uas_spread), spread(las_spread)))
    };
    let own = vec![Cell::text(format!("{}, {part}", lab.name)), Cell::text("")];
    table.rows.push([own, scores.iter().map(shown).collect()].concat());
    let (same, others): (Vec<_>, Vec<_>) = published::SYSTEMS.iter().partition(|published| published.0 == lab.name);
    for (_, language, reference, figures) in same.into_iter().chain(others) {
        let cells = figures.map(|(uas, las)| Cell::text(format!("{uas:.1} / {las:.1}")));
        let first =
            vec![Cell::text(format!("{language} in the paper, test")), Cell::text(format!("– / {reference:.1}"))];
        table.rows.push([first, cells.to_vec()].concat());
    }
    let mut means = Table::new("means", "Means and deviations", ["system", "UAS, %", "LAS, %"]);
    for (name, own) in System::NAMES.iter().zip(&scores) {
        let mean = |at: usize| Cell::mean(&own.iter().map(|scores| scores[at]).collect::<Vec<_>>());
        means.rows.push(vec![Cell::text(*name), mean(0), mean(1)]);
    }
    let mut each = Table::new("seeds", "Every seed", ["system", "seed", "UAS, %", "LAS, %"]);
    for (name, own) in System::NAMES.iter().zip(&scores) {
        for (seed, [uas, las]) in lab.seeds.iter().zip(own) {
            each.rows.push(vec![Cell::text(*name), Cell::Count(*seed), Cell::Value(*uas), Cell::Value(*las)]);
        }
    }
    Ok(Report {
        title: format!("The six systems on {}", lab.name),
        notes: vec![
            "A system is named by how it learns (by **W**eights or **I**nstances), how it decides, and how it compares edges \
             (**d**ot product or **c**osine). WW and WI use the same trained models, from the epoch that is best by weights, and \
             differ in how they decide. Heads are chosen greedily, as in the paper. Punctuation and subtypes of labels count. \
             With more than one seed, the table shows mean ± standard deviation."
                .to_string(),
            format!(
                "The paper reports test sets, with fastText and multilingual BERT, 100 epochs and three seeds; Kulmizev et al. is \
                 the graph-based parser with BERT that it lists for reference. {}",
                match lab.test {
                    Some(_) => "Here it is a test set too; the dev set chose the best epoch.",
                    None => "Here it is the dev set, which also chose the best epoch; `--test` takes a test set.",
                }
            ),
        ],
        tables: vec![table, means, each],
        ..Report::default()
    })
}

/// UAS and LAS in percent.
fn accuracy(bench: &Bench, name: &str, seed: u64) -> Result<[f64; 2]> {
    let lab = bench.lab;
    let model = bench.parser_model(&Corpus::Whole, system(name)?, seed)?;
    let settings = Settings { decode: Decode::Greedy, aggregate: Some(lab.config.aggregate), ..Settings::default() };
    let parser = Parser::new(&model, None, Default::default(), &settings, lab.device.of_tensors())?;
    let gold = judged(lab);
    let mut parsed = gold.to_vec();
    let parses = parser.parse(&parsed)?;
    parsed.iter_mut().zip(&parses).for_each(|(sentence, parse)| parse.annotate(sentence, false));
    let scores = evaluate(gold, &parsed)?.with_punctuation;
    Ok([scores.uas.f1 * 100.0, scores.las_subtypes.f1 * 100.0])
}
