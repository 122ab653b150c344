//! From nothing to the first answer, in fresh processes.

use super::python::{self, Places};
use crate::train::median;
use anyhow::{Context, ensure};
use std::path::Path;
use std::process::Command;

use super::library::timed;

/// Processes of each kind.
const TIMES: usize = 20;

/// Medians in seconds.
pub struct Start {
    /// From before the index is opened to the answer.
    pub inside: f64,
    /// From before the process is started to after it has ended.
    pub process: f64,
}

/// Starts this program again and again to open an index of citree and answer one query.
pub fn ours(folder: &Path, places: &Places) -> anyhow::Result<Start> {
    let (mut inside, mut process) = (Vec::new(), Vec::new());
    // The first of all finds nothing in memory and does not count.
    for _ in 0..=TIMES {
        let mut start = Command::new(std::env::current_exe()?);
        start.arg("first-answer").args([folder, &places.queries]).arg(places.dims.to_string());
        let (seconds, output) = timed(|| start.output());
        let output = output?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        inside.push(String::from_utf8_lossy(&output.stdout).trim().parse().context("no number of seconds")?);
        process.push(seconds);
    }
    Ok(Start { inside: median(inside.split_off(1)), process: median(process.split_off(1)) })
}

/// The libraries that can save and load, with their ways to load: seconds inside the process, medians.
pub fn peers(places: &Places) -> anyhow::Result<Vec<(String, f64)>> {
    let ways = [
        ("hnswlib", "", "hnswlib load_index"),
        ("faiss-hnsw", "", "FAISS read_index"),
        ("faiss-hnsw", "IO_FLAG_MMAP", "FAISS read_index, IO_FLAG_MMAP"),
        ("faiss-hnsw", "IO_FLAG_MMAP_IFC", "FAISS read_index, IO_FLAG_MMAP_IFC"),
        ("usearch-f32", "", "USearch f32 view"),
        ("usearch-i8", "", "USearch i8 view"),
    ];
    let seconds = |library: &str, how: &str| {
        let all: anyhow::Result<Vec<f64>> = (0..=TIMES).map(|_| python::first_answer(library, how, places)).collect();
        anyhow::Ok(median(all?.split_off(1)))
    };
    ways.into_iter().map(|(library, how, name)| Ok((name.to_string(), seconds(library, how)?))).collect()
}
