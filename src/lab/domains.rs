//! Out-of-domain accuracy: models trained on one genre and tested on each of the others (Table 4).

use super::bench::{Bench, reading, system};
use super::corpus::{Corpus, genres};
use super::published::{DOMAIN_SYSTEMS, DOMAINS, DOMAINS_AVERAGE, ENGLISH, figure};
use super::trainings::Training;
use super::{Cell, Lab, Report, Table};
use crate::error::{Error, Result};
use crate::score::accuracies;
use crate::task::Task;
use crate::train::Stage;
use std::collections::BTreeMap;

pub(super) fn trainings(lab: &Lab) -> Result<Vec<Training>> {
    let (source, _) = named_genres(lab)?;
    Ok(Training::all(&Corpus::Genre(source), &[Stage::Heads], &DOMAIN_SYSTEMS, lab.seeds))
}

pub(super) fn cost(lab: &Lab) -> u64 {
    DOMAIN_SYSTEMS.len() as u64 * lab.seeds.len() as u64 * reading(lab.words(lab.dev))
}

pub(super) fn report(bench: &Bench) -> Result<Report> {
    let lab = bench.lab;
    let (source, targets) = named_genres(lab)?;
    let corpus = Corpus::Genre(source.clone());
    let cost = cost(lab) / (DOMAIN_SYSTEMS.len() * lab.seeds.len()).max(1) as u64;
    // UAS by genre, for each system and seed.
    let mut measured: Vec<Vec<BTreeMap<String, f64>>> = Vec::new();
    for name in DOMAIN_SYSTEMS {
        let mut own = Vec::new();
        for &seed in lab.seeds {
            let genres = [&targets[..], std::slice::from_ref(&source)].concat();
            let uas = || uas_by_genre(bench, &corpus, name, seed, &genres);
            own.push(bench.once(&corpus, &format!("genres-{name}-{seed}"), cost, uas)?);
        }
        measured.push(own);
    }
    let paper = lab.name == ENGLISH && source == "answers";
    let mut columns = vec!["tested on".to_string(), "sentences".to_string()];
    columns.extend(DOMAIN_SYSTEMS.map(String::from));
    if paper {
        columns.extend(DOMAIN_SYSTEMS.map(|name| format!("{name} in the paper")));
    }
    let mut table = Table::new("domains", &format!("UAS, %, of head models trained on `{source}`"), columns);
    let row = |name: String, sentences: usize, own: Vec<Vec<f64>>, published: Option<[f64; 4]>| {
        let mut row = vec![Cell::text(name), Cell::Count(sentences as u64)];
        row.extend(own.iter().map(|values| Cell::mean(values)));
        if paper {
            row.extend(published.map_or(vec![Cell::Nothing; 4], |p| p.map(figure).to_vec()));
        }
        row
    };
    for target in &targets {
        let own =
            measured.iter().map(|seeds| seeds.iter().filter_map(|uas| uas.get(target).copied()).collect()).collect();
        let published = DOMAINS.iter().find(|(genre, _)| genre == target).map(|(_, figures)| *figures);
        let sentences = Corpus::Genre(target.clone()).dev(lab).len();
        table.rows.push(row(target.clone(), sentences, own, published));
    }
    let mean = |uas: &BTreeMap<String, f64>| {
        targets.iter().filter_map(|target| uas.get(target)).sum::<f64>() / targets.len().max(1) as f64
    };
    let averages = measured.iter().map(|seeds| seeds.iter().map(mean).collect()).collect();
    let sentences = targets.iter().map(|target| Corpus::Genre(target.clone()).dev(lab).len()).sum();
    table.rows.push(row("average of these".to_string(), sentences, averages, Some(DOMAINS_AVERAGE)));
    let own = measured.iter().map(|seeds| seeds.iter().filter_map(|uas| uas.get(&source).copied()).collect()).collect();
    table.rows.push(row(format!("{source}, the source"), corpus.dev(lab).len(), own, None));
    Ok(Report {
        title: format!("Out of domain: {}, from `{source}`", lab.name),
        notes: vec![format!(
            "Head models are trained on the {} training sentences of `{source}`. Its {} dev sentences choose the best epoch. The \
             models are tested on the dev sentences of every other genre; the paper uses the test sentences. Heads are chosen \
             greedily. The genre of a sentence is the first part of its `sent_id`.",
            corpus.train(lab).len(),
            corpus.dev(lab).len()
        )],
        tables: vec![table],
        ..Report::default()
    })
}

/// The genre to train on and those to test on.
fn named_genres(lab: &Lab) -> Result<(String, Vec<String>)> {
    genres(lab)?.ok_or_else(|| Error::Training {
        message:
            "the dev set has one genre only, or shares none with the training set, by the first part of `sent_id`; \
                  `domains` needs a treebank with several genres, such as English-EWT"
                .to_string(),
    })
}

fn uas_by_genre(
    bench: &Bench,
    corpus: &Corpus,
    name: &str,
    seed: u64,
    genres: &[String],
) -> Result<BTreeMap<String, f64>> {
    let lab = bench.lab;
    let learnt = bench.learnt(corpus, Stage::Heads, system(name)?, seed)?;
    let scorer = learnt.scorer(lab.config.aggregate, lab)?;
    let uas = |genre: &String| {
        let dev = learnt.number(&Corpus::Genre(genre.clone()).dev(lab))?;
        Ok((genre.clone(), accuracies(&[(Task::Heads, &scorer)], &dev)?[0] * 100.0))
    };
    genres.iter().map(uas).collect()
}
