//! How many support sentences a decision needs: UAS with M drawn sentences (Table 5).

use super::bench::{Bench, reading};
use super::chart::{self, Axis, Line};
use super::corpus::{Corpus, genre, genres};
use super::published::{ENGLISH, SUPPORT_SIZE, SUPPORT_SIZE_AVERAGE, figure};
use super::report::Drawing;
use super::statistics::mean_and_deviation;
use super::trainings::Training;
use super::{Cell, Lab, Report, Table};
use crate::config::System;
use crate::error::Result;
use crate::random::Random;
use crate::score::{Scorer, accuracies};
use crate::support::support_rows;
use crate::task::Task;
use crate::train::Stage;
use crate::treebank::Sentence;
use citree_index::sums::Sums;
use serde::{Deserialize, Serialize};

/// The numbers of support sentences. The last column of the table uses all.
const SIZES: [usize; 3] = [1, 10, 100];

pub(super) fn trainings(lab: &Lab) -> Result<Vec<Training>> {
    Ok(vec![Training::new(&corpus(lab)?, Stage::Heads, System::IIC, lab.seeds[0])])
}

pub(super) fn cost(lab: &Lab) -> u64 {
    reading(lab.words(lab.train) + lab.words(lab.dev) * (1 + lab.draws as u64))
}

/// The corpus to train on: one genre, as in the paper, if the treebank names genres.
fn corpus(lab: &Lab) -> Result<Corpus> {
    Ok(genres(lab)?.map_or(Corpus::Whole, |(source, _)| Corpus::Genre(source)))
}

/// UAS on one part of the dev set.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Measured {
    name: String,
    sentences: usize,
    /// For each of [`SIZES`], one value per draw.
    drawn: Vec<Vec<f64>>,
    all: f64,
}

pub(super) fn report(bench: &Bench) -> Result<Report> {
    let lab = bench.lab;
    let corpus = corpus(lab)?;
    let seed = lab.seeds[0];
    let name = format!("support-size-{seed}-{}-draws", lab.draws);
    let measured = bench.once(&corpus, &name, cost(lab), || measure(bench, &corpus, seed))?;
    let available = corpus.train(lab).len();
    let paper = lab.name == ENGLISH && corpus == Corpus::Genre("answers".to_string());
    let sizes = || SIZES.map(|size| size.to_string()).into_iter().chain(["all".to_string()]);
    let mut columns = vec!["tested on".to_string(), "sentences".to_string()];
    columns.extend(sizes().map(|size| format!("M = {size}")));
    if paper {
        columns.extend(sizes().map(|size| format!("{size} in the paper")));
    }
    let mut table = Table::new("support-size", "UAS, %, of IIc with M support sentences", columns);
    let row = |name: &str, sentences: usize, drawn: &[Vec<f64>], all: f64, published: Option<[f64; 4]>| {
        let mut row = vec![Cell::text(name), Cell::Count(sentences as u64)];
        // A draw of all sentences is not a sample.
        let cell =
            |(size, values): (usize, &Vec<f64>)| if size < available { Cell::mean(values) } else { Cell::Nothing };
        row.extend(SIZES.into_iter().zip(drawn).map(cell));
        row.push(Cell::Value(all));
        if paper {
            row.extend(published.map_or(vec![Cell::Nothing; 4], |p| p.map(figure).to_vec()));
        }
        row
    };
    for Measured { name, sentences, drawn, all } in &measured {
        let published = SUPPORT_SIZE.iter().find(|(genre, _)| genre == name).map(|(_, figures)| *figures);
        table.rows.push(row(name, *sentences, drawn, *all, published));
    }
    if measured.len() > 1 {
        let count = measured.len() as f64;
        let mean = |size: usize, draw: usize| measured.iter().map(|m| m.drawn[size][draw]).sum::<f64>() / count;
        let drawn: Vec<Vec<f64>> =
            (0..SIZES.len()).map(|size| (0..lab.draws).map(|draw| mean(size, draw)).collect()).collect();
        let all = measured.iter().map(|m| m.all).sum::<f64>() / count;
        let sentences = measured.iter().map(|m| m.sentences).sum();
        table.rows.push(row("average", sentences, &drawn, all, Some(SUPPORT_SIZE_AVERAGE)));
    }
    Ok(Report {
        title: format!("How many support sentences: {}", lab.name),
        notes: vec![format!(
            "One head model (IIc, seed {seed}), trained on `{}`, decides by the edges of M training sentences instead of all {}. \
             M = 1, 10 and 100 have {} draws each; the table shows mean ± standard deviation over draws. All sentences of the \
             dev set use the same draw. The paper draws again for every batch.",
            corpus.name(),
            available,
            lab.draws
        )],
        tables: vec![table],
        drawings: vec![Drawing {
            name: "support-size".to_string(),
            caption: "UAS by the number of support sentences".to_string(),
            svg: curve(&measured, available),
        }],
        ..Report::default()
    })
}

