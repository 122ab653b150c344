//! `citree check` and `citree eval` as a user runs them.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

const GOOD: &str = "# sent_id = s1\n# text = Hi you\n1\tHi\t_\tINTJ\t_\t_\t0\troot\t_\t_\n2\tyou\t_\tPRON\t_\t_\t1\tvocative\t_\t_\n\n";
const CYCLE: &str = "1\ta\t_\t_\t_\t_\t2\tdep\t_\t_\n2\tb\t_\t_\t_\t_\t1\tdep\t_\t_\n\n";

fn citree(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_citree")).current_dir(folder).args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn the_exit_status_of_check_says_whether_a_treebank_has_problems() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("good.conllu"), GOOD).unwrap();
    std::fs::write(folder.path().join("bad.conllu"), [GOOD, CYCLE, "1\tx\n"].concat()).unwrap();

    let good = citree(folder.path(), &["check", "good.conllu"]);
    assert_eq!(good.status.code(), Some(0));
    assert!(stdout(&good).contains("words                        2\n"), "{}", stdout(&good));

    let bad = citree(folder.path(), &["check", "bad.conllu"]);
    assert_eq!(bad.status.code(), Some(1));
    let listed: Vec<String> = stdout(&bad).lines().filter(|line| line.starts_with("bad")).map(str::to_owned).collect();
    assert_eq!(
        listed,
        [
            "bad.conllu:6:7: no word has HEAD 0, but a tree has one root: [a] b",
            "bad.conllu:6:7: the heads go round: 1 → 2 → 1, but a tree has no cycle: [a] b",
            "bad.conllu:9:3: the line has 2 columns, but 10 are needed, with tabs between them: [x]",
            "bad.conllu:9:10: the file ends here, but a blank line ends the last sentence: [x]",
        ]
    );
    assert_eq!(citree(folder.path(), &["check", "none.conllu"]).status.code(), Some(2));
}

#[cfg(unix)]
#[test]
fn a_file_that_is_no_treebank_gives_few_problems_and_takes_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("numbers.txt"), "1\n".repeat(1_000_000)).unwrap();
    let limited = format!("ulimit -v 262144; exec {} check numbers.txt", env!("CARGO_BIN_EXE_citree"));
    let output = Command::new("sh").current_dir(folder.path()).args(["-c", &limited]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report = stdout(&output);
    assert!(report.lines().count() < 200, "{} lines", report.lines().count());
    assert!(report.contains("the sentence has 999901 more problems"), "{}", &report[report.len() - 2000..]);
}

#[test]
fn check_leaves_what_others_have_beside_its_output() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.conllu"), "1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n").unwrap();
    std::fs::write(folder.path().join("y.conllu.new"), "precious").unwrap();
    citree(folder.path(), &["check", "x.conllu", "--level", "1", "--write", "y.conllu"]);
    assert_eq!(std::fs::read(folder.path().join("y.conllu.new")).unwrap(), b"precious");
    assert_eq!(
        std::fs::read(folder.path().join("x.conllu")).unwrap(),
        std::fs::read(folder.path().join("y.conllu")).unwrap()
    );
}

#[test]
fn check_writes_back_what_it_read_and_may_replace_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.conllu");
    std::fs::write(&path, format!("\u{feff}{}", GOOD.replace('\n', "\r\n"))).unwrap();
    let mended = citree(folder.path(), &["check", "x.conllu", "--write", "x.conllu"]);
    assert_eq!(mended.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), GOOD);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "a temporary file is left");

    let echoed = citree(folder.path(), &["check", "x.conllu", "--write", "-"]);
    assert_eq!((echoed.status.code(), stdout(&echoed).as_str()), (Some(0), GOOD));
    assert!(String::from_utf8_lossy(&echoed.stderr).contains("sentences"));
}

#[test]
fn eval_marks_official_figures_and_writes_json() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gold.conllu"), GOOD).unwrap();
    std::fs::write(folder.path().join("system.conllu"), GOOD.replace("vocative", "obj")).unwrap();
    let table = stdout(&citree(folder.path(), &["eval", "gold.conllu", "system.conllu"]));
    let line = "  LAS                       2        2        1     50.00    50.00    50.00  official; head and label right, \
                subtypes cut\n";
    assert!(table.contains(line), "{table}");
    let json = stdout(&citree(folder.path(), &["eval", "gold.conllu", "system.conllu", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["with_punctuation"]["uas"]["f1"], 1.0);
    assert_eq!(json["with_punctuation"]["las"]["f1"], 0.5);
    assert_eq!(json["labels"][0]["label"], "obj");

    std::fs::write(folder.path().join("other.conllu"), CYCLE).unwrap();
    let refused = citree(folder.path(), &["eval", "gold.conllu", "other.conllu"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("cannot compare: in gold sentence 1"));
}

#[test]
fn a_damaged_compressed_file_is_one_short_error() {
    let sandbox = crate::sandbox::Sandbox::new();
    let noise: Vec<u8> = [0x1f, 0x8b, 8].into_iter().chain((0..40_000_u32).map(|i| ((i * 7919) >> 3) as u8)).collect();
    std::fs::write(sandbox.path("train.conllu.gz"), noise).unwrap();
    let output = sandbox.citree(&["check", "train.conllu.gz"]);
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert!(said.contains("compressed by gzip, and damaged") && said.len() < 600, "{said}");
    assert_ne!(output.status.code(), Some(0));
}
