//! Several treebanks in one bundle: names, weights, filters and roll-ups by treebank, and labels that only one of them has.

use crate::sandbox::{Sandbox, stderr, stdout};
use citree::explain::{By, Explanation, Options};
use citree::parse::{Decode, Settings};
use citree::treebank::{Sentence, starter};
use citree::{Bundle, Rule};

pub const HALF: usize = 30;

pub fn open(sandbox: &Sandbox, bundle: &str) -> Bundle {
    Bundle::open(sandbox.path(bundle)).unwrap()
}

/// The bundle of the tiny model, with an index of these sentences.
pub fn indexed(sandbox: &Sandbox, name: &str, sentences: &[Sentence]) -> Bundle {
    sandbox.trained(name);
    open(sandbox, name).build_index(sentences, &|_| citree::Flow::Continue).unwrap();
    open(sandbox, name)
}

/// A bundle of two treebanks, each with a half of the training sentences.
pub fn of_two(sandbox: &Sandbox) -> Bundle {
    let all = &starter::train()[..2 * HALF];
    let bundle = indexed(sandbox, "two.citree", &all[..HALF]);
    bundle.evidence().to_treebank("second").add(&all[HALF..]).unwrap().commit("").unwrap();
    open(sandbox, "two.citree")
}

pub fn exactly(rule: &Rule) -> Settings {
    let exact = *rule != Rule::sum();
    Settings { decode: Decode::Greedy, rule: Some(rule.clone()), exact, ..Settings::default() }
}

pub fn explained(bundle: &Bundle, settings: &Settings) -> Vec<Explanation> {
    let options = Options { count: 5, by: vec![By::Treebank, By::Label], ..Options::default() };
    let dev = &starter::dev()[..6];
    bundle.explainer_with(settings).unwrap().explain(dev, &options).unwrap().into_iter().flatten().collect()
}

pub fn rules() -> [Rule; 3] {
    [Rule::sum(), Rule::nca(64.0).unwrap(), Rule::knn(5).unwrap()]
}

/// The scores of all decisions.
pub fn scores(explained: &[Explanation]) -> Vec<f64> {
    let edges = explained.iter().flat_map(|explanation| &explanation.edges);
    edges.flat_map(|edge| [edge.attachment.score, edge.labelling.score]).collect()
}

pub fn assert_close(own: &[f64], other: &[f64], what: &str) {
    assert_eq!(own.len(), other.len(), "{what}");
    for (a, b) in own.iter().zip(other) {
        assert!((a - b).abs() <= 1e-4 * (1.0 + a.abs()), "{what}: {a} {b}");
    }
}

#[test]
fn a_bundle_of_two_treebanks_decides_as_one_of_both_together() {
    let sandbox = Sandbox::new();
    let (two, whole) = (of_two(&sandbox), indexed(&sandbox, "whole.citree", &starter::train()[..2 * HALF]));
    for rule in rules() {
        let (own, other) = (explained(&two, &exactly(&rule)), explained(&whole, &exactly(&rule)));
        assert_close(&scores(&own), &scores(&other), &rule.to_string());
    }
}

#[test]
fn score_and_margin_are_split_by_treebank_and_the_parts_add_up() {
    let sandbox = Sandbox::new();
    let bundle = of_two(&sandbox);
    let mut disagree = 0;
    for rule in rules() {
        for explanation in explained(&bundle, &exactly(&rule)) {
            for roll_up in explanation.edges.iter().map(|edge| &edge.attachment.roll_ups[0]) {
                assert_eq!(roll_up.by, "treebank");
                assert!(roll_up.groups.iter().all(|group| ["treebank", "second"].contains(&group.name.as_str())));
                let sum: f64 = roll_up.groups.iter().map(|group| group.evidence).sum();
                assert!((sum - roll_up.evidence).abs() <= 1e-6 * (1.0 + sum.abs()), "{rule}");
                let against = |group: &&citree::explain::Group| group.margin.is_some_and(|margin| margin < 0.0);
                disagree += usize::from(roll_up.groups.iter().filter(against).count() == 1);
            }
        }
    }
    assert!(disagree > 0, "the treebanks never speak for different heads");
}

