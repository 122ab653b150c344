//! Compares rules on a bundle as users meet them: accuracy, how far citations carry decisions, flip sets, calibration
//! and speed.

mod measure;

use super::bench::{Bench, reading};
use super::bundled::{Subject, rule_key, rule_title};
use super::chart::{self, Axis, Line};
use super::corpus::Corpus;
use super::report::Drawing;
use super::trainings::Training;
use super::{Cell, Lab, Report, Table};
use crate::bundle::{Bundle, Layout};
use crate::config::System;
use crate::error::Result;
use crate::evidence;
use crate::flow::Flow;
use crate::rule::Rule;
use crate::train::Stage;
use measure::{EXPLAINED, FEW, Measured, measure};

/// The numbers of neighbours that are compared.
const NEIGHBORS: [usize; 4] = [5, 10, 20, 50];
/// The temperatures of NCA that are compared.
const TEMPERATURES: [f32; 2] = [64.0, 256.0];

/// One seed is enough to compare rules, because all of them use the same vectors.
pub(super) fn trainings(lab: &Lab) -> Vec<Training> {
    match lab.bundle {
        Some(_) => Vec::new(),
        None => Training::all(&Corpus::Whole, &[Stage::Heads, Stage::Labels], &["IIc"], &lab.seeds[..1]),
    }
}

pub(super) fn cost(lab: &Lab) -> u64 {
    rules().map_or(0, |rules| rules.len() as u64) * cost_of_rule(lab)
}

fn cost_of_rule(lab: &Lab) -> u64 {
    reading(4 * lab.words(lab.dev))
}

/// The rules that are compared, the sum first.
fn rules() -> Result<Vec<Rule>> {
    let mut rules = vec![Rule::sum()];
    for neighbors in NEIGHBORS {
        rules.push(Rule::knn(neighbors)?);
    }
    rules.push(Rule::each(&Rule::sum(), &Rule::knn(Rule::NEIGHBORS)?));
    for temperature in TEMPERATURES {
        rules.push(Rule::nca(temperature)?);
    }
    Ok(rules)
}

pub(super) fn report(bench: &Bench) -> Result<Report> {
    let lab = bench.lab;
    let own;
    let bundle = match lab.bundle {
        Some(bundle) => bundle,
        None => {
            own = own_bundle(bench)?;
            &own
        }
    };
    let subject = Subject::new(lab, bundle)?.name;
    let mut measured = Vec::new();
    for rule in rules()? {
        let name = format!("rules-{subject}-{}", rule_key(&rule));
        let found = bench.once(&Corpus::Whole, &name, cost_of_rule(lab), || measure(bundle, &rule, lab.dev))?;
        measured.push((rule, found));
    }
    Ok(Report {
        title: format!("Rules of deciding on {}", lab.name),
        notes: notes(&subject, bundle, &measured),
        tables: vec![accuracy(&measured), carried(&measured), calibration(&measured)],
        drawings: vec![Drawing {
            name: "rules".to_string(),
            caption: "UAS by the share of what counts that 20 citations on each side carry".to_string(),
            svg: plot(&measured),
        }],
        files: Vec::new(),
    })
}

/// The models trained here as a bundle with an index, built once.
fn own_bundle(bench: &Bench) -> Result<Bundle> {
    let lab = bench.lab;
    let layout = Layout::of(&lab.folder.join("rules").join("bundle"));
    let model = bench.parser_model(&Corpus::Whole, System::IIC, lab.seeds[0])?;
    let bundle = Bundle::of(layout, model, lab.device.of_tensors())?;
    // An index of another model, or none, is built again.
    if bundle.index().is_err() {
        bundle.build_index_with(lab.train, evidence::REJECTED, &|_| Flow::Continue)?;
        return Bundle::of(bundle.layout().clone(), bundle.model().clone(), lab.device.of_tensors());
    }
    Ok(bundle)
}

