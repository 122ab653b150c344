//! Compares nearest-neighbour search between several libraries and citree, over the same rows, in alternating rounds.

mod citree;
mod growth;
mod hnsw_rs;
mod library;
mod measure;
mod options;
mod python;
mod report;
mod rows;
mod start;
mod truth;

pub use self::citree::first_answer;
pub use growth::run as run_growth;
pub use library::{pool, timed};
pub use options::{Options, USAGE};

use self::citree::Citree;
use crate::train::processor;
use ::citree::internals::chart;
use anyhow::{Context, ensure};
use hnsw_rs::HnswRs;
use library::{COUNT, How, Library};
use measure::{Libraries, Plan, Point};
use python::{Places, Python};
use report::{Entry, Exact};
use rows::Rows;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use truth::Truth;

/// The names of the libraries in tables and in the script.
const PEERS: [(&str, &str); 5] = [
    ("hnswlib", "hnswlib"),
    ("FAISS HNSW", "faiss-hnsw"),
    ("USearch f32", "usearch-f32"),
    ("USearch f16", "usearch-f16"),
    ("USearch i8", "usearch-i8"),
];

/// Measures everything, draws the plot and prints the tables.
pub fn run(options: &Options) -> anyhow::Result<()> {
    release_build("search")?;
    let versions = python::versions()?;
    let (base, queries) = rows::load(options)?;
    ensure!(base.count() > COUNT && queries.count() > 0, "too few rows or queries");
    let folder = tempfile::tempdir()?;
    let places = Places::new(folder.path(), base.dims);
    base.write(&places.rows)?;
    queries.write(&places.queries)?;

    say("FAISS flat: the truth")?;
    let mut flat = Python::flat("FAISS flat", python::core(), &places, options.threads)?;
    let truth = flat.search(0, queries.count(), How::Exact { threads: options.threads })?;
    let truth = Truth::new(&base, &queries, &truth.ids);
    drop(flat);
    let mut libraries = build(options, &base, &queries, &places)?;

    let plan = Plan { queries: queries.count(), slice: options.slice, rounds: options.rounds };
    let curves = measure::curves(&mut libraries, &truth, &plan)?;
    let mut entries = Vec::new();
    for (library, curve) in libraries.iter().zip(&curves) {
        let best = measure::fastest(curve).context("nothing was measured")?.clone();
        entries.push(Entry { name: library.name().to_string(), built: library.built(), best });
    }

    let threads = options.threads;
    let all = Plan { slice: queries.count(), ..plan };
    // Uses the least effort, not the fastest point: among points of similar speed the fastest is chance.
    let efforts = curves.iter().filter_map(|curve| measure::least(curve));
    let ways: Vec<How> = efforts.map(|point| How::Bulk { effort: point.effort, threads }).collect();
    let mut each: Vec<&mut dyn Library> = Vec::new();
    each.extend(libraries.iter_mut().map(|library| library.as_mut() as &mut dyn Library));
    let bulk = measure::together("bulk", &mut each, &ways, &truth, &all)?;
    let some = Plan { slice: options.exact.min(queries.count()), ..plan };
    let exact = exact(libraries[0].as_mut(), &places, &truth, &some, threads)?;
    drop(libraries);

    say("start to first answer")?;
    let (tenth, whole) = (folder.path().join("citree-tenth"), folder.path().join("citree"));
    let few = base.every(10);
    drop(Citree::build(&tenth, &few, &queries, threads)?);
    let ours = [few.count(), base.count()].into_iter().zip(start::ours(&[&tenth, &whole], &places)?);
    let start = report::start(&ours.collect::<Vec<_>>(), &start::peers(&places)?);

    plot(options, &entries, &curves)?;
    let names: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
    let tables = [
        heading("search", options, &base, &queries, &format!("{versions}, hnsw_rs {}", hnsw_rs_version())),
        report::graphs(&entries, threads),
        report::bulk(&names, &bulk, queries.count(), threads),
        report::exact(&exact, some.slice),
        start,
    ];
    Ok(std::io::stdout().write_all(tables.join("\n").as_bytes())?)
}