fn curve(measured: &[Measured], sentences: usize) -> String {
    let line = |own: &Measured| {
        let drawn = SIZES.into_iter().zip(&own.drawn).filter(|(size, _)| *size < sentences);
        let points = drawn.map(|(size, values)| (size as f64, mean_and_deviation(values).0));
        let points = points.chain([(sentences as f64, own.all)]).collect();
        Line { name: own.name.clone(), points, captions: Vec::new() }
    };
    let lines: Vec<Line> = measured.iter().map(line).collect();
    let points = || lines.iter().flat_map(|line| line.points.iter().copied());
    let across = Axis::logarithmic("support sentences", points().map(|point| point.0));
    let up = Axis::around("UAS, %", points().map(|point| point.1));
    chart::svg("UAS by the number of support sentences", &across, &up, &lines)
}

fn measure(bench: &Bench, corpus: &Corpus, seed: u64) -> Result<Vec<Measured>> {
    let lab = bench.lab;
    let learnt = bench.learnt(corpus, Stage::Heads, System::IIC, seed)?;
    let train = learnt.number(&corpus.train(lab))?;
    let rows = learnt.gold_rows(&train)?;
    let mut rest = rows.iter();
    let by_sentence: Vec<Vec<&[f32]>> =
        train.iter().map(|sentence| rest.by_ref().take(sentence.len() - 1).collect()).collect();
    let mut scorers: Vec<Scorer> = Vec::new();
    for size in SIZES {
        for draw in 0..lab.draws {
            let mut random = Random::branch(seed, &format!("support of {size}, draw {draw}"));
            let mut order: Vec<usize> = (0..by_sentence.len()).collect();
            random.shuffle(&mut order);
            let mut sums = Sums::new(1, rows.dims);
            order.iter().take(size).flat_map(|&at| &by_sentence[at]).for_each(|row| sums.add(0, row));
            scorers.push(Scorer::new(
                &learnt.model.edges,
                support_rows(&sums, lab.config.aggregate, lab.device.of_tensors())?,
            )?);
        }
    }
    scorers.push(learnt.scorer(lab.config.aggregate, lab)?);
    let scorers: Vec<(Task, &Scorer)> = scorers.iter().map(|scorer| (Task::Heads, scorer)).collect();
    let mut measured = Vec::new();
    for (name, sentences) in parts(lab, corpus) {
        let mut uas: Vec<f64> =
            accuracies(&scorers, &learnt.number(&sentences)?)?.into_iter().map(|share| share * 100.0).collect();
        let all = uas.pop().unwrap_or_default();
        let drawn = uas.chunks(lab.draws.max(1)).map(<[f64]>::to_vec).collect();
        measured.push(Measured { name, sentences: sentences.len(), drawn, all });
    }
    Ok(measured)
}

/// The parts of the dev set to test on: every genre except the source, or all of it without genres.
fn parts(lab: &Lab, corpus: &Corpus) -> Vec<(String, Vec<Sentence>)> {
    let Corpus::Genre(source) = corpus else { return vec![("dev".to_string(), lab.dev.to_vec())] };
    let names: std::collections::BTreeSet<&str> = lab.dev.iter().map(genre).filter(|name| name != source).collect();
    names.into_iter().map(|name| (name.to_string(), Corpus::Genre(name.to_string()).dev(lab))).collect()
}