#[test]
fn from_and_without_choose_treebanks_as_if_the_others_were_not_there() {
    let sandbox = Sandbox::new();
    let bundle = of_two(&sandbox);
    let first = indexed(&sandbox, "first.citree", &starter::train()[..HALF]);
    for rule in rules() {
        let from = Settings { treebanks: vec!["treebank".to_string()], ..exactly(&rule) };
        assert_close(&scores(&explained(&bundle, &from)), &scores(&explained(&first, &exactly(&rule))), "from");
        let none = Settings { weights: vec![("second".to_string(), 0.0)], ..exactly(&rule) };
        assert_eq!(scores(&explained(&bundle, &none)), scores(&explained(&bundle, &from)));
        let explainer = bundle.explainer_with(&exactly(&rule)).unwrap();
        let gone = explainer.sentences_named(&["second".to_string()]).unwrap();
        assert_eq!(gone.len(), HALF);
    }
    let unknown = Settings { treebanks: vec!["third".to_string()], ..Settings::default() };
    let message = bundle.parser_with(&unknown).unwrap_err().to_string();
    assert!(message.contains("`third`") && message.contains("treebank, second"), "{message}");
}

#[test]
fn an_edge_that_nobody_checked_is_no_evidence() {
    let sandbox = Sandbox::new();
    let bundle = indexed(&sandbox, "marked.citree", &starter::train()[..2 * HALF]);
    let before = bundle.index().unwrap().accepted();
    let mut lesson = starter::dev()[1].clone();
    for word in lesson.words_mut() {
        // Its label may be unknown too.
        (word.misc, word.label) = ("Evidence=No".to_string(), "dep:unchecked".to_string());
    }
    let refused = bundle.evidence().add(std::slice::from_ref(&lesson)).unwrap_err().to_string();
    assert!(refused.contains("Evidence=No"), "{refused}");
    let checked = &mut lesson.words_mut()[2];
    (checked.misc, checked.label) = ("SpaceAfter=No".to_string(), "obj".to_string());
    let changed = bundle.evidence().add(std::slice::from_ref(&lesson)).unwrap().commit("").unwrap();
    assert_eq!((changed.added, changed.edges), (1, 1));
    let taught = open(&sandbox, "marked.citree");
    assert_eq!(taught.index().unwrap().accepted(), before + 1);
    taught.verify().unwrap().unwrap();

    // Whoever exports the sentences and builds an index of them has the same evidence.
    let run = sandbox.citree(&["export", "marked.citree", "--what", "sentences", "--output", "all.conllu"]);
    assert!(run.status.success(), "{}", stderr(&run));
    let exported = citree::treebank::read_trees(&sandbox.path("all.conllu")).unwrap();
    assert_eq!(exported.last().unwrap().words().iter().filter(|word| word.is_evidence()).count(), 1);
    assert_eq!(indexed(&sandbox, "again.citree", &exported).index().unwrap().accepted(), before + 1);
}

#[test]
fn evidence_by_which_nothing_can_be_decided_is_refused() {
    let sandbox = Sandbox::new();
    let bundle = of_two(&sandbox);
    let explainer = bundle.explainer().unwrap();
    let message = explainer.without(|_| true).unwrap_err().to_string();
    assert!(message.contains("no training edge is left"), "{message}");
    let mut alone = Sentence::from_forms(["Yes"]);
    alone.set_comment("sent_id", "alone");
    (alone.words_mut()[0].head, alone.words_mut()[0].label) = (Some(0), "root".to_string());
    bundle.evidence().to_treebank("tiny").add(&[alone]).unwrap().commit("").unwrap();
    for rule in rules() {
        let tiny = Settings { treebanks: vec!["tiny".to_string()], ..exactly(&rule) };
        let message = open(&sandbox, "two.citree").parser_with(&tiny).unwrap_err().to_string();
        assert!(message.contains("no label but root"), "{message}");
    }
}

