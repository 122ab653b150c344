//! Comparing with the summed support gives the same predictions as comparing with every training edge, as in the paper.

use crate::sandbox::Sandbox;
use candle_core::{Device, Tensor};
use citree::Bundle;
use citree::config::Aggregate;
use citree::internals::{Batch, Numbered, Trained, best, gold_edges};
use citree::treebank::starter;

/// The vectors of all gold edges of the training set, one by one, with their labels.
fn support(trained: &Trained, train: &[Numbered]) -> (Tensor, Vec<u32>) {
    let sentences: Vec<&Numbered> = train.iter().collect();
    let batch = Batch::new(&sentences);
    let (dependents, heads, labels) = gold_edges(&sentences, &batch.first_rows());
    let states = trained.edges.states(&batch, None).unwrap();
    (trained.edges.edge_rows(&states, &dependents, &heads).unwrap(), labels)
}

fn bundle() -> (Sandbox, Bundle, Vec<Numbered>, Vec<Numbered>) {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let bundle = Bundle::open(sandbox.path("t.citree")).unwrap();
    let vocabulary = &bundle.model().tables.vocabulary;
    let number = |sentences: &[_]| sentences.iter().map(|s| vocabulary.number(s)).collect::<Vec<_>>();
    let (train, dev) = (number(&starter::train()[..60]), number(&starter::dev()));
    (sandbox, bundle, train, dev)
}

#[test]
fn fast_mode_finds_the_heads_that_every_training_edge_together_would_find() {
    let (_sandbox, bundle, train, dev) = bundle();
    let model = bundle.model();
    let (rows, _) = support(&model.heads, &train);
    let scorer = model.heads.scorer(Aggregate::Mean, &Device::Cpu).unwrap();
    for sentence in &dev {
        let fast = scorer.head_scores(&scorer.encode(&Batch::new(&[sentence])).unwrap()).unwrap();
        let states = model.heads.edges.states(&Batch::new(&[sentence]), None).unwrap();
        let n = sentence.len();
        for word in 1..n {
            let heads: Vec<u32> = (0..n as u32).collect();
            let candidates = model.heads.edges.edge_rows(&states, &vec![word as u32; n], &heads).unwrap();
            let similarities = model.heads.edges.class_scores(&candidates, &rows).unwrap();
            let explained = similarities.mean(1).unwrap().to_vec1::<f32>().unwrap();
            let fast = &fast[(word - 1) * n..][..n];
            assert_eq!(best(fast, Some(word)), best(&explained, Some(word)));
            fast.iter().zip(&explained).for_each(|(a, b)| assert!((a - b).abs() < 1e-3, "{a} {b}"));
        }
    }
}

#[test]
fn fast_mode_finds_the_labels_that_every_training_edge_together_would_find() {
    let (_sandbox, bundle, train, dev) = bundle();
    let model = bundle.model();
    let (rows, labels) = support(&model.labels, &train);
    let classes = model.tables.vocabulary.labels().len();
    for aggregate in [Aggregate::Mean, Aggregate::Sum] {
        let scorer = model.labels.scorer(aggregate, &Device::Cpu).unwrap();
        for sentence in &dev {
            let fast =
                scorer.label_scores(&scorer.encode(&Batch::new(&[sentence])).unwrap(), &[&sentence.heads]).unwrap();
            let states = model.labels.edges.states(&Batch::new(&[sentence]), None).unwrap();
            let (dependents, heads, _) = gold_edges(&[sentence], &[0]);
            let edges = model.labels.edges.edge_rows(&states, &dependents, &heads).unwrap();
            let similarities = model.labels.edges.class_scores(&edges, &rows).unwrap().to_vec2::<f32>().unwrap();
            for (similarities, fast) in similarities.iter().zip(fast.chunks_exact(classes)) {
                let mut explained = vec![0.0_f64; classes];
                let mut counts = vec![0.0_f64; classes];
                for (similarity, &label) in similarities.iter().zip(&labels) {
                    explained[label as usize] += f64::from(*similarity);
                    counts[label as usize] += 1.0;
                }
                if aggregate == Aggregate::Mean {
                    explained.iter_mut().zip(&counts).for_each(|(sum, count)| *sum /= count);
                }
                let explained: Vec<f32> = explained.into_iter().map(|score| score as f32).collect();
                assert_eq!(best(fast, None), best(&explained, None));
                fast.iter().zip(&explained).for_each(|(a, b)| assert!((a - b).abs() < 1e-3 * b.abs().max(1.0)));
            }
        }
    }
}