fn notes(subject: &str, bundle: &Bundle, measured: &[(Rule, Measured)]) -> Vec<String> {
    let words = measured.first().map_or(0, |(_, found)| found.words);
    let (accepted, rejected) = bundle.index().map_or((0, 0), |edges| (edges.accepted(), edges.rejected()));
    vec![
        format!(
            "Every rule decides with the models of {subject}, {accepted} accepted and {rejected} rejected edges, greedy, \
             on {words} words. Rules that compare with every training edge are measured on {FEW} evenly spaced sentences. \
             Differences to the sum are paired by word, with one standard error. Words of a sentence are not independent, \
             so the true error is larger. LAS counts subtypes."
        ),
        format!(
            "**Carried** is the share of all that counts, for and against the chosen head, that at most 20 citations \
             on each side carry, the mean over the words of {EXPLAINED} sentences. **Must go** is the size of the flip set of a head: \
             training edges without which another head wins. The median counts a word for which no set was found as \
             one with a larger set than all others."
        ),
        "**Calibration error** is the mean distance between probability and accuracy over 15 bins, by a plain softmax \
         and by the one that was fitted to the same words."
            .to_string(),
        "Words a second: parsing by the rule, and by the sum in the same run, with all threads.".to_string(),
    ]
}

fn percent(share: f64) -> Cell {
    Cell::Value(100.0 * share)
}

fn accuracy(measured: &[(Rule, Measured)]) -> Table {
    let columns = [
        "rule",
        "words",
        "UAS, %",
        "less that of the sum",
        "standard error",
        "LAS, %",
        "less that of the sum",
        "standard error",
        "labels of right heads, %",
        "words/s",
        "times the sum's",
    ];
    let mut table = Table::new("accuracy", "Accuracy and speed", columns);
    for (rule, of) in measured {
        let mut row = vec![Cell::text(rule_title(rule)), Cell::Count(of.words as u64)];
        row.extend(
            [of.uas, of.uas_gain[0], of.uas_gain[1], of.las, of.las_gain[0], of.las_gain[1], of.labels].map(percent),
        );
        row.extend([Cell::Value(of.words_per_second), Cell::Value(of.words_per_second / of.words_per_second_by_sum)]);
        table.rows.push(row);
    }
    table
}

fn carried(measured: &[(Rule, Measured)]) -> Table {
    let columns = ["rule", "carried, %", "against, %", "edges that must go", "no set found, %"];
    let mut table = Table::new("carried", "How far citations carry heads, and what must go to change one", columns);
    for (rule, of) in measured {
        let flip = of.flip.map_or(Cell::Nothing, |edges| Cell::Count(edges as u64));
        table.rows.push(vec![
            Cell::text(rule_title(rule)),
            percent(of.carried),
            percent(of.against),
            flip,
            percent(of.unflipped),
        ]);
    }
    table
}

fn calibration(measured: &[(Rule, Measured)]) -> Table {
    let columns = [
        "rule",
        "heads: temperature",
        "power",
        "error before",
        "error",
        "labels: temperature",
        "power",
        "error before",
        "error",
    ];
    let mut table = Table::new("calibration", "Calibration error, as a share", columns);
    for (rule, of) in measured {
        let values = [of.heads, of.labels_calibration]
            .map(|own| [own.softmax.temperature, own.softmax.power, own.error_before, own.error]);
        let row = values.concat().into_iter().map(Cell::Value);
        table.rows.push(std::iter::once(Cell::text(rule_title(rule))).chain(row).collect());
    }
    table
}

/// The accuracy by coverage, one line per kind of rule.
fn plot(measured: &[(Rule, Measured)]) -> String {
    use crate::task::Task;
    let point = |of: &Measured| (100.0 * of.carried, 100.0 * of.uas);
    let line = |name: &str| {
        let members = || measured.iter().filter(move |(rule, _)| rule.of(Task::Heads).name() == name);
        Line {
            name: name.to_string(),
            points: members().map(|(_, of)| point(of)).collect(),
            captions: members().map(|(rule, _)| rule_title(rule)).collect(),
        }
    };
    let across =
        Axis::logarithmic("share that 20 citations on each side carry, %", measured.iter().map(|(_, of)| point(of).0));
    let up = Axis::around("UAS, %", measured.iter().map(|(_, of)| point(of).1));
    chart::svg("Accuracy by coverage", &across, &up, &Rule::NAMES.map(line))
}