#[test]
fn whole_treebanks_are_left_out_without_a_look_at_their_edges() {
    let sandbox = Sandbox::new();
    let bundle = of_two(&sandbox);
    let rule = Rule::knn(6).unwrap();
    for name in ["treebank", "second"] {
        let from = |exact| Settings { treebanks: vec![name.to_string()], exact, ..exactly(&rule) };
        let found = explained(&bundle, &from(false));
        assert_eq!(
            scores(&found),
            scores(&explained(&bundle, &from(true))),
            "small parts are scanned, so both are exact"
        );
        let other = if name == "second" { "treebank" } else { "second" };
        assert_eq!(found[0].weights.get(other), Some(&0.0), "it says what does not count");
        let cited = found.iter().flat_map(|one| &one.edges).flat_map(|edge| {
            edge.attachment.citations.iter().chain(&edge.attachment.against).chain(&edge.labelling.citations)
        });
        let all = starter::train();
        let own = if name == "second" { &all[HALF..2 * HALF] } else { &all[..HALF] };
        let own: Vec<&str> = own.iter().filter_map(Sentence::sent_id).collect();
        assert!(cited.map(|citation| &*citation.source.sent_id).all(|sent_id| own.contains(&sent_id)), "{name}");
    }
}

#[test]
fn merging_keeps_treebanks_apart_and_renaming_joins_them() {
    let sandbox = Sandbox::new();
    let bundle = of_two(&sandbox);
    let names = |bundle: &Bundle| bundle.index().unwrap().treebanks().map(str::to_string).collect::<Vec<_>>();
    let new = &starter::dev()[..2];
    bundle.evidence().with_new_labels().add(new).unwrap().commit("").unwrap();
    bundle.evidence().remove(&[starter::train()[3].sent_id().unwrap()]).commit("").unwrap();
    let before = open(&sandbox, "two.citree");
    assert!(before.evidence().merge("", &|_| citree::Flow::Continue).unwrap().is_some());
    let merged = open(&sandbox, "two.citree");
    assert_eq!(names(&merged), ["treebank", "second", "added"]);
    assert_eq!(merged.evidence().list().unwrap().iter().map(|part| part.removed).sum::<u64>(), 0);
    assert_eq!(merged.evidence().merge("", &|_| citree::Flow::Continue).unwrap(), None);
    for rule in rules() {
        assert_close(
            &scores(&explained(&merged, &exactly(&rule))),
            &scores(&explained(&before, &exactly(&rule))),
            "merge",
        );
    }
    merged.evidence().rename("added", "second", "").unwrap();
    assert_eq!(names(&open(&sandbox, "two.citree")), ["treebank", "second"]);
    merged.evidence().merge("", &|_| citree::Flow::Continue).unwrap();
    assert_eq!(merged.evidence().list().unwrap().len(), 2);
    open(&sandbox, "two.citree").verify().unwrap().unwrap();
    let message = merged.evidence().rename("absent", "x", "").unwrap_err().to_string();
    assert!(message.contains("`absent`"), "{message}");
    assert!(merged.evidence().rename("second", "a,b", "").is_err(), "a comma separates names");
}

