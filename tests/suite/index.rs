//! The index of a bundle as a user sees it: built by training, shown, verified, searched, and refused if invalid.

use crate::sandbox::{Sandbox, stderr, stdout};
use citree::treebank::starter;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use serde_json::Value;
use std::path::PathBuf;

fn trained() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    sandbox
}

fn lines(sandbox: &Sandbox, args: &[&str]) -> Vec<Value> {
    let output = sandbox.citree(args);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn words(sandbox: &Sandbox, file: &str) -> usize {
    let sentences = citree::treebank::read_all(&sandbox.path(file)).unwrap();
    sentences.iter().map(|sentence| sentence.words().len()).sum()
}

fn file_of(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.path("t.citree").join("index/gen-000001").join(name)
}

#[test]
fn training_ends_with_an_index_of_every_gold_edge() {
    let sandbox = trained();
    let info: Value =
        serde_json::from_str(&stdout(&sandbox.citree(&["info", "t.citree", "--format", "json"]))).unwrap();
    assert_eq!(info["index"]["edges"], words(&sandbox, "train.conllu"));
    assert_eq!(info["index"]["sentences"], 60);
    assert_eq!(info["index"]["generation"], 1);
    let text = stdout(&sandbox.citree(&["info", "t.citree"]));
    assert!(text.contains("fingerprint") && text.contains("cosine"), "{text}");
    let verified = sandbox.citree(&["verify", "t.citree"]);
    assert_eq!(verified.status.code(), Some(0), "{}", stdout(&verified));
    assert!(stdout(&verified).starts_with("all is well"));
}

#[test]
fn a_gold_edge_that_was_trained_on_is_its_own_nearest_neighbour() {
    let sandbox = trained();
    let found = lines(&sandbox, &["neighbors", "t.citree", "train.conllu", "--gold", "--count", "1"]);
    assert_eq!(found.len(), words(&sandbox, "train.conllu"));
    let mut itself = 0;
    for edge in &found {
        let nearest = &edge["neighbors"][0];
        assert!(nearest["similarity"].as_f64().unwrap() > 0.99999, "{edge}");
        itself += usize::from(["sent_id", "dependent", "head", "label"].iter().all(|key| nearest[key] == edge[key]));
    }
    // Sentences with the same first words can share vectors.
    assert!(itself * 10 >= found.len() * 9, "{itself} of {}", found.len());
    let others = lines(&sandbox, &["neighbors", "t.citree", "train.conllu", "--gold", "--others", "--count", "3"]);
    let hits = |edge: &Value| edge["neighbors"].as_array().unwrap().clone();
    assert!(others.iter().all(|edge| hits(edge).iter().all(|hit| hit["sent_id"] != edge["sent_id"])));
}

#[test]
fn sentences_without_a_sent_id_have_names_and_are_not_neighbours_of_themselves() {
    let sandbox = trained();
    let unnamed: String = std::fs::read_to_string(sandbox.path("train.conllu"))
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with("# sent_id"))
        .map(|line| format!("{line}\n"))
        .collect();
    sandbox.write("unnamed.conllu", &unnamed);
    let output = sandbox.citree(&["index", "t.citree", "--treebank", "unnamed.conllu"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let others = lines(&sandbox, &["neighbors", "t.citree", "unnamed.conllu", "--gold", "--others", "--count", "1"]);
    let bundle = citree::Bundle::open(sandbox.path("t.citree")).unwrap();
    let edges = bundle.index().unwrap();
    let named = |edge: &Value| edge["neighbors"][0]["sent_id"].as_str().unwrap().to_string();
    let sentences = citree::treebank::read_trees(&sandbox.path("unnamed.conllu")).unwrap();
    let mut compared = 0;
    for edge in &others {
        // The number in the file, from 1.
        let own = edge["sent_id"].as_str().unwrap().parse::<usize>().unwrap() - 1;
        let cited =
            (0..edges.sentences()).find(|number| edges.sentence(*number).unwrap().sent_id == named(edge)).unwrap();
        let cited: Vec<&str> = edges.sentence(cited).unwrap().words.iter().map(|word| word.form).collect();
        assert_ne!(cited, sentences[own].forms().collect::<Vec<_>>());
        compared += usize::from(named(edge).starts_with("words-"));
    }
    assert_eq!(compared, others.len());
    let told = stdout(&sandbox.citree(&["explain", "t.citree", "dev.conllu", "--format", "conllu", "--rule", "knn"]));
    assert!(told.contains("Cite=words-") && !told.contains("Cite=:"), "{told}");
}

#[test]
fn neighbours_of_predicted_edges_are_those_of_the_parse() {
    let sandbox = trained();
    let found = lines(&sandbox, &["neighbors", "t.citree", "dev.conllu", "--space", "labels"]);
    let parsed = stdout(&sandbox.citree(&["parse", "t.citree", "dev.conllu"]));
    let edges: Vec<(String, String)> = parsed
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>())
        .filter(|columns| columns.len() == 10 && columns[0].parse::<u32>().is_ok())
        .map(|columns| (columns[6].to_string(), columns[7].to_string()))
        .collect();
    assert_eq!(found.len(), edges.len());
    for (found, (head, label)) in found.iter().zip(&edges) {
        assert_eq!((&found["head"].to_string(), found["label"].as_str().unwrap()), (head, label.as_str()));
        let similarity: Vec<f64> =
            found["neighbors"].as_array().unwrap().iter().map(|hit| hit["similarity"].as_f64().unwrap()).collect();
        assert_eq!(similarity.len(), 10);
        assert!(similarity.is_sorted_by(|a, b| a >= b));
    }
}

#[test]
fn all_formats_have_the_same_content() {
    let sandbox = trained();
    let args = ["neighbors", "t.citree", "dev.conllu", "--exact", "--count", "4"];
    let as_lines = lines(&sandbox, &args);
    let hits: Vec<&Value> = as_lines.iter().flat_map(|edge| edge["neighbors"].as_array().unwrap()).collect();

    let npy = sandbox.citree(&[&args[..], &["--format", "npy"]].concat()).stdout;
    assert_eq!(&npy[..8], b"\x93NUMPY\x01\x00");
    let header_end = 10 + usize::from(u16::from_le_bytes([npy[8], npy[9]]));
    let header = std::str::from_utf8(&npy[10..header_end]).unwrap();
    assert!(header_end % 64 == 0 && header.ends_with('\n'));
    assert!(header.contains(&format!("'shape': ({},)", as_lines.len())), "{header}");
    let row_bytes = 4 * (3 + 6 * 4);
    let rows: Vec<&[u8]> = npy[header_end..].chunks(row_bytes).collect();
    assert_eq!(rows.len(), as_lines.len());
    for (row, edge) in rows.iter().zip(&as_lines) {
        let number = |at: usize| u32::from_le_bytes(row[4 * at..][..4].try_into().unwrap());
        assert_eq!((Value::from(number(1)), Value::from(number(2))), (edge["dependent"].clone(), edge["head"].clone()));
        for at in 0..4 {
            assert_eq!(edge["neighbors"][at]["edge"], number(3 + at));
            let similarity = f32::from_bits(number(3 + 5 * 4 + at));
            assert!((f64::from(similarity) - edge["neighbors"][at]["similarity"].as_f64().unwrap()).abs() < 1e-6);
        }
    }

    let parquet = sandbox.citree(&[&args[..], &["--format", "parquet"]].concat()).stdout;
    let path = sandbox.path("neighbors.parquet");
    std::fs::write(&path, parquet).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    let table: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(table.len(), hits.len());
    for (row, hit) in table.iter().zip(hits) {
        assert_eq!(hit["edge"], row.get_uint(5).unwrap());
        assert_eq!(hit["sent_id"], row.get_string(6).unwrap().as_str());
        assert_eq!(hit["label"], row.get_string(9).unwrap().as_str());
    }
}

#[test]
fn a_flipped_byte_is_found_by_verify() {
    let sandbox = trained();
    let path = file_of(&sandbox, "labels");
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&path, bytes).unwrap();
    let output = sandbox.citree(&["verify", "t.citree"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("labels") && stdout(&output).contains("build the index again"));
}

#[test]
fn a_cut_file_is_refused_before_anything_is_searched() {
    let sandbox = trained();
    let path = file_of(&sandbox, "heads");
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    let output = sandbox.citree(&["neighbors", "t.citree", "dev.conllu"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
    assert!(stderr(&output).contains("build the index again"), "{}", stderr(&output));
}

#[test]
fn a_bundle_without_an_index_says_how_to_build_one_and_that_works() {
    let sandbox = trained();
    std::fs::remove_dir_all(sandbox.path("t.citree/index")).unwrap();
    let output = sandbox.citree(&["neighbors", "t.citree", "dev.conllu"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("citree index t.citree --treebank"), "{}", stderr(&output));
    assert!(stdout(&sandbox.citree(&["info", "t.citree"])).contains("citree index"));
    let output = sandbox.citree(&["index", "t.citree", "--treebank", "train.conllu"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(sandbox.citree(&["verify", "t.citree"]).status.code(), Some(0));
}

#[test]
fn an_index_of_another_model_is_refused() {
    let sandbox = trained();
    sandbox.trained_with("other.citree", &["--seed", "7"]);
    std::fs::remove_dir_all(sandbox.path("t.citree/index")).unwrap();
    std::fs::rename(sandbox.path("other.citree/index"), sandbox.path("t.citree/index")).unwrap();
    let output = sandbox.citree(&["neighbors", "t.citree", "dev.conllu"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("build the index again with this model"), "{}", stderr(&output));
}

#[test]
fn another_treebank_may_be_cited_without_the_labels_the_model_does_not_know() {
    let sandbox = trained();
    let mut sentences = starter::dev();
    sentences.truncate(8);
    let edges: usize = sentences.iter().map(|sentence| sentence.words().len()).sum();
    sentences[0].words_mut()[0].label = "dep:unheard".to_string();
    sandbox.write_treebank("other.conllu", &sentences);
    let output = sandbox.citree(&["index", "t.citree", "--treebank", "other.conllu"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("left out"), "{}", stderr(&output));
    let info: Value =
        serde_json::from_str(&stdout(&sandbox.citree(&["info", "t.citree", "--format", "json"]))).unwrap();
    assert!(info["index"]["edges"].as_u64().unwrap() < edges as u64);
    assert_eq!(info["index"]["generation"], 2);
    assert_eq!(sandbox.citree(&["verify", "t.citree"]).status.code(), Some(0));
}

#[test]
fn systems_with_dot_products_are_searched_exactly() {
    let sandbox = Sandbox::new();
    sandbox.trained_with("d.citree", &["--system", "IId"]);
    let found = lines(&sandbox, &["neighbors", "d.citree", "dev.conllu"]);
    assert!(found.iter().all(|edge| edge["exact"] == true));
}

#[test]
fn a_treebank_with_nothing_to_index_is_refused_and_the_index_stays_as_it_was() {
    let sandbox = trained();
    let before = stdout(&sandbox.citree(&["parse", "t.citree", "dev.conllu", "--scores"]));
    sandbox.write("empty.conllu", "");
    sandbox.write("foreign.conllu", "1\tword\t_\t_\t_\t_\t0\tunheard\t_\t_\n\n");
    for file in ["empty.conllu", "foreign.conllu"] {
        let output = sandbox.citree(&["index", "t.citree", "--treebank", file]);
        assert_eq!(output.status.code(), Some(2), "{file}");
        assert!(stderr(&output).contains("the index stays as it was"), "{}", stderr(&output));
        assert_eq!(stdout(&sandbox.citree(&["parse", "t.citree", "dev.conllu", "--scores"])), before);
    }
}

#[test]
fn a_changed_value_of_the_model_is_refused_by_every_verb_that_uses_it() {
    let sandbox = trained();
    let path = sandbox.path("t.citree/model/heads.safetensors");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    for verb in [&["parse"][..], &["explain"], &["neighbors"]] {
        let output = sandbox.citree(&[verb, &["t.citree", "dev.conllu"]].concat());
        assert_eq!(output.status.code(), Some(2), "{verb:?}");
        let message = stderr(&output);
        assert!(message.contains("heads.safetensors") && message.contains("restore the file"), "{message}");
    }
}
