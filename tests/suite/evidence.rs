//! Changing evidence: after additions, removals, replacements, merges and undoing, a bundle decides and explains as one
//! whose index is built anew from the same sentences.

use crate::sandbox::{Sandbox, stderr, stdout};
use citree::explain::{By, Explanation, Options};
use citree::parse::{Decode, Settings};
use citree::treebank::{Sentence, starter};
use citree::{Bundle, Rule};

fn trained() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    sandbox
}

fn run(sandbox: &Sandbox, arguments: &[&str]) -> (String, String) {
    let output = sandbox.citree(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    (stdout(&output), stderr(&output))
}

fn refused(sandbox: &Sandbox, arguments: &[&str], reason: &str) {
    let output = sandbox.citree(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    let message = stderr(&output);
    assert!(message.contains("the evidence is unchanged") && message.contains(reason), "{message}");
}

fn open(sandbox: &Sandbox, bundle: &str) -> Bundle {
    Bundle::open(sandbox.path(bundle)).unwrap()
}

fn id(sentence: &Sentence) -> &str {
    sentence.sent_id().unwrap()
}

/// Sentences of the starter treebank whose labels the tiny model knows.
fn known(bundle: &Bundle, sentences: &[Sentence]) -> Vec<Sentence> {
    let parser = bundle.parser().unwrap();
    let fits = |sentence: &&Sentence| sentence.words().iter().all(|word| parser.labels().contains(&word.label));
    sentences.iter().filter(fits).cloned().collect()
}

fn explained(bundle: &Bundle, sentences: &[Sentence], rule: &Rule) -> Vec<Explanation> {
    // Exactly, because densities are estimated from rounded rows, which are rounded otherwise in another segment.
    let exact = *rule != Rule::sum();
    let settings = Settings { decode: Decode::Greedy, rule: Some(rule.clone()), exact, ..Settings::default() };
    let by = vec![By::Label, By::Document, By::Prefix(1), By::Prefix(2), By::Dependent, By::Head];
    let options = Options { count: 3, by, ..Options::default() };
    let explainer = bundle.explainer_with(&settings).unwrap();
    explainer.explain(sentences, &options).unwrap().into_iter().flatten().collect()
}

fn rules() -> [Rule; 3] {
    [Rule::sum(), Rule::nca(64.0).unwrap(), Rule::knn(5).unwrap()]
}

/// Asserts that two bundles with the same model and the same training sentences decide and explain alike. Sentences that
/// were encoded in other batches have rows that differ in their last digits.
fn same(changed: &Bundle, anew: &Bundle) {
    let facts = |bundle: &Bundle| {
        let edges = bundle.index().unwrap();
        (edges.accepted(), edges.rejected(), edges.sentences())
    };
    assert_eq!(facts(changed), facts(anew));
    let dev = &starter::dev()[..6];
    for rule in rules() {
        let (own, other) = (explained(changed, dev, &rule), explained(anew, dev, &rule));
        for (own, other) in own.iter().zip(&other) {
            assert_eq!((&own.heads, own.edges.len()), (&other.heads, other.edges.len()), "{rule}");
            for (own, other) in own.edges.iter().zip(&other.edges) {
                for (own, other) in [(&own.attachment, &other.attachment), (&own.labelling, &other.labelling)] {
                    let close = |a: f64, b: f64| (a - b).abs() <= 1e-4 * (1.0 + a.abs());
                    assert!(close(own.score, other.score), "{rule}: {} {}", own.score, other.score);
                    for (own, other) in own.citations.iter().zip(&other.citations) {
                        assert!((own.similarity - other.similarity).abs() < 1e-4, "{rule}");
                    }
                    for (own, other) in own.roll_ups.iter().zip(&other.roll_ups) {
                        assert!(close(own.evidence, other.evidence), "{rule}, by {}", own.by);
                        let part = |name: &str| other.groups.iter().find(|group| group.name == name);
                        for group in own.groups.iter().filter(|group| !group.name.starts_with('(')) {
                            let tied = own.groups.len() > 12;
                            assert!(
                                part(&group.name).map_or(tied, |other| close(group.evidence, other.evidence)),
                                "{rule}, by {}: {}",
                                own.by,
                                group.name
                            );
                        }
                    }
                }
            }
        }
    }
}

/// The bundle with an index of these sentences, built as a whole.
fn anew(sandbox: &Sandbox, sentences: &[Sentence]) -> Bundle {
    sandbox.trained("anew.citree");
    open(sandbox, "anew.citree").build_index(sentences, &|_| citree::Flow::Continue).unwrap();
    open(sandbox, "anew.citree")
}

#[test]
fn after_changes_a_bundle_decides_and_explains_as_one_that_is_indexed_anew() {
    let sandbox = trained();
    let bundle = open(&sandbox, "t.citree");
    let all = starter::train();
    let mut new = known(&bundle, &all[60..90]);
    // A sentence that starts no document is in the one before it, which another order of sentences changes.
    new.iter_mut().for_each(|sentence| sentence.set_comment("newdoc id", "lessons"));
    let starts = |sentence: &Sentence| sentence.comments().iter().any(|comment| comment.contains("newdoc"));
    assert!(!starts(&all[7]) && !starts(&all[21]));
    assert!(new.len() > 12, "{} sentences", new.len());
    for head in [0, 1, 99] {
        let mut no_tree = new[0].clone();
        no_tree.words_mut().iter_mut().for_each(|word| word.head = Some(head));
        assert!(bundle.evidence().add(&[no_tree]).unwrap_err().to_string().contains("is not a tree"), "{head}");
    }
    let mut left = all[..60].to_vec();
    bundle.evidence().add(&new[..4]).unwrap().commit("first").unwrap();
    left.extend_from_slice(&new[..4]);
    let changed = bundle.evidence().add(&new[4..6]).unwrap().remove(&[id(&left[7]), id(&new[1])]).commit("").unwrap();
    assert_eq!((changed.added, changed.removed), (2, 2));
    let gone = [id(&all[7]).to_string(), id(&new[1]).to_string()];
    left.retain(|sentence| !gone.iter().any(|gone| gone == id(sentence)));
    left.extend_from_slice(&new[4..6]);
    same(&open(&sandbox, "t.citree"), &anew(&sandbox, &left));

    // A sentence with other words under the same name.
    let mut other = new[8].clone();
    other.set_comment("sent_id", id(&all[21]));
    let name = id(&all[21]).to_string();
    bundle.evidence().replace(std::slice::from_ref(&other)).unwrap().commit("").unwrap();
    left.retain(|sentence| id(sentence) != name);
    left.push(other);
    let before_merge = open(&sandbox, "t.citree");
    same(&before_merge, &anew(&sandbox, &left));
    let citing = |bundle: &Bundle| {
        let index = bundle.index().unwrap();
        let ids = (0..index.accepted()).map(|edge| index.id(edge).unwrap());
        assert!(ids.clone().zip(0..).all(|(id, edge)| index.edge_with_id(id) == Some(edge)));
        ids.collect::<std::collections::BTreeSet<_>>()
    };
    let changes = bundle.evidence().log().unwrap().len();
    let stopped = bundle.evidence().merge("", &|_| citree::Flow::Stop);
    assert!(matches!(stopped, Err(citree::Error::Stopped)), "{stopped:?}");
    assert_eq!(bundle.evidence().log().unwrap().len(), changes, "nothing was published");
    bundle.evidence().merge("one index again", &|_| citree::Flow::Continue).unwrap();
    let merged = open(&sandbox, "t.citree");
    assert_eq!(citing(&merged), citing(&before_merge), "ids stay");
    assert_eq!(merged.evidence().list().unwrap().len(), 2, "a part for each treebank");
    merged.verify().unwrap().unwrap();
    same(&merged, &anew(&sandbox, &left));

    merged.evidence().add(&new[10..11]).unwrap().commit("").unwrap();
    merged.evidence().undo("").unwrap();
    same(&open(&sandbox, "t.citree"), &anew(&sandbox, &left));
}

#[test]
fn a_removed_sentence_is_never_cited() {
    let sandbox = trained();
    let bundle = open(&sandbox, "t.citree");
    let sentence = &starter::train()[11];
    let cites = |bundle: &Bundle, rule: &Rule| {
        let explained = explained(bundle, std::slice::from_ref(sentence), rule);
        let edges = explained.iter().flat_map(|explanation| &explanation.edges);
        let sides = edges.flat_map(|edge| [&edge.attachment, &edge.labelling]);
        let mut cited = sides.flat_map(|side| side.citations.iter().chain(&side.against));
        cited.any(|citation| citation.source.sent_id == id(sentence))
    };
    assert!(rules().iter().all(|rule| cites(&bundle, rule)), "it is its own nearest neighbour");
    bundle.evidence().remove(&[id(sentence)]).commit("").unwrap();
    let without = open(&sandbox, "t.citree");
    assert!(!rules().iter().any(|rule| cites(&without, rule)));
    assert!(rules().iter().all(|rule| cites(&bundle, rule)), "an opened bundle keeps its snapshot");
    without.evidence().undo("").unwrap();
    assert!(rules().iter().all(|rule| cites(&open(&sandbox, "t.citree"), rule)));
}

#[test]
fn a_refreshed_bundle_has_the_new_evidence_without_reading_the_model_again() {
    let sandbox = trained();
    let bundle = open(&sandbox, "t.citree");
    let sentence = &starter::train()[11];
    let sentences = |bundle: &Bundle| bundle.index().unwrap().sentences();
    assert_eq!(sentences(&bundle), 60);
    bundle.evidence().remove(&[id(sentence)]).commit("").unwrap();
    std::fs::remove_dir_all(sandbox.path("t.citree/model")).unwrap();
    let refreshed = bundle.refreshed().unwrap();
    assert_eq!((sentences(&refreshed), sentences(&bundle)), (59, 60), "the snapshot before stays");
    assert!(explained(&refreshed, std::slice::from_ref(sentence), &Rule::sum())[0].edges.len() > 1);

    let again = refreshed.evidence().since(1).add(std::slice::from_ref(sentence)).unwrap().commit("");
    assert!(again.unwrap_err().to_string().contains("generation 2 is current, not 1"), "somebody else changed it");
    refreshed.evidence().since(2).add(std::slice::from_ref(sentence)).unwrap().commit("").unwrap();
    assert_eq!(sentences(&refreshed.refreshed().unwrap()), 60);
}

#[test]
fn the_verb_adds_lists_removes_replaces_undoes_and_logs() {
    let sandbox = trained();
    let new = known(&open(&sandbox, "t.citree"), &starter::train()[60..80]);
    sandbox.write_treebank("new.conllu", &new[..3]);
    let evidence = |arguments: &[&str]| run(&sandbox, &[&["evidence", "t.citree"], arguments].concat());
    let (_, said) = evidence(&["add", "new.conllu", "--name", "mine", "--message", "a lesson"]);
    assert!(said.contains("added 3 sentences") && said.contains("generation 2"), "{said}");
    let (listed, _) = evidence(&["list"]);
    let rows: Vec<Vec<&str>> = listed.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!((rows[1][..2].to_vec(), rows[2][..2].to_vec()), (vec!["treebank", "60"], vec!["mine", "3"]));
    refused(&sandbox, &["evidence", "t.citree", "add", "new.conllu"], "is in the evidence already");
    refused(&sandbox, &["evidence", "t.citree", "remove", "nobody-1"], "no sentence `nobody-1`");

    let mut broken = new[4].clone();
    broken.words_mut()[0].label = "unheard-of".to_string();
    sandbox.write_treebank("label.conllu", &[broken]);
    refused(&sandbox, &["evidence", "t.citree", "add", "label.conllu"], "`unheard-of`");
    sandbox.write_treebank("absent.conllu", &new[4..5]);
    refused(&sandbox, &["evidence", "t.citree", "replace", "absent.conllu"], "no sentence");
    sandbox.write_treebank("twice.conllu", &[new[4].clone(), new[4].clone()]);
    refused(&sandbox, &["evidence", "t.citree", "add", "twice.conllu"], "two sentences");

    evidence(&["replace", "new.conllu", "--message", "again"]);
    sandbox.write("ids.txt", &format!("{}\n{}\n", id(&new[0]), id(&new[1])));
    evidence(&["remove", "@ids.txt"]);
    assert_eq!(open(&sandbox, "t.citree").index().unwrap().sentences(), 61);
    evidence(&["undo"]);
    assert_eq!(open(&sandbox, "t.citree").index().unwrap().sentences(), 63);
    let genre = format!("{}*", id(&new[0]).split('-').next().unwrap());
    evidence(&["remove", &genre]);
    let edges = open(&sandbox, "t.citree");
    let edges = edges.index().unwrap();
    let left = (0..edges.sentences()).map(|number| edges.sentence(number).unwrap().sent_id);
    assert!(left.into_iter().all(|sent_id| !sent_id.starts_with(genre.trim_end_matches('*'))));
    let (log, _) = evidence(&["log"]);
    let what: Vec<&str> = log.lines().map(|line| line.split('\t').nth(3).unwrap()).collect();
    let names: Vec<&str> = new.iter().map(id).collect();
    let (three, two) =
        (format!("3 sentences ({})", names[..3].join(", ")), format!("2 sentences ({})", names[..2].join(", ")));
    assert_eq!(
        what[..4],
        [
            format!("added {three} to mine: a lesson"),
            format!("replaced {three}: again"),
            format!("removed {two}"),
            format!("undid: removed {two}"),
        ]
    );
    evidence(&["merge"]);
    run(&sandbox, &["verify", "t.citree"]);
    let output = sandbox.citree(&["evidence", "t.citree", "undo"]);
    assert!(stderr(&output).contains("no change to undo"), "{}", stderr(&output));
}

#[test]
fn the_effect_of_an_addition_is_shown() {
    let sandbox = trained();
    // The bundle decides by its nearest edges, so that one sentence matters.
    sandbox.write("t.citree/rules.json", r#"{"own": {"name": "knn", "neighbors": 3}, "measured": []}"#);
    let bundle = open(&sandbox, "t.citree");
    let dev = known(&bundle, &starter::dev()[..20]);
    sandbox.write_treebank("lesson.conllu", &dev);
    let (listed, said) =
        run(&sandbox, &["evidence", "t.citree", "add", "lesson.conllu", "--show-effect", "lesson.conllu"]);
    assert!(said.contains("edges differ"), "{said}");
    let count = |mark: &str| listed.lines().filter(|line| line.ends_with(mark)).count();
    assert!(count("right now") > count("wrong now"), "{listed}");
}

#[test]
fn names_and_messages_mean_what_they_say() {
    let sandbox = trained();
    let mut star = starter::dev()[1].clone();
    let prefix = format!("{}*", &starter::train()[0].sent_id().unwrap()[..3]);
    star.set_comment("sent_id", &prefix);
    let bundle = open(&sandbox, "t.citree");
    let message = "line\n9\t2026-01-01T00:00:00Z\troot\tforged \u{1b}[31m";
    bundle.evidence().with_new_labels().add(&[star]).unwrap().commit(message).unwrap();
    let log = sandbox.citree(&["evidence", "t.citree", "log"]);
    assert_eq!(stdout(&log).lines().count(), 1, "a message is no other entry: {}", stdout(&log));
    assert!(
        !stdout(&log).contains('\u{1b}') && stdout(&log).contains(&format!("added 1 sentence ({prefix})")),
        "{}",
        stdout(&log)
    );
    // A sentence of exactly this name, not all that begin so.
    assert_eq!(bundle.evidence().remove(&[&prefix]).commit("").unwrap().removed, 1);
    assert!(bundle.evidence().remove(&[&prefix]).commit("").unwrap().removed > 1);
    let twice = sandbox.citree(&["evidence", "t.citree", "add", "-", "--show-effect", "-"]);
    assert_eq!(twice.status.code(), Some(2));
    assert!(stderr(&twice).contains("--show-effect a file"), "{}", stderr(&twice));
}
