//! Exports: other programs see the edges that count, bit for bit, and no others.

use crate::sandbox::{Sandbox, stderr, stdout};
use citree::treebank::{Sentence, read_all, starter};
use citree_index::{Index, Space};
use hnsw_rs::prelude::{DistL2, Hnsw, HnswIo};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row, RowAccessor};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn trained() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    sandbox
}

/// A bundle whose evidence has several parts, and from which a sentence was removed. Returns that sentence's `sent_id`.
fn changed() -> (Sandbox, String) {
    let sandbox = trained();
    let all = starter::train();
    // Sentences with other names, so that their labels are known.
    let renamed = |(sentence, at): (&Sentence, usize)| {
        let mut sentence = sentence.clone();
        sentence.set_comment("sent_id", &format!("lesson-{at}"));
        sentence
    };
    let new: Vec<Sentence> = all[5..9].iter().zip(0..).map(renamed).collect();
    sandbox.write_treebank("new.conllu", &new);
    run(&sandbox, &["evidence", "t.citree", "add", "new.conllu", "--name", "mine"]);
    let gone = all[11].sent_id().unwrap().to_string();
    run(&sandbox, &["evidence", "t.citree", "remove", &gone, "lesson-1"]);
    (sandbox, gone)
}

fn run(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let output = sandbox.citree(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

fn refused(sandbox: &Sandbox, arguments: &[&str], reason: &str) {
    let output = sandbox.citree(&[&["export", "t.citree"], arguments].concat());
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""), "{arguments:?}");
    assert!(stderr(&output).contains(reason), "{arguments:?}: {}", stderr(&output));
}

fn index(sandbox: &Sandbox) -> Index {
    Index::open(sandbox.path("t.citree/index")).unwrap()
}

/// The rows and ids of a space as the index stores them.
fn stored(space: &Space, id: impl Fn(u32) -> Option<u64>) -> Vec<(u64, Vec<u32>)> {
    let bits = |number| space.row(number).unwrap().iter().map(|value| value.to_bits()).collect();
    (0..space.count() as u32).map(|number| (id(number).unwrap(), bits(number))).collect()
}

/// The header of a NumPy file, and the rows after it.
fn npy(path: &Path, row_bytes: usize) -> (String, Vec<Vec<u8>>) {
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
    let end = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = String::from_utf8(bytes[10..end].to_vec()).unwrap();
    let rows: Vec<Vec<u8>> = bytes[end..].chunks(row_bytes).map(<[u8]>::to_vec).collect();
    assert!(header.contains(&format!("'shape': ({},)", rows.len())), "{header}");
    (header, rows)
}

fn long(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes[..8].try_into().unwrap())
}

fn table(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    reader.get_row_iter(None).unwrap().map(Result::unwrap).collect()
}

fn as_json(row: &Row) -> Value {
    let value = |field: &Field| match field {
        Field::ULong(value) => Value::from(*value),
        Field::UInt(value) => Value::from(*value),
        Field::Bool(value) => Value::from(*value),
        Field::Str(value) => Value::from(value.as_str()),
        other => panic!("{other}"),
    };
    Value::Object(row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect())
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The spaces of a bundle with the options that export them.
fn spaces(index: &Index) -> [(&Space, &'static [&'static str]); 3] {
    let [heads, labels] = index.spaces();
    [(heads, &[]), (labels, &["--space", "labels"]), (index.contrasts().unwrap().space(), &["--rejected"])]
}

fn id(index: &Index, options: &[&str], number: u32) -> Option<u64> {
    if options == ["--rejected"] { index.contrast_id(number) } else { index.id(number) }
}

