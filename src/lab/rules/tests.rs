//! Tests of the rules report, and an untrained model for the tests of heads and labels.

#![allow(clippy::unwrap_used)]
use super::*;
use crate::config::{Config, Preset, System};
use crate::edge::edge_vectors;
use crate::encoder::{Numbered, Pretrained, Vocabulary};
use crate::lab::nearest::Rows;
use crate::model::{Blueprint, Trained};
use crate::task::Task;
use crate::treebank::starter;
use candle_core::Device;

/// An untrained model with the support of the starter treebank.
pub(super) struct Fresh {
    pub(super) vocabulary: Vocabulary,
    pub(super) model: Trained,
    pub(super) train: Vec<Numbered>,
    pub(super) dev: Vec<Numbered>,
}

pub(super) fn fresh(task: Task) -> Fresh {
    let small = Config { lstm_units: 16, edge_dim: 12, system: System::IIC, ..Config::preset(Preset::Small) };
    let (vocabulary, pretrained) = (Vocabulary::new(&starter::train(), 1), Pretrained::default());
    let blueprint =
        Blueprint { config: &small, vocabulary: &vocabulary, pretrained: &pretrained, device: &Device::Cpu };
    let mut models = [Trained::new(task, &blueprint, None).unwrap()];
    let [train, dev] = [starter::train(), starter::dev()].map(|own| pretrained.number(&vocabulary, &own).unwrap());
    Trained::sum_support(&mut models, &small, &vocabulary, &train.iter().collect::<Vec<_>>()).unwrap();
    let [model] = models;
    Fresh { vocabulary, model, train, dev }
}

impl Fresh {
    /// The vectors of the gold edges of these sentences.
    pub(super) fn gold_rows(&self, sentences: &[Numbered]) -> Rows {
        let edges = self.model.edges.frozen().unwrap();
        let heads: Vec<&[usize]> = sentences.iter().map(|sentence| sentence.heads.as_slice()).collect();
        let values = edge_vectors(&[&edges], false, sentences, &heads).unwrap().concat().concat();
        Rows { values, dims: edges.dims() }
    }
}

fn tally() -> Tally {
    let summary = |at: usize| Summary {
        accuracy: 0.8 + 0.01 * at as f64,
        gain: 0.01 * at as f64,
        error: 0.002,
        coverage: [0.1 * (at + 1) as f64, 1.0],
        flip: (at == 0).then_some(0.5),
        flip_edges: (at == 0).then_some(9.0),
    };
    Tally { decisions: 7, flipped: 3, rules: (0..Measured::ALL.len()).map(summary).collect() }
}

#[test]
fn every_rule_has_a_captioned_point_in_the_plot() {
    let drawn = plot(&tally().rules);
    assert_eq!((drawn.matches("<circle").count(), drawn.matches(">T = ").count()), (8, 5), "{drawn}");
}

#[test]
fn a_table_has_a_row_per_rule_and_empty_cells_for_uncounted_values() {
    let names = Measured::ALL.map(Measured::name);
    let table = table("heads", "Heads", ["UAS, %", "less that of the sum, points"], &names, &tally());
    assert_eq!(table.rows.len(), Measured::ALL.len());
    assert_eq!((&table.rows[0][1], &table.rows[0][6]), (&Cell::Value(80.0), &Cell::Count(9)));
    assert_eq!((&table.rows[7][0], &table.rows[7][6]), (&Cell::text("NCA, T = 1024"), &Cell::Nothing));
    assert_eq!(table.rows[0][7], Cell::Value(50.0));
    assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
}