/// Builds ours first, then the others, one after another with all threads.
fn build<'a>(options: &Options, base: &Rows, queries: &'a Rows, places: &Places) -> anyhow::Result<Libraries<'a>> {
    say("building: citree")?;
    let ours = Citree::build(&places.saved("citree"), base, queries, options.threads)?;
    let mut libraries: Libraries<'a> = vec![Box::new(ours)];
    for (name, library) in PEERS {
        say(&format!("building: {name}"))?;
        libraries.push(Box::new(Python::build(name, library, places, options.threads)?));
    }
    say("building: hnsw_rs")?;
    libraries.push(Box::new(HnswRs::build(base, queries, options.threads)?));
    Ok(libraries)
}

/// Compares our exact search with FAISS flat, on one thread and on all. FAISS runs in one process per number of
/// threads, because its BLAS reads the number from the environment.
fn exact(
    ours: &mut dyn Library,
    places: &Places,
    truth: &Truth,
    plan: &Plan,
    threads: usize,
) -> anyhow::Result<Vec<Exact>> {
    let mut measured = Vec::new();
    for threads in BTreeSet::from([1, threads]) {
        let mut flat = vec![Python::flat("FAISS IndexFlatIP, as installed", None, places, threads)?];
        if let Some(core) = python::core() {
            let name = format!("FAISS IndexFlatIP, {}={core}", python::CORE);
            flat.push(Python::flat(&name, Some(core), places, threads)?);
        }
        let mut libraries: Vec<&mut dyn Library> = vec![&mut *ours];
        libraries.extend(flat.iter_mut().map(|flat| flat as &mut dyn Library));
        let ways = vec![How::Exact { threads }; libraries.len()];
        let points = measure::together(&format!("exact, {threads} threads"), &mut libraries, &ways, truth, plan)?;
        let names = libraries.iter().map(|library| library.name().to_string());
        measured.push(Exact { threads, points: names.zip(points).collect() });
    }
    Ok(measured)
}

/// The version of the linked crate.
fn hnsw_rs_version() -> &'static str {
    let locked =
        include_str!("../../../Cargo.lock").split("[[package]]").find(|entry| entry.contains("name = \"hnsw_rs\""));
    locked.and_then(|entry| entry.split("version = \"").nth(1)?.split('"').next()).unwrap_or("unknown")
}

fn plot(options: &Options, entries: &[Entry], curves: &[Vec<Point>]) -> anyhow::Result<()> {
    let point = |point: &Point| (point.recall, point.speed());
    let points = |curve: &Vec<Point>| curve.iter().map(point).collect();
    let lines: Vec<_> = entries.iter().zip(curves).map(|(entry, curve)| (entry.name.as_str(), points(curve))).collect();
    let across = ("recall of the 10 nearest", Some((0.9, 1.0)));
    let drawn = chart("Queries a second by recall", across, "queries/s, one thread", &lines);
    save(options.plot.as_deref(), "search.svg", &drawn)
}

/// Writes a plot to the given path, or to `name` in the current folder.
fn save(wanted: Option<&Path>, name: &str, drawn: &str) -> anyhow::Result<()> {
    let path = wanted.unwrap_or(Path::new(name));
    std::fs::write(path, drawn).with_context(|| path.display().to_string())?;
    say(&format!("the plot is in {}", path.display()))
}

fn heading(name: &str, options: &Options, base: &Rows, queries: &Rows, versions: &str) -> String {
    let (rows, dims, count) = (base.count(), base.dims, queries.count());
    format!(
        "`cargo xtask peers {name} {}`\n\n{rows} rows of {dims} values, {count} queries, the {COUNT} nearest by inner product \
         of unit rows, M = {}, efConstruction = {}; {versions}; {}; medians of {} rounds in turns.\n",
        options.given,
        library::DEGREE,
        library::BUILD_EFFORT,
        processor(),
        options.rounds
    )
}

/// Fails in a debug build.
pub fn release_build(name: &str) -> anyhow::Result<()> {
    ensure!(!cfg!(debug_assertions), "this is a debug build; `cargo xtask peers {name}` builds for release");
    Ok(())
}

/// Reports progress on standard error.
pub fn say(what: &str) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stderr(), "{what}")?)
}
