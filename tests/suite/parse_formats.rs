//! `citree parse` in every format, from and to compressed files, and with sentences that cannot be parsed.

use crate::frozen::thawed;
use crate::sandbox::{Sandbox, stderr, stdout};
use citree::treebank::{Reader, Sentence};
use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Output, Stdio};

/// Two sentences, of which the first has a surface token of two words.
const TWO: &str = "\
# sent_id = one
# text = He didn't go.
1\tHe\t_\t_\t_\t_\t_\t_\t_\t_
2-3\tdidn't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdid\t_\t_\t_\t_\t_\t_\t_\t_
3\tn't\t_\t_\t_\t_\t_\t_\t_\t_
4\tgo\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
5\t.\t_\t_\t_\t_\t_\t_\t_\t_

1\tGo\t_\t_\t_\t_\t_\t_\t_\t_
2\t!\t_\t_\t_\t_\t_\t_\t_\t_

";
/// A sentence that cannot be read, with a byte that is not UTF-8.
const BAD: &[u8] = b"# sent_id = bad\n1\tcaf\xe9\t_\t_\n\n";

fn parsed(sandbox: &Sandbox, format: &str) -> String {
    let output = sandbox.citree(&["parse", "en.citree", "two.conllu", "--format", format]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

fn with_two() -> Sandbox {
    let sandbox = thawed();
    sandbox.write("two.conllu", TWO);
    sandbox
}

fn gzipped(text: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text).unwrap();
    packed.finish().unwrap()
}

fn sentences(text: &str) -> Vec<Sentence> {
    Reader::new(text.as_bytes(), "output").map(Result::unwrap).collect()
}

#[test]
fn json_and_jsonl_are_objects_of_the_schema_of_explanations_with_the_same_parse_as_conllu() {
    let sandbox = with_two();
    let schema: Value = serde_json::from_str(include_str!("../../docs/explain.schema.json")).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let array: Vec<Value> = serde_json::from_str(&parsed(&sandbox, "json")).unwrap();
    let lines = parsed(&sandbox, "jsonl");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(array, lines);
    let conllu = sentences(&parsed(&sandbox, "conllu"));
    for (object, sentence) in array.iter().zip(&conllu) {
        let problems: Vec<String> = schema.iter_errors(object).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(object["words"], Value::from(sentence.forms().collect::<Vec<_>>()));
        assert_eq!(object["heads"], Value::from(sentence.gold_heads().unwrap()));
        let labels: Vec<&str> = sentence.words().iter().map(|word| word.label.as_str()).collect();
        assert_eq!(object["labels"], Value::from(labels));
        assert_eq!(object["probabilities"].as_array().unwrap().len(), sentence.words().len());
    }
    assert_eq!(array[0]["sent_id"], "one");
    assert_eq!(array[0]["multiword_tokens"], serde_json::json!([{ "first": 2, "last": 3, "form": "didn't" }]));
    assert_eq!(array[1].get("multiword_tokens"), None);
}

#[test]
fn input_without_sentences_is_a_whole_file_in_every_format() {
    let sandbox = thawed();
    sandbox.write("two.conllu", "");
    assert_eq!(parsed(&sandbox, "json").trim().replace('\n', ""), "[]");
    for format in ["conllu", "jsonl", "arcs"] {
        assert_eq!(parsed(&sandbox, format), "");
    }
    assert!(parsed(&sandbox, "svg").ends_with("</svg>\n") && parsed(&sandbox, "html").ends_with("</html>\n"));
}

#[test]
fn surface_tokens_are_drawn_in_arcs_pictures_and_pages() {
    let sandbox = with_two();
    let arcs = parsed(&sandbox, "arcs");
    let line = arcs.lines().find(|line| line.contains("didn't")).unwrap();
    assert!(line.starts_with(" 2-3  didn't"), "{arcs}");
    for format in ["svg", "html"] {
        let drawn = parsed(&sandbox, format);
        assert_eq!(drawn.matches("class=\"brace\"").count(), 1, "{format}");
        assert!(drawn.contains(">didn&#39;t</text>"), "{drawn}");
        assert_eq!(drawn.matches("class=\"word\"").count(), 7, "both sentences");
    }
    let explained = sandbox.citree(&["explain", "en.citree", "two.conllu", "--format", "html"]);
    assert!(stdout(&explained).contains(">didn&#39;t</text>"));
}

#[test]
fn a_compressed_treebank_is_read_and_one_is_written_where_the_name_says_so() {
    let sandbox = with_two();
    let plain = parsed(&sandbox, "conllu");
    // The name of the input does not matter.
    std::fs::write(sandbox.path("packed"), gzipped(TWO.as_bytes())).unwrap();
    let output = sandbox.citree(&["parse", "en.citree", "packed", "--output", "out.conllu.gz"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""), "{}", stderr(&output));
    let bytes = std::fs::read(sandbox.path("out.conllu.gz")).unwrap();
    let mut unpacked = String::new();
    MultiGzDecoder::new(bytes.as_slice()).read_to_string(&mut unpacked).unwrap();
    assert_eq!(unpacked, plain);
    let output = sandbox.citree(&["eval", "out.conllu.gz", "out.conllu.gz"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    sandbox.write("one.txt", "Anna sleeps.\n");
    std::fs::write(sandbox.path("one.txt.gz"), gzipped(b"Anna sleeps.\n")).unwrap();
    let text = |file| stdout(&sandbox.citree(&["parse", "en.citree", file, "--lines"]));
    assert_eq!(text("one.txt"), text("one.txt.gz"));
}

#[test]
fn a_truncated_compressed_treebank_is_an_error_and_no_output_appears() {
    let sandbox = with_two();
    let whole = gzipped(TWO.repeat(50).as_bytes());
    std::fs::write(sandbox.path("cut.gz"), &whole[..whole.len() / 2]).unwrap();
    let output = sandbox.citree(&["parse", "en.citree", "cut.gz", "--on-error", "skip", "--output", "out.conllu"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("damaged or truncated"), "{}", stderr(&output));
    assert!(!sandbox.path("out.conllu").exists());
    assert!(
        !std::fs::read_dir(sandbox.path("")).unwrap().any(|file| file
            .unwrap()
            .file_name()
            .to_string_lossy()
            .ends_with(".new"))
    );
}

/// Parses two good sentences around one that cannot be read and one that is too long.
fn with_bad(sandbox: &Sandbox, on_error: &str) -> Output {
    let long: String = (1..=4001).map(|id| format!("{id}\tword\t_\t_\t_\t_\t_\t_\t_\t_\n")).collect();
    let good = TWO.split_inclusive("\n\n").collect::<Vec<_>>();
    let input =
        [good[0].as_bytes(), BAD, format!("# sent_id = long\n{long}\n").as_bytes(), good[1].as_bytes()].concat();
    std::fs::write(sandbox.path("mixed.conllu"), input).unwrap();
    sandbox.citree(&["parse", "en.citree", "mixed.conllu", "--on-error", on_error])
}

#[test]
fn a_bad_sentence_takes_no_good_one_with_it() {
    let sandbox = with_two();
    let good = parsed(&sandbox, "conllu");
    let output = with_bad(&sandbox, "skip");
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), good));
    let said = stderr(&output);
    assert!(said.contains("skipped: mixed.conllu:11:2: byte 0xe9"), "{said}");
    assert!(said.contains("skipped: mixed.conllu:13: sentence long has 4001 words"), "{said}");
    assert!(said.contains("2 of 4 sentences could not be parsed: 2 skipped"), "{said}");
}

#[test]
fn a_bad_sentence_can_be_copied_byte_for_byte() {
    let sandbox = with_two();
    let good = parsed(&sandbox, "conllu");
    let output = with_bad(&sandbox, "copy");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("2 of 4 sentences could not be parsed: 2 copied"));
    let at = output.stdout.windows(BAD.len()).position(|bytes| bytes == BAD).unwrap();
    let good: Vec<&str> = good.split_inclusive("\n\n").collect();
    assert_eq!(&output.stdout[..at], good[0].as_bytes());
    assert!(output.stdout.ends_with(good[1].as_bytes()));
    assert_eq!(
        output
            .stdout
            .split(|byte| *byte == b'\n')
            .filter(|line| line.ends_with(b"\t_\t_\t_"))
            .filter(|line| line.starts_with(b"4001\tword"))
            .count(),
        1
    );
    let refused = sandbox.citree(&["parse", "en.citree", "two.conllu", "--on-error", "copy", "--format", "json"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("--on-error skip"));
}

#[test]
fn a_bad_sentence_ends_the_run_by_default_after_what_came_before_it() {
    let sandbox = with_two();
    let first = parsed(&sandbox, "conllu").split_inclusive("\n\n").next().unwrap().to_string();
    let output = with_bad(&sandbox, "stop");
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), first));
    assert!(stderr(&output).contains("mixed.conllu:11:2:"), "{}", stderr(&output));
    // JSON is whole then, too.
    let output = sandbox.citree(&["parse", "en.citree", "mixed.conllu", "--format", "json"]);
    let array: Vec<Value> = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((array.len(), output.status.code()), (1, Some(2)));
}

#[test]
fn a_line_of_text_that_is_not_utf_8_is_skipped() {
    let sandbox = thawed();
    std::fs::write(sandbox.path("bad.txt"), b"Anna sleeps.\ncaf\xe9\nShe sings.\n").unwrap();
    let output = sandbox.citree(&["parse", "en.citree", "bad.txt", "--lines", "--on-error", "skip"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert_eq!(sentences(&stdout(&output)).len(), 2);
    assert!(stderr(&output).contains("bad.txt:2"), "{}", stderr(&output));
}

#[test]
fn with_flush_a_sentence_is_answered_before_the_next_one_is_sent() {
    let sandbox = with_two();
    let mut command = sandbox.command(&["parse", "en.citree", "--flush", "--format", "jsonl"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    for (sentence, word) in TWO.split_inclusive("\n\n").zip(["He", "Go"]) {
        input.write_all(sentence.as_bytes()).unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["words"][0], word);
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}
