//! Measures building and search of citree with growing numbers of rows, made from real ones.

use super::citree::Citree;
use super::library::{Built, COUNT, How, Library};
use super::measure::{self, Libraries, Plan, Point};
use super::options::Options;
use super::python::Places;
use super::rows::{self, Rows};
use super::start::{self, Start};
use super::truth::Truth;
use super::{heading, release_build, report, save, say};
use ::citree::internals::chart;
use anyhow::{Context, ensure};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use tempfile::TempDir;

/// An index of one size.
struct Step {
    rows: usize,
    built: Built,
    best: Point,
    /// Its folder, kept until all sizes are built and can be opened in turns.
    folder: TempDir,
}

/// Measures one size after another, draws the plot and prints the table.
pub fn run(options: &Options) -> anyhow::Result<()> {
    release_build("growth")?;
    let place = tempfile::tempdir()?;
    let (real, queries) = rows::load(options)?;
    // Limits the queries, because the exact neighbours of each take a pass over all rows.
    let queries = Rows { dims: real.dims, values: queries.part(0, options.slice.min(queries.count())).to_vec() };
    let steps: anyhow::Result<Vec<Step>> =
        options.sizes.iter().map(|size| step(options, &real, &queries, *size)).collect();
    let steps = steps?;
    let places = Places::new(place.path(), real.dims);
    queries.write(&places.queries)?;
    let folders: Vec<&Path> = steps.iter().map(|step| step.folder.path()).collect();
    let starts = start::ours(&folders, &places)?;
    let points = |value: fn(&Step) -> f64| steps.iter().map(|step| (step.rows as f64, value(step))).collect();
    let lines = [("build, s", points(|step| step.built.ready)), ("queries/s", points(|step| step.best.speed()))];
    let drawn = chart("Building and search by number of rows", ("rows", None), "seconds to build; queries/s", &lines);
    save(options.plot.as_deref(), "growth.svg", &drawn)?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{}",
        heading("growth", options, &real, &queries, "rows made from these, cosine 0.98 to the real ones")
    )?;
    out.write_all(table(&steps, options.threads).as_bytes())?;
    let starts: Vec<(usize, Start)> = steps.iter().map(|step| step.rows).zip(starts).collect();
    Ok(write!(out, "\n{}", report::start(&starts, &[]))?)
}

fn step(options: &Options, real: &Rows, queries: &Rows, size: usize) -> anyhow::Result<Step> {
    ensure!(size > COUNT, "{size} rows are too few");
    say(&format!("{size} rows"))?;
    let folder = tempfile::tempdir()?;
    let base = real.perturbed(size);
    let mut ours = Citree::build(folder.path(), &base, queries, options.threads)?;
    let built = ours.built();
    let found = ours.search(0, queries.count(), How::Exact { threads: options.threads })?;
    let truth = Truth::new(&base, queries, &found.ids);
    let plan = Plan { queries: queries.count(), slice: queries.count(), rounds: options.rounds };
    let mut libraries: Libraries = vec![Box::new(ours)];
    let curve = measure::curves(&mut libraries, &truth, &plan)?.pop().context("nothing was measured")?;
    let best = measure::fastest(&curve).context("nothing was measured")?.clone();
    Ok(Step { rows: size, built, best, folder })
}

fn table(steps: &[Step], threads: usize) -> String {
    let mut out = format!(
        "Built with {threads} threads, searched with one at the fastest effort with recall ≥ {}:\n\n\
         | rows | build, s | and saved, s | rows/s | effort | recall | queries/s |\n|---:|---:|---:|---:|---:|---:|---:|\n",
        measure::WANTED
    );
    for Step { rows, built, best, .. } in steps {
        let Built { ready, saving } = built;
        let (saved, each, speed) = (ready + saving, *rows as f64 / ready, best.speed());
        let (effort, recall) = (best.effort, best.recall);
        let _ = writeln!(out, "| {rows} | {ready:.1} | {saved:.1} | {each:.0} | {effort} | {recall:.4} | {speed:.0} |");
    }
    out
}
