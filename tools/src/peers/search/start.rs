//! Measures the time to the first answer in new processes.

use super::library::timed;
use super::python::{self, Places};
use crate::train::median;
use anyhow::{Context, ensure};
use std::path::Path;
use std::process::Command;

/// Processes of each kind.
const TIMES: usize = 20;

/// Medians in seconds.
pub struct Start {
    /// From opening the index to the answer.
    pub inside: f64,
    /// From starting the process to its end.
    pub process: f64,
}

/// Starts this program repeatedly to open a citree index and answer one query. The indexes take turns.
pub fn ours(folders: &[&Path], places: &Places) -> anyhow::Result<Vec<Start>> {
    let mut measured = vec![(Vec::new(), Vec::new()); folders.len()];
    // The first run of each has a cold file cache and is not counted.
    for time in 0..=TIMES {
        for (folder, (inside, process)) in folders.iter().zip(&mut measured) {
            let mut start = Command::new(std::env::current_exe()?);
            start.arg("first-answer").args([*folder, &places.queries]).arg(places.dims.to_string());
            let (seconds, output) = timed(|| start.output());
            let output = output?;
            ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
            if time > 0 {
                inside.push(String::from_utf8_lossy(&output.stdout).trim().parse().context("no number of seconds")?);
                process.push(seconds);
            }
        }
    }
    let medians = |(inside, process)| Start { inside: median(inside), process: median(process) };
    Ok(measured.into_iter().map(medians).collect())
}

/// The loading modes of the libraries that can save and load, in turns: median seconds inside the process.
pub fn peers(places: &Places) -> anyhow::Result<Vec<(String, f64)>> {
    let ways = [
        ("hnswlib", "", "hnswlib load_index"),
        ("faiss-hnsw", "", "FAISS read_index"),
        ("faiss-hnsw", "IO_FLAG_MMAP", "FAISS read_index, IO_FLAG_MMAP"),
        ("faiss-hnsw", "IO_FLAG_MMAP_IFC", "FAISS read_index, IO_FLAG_MMAP_IFC"),
        ("usearch-f32", "", "USearch f32 view"),
        ("usearch-i8", "", "USearch i8 view"),
    ];
    let mut measured = vec![Vec::new(); ways.len()];
    for time in 0..=TIMES {
        for ((library, how, _), seconds) in ways.iter().zip(&mut measured) {
            let answered = python::first_answer(library, how, places)?;
            if time > 0 {
                seconds.push(answered);
            }
        }
    }
    Ok(ways.iter().zip(measured).map(|((_, _, name), seconds)| (name.to_string(), median(seconds))).collect())
}