#[test]
fn a_label_that_the_model_never_saw_is_cited_and_predicted_once_it_is_taken_in() {
    let sandbox = Sandbox::new();
    let bundle = indexed(&sandbox, "labels.citree", &starter::train()[..2 * HALF]);
    let mut lesson = starter::dev()[1].clone();
    lesson.words_mut()[0].label = "dep:lesson".to_string();
    let refused = bundle.evidence().add(std::slice::from_ref(&lesson)).unwrap().commit("").unwrap_err().to_string();
    assert!(refused.contains("`dep:lesson`") && refused.contains("--new-labels"), "{refused}");
    let editor = bundle.evidence().with_new_labels().add(std::slice::from_ref(&lesson)).unwrap();
    let changed = editor.commit("").unwrap();
    assert!(changed.new_labels.contains(&"dep:lesson".to_string()), "{:?}", changed.new_labels);

    let settings = exactly(&Rule::knn(3).unwrap());
    let taught = |bundle: &Bundle| {
        let explainer = bundle.explainer_with(&settings).unwrap();
        let options = Options::default();
        explainer.explain(std::slice::from_ref(&lesson), &options).unwrap().remove(0).unwrap().edges.remove(0)
    };
    for merged in [false, true] {
        let bundle = open(&sandbox, "labels.citree");
        let edge = taught(&bundle);
        assert_eq!(edge.label, "dep:lesson", "merged: {merged}");
        assert_eq!(edge.labelling.citations[0].label, "dep:lesson");
        assert_eq!(&*edge.labelling.citations[0].source.sent_id, lesson.sent_id().unwrap());
        bundle.verify().unwrap().unwrap();
        bundle.evidence().rename("added", "treebank", "").unwrap_or_default();
        bundle.evidence().merge("", &|_| citree::Flow::Continue).unwrap();
    }
    // A second new label gets another number.
    let mut second = starter::dev()[2].clone();
    second.words_mut()[0].label = "dep:second".to_string();
    let merged = open(&sandbox, "labels.citree");
    merged.evidence().with_new_labels().add(&[second]).unwrap().commit("").unwrap();
    assert_eq!(taught(&open(&sandbox, "labels.citree")).label, "dep:lesson");

    // Nothing is left to cite for it, so nothing is labelled so.
    for rule in rules() {
        let bundle = open(&sandbox, "labels.citree");
        let without = bundle.explainer_with(&exactly(&rule)).unwrap();
        let gone = without.sentences_named(&[lesson.sent_id().unwrap().to_string()]).unwrap();
        let without = without.without(|number| gone.contains(&number)).unwrap();
        let parsed = without.parser().parse(&starter::dev()[..30]).unwrap();
        assert!(parsed.iter().flat_map(|parse| &parse.labels).all(|label| label != "dep:lesson"), "{rule}");
    }
}

#[test]
fn the_verbs_take_treebanks_and_weights() {
    let sandbox = Sandbox::new();
    of_two(&sandbox);
    sandbox.write_treebank("dev.conllu", &starter::dev()[..3]);
    let run = |arguments: &[&str], code: i32| {
        let output = sandbox.citree(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        (stdout(&output), stderr(&output))
    };
    run(&["evidence", "two.citree", "rename", "treebank", "first"], 0);
    let (listed, _) = run(&["evidence", "two.citree", "list"], 0);
    assert!(listed.contains("first") && !listed.contains("treebank"), "{listed}");
    let explain = ["explain", "two.citree", "dev.conllu", "--rule", "knn"];
    let with = |more: &[&'static str]| [&explain[..], more].concat();
    let (told, _) = run(&with(&["--by", "treebank"]), 0);
    assert!(told.contains("first") && told.contains("second"), "{told}");
    let (all, _) = run(&with(&["--format", "json"]), 0);
    let (some, _) = run(&with(&["--format", "json", "--from", "first"]), 0);
    let (weighted, _) = run(&with(&["--format", "json", "--weight", "first=0.5"]), 0);
    assert!(all != some && all != weighted && some != weighted);
    let (flips, _) = run(&with(&["--weight", "first=0.5", "--flip"]), 0);
    assert!(flips.contains("every edge of first counts 0.5 times"), "{flips}");
    let (_, said) = run(&["evidence", "two.citree", "weigh", "second=2", "--show-effect", "dev.conllu"], 0);
    assert!(said.contains("second has the weight 2 now"), "{said}");
    let (listed, _) = run(&["evidence", "two.citree", "list"], 0);
    assert!(listed.lines().any(|line| line.starts_with("second") && line.contains("         2  ")), "{listed}");
    run(&["evidence", "two.citree", "undo"], 0);
    for (wrong, reason) in [("first", "gum=0.5"), ("third=1", "`third`"), ("first=-1", "0 to"), ("first=NaN", "0 to")] {
        let (_, said) = run(&["parse", "two.citree", "dev.conllu", "--weight", wrong], 2);
        assert!(said.contains(reason), "{wrong}: {said}");
    }
    let (parsed, _) = run(&["parse", "two.citree", "dev.conllu", "--from", "first,second"], 0);
    assert_eq!(parsed, run(&["parse", "two.citree", "dev.conllu"], 0).0);
}
