//! `citree audit`: planted errors are found first, nothing is evidence about itself, and decisions change what they say and
//! nothing else.

use crate::browser::Browser;
use crate::sandbox::{Sandbox, stderr, stdout};
use crate::what_is_needed::{BROWSER, needs};
use citree::treebank::{Sentence, starter};
use serde_json::Value;
use std::collections::HashSet;

/// A model that trains in seconds and is good enough to see that an edge is odd.
const SMALL: &str = "rule = \"knn\"\nlabel_support = \"batch\"\nquery_sentences = 8\nsupport_sentences = 4\n\
    learning_rate = 0.006\nlstm_layers = 1\nlstm_units = 40\nedge_dim = 48\nword_dim = 32\nchar_dim = 10\n\
    char_filters = 10\nepochs = 9\nmin_count = 1\n";

fn run(sandbox: &Sandbox, arguments: &[&str], status: i32) -> String {
    let output = sandbox.citree(arguments);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

fn findings(sandbox: &Sandbox, arguments: &[&str]) -> Vec<Value> {
    let lines = run(sandbox, &[&["audit", "en.citree", "--format", "jsonl"], arguments].concat(), 0);
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn place(finding: &Value) -> (String, u64) {
    (finding["sent_id"].as_str().unwrap().to_string(), finding["dependent"].as_u64().unwrap())
}

/// Numbers that look random and are the same in every run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

fn descends_from(sentence: &Sentence, mut word: usize, ancestor: usize) -> bool {
    while word != 0 && word != ancestor {
        word = sentence.words()[word - 1].head.unwrap();
    }
    word == ancestor
}

/// Gives 20 words of sentences the label of another word and 20 another head, and returns where.
fn plant(sentences: &mut [Sentence], seed: u64) -> HashSet<(String, u64)> {
    let (mut draws, mut planted) = (Draws(seed), HashSet::new());
    let labels: Vec<String> =
        sentences.iter().flat_map(|own| own.words().iter().map(|word| word.label.clone())).collect();
    while planted.len() < 40 {
        let sentence = &mut sentences[draws.below(sentences.len())];
        let word = 1 + draws.below(sentence.words().len());
        let place = (sentence.sent_id().unwrap().to_string(), word as u64);
        let (label, head) = (&labels[draws.below(labels.len())], 1 + draws.below(sentence.words().len()));
        let own = sentence.words()[word - 1].clone();
        let skipped = own.head == Some(0) || own.label == "punct" || planted.contains(&place);
        if skipped || label == "root" || label == "punct" {
            continue;
        }
        if planted.len() % 2 == 0 && *label != own.label {
            sentence.words_mut()[word - 1].label.clone_from(label);
            planted.insert(place);
        } else if planted.len() % 2 == 1 && own.head != Some(head) && !descends_from(sentence, head, word) {
            sentence.words_mut()[word - 1].head = Some(head);
            planted.insert(place);
        }
    }
    planted
}

/// A sandbox whose bundle was trained on a treebank with planted errors, and where they are.
fn planted() -> (Sandbox, HashSet<(String, u64)>) {
    let sandbox = Sandbox::new();
    let mut sentences = starter::train();
    let planted = plant(&mut sentences, 7);
    sandbox.write_treebank("train.conllu", &sentences);
    sandbox.write("tiny.toml", SMALL);
    sandbox.trained("en.citree");
    (sandbox, planted)
}

/// How many of the first 40 findings are planted errors.
fn planted_in(findings: &[Value], planted: &HashSet<(String, u64)>) -> usize {
    findings.iter().take(40).filter(|finding| planted.contains(&place(finding))).count()
}

/// Checks that many planted errors are among the first 40 findings, and that the same findings in random order would not
/// pass.
fn has_planted(findings: &[Value], planted: &HashSet<(String, u64)>, least: usize) {
    let found = planted_in(findings, planted);
    assert!(found >= least, "{found} of the first 40 findings are planted");
    let scores: Vec<f64> = findings.iter().map(|finding| finding["score"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b) && scores.iter().all(|score| (0.0..=1.0).contains(score)));
    let (mut draws, mut random) = (Draws(5), findings.to_vec());
    (1..random.len()).for_each(|at| random.swap(at, draws.below(at + 1)));
    let by_chance = planted_in(&random, planted);
    assert!(by_chance * 2 < least, "{by_chance} of 40 findings in random order are planted, of {}", random.len());
}

#[test]
fn planted_errors_are_found_first() {
    let (sandbox, planted) = planted();
    let edges: usize = starter::train().iter().map(|sentence| sentence.words().len()).sum();
    assert!(edges > 5000, "40 findings have 0.3 errors by chance");
    // By forms alone, without models of the words, and as a file that has parts of speech, with lines.
    has_planted(&findings(&sandbox, &["--top", "5000"]), &planted, 20);
    has_planted(&findings(&sandbox, &["--top", "5000", "--folds", "0"]), &planted, 5);
    let of_file = findings(&sandbox, &["--top", "5000", "--treebank", "train.conllu"]);
    has_planted(&of_file, &planted, 25);
    let text = std::fs::read_to_string(sandbox.path("train.conllu")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for finding in &of_file {
        let line = lines[finding["line"].as_u64().unwrap() as usize - 1];
        let columns: Vec<&str> = line.split('\t').collect();
        assert_eq!((columns[0], columns[7]), (&*finding["dependent"].to_string(), finding["label"].as_str().unwrap()));
        let wrong = if finding["kind"] == "head" { 7 } else { 8 };
        assert_eq!((&finding["file"], &finding["column"]), (&"train.conllu".into(), &wrong.into()));
    }
    // Other errors, which the model was not trained on. Their sentences have to be encoded.
    let mut sentences = starter::train();
    let others = plant(&mut sentences, 11);
    sandbox.write_treebank("other.conllu", &sentences);
    has_planted(&findings(&sandbox, &["--top", "5000", "--treebank", "other.conllu"]), &others, 25);
}

#[test]
fn no_sentence_and_no_document_is_evidence_about_itself() {
    let (sandbox, _) = planted();
    let documents: Vec<(String, String)> = {
        let mut document = String::new();
        let sentences = starter::train();
        let named = sentences.iter().map(|sentence| {
            let new = sentence.comments().iter().find_map(|comment| comment.strip_prefix("# newdoc id = "));
            document = new.map_or(document.clone(), str::to_string);
            (sentence.sent_id().unwrap().to_string(), document.clone())
        });
        named.collect()
    };
    let document = |sent_id: &str| documents.iter().find(|(own, _)| own == sent_id).unwrap().1.as_str();
    let found = findings(&sandbox, &["--top", "500"]);
    let mut examples = 0;
    for finding in &found {
        for side in ["as_it_is", "as_suggested"] {
            for example in finding[side].as_array().unwrap() {
                let (own, other) = (finding["sent_id"].as_str().unwrap(), example["sent_id"].as_str().unwrap());
                assert_ne!(document(own), document(other), "{finding}");
                examples += 1;
            }
        }
    }
    assert!(found.len() > 50 && examples > 100, "{} findings, {examples} examples", found.len());
}

#[test]
fn decided_edges_are_not_asked_again_and_only_accepted_ones_change_in_the_treebank() {
    let (sandbox, _) = planted();
    let audit = ["--top", "6", "--kind", "label", "--treebank", "train.conllu", "--decisions", "decided.jsonl"];
    let before = findings(&sandbox, &audit);
    let review = [&["audit", "en.citree", "--review"], &audit[..]].concat();
    let other = format!("o {} dep not sure", before[2]["head"]);
    let output = sandbox.citree_with_input(&review, &format!("a\nx\nk it is right\n{other}\ns\n"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("`x` is no answer"));
    let decided = std::fs::read_to_string(sandbox.path("decided.jsonl")).unwrap();
    assert_eq!(decided.lines().count(), 3, "{decided}");
    assert!(decided.contains("\"note\":\"it is right\"") && decided.contains("\"note\":\"not sure\""), "{decided}");
    let after = findings(&sandbox, &audit);
    let places = |findings: &[Value]| findings.iter().map(place).collect::<Vec<_>>();
    assert_eq!(places(&after)[..3], places(&before)[3..]);
    let apply =
        ["audit", "en.citree", "--apply", "decided.jsonl", "--treebank", "train.conllu", "--output", "new.conllu"];
    run(&sandbox, &apply, 0);
    let [old, new] = ["train.conllu", "new.conllu"].map(|file| std::fs::read_to_string(sandbox.path(file)).unwrap());
    let changed: Vec<(usize, &str, &str)> = (1..)
        .zip(old.lines().zip(new.lines()))
        .filter(|(_, (old, new))| old != new)
        .map(|(at, (old, new))| (at, old, new))
        .collect();
    assert_eq!((changed.len(), old.lines().count()), (2, new.lines().count()));
    for (at, old, new) in changed {
        let finding = before.iter().find(|finding| finding["line"] == at as u64).unwrap();
        let label = if finding == &before[0] { finding["suggested_label"].as_str().unwrap() } else { "dep" };
        let mut columns: Vec<&str> = old.split('\t').collect();
        columns[7] = label;
        assert_eq!(columns.join("\t"), new);
    }
    // The corrected treebank is not asked about them again either, and applying again changes nothing.
    let again = findings(&sandbox, &[&audit[..5], &["new.conllu"], &audit[6..]].concat());
    assert!(places(&again).iter().all(|place| !places(&before)[..3].contains(place)));
    run(
        &sandbox,
        &["audit", "en.citree", "--apply", "decided.jsonl", "--treebank", "new.conllu", "--output", "same.conllu"],
        0,
    );
    assert_eq!(std::fs::read_to_string(sandbox.path("same.conllu")).unwrap(), new);
}

#[test]
fn decisions_survive_a_kill() {
    use std::io::Write;
    let (sandbox, _) = planted();
    let audit = ["--top", "5", "--folds", "0", "--decisions", "decided.jsonl"];
    let before = findings(&sandbox, &audit);
    let review = [&["audit", "en.citree", "--review"], &audit[..]].concat();
    let pipe = std::process::Stdio::piped;
    let mut child = sandbox.command(&review).stdin(pipe()).stdout(pipe()).spawn().unwrap();
    let mut answers = child.stdin.take().unwrap();
    answers.write_all(b"k\nk\n").unwrap();
    let decided = || std::fs::read_to_string(sandbox.path("decided.jsonl")).unwrap_or_default().lines().count();
    for _ in 0..600 {
        if decided() == 2 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    // The review still waits for the third answer.
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(decided(), 2);
    let after = findings(&sandbox, &audit);
    let places = |findings: &[Value]| findings.iter().map(place).collect::<Vec<_>>();
    assert_eq!(places(&after)[..3], places(&before)[2..]);
}

#[test]
fn nothing_that_is_read_is_overwritten_and_decisions_of_others_stay() {
    let (sandbox, _) = planted();
    let theirs = "{\"sent_id\":\"theirs\",\"dependent\":1,\"form\":\"x\",\"head\":0,\"label\":\"root\",\
                  \"decision\":\"keep\",\"new_head\":0,\"new_label\":\"root\"}\n";
    std::fs::write(sandbox.path("decided.jsonl"), theirs).unwrap();
    let treebank = std::fs::read(sandbox.path("train.conllu")).unwrap();
    for input in [
        &["--treebank", "train.conllu", "--output", "./train.conllu"][..],
        &["--decisions", "decided.jsonl", "--output", "decided.jsonl"],
        &["--apply", "decided.jsonl", "--treebank", "train.conllu", "--output", "decided.jsonl"],
    ] {
        let output = sandbox.citree(&[&["audit", "en.citree"], input].concat());
        assert_eq!(output.status.code(), Some(2), "{input:?}");
        assert!(stderr(&output).contains("write to another file"), "{}", stderr(&output));
    }
    assert_eq!(std::fs::read(sandbox.path("train.conllu")).unwrap(), treebank);
    assert_eq!(std::fs::read_to_string(sandbox.path("decided.jsonl")).unwrap(), theirs);

    // Somebody appends a decision while another one is asked.
    use std::io::{Read, Write};
    let review = ["audit", "en.citree", "--review", "--top", "1", "--folds", "0", "--decisions", "decided.jsonl"];
    let pipe = std::process::Stdio::piped;
    let mut child = sandbox.command(&review).stdin(pipe()).stdout(pipe()).spawn().unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 8]).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(sandbox.path("decided.jsonl")).unwrap();
    file.write_all(theirs.replace("theirs", "more").as_bytes()).unwrap();
    child.stdin.take().unwrap().write_all(b"k\n").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    let decided = std::fs::read_to_string(sandbox.path("decided.jsonl")).unwrap();
    assert!(decided.lines().count() == 3 && decided.contains("\"more\""), "{decided}");
}

#[test]
fn an_inconsistency_has_the_same_words_annotated_as_suggested_elsewhere() {
    let (sandbox, _) = planted();
    let all = findings(&sandbox, &["--top", "5000"]);
    let inconsistent = findings(&sandbox, &["--top", "5000", "--kind", "inconsistent"]);
    let same = |finding: &&Value| finding["same_words_as_suggested"].as_u64().unwrap() > 0;
    assert_eq!(all.iter().filter(same).cloned().collect::<Vec<_>>(), inconsistent);
    assert!(!inconsistent.is_empty() && inconsistent.len() < all.len(), "{} of {}", inconsistent.len(), all.len());
}

#[test]
fn an_edge_that_breaks_a_rule_is_found_by_check_and_by_audit_at_the_same_place() {
    let (sandbox, _) = planted();
    let mut sentences = starter::train();
    let sentence = sentences.iter_mut().find(|own| own.words().iter().any(|word| word.label == "det")).unwrap();
    let word = 1 + sentence.words().iter().position(|word| word.label == "det").unwrap();
    sentence.words_mut()[word - 1].label = "nummod".to_string();
    let sent_id = sentence.sent_id().unwrap().to_string();
    sandbox.write_treebank("wrong.conllu", &sentences);
    let checked = run(&sandbox, &["check", "wrong.conllu", "--level", "3", "--format", "jsonl"], 1);
    let problem: Value = serde_json::from_str(checked.lines().next().unwrap()).unwrap();
    let first = findings(&sandbox, &["--top", "1", "--treebank", "wrong.conllu"]).remove(0);
    assert_eq!(place(&first), (sent_id, word as u64));
    assert_eq!(first["rule"], "rel-upos-nummod");
    for field in ["file", "line", "column"] {
        assert_eq!(first[field], problem[field], "{field}");
    }
    assert!(problem["message"].as_str().unwrap().contains("nummod is not for DET"), "{problem}");
    let text = run(&sandbox, &["check", "wrong.conllu", "--level", "3"], 1);
    let listed = text.lines().next().unwrap().split(": ").next().unwrap();
    let audited = run(&sandbox, &["audit", "en.citree", "--top", "1", "--treebank", "wrong.conllu"], 0);
    assert!(audited.starts_with(&format!("{listed}: ")), "{listed}\n{audited}");
    run(&sandbox, &["check", "wrong.conllu"], 0);
}

#[test]
fn groups_join_findings_and_all_formats_have_them() {
    let (sandbox, _) = planted();
    let lines = run(&sandbox, &["audit", "en.citree", "--groups", "--format", "jsonl", "--top", "5000"], 0);
    let groups: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let expected: Vec<f64> = groups.iter().map(|group| group["expected_errors"].as_f64().unwrap()).collect();
    assert!(expected.is_sorted_by(|a, b| a >= b) && groups[0]["size"].as_u64().unwrap() > 1);
    let all = findings(&sandbox, &["--top", "5000"]);
    let members: usize = groups.iter().map(|group| group["members"].as_array().unwrap().len()).sum();
    assert_eq!(members, all.len());
    let csv = run(&sandbox, &["audit", "en.citree", "--format", "csv", "--top", "7"], 0);
    assert_eq!(csv.lines().count(), 8, "{csv}");
    let text = run(&sandbox, &["audit", "en.citree", "--top", "2", "--treebank", "train.conllu"], 0);
    assert!(text.starts_with("train.conllu:") && text.contains("as suggested:"), "{text}");
}

#[test]
fn a_treebank_can_fail_by_a_score_and_wrong_requests_say_what_to_do() {
    let (sandbox, _) = planted();
    run(&sandbox, &["audit", "en.citree", "--fail-above", "0.05", "--top", "1"], 1);
    run(&sandbox, &["audit", "en.citree", "--fail-above", "1", "--top", "1"], 0);
    for (arguments, message) in [
        (&["--apply", "none.jsonl", "--treebank", "train.conllu"][..], "no such file of decisions"),
        (&["--apply", "none.jsonl"], "--treebank"),
        (&["--review"], "--decisions"),
        (&["--kind", "word"], "head, label, inconsistent and all"),
        (&["--fail-above", "7"], "a share from 0 to 1"),
        (&["--folds", "1"], "0, or a number from 2"),
    ] {
        let output = sandbox.citree(&[&["audit", "en.citree"], arguments].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}

#[test]
fn labels_that_the_model_does_not_know_and_sentences_without_a_name_are_judged_too() {
    let (sandbox, _) = planted();
    let sentence = "1\tAnna\t_\t_\t_\t_\t2\tsubject\t_\t_\n2\tsleeps\t_\t_\t_\t_\t0\troot\t_\t_\n\n";
    sandbox.write("other.conllu", sentence);
    let found = findings(&sandbox, &["--treebank", "other.conllu"]);
    let [finding] = &found[..] else { panic!("{found:?}") };
    assert_eq!(finding["label"], "subject");
    assert!(finding["says"].as_str().unwrap().contains("subject in none"), "{finding}");
}

#[test]
fn a_page_is_decided_by_keyboard_and_its_decisions_are_not_asked_again() {
    needs!(BROWSER);
    let (sandbox, _) = planted();
    let before = findings(&sandbox, &["--top", "5"]);
    run(&sandbox, &["audit", "en.citree", "--top", "4", "--format", "html", "--output", "page.html"], 0);
    let browser = Browser::start();
    browser.open(&sandbox.path("page.html"), "");
    let hash = browser.run(
        "const script = new TextEncoder().encode(document.scripts[0].text);
         return crypto.subtle.digest('SHA-256', script).then(hash => btoa(String.fromCharCode(...new Uint8Array(hash))))",
    );
    let policy = browser.run("return document.querySelector('meta[http-equiv]').content");
    assert!(policy.as_str().unwrap().contains(hash.as_str().unwrap()), "SCRIPT_HASH is now {hash}");
    assert_eq!(browser.text("#status"), "0 of 4 decided");
    // What would be downloaded is caught.
    browser.run("URL.createObjectURL = blob => { blob.text().then(text => { window.saved = text; }); return '#'; }");
    ["a", "x", "j", "k", "o"].iter().for_each(|key| browser.press(key));
    let wrong = format!("99 dep{ENTER}");
    wrong.chars().for_each(|key| browser.press(&key.to_string()));
    assert!(browser.text("article[aria-current] .verdict").contains("give a head"));
    browser.run("document.activeElement.value = ''");
    let right = format!("{} dep{ENTER}", before[2]["head"]);
    right.chars().for_each(|key| browser.press(&key.to_string()));
    ["n", "h", "m"].iter().for_each(|key| browser.press(key));
    browser.press(ENTER);
    assert_eq!(browser.text("#status"), "3 of 4 decided");
    browser.press("s");
    browser.wait_for("window.saved");
    assert_eq!(browser.text("#status"), "3 of 4 decided");
    let saved = browser.run("return window.saved");
    sandbox.write("decided.jsonl", saved.as_str().unwrap());
    let decided: Vec<Value> = saved.as_str().unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let verdicts: Vec<&str> = decided.iter().map(|one| one["decision"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["accept", "keep", "other"]);
    assert_eq!((&decided[2]["new_label"], &decided[2]["note"]), (&"dep".into(), &"hm".into()));
    // What is typed is not dropped: a note needs a decision, and an edge is one when the field is left.
    ["j", "n", "z"].iter().for_each(|key| browser.press(key));
    browser.press(ENTER);
    browser.press("s");
    browser.wait_for("document.querySelector('#status').textContent.includes('not saved: a note without a decision')");
    browser.press("o");
    format!("{} dep", before[3]["head"]).chars().for_each(|key| browser.press(&key.to_string()));
    browser.run("window.saved = ''");
    browser.click("#save");
    browser.wait_for("window.saved.split('\\n').length === 5");
    assert_eq!(browser.text("#status"), "4 of 4 decided");
    let after = findings(&sandbox, &["--top", "2", "--decisions", "decided.jsonl"]);
    assert_eq!(after.iter().map(place).collect::<Vec<_>>(), before[3..].iter().map(place).collect::<Vec<_>>());
}

/// The Enter key in the WebDriver protocol.
const ENTER: &str = "\u{e007}";
