//! Builds an index of random rows, searches it in every way, and prints the hits:
//! `cargo run --release -p citree-index --example index_alone`.
#![allow(clippy::print_stdout)]

use citree_index::{Answer, Builder, Error, GraphSpec, Index, Metric, Record, SpaceSpec, Spec};

const RECORDS: u32 = 5000;
const CLASSES: u32 = 4;
const DIMS: usize = 32;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    build(folder.path())?;

    // Opening reads headers only. The rows stay on the disk until a search needs them.
    let index = Index::open(folder.path())?;
    let facts = &index.manifest().spaces[0];
    println!(
        "generation {}: {} records, {} distinct rows",
        index.generation(),
        index.manifest().records,
        facts.distinct
    );
    // The build measured how many of the true nearest rows the graph finds.
    if let Some(graph) = facts.graph {
        println!("the graph keeps {} candidates, for a recall of {:.3}", graph.effort, graph.recall);
    }

    // A query is any row with the dimensions of the space. This one is not in the index.
    let [first, _] = index.spaces();
    let query = unit_row(u64::from(RECORDS));
    show("nearest, over the graph", &index, &first.nearest(&query).count(3).run()?);

    // An exact search compares the query with all rows.
    show("nearest, by a scan", &index, &first.nearest(&query).count(3).exact().run()?);

    // Rows are ordered by class, so a search in one class reads one range.
    show("nearest of class 2", &index, &first.nearest(&query).count(3).class(2).run()?);

    // A row of the index finds itself first, unless its source is excluded.
    let row = first.row(17).ok_or("no record 17")?;
    let own = index.record(17).ok_or("no record 17")?.source;
    show("nearest to record 17 from other sources", &index, &first.nearest(row).count(3).except_source(own).run()?);

    // Many searches at once run on all threads.
    let queries: Vec<f32> = (0..100).flat_map(|i| unit_row(u64::from(RECORDS) + i)).collect();
    let answers = first.nearest_many(&queries, |_, nearest| nearest.count(1))?;
    let mean = answers.iter().map(|answer| answer.hits[0].similarity).sum::<f32>() / answers.len() as f32;
    println!("mean similarity of {} queries with their nearest row: {mean:.3}", answers.len());

    // Sums of rows by class come with the index.
    println!("records by class: {:?}", first.sums().counts());

    // Verifying reads every byte.
    index.verify()?;
    println!("the index is intact");
    Ok(())
}

/// Writes an index into an empty folder.
fn build(folder: &std::path::Path) -> Result<(), Error> {
    let mut builder = Builder::create(
        folder,
        Spec {
            // Every record has a row in both spaces. The second space is not used here, so it has one dimension.
            spaces: [SpaceSpec { dims: DIMS, metric: Metric::Cosine }, SpaceSpec { dims: 1, metric: Metric::Dot }],
            // The number of records of each class gives each record its place when it is added.
            class_counts: vec![u64::from(RECORDS / CLASSES); CLASSES as usize],
            // Two fingerprints that the index stores: of the model that computes the rows, and of the data.
            model: b"random".to_vec(),
            content: b"random".to_vec(),
            groupings: Vec::new(),
            contrasts: 0,
            attachment: Vec::new(),
            graph: GraphSpec::default(),
        },
    )?;
    for number in 0..RECORDS {
        // Ten records share a source.
        if number % 10 == 0 {
            builder.add_source(format!("source {}", number / 10).as_bytes())?;
        }
        let record = Record { source: number / 10, class: number % CLASSES, payload: [number, 0] };
        builder.add(record, &[], [&unit_row(u64::from(number)), &[0.0]])?;
    }
    builder.finish(&|_| std::ops::ControlFlow::Continue(()))?;
    Ok(())
}

fn show(title: &str, index: &Index, answer: &Answer) {
    println!("{title}{}:", if answer.exact { " (exact)" } else { "" });
    for hit in &answer.hits {
        let Some(record) = index.record(hit.record) else { continue };
        let source = index.source(record.source).map(String::from_utf8_lossy).unwrap_or_default();
        println!("  {:.3}  record {}, class {}, {source}", hit.similarity, hit.record, record.class);
    }
}

/// A pseudo-random row of length 1.
fn unit_row(seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    let row: Vec<f32> = (0..DIMS).map(|_| next()).collect();
    let norm = row.iter().map(|value| value * value).sum::<f32>().sqrt();
    row.into_iter().map(|value| value / norm).collect()
}