#[test]
fn every_row_is_exported_bit_for_bit_with_the_id_of_its_edge() {
    let (sandbox, _) = changed();
    let index = index(&sandbox);
    assert!(index.segments().len() > 1);
    for (space, options) in spaces(&index) {
        let expected = stored(space, |number| id(&index, options, number));
        assert!(expected.len() > 500);
        let export = |format: &str| {
            let to = format!("rows.{format}");
            let command = ["export", "t.citree", "--what", "rows", "--format", format, "--output", &to];
            run(&sandbox, &[&command, options].concat());
            sandbox.path(&to)
        };
        let (header, rows) = npy(&export("npy"), 8 + 4 * space.dims());
        assert!(header.contains(&format!("[('id', '<u8'), ('row', '<f4', ({},))]", space.dims())), "{header}");
        let bits = |row: &[u8]| row.chunks(4).map(|value| u32::from_le_bytes(value.try_into().unwrap())).collect();
        let found: Vec<(u64, Vec<u32>)> = rows.iter().map(|row| (long(row), bits(&row[8..]))).collect();
        assert_eq!(found, expected);
        let values = |row: &Row| {
            let list = row.get_list(1).unwrap();
            let value = |at| match &list.elements()[at] {
                Field::Float(value) => value.to_bits(),
                other => panic!("{other}"),
            };
            (row.get_ulong(0).unwrap(), (0..list.len()).map(value).collect())
        };
        assert_eq!(table(&export("parquet")).iter().map(values).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn edges_are_those_of_the_treebank_and_a_table_says_the_same_as_lines() {
    let (sandbox, gone) = changed();
    let edges = lines(&run(&sandbox, &["export", "t.citree", "--what", "edges"]));
    let mut expected = BTreeSet::new();
    let trees = [read_all(&sandbox.path("train.conllu")).unwrap(), read_all(&sandbox.path("new.conllu")).unwrap()];
    for (trees, treebank) in trees.iter().zip(["treebank", "mine"]) {
        let left = trees.iter().filter(|tree| ![gone.as_str(), "lesson-1"].contains(&tree.sent_id().unwrap()));
        for tree in left {
            let form = |id: usize| id.checked_sub(1).map_or("ROOT", |at| tree.words()[at].form.as_str()).to_string();
            for (word, id) in tree.words().iter().zip(1..) {
                let head = word.head.unwrap();
                let sent_id = tree.sent_id().unwrap().to_string();
                expected.insert((sent_id, treebank, id, form(id), head, form(head), word.label.clone()));
            }
        }
    }
    let text = |edge: &Value, key: &str| edge[key].as_str().unwrap().to_string();
    let number = |edge: &Value, key: &str| edge[key].as_u64().unwrap() as usize;
    let found: BTreeSet<_> = edges
        .iter()
        .map(|edge| {
            let treebank = if edge["treebank"] == "mine" { "mine" } else { "treebank" };
            let (dependent, head) = (number(edge, "dependent"), number(edge, "head"));
            let forms = [text(edge, "dependent_form"), text(edge, "head_form")];
            let [form, head_form] = forms;
            (text(edge, "sent_id"), treebank, dependent, form, head, head_form, text(edge, "label"))
        })
        .collect();
    assert_eq!(found, expected);
    let index = index(&sandbox);
    let ids: Vec<u64> = (0..).map_while(|number| index.id(number)).collect();
    assert_eq!(edges.iter().map(|edge| edge["id"].as_u64().unwrap()).collect::<Vec<_>>(), ids);
    assert!(edges.iter().all(|edge| text(edge, "sent_id").starts_with(&text(edge, "genre"))));

    for options in [&[][..], &["--rejected"]] {
        let edges = lines(&run(&sandbox, &[&["export", "t.citree", "--what", "edges"], options].concat()));
        let command = ["export", "t.citree", "--what", "edges", "--format", "parquet", "-o", "edges.parquet"];
        run(&sandbox, &[&command, options].concat());
        let rows = table(&sandbox.path("edges.parquet"));
        assert_eq!(rows.iter().map(as_json).collect::<Vec<_>>(), edges);
        assert!(edges.iter().all(|edge| edge["accepted"] == options.is_empty()));
    }
}

#[test]
fn a_rejected_edge_is_a_head_that_its_word_does_not_have() {
    let sandbox = trained();
    let gold = lines(&run(&sandbox, &["export", "t.citree", "--what", "edges"]));
    let key = |edge: &Value| (edge["sent_id"].to_string(), edge["dependent"].to_string());
    let gold: BTreeMap<_, _> = gold.iter().map(|edge| (key(edge), edge["head"].clone())).collect();
    let rejected = lines(&run(&sandbox, &["export", "t.citree", "--what", "edges", "--rejected"]));
    assert_eq!(rejected.len(), index(&sandbox).contrasts().unwrap().space().count());
    assert!(rejected.iter().all(|edge| gold[&key(edge)] != edge["head"] && edge["label"] == ""));
}

#[test]
fn the_exported_sentences_are_the_trees_that_count() {
    let (sandbox, gone) = changed();
    run(&sandbox, &["export", "t.citree", "--what", "sentences", "--output", "counted.conllu"]);
    let trees = [read_all(&sandbox.path("train.conllu")).unwrap(), read_all(&sandbox.path("new.conllu")).unwrap()];
    let expected: Vec<&Sentence> =
        trees.iter().flatten().filter(|tree| ![gone.as_str(), "lesson-1"].contains(&tree.sent_id().unwrap())).collect();
    let found = read_all(&sandbox.path("counted.conllu")).unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!((found.sent_id(), found.text()), (expected.sent_id(), expected.text()));
        assert!(found.forms().eq(expected.forms()));
        assert_eq!(found.gold_heads(), expected.gold_heads());
        let labels = |tree: &Sentence| tree.words().iter().map(|word| word.label.clone()).collect::<Vec<_>>();
        assert_eq!(labels(found), labels(expected));
    }
    let edges = lines(&run(&sandbox, &["export", "t.citree", "--what", "edges"]));
    for edge in edges {
        assert_eq!(found[edge["sentence"].as_u64().unwrap() as usize].sent_id(), edge["sent_id"].as_str());
    }
    // An index of the exported sentences has the same edges, in the same documents.
    let document = |edges: Vec<Value>| {
        let key = |edge: &Value| [&edge["sent_id"], &edge["dependent"], &edge["document"]].map(Value::to_string);
        edges.iter().map(key).collect::<BTreeSet<_>>()
    };
    let before = document(lines(&run(&sandbox, &["export", "t.citree", "--what", "edges"])));
    run(&sandbox, &["index", "t.citree", "--treebank", "counted.conllu"]);
    assert_eq!(document(lines(&run(&sandbox, &["export", "t.citree", "--what", "edges"]))), before);
}

#[test]
fn a_removed_edge_is_in_no_export() {
    let sandbox = trained();
    let gone = starter::train()[20].sent_id().unwrap().to_string();
    let edges = |options: &[&str]| {
        let edges = lines(&run(&sandbox, &[&["export", "t.citree", "--what", "edges"], options].concat()));
        let of = |edge: &Value| (edge["id"].as_u64().unwrap(), edge["sent_id"] == gone.as_str());
        edges.iter().map(of).collect::<BTreeMap<u64, bool>>()
    };
    let before = [edges(&[]), edges(&["--rejected"])];
    assert!(before.iter().all(|before| before.values().any(|gone| *gone)));
    run(&sandbox, &["evidence", "t.citree", "remove", &gone]);
    let left = |before: &BTreeMap<u64, bool>| {
        before.iter().filter(|(_, gone)| !**gone).map(|(id, _)| *id).collect::<BTreeSet<u64>>()
    };
    for (before, options) in before.iter().zip([&[][..], &["--rejected"]]) {
        assert!(edges(options).into_keys().eq(left(before)));
        let dims = index(&sandbox).spaces()[0].dims();
        run(&sandbox, &[&["export", "t.citree", "--what", "rows", "-o", "rows.npy"], options].concat());
        let rows = npy(&sandbox.path("rows.npy"), 8 + 4 * dims).1;
        assert_eq!(rows.iter().map(|row| long(row)).collect::<BTreeSet<_>>(), left(before));
        let folder = format!("graph{}", options.len());
        run(&sandbox, &[&["export", "t.citree", "--what", "graph", "-o", &folder], options].concat());
        let points = npy(&sandbox.path(&folder).join("points.npy"), 16).1;
        assert_eq!(points.iter().map(|row| long(row)).collect::<BTreeSet<_>>(), left(before));
    }
    assert!(!run(&sandbox, &["export", "t.citree", "--what", "sentences"]).contains(&gone));
}

#[test]
fn hnsw_rs_finds_the_nearest_edges_in_the_exported_graph() {
    let (sandbox, _) = changed();
    let index = index(&sandbox);
    for (at, (space, options)) in spaces(&index).into_iter().enumerate() {
        let folder = format!("graph{at}");
        run(&sandbox, &[&["export", "t.citree", "--what", "graph", "-o", &folder], options].concat());
        let mut files = HnswIo::new(&sandbox.path(&folder), "edges");
        let graph: Hnsw<f32, DistL2> = files.load_hnsw().unwrap();
        let points = npy(&sandbox.path(&folder).join("points.npy"), 16).1;
        let point = |number: u32| long(&points[number as usize][8..]) as u32;
        for (number, row) in (0..).zip(&points) {
            assert_eq!(long(row), id(&index, options, number).unwrap());
            assert_eq!(space.row(point(number)), space.row(number), "a point has the row of its edges");
        }
        let distinct: BTreeSet<u32> = (0..points.len() as u32).map(point).collect();
        assert_eq!(graph.get_nb_point(), distinct.len());
        // Between two edges, where no edge is itself the answer.
        let row = |number: u32| space.row(number % space.count() as u32).unwrap();
        let (mut found, mut all) = (0, 0);
        for number in 0..150 {
            let middle: Vec<f32> = row(number * 7).iter().zip(row(number * 13 + 5)).map(|(a, b)| a + 0.6 * b).collect();
            let length = middle.iter().map(|value| value * value).sum::<f32>().sqrt();
            let query: Vec<f32> = middle.iter().map(|value| value / length).collect();
            let mut exact: Vec<f32> = distinct.iter().map(|point| space.similarity(&query, *point).unwrap()).collect();
            exact.sort_by(|a, b| b.total_cmp(a));
            let near = graph.search(&query, 10, 64);
            assert_eq!(near.len(), 10);
            for neighbour in near {
                let similarity = space.similarity(&query, neighbour.d_id as u32).unwrap();
                assert!((1.0 - neighbour.distance.powi(2) / 2.0 - similarity).abs() < 1e-5);
                found += usize::from(similarity >= exact[9]);
            }
            all += 10;
        }
        assert!(found as f64 >= 0.95 * all as f64, "{found} of {all} nearest edges");
    }
}

#[test]
fn what_does_not_fit_is_refused_and_what_fits_is_named() {
    let sandbox = trained();
    for (options, reason) in [
        ("--what rows --format jsonl", "rows cannot be written as jsonl; use --format npy or --format parquet"),
        ("--what rows --format hnsw_rs", "use --format npy or --format parquet"),
        ("--what edges --format npy", "edges cannot be written as npy; use --format jsonl or --format parquet"),
        ("--what sentences --format npy", "use --format conllu"),
        ("--what graph --format npy --output g", "graph cannot be written as npy; use --format hnsw_rs"),
        ("--what graph", "a graph is a folder; name it with --output"),
        ("--what edges --space labels", "leave --space out"),
        ("--what rows --rejected --space labels", "use --space heads"),
        ("--what sentences --rejected", "leave --rejected out"),
    ] {
        refused(&sandbox, &options.split(' ').collect::<Vec<_>>(), reason);
    }
    assert!(run(&sandbox, &["index", "t.citree", "--treebank", "train.conllu", "--rejected", "0"]).is_empty());
    refused(&sandbox, &["--what", "edges", "--rejected"], "no rejected edges");
    let dot = Sandbox::new();
    dot.trained_with("t.citree", &["--system", "IId"]);
    refused(&dot, &["--what", "graph", "--output", "g"], "export the rows");
    assert!(!dot.path("g").exists());
}

/// The names of all files and folders of a sandbox, but those in its bundle.
fn names(sandbox: &Sandbox) -> BTreeSet<String> {
    let entries = std::fs::read_dir(sandbox.path("")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn nothing_is_left_of_an_export_that_fails() {
    let sandbox = trained();
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    sandbox.write("edges.jsonl", "of before");
    let before = names(&sandbox);
    refused(&sandbox, &["--what", "rows", "--output", "folder"], "is a folder");
    refused(&sandbox, &["--what", "graph", "--output", "folder/"], "is there already");
    refused(&sandbox, &["--what", "rows", "--output", "nowhere/rows.npy"], "nowhere/rows.npy");
    refused(&sandbox, &["--what", "graph", "--output", "nowhere/graph"], "nowhere/graph");
    // The last sentence is damaged.
    let path = sandbox.path("t.citree/index/gen-000001/edges");
    let mut bytes = std::fs::read(&path).unwrap();
    let name = starter::train()[59].sent_id().unwrap().as_bytes().to_vec();
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap();
    bytes[at] = 0xff;
    std::fs::write(&path, bytes).unwrap();
    for what in ["edges", "sentences"] {
        refused(&sandbox, &["--what", what, "--output", "edges.jsonl"], "is damaged");
    }
    assert_eq!(names(&sandbox), before);
    assert_eq!(std::fs::read(sandbox.path("edges.jsonl")).unwrap(), b"of before");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let sandbox = trained();
    for what in ["rows", "edges", "sentences"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = sandbox.command(&["export", "t.citree", "--what", what]).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("No space left"), "{}", stderr(&output));
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing() {
    let sandbox = trained();
    // A pipe under the temporary name, which has the number of the process: the export waits for somebody who reads it.
    let export = sandbox.command(&["export", "t.citree", "--what", "edges", "--output", "edges.jsonl"]);
    let mut shell = std::process::Command::new("sh");
    shell
        .args(["-c", "mkfifo edges.jsonl.$$.new && exec \"$0\" \"$@\""])
        .arg(export.get_program())
        .args(export.get_args());
    let mut child = shell.current_dir(export.get_current_dir().unwrap()).spawn().unwrap();
    let pipe = sandbox.path(&format!("edges.jsonl.{}.new", child.id()));
    while !pipe.exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it wrote anything");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let reader = std::fs::File::open(&pipe).unwrap();
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(reader);
    assert!(!names(&sandbox).iter().any(|name| name.starts_with("edges")), "{:?}", names(&sandbox));
}
