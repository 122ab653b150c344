//! Checks explanations against the stored vectors, one training edge at a time.

use crate::sandbox::{Sandbox, stderr};
use crate::what_is_needed::{EWT, beside, needs};
use citree::config::{Config, Preset};
use citree::explain::{By, Expected, Explainer, Options};
use citree::internals::{edge_row, index, parser_of_model};
use citree::parse::{Decode, Settings};
use citree::treebank::{Sentence, read_trees, starter};
use citree::{Bundle, Rule};
use std::path::Path;

/// All three rules, with settings at which near edges count more than far ones.
pub fn rules() -> [Rule; 3] {
    [Rule::sum(), Rule::nca(64.0).unwrap(), Rule::knn(5).unwrap()]
}

fn trained() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    sandbox
}

fn explainer(sandbox: &Sandbox, rule: Rule) -> Explainer {
    let bundle = Bundle::open(sandbox.path("t.citree")).unwrap();
    bundle.explainer_with(&Settings { rule: Some(rule), ..Settings::default() }).unwrap()
}

/// Checks that fast mode, with sums from the model or from the index, agrees with the mode that compares with every
/// training edge.
fn modes_agree(bundle: &Path, sentences: &[Sentence], decodes: &[Decode]) {
    let bundle = Bundle::open(bundle).unwrap();
    for &decode in decodes {
        let settings = Settings { decode, rule: Some(Rule::sum()), ..Settings::default() };
        let fast = bundle.explainer_with(&settings).unwrap();
        let exact = bundle.explainer_with(&Settings { exact: true, ..settings.clone() }).unwrap();
        let parses = parser_of_model(&bundle, &settings).unwrap().parse(sentences).unwrap();
        let analyses =
            fast.parser().analyse(sentences).unwrap().into_iter().zip(exact.parser().analyse(sentences).unwrap());
        for (parse, (fast, exact)) in parses.iter().zip(analyses) {
            let (fast, exact) = (fast.unwrap(), exact.unwrap());
            assert_eq!((&parse.heads, &parse.labels), (&fast.parse.heads, &fast.parse.labels));
            assert_eq!((&parse.heads, &parse.labels), (&exact.parse.heads, &exact.parse.labels));
            for (a, b) in fast.parse.head_probabilities.iter().zip(&exact.parse.head_probabilities) {
                assert!((a - b).abs() < 1e-3, "{a} {b}");
            }
        }
    }
}

#[test]
fn fast_mode_and_explainable_mode_decide_the_same_on_every_edge_of_the_starter_treebank() {
    let sandbox = trained();
    modes_agree(&sandbox.path("t.citree"), &starter::dev(), &[Decode::Greedy, Decode::Tree]);
}

#[test]
fn fast_mode_and_explainable_mode_decide_the_same_on_every_edge_of_english_ewt() {
    needs!(EWT);
    let folder = beside(EWT);
    let sandbox = Sandbox::new();
    let train = read_trees(&folder.join("en_ewt-ud-train.conllu")).unwrap();
    sandbox.write_treebank("train.conllu", &train.into_iter().step_by(60).collect::<Vec<_>>());
    sandbox.trained("t.citree");
    modes_agree(
        &sandbox.path("t.citree"),
        &read_trees(&folder.join("en_ewt-ud-dev.conllu")).unwrap(),
        &[Decode::Greedy],
    );
}

#[test]
#[ignore = "slow: trains a model of real size, several minutes"]
fn fast_mode_and_explainable_mode_decide_the_same_with_a_model_of_real_size() {
    needs!(EWT);
    let train = read_trees(&beside(EWT).join("en_ewt-ud-train.conllu")).unwrap();
    let train: Vec<Sentence> = train.into_iter().step_by(30).take(400).collect();
    let dev = read_trees(&beside(EWT).join("en_ewt-ud-dev.conllu")).unwrap();
    let sandbox = Sandbox::new();
    let path = sandbox.path("t.citree");
    let config = Config { epochs: 1, ..Config::preset(Preset::Joint) };
    Bundle::train(&path, &config, &train, &dev[..50]).unwrap();
    modes_agree(&path, &dev, &[Decode::Greedy, Decode::Tree]);
}

#[test]
fn a_citations_share_is_that_of_its_stored_vector() {
    let sandbox = trained();
    let bundle = Bundle::open(sandbox.path("t.citree")).unwrap();
    let explainer = explainer(&sandbox, Rule::sum());
    let sentences = &starter::dev()[..8];
    let analyses = explainer.parser().analyse(sentences).unwrap();
    let explanations = explainer.explain(sentences, &Options::default()).unwrap();
    let scale = bundle.config().scale;
    let [space, _] = index(bundle.index().unwrap()).spaces();
    for (analysis, explanation) in analyses.iter().zip(&explanations) {
        let (analysis, explanation) = (analysis.as_ref().unwrap(), explanation.as_ref().unwrap());
        for edge in &explanation.edges {
            let own = edge_row(&explainer, analysis, (edge.dependent, edge.head)).unwrap();
            let dot = |row: &[f32]| row.iter().zip(&own).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
            let all: f64 = (0..space.count() as u32).map(|edge| dot(space.row(edge).unwrap())).sum();
            let score = scale * all / space.count() as f64;
            assert!((score - edge.attachment.score).abs() < 1e-3 * score.abs(), "{score} {}", edge.attachment.score);
            for citation in &edge.attachment.citations {
                let similarity = dot(space.row(citation.edge).unwrap());
                assert!((similarity - f64::from(citation.similarity)).abs() < 1e-5);
                assert!((similarity / all - citation.share).abs() < 1e-5 * citation.share.abs().max(1e-3));
            }
            let covered: f64 = edge.attachment.citations.iter().map(|citation| citation.share).sum();
            assert!((covered - edge.attachment.coverage.score).abs() < 1e-9);
        }
    }
}

#[test]
fn under_the_knn_rule_only_the_nearest_edges_count() {
    let sandbox = trained();
    let explainer = explainer(&sandbox, Rule::knn(7).unwrap());
    let sentences = &starter::dev()[..3];
    for explanation in
        explainer.explain(sentences, &Options { count: 20, ..Options::default() }).unwrap().iter().flatten()
    {
        for edge in &explanation.edges {
            let (head, label) = (&edge.attachment, &edge.labelling);
            assert_eq!((head.coverage.of, head.citations.len(), head.against.len()), (7, 4, 3));
            assert!((head.coverage.score - 1.0).abs() < 1e-9, "all that counts is cited");
            assert_eq!((label.coverage.of, label.citations.len() + label.against.len()), (7, 7));
            assert!((label.coverage.score - 1.0).abs() < 1e-9, "all that counts is cited");
        }
    }
}

#[test]
fn roll_ups_add_up_to_the_score_and_to_the_margin_by_every_rule() {
    let sandbox = trained();
    let all = [By::Label, By::Document, By::Prefix(1), By::Prefix(2), By::Dependent, By::Head];
    let options = Options { by: all.to_vec(), ..Options::default() };
    let close = |a: f64, b: f64, size: f64| assert!((a - b).abs() <= 1e-5 * size.abs().max(1e-30), "{a} {b}");
    for rule in rules() {
        let explainer = explainer(&sandbox, rule.clone());
        let sentences = &starter::dev()[..4];
        for explanation in explainer.explain(sentences, &options).unwrap().iter().flatten() {
            for rationale in explanation.edges.iter().flat_map(|edge| [&edge.attachment, &edge.labelling]) {
                let first = &rationale.roll_ups[0];
                for roll_up in &rationale.roll_ups {
                    let sum: f64 = roll_up.groups.iter().map(|group| group.evidence).sum();
                    close(sum, roll_up.evidence, sum);
                    close(roll_up.evidence, first.evidence, sum);
                    // The root of a tree has only one possible label, so it has no margin.
                    assert_eq!(roll_up.margin.is_some(), rationale.runner_up.is_some());
                    let Some(whole) = roll_up.margin else { continue };
                    let margin: f64 = roll_up.groups.iter().filter_map(|group| group.margin).sum();
                    close(margin, whole, sum);
                    close(whole, first.margin.unwrap(), sum);
                }
                if rule == Rule::sum() {
                    close(first.evidence, rationale.score, rationale.score * 10.0);
                    if let Some(second) = &rationale.runner_up {
                        close(first.margin.unwrap(), second.margin, rationale.score * 10.0);
                    }
                }
            }
        }
    }
}

#[test]
fn arguments_for_and_against_add_up_to_the_margin() {
    let sandbox = trained();
    for rule in rules() {
        let explainer = explainer(&sandbox, rule.clone());
        let sentences = starter::dev();
        let analyses = explainer.parser().analyse(&sentences[..4]).unwrap();
        for (sentence, analysis) in sentences.iter().zip(analyses.iter().flatten()) {
            let words: Vec<String> = sentence.forms().map(str::to_string).collect();
            let predicted = analysis.parse.heads[1];
            let head = (0..analysis.parse.heads.len()).find(|&head| head != 1 && head != predicted).unwrap();
            let label = if analysis.parse.labels[1] == "obj" { "nsubj" } else { "obj" };
            for (head, label) in [(head, None), (predicted, Some(label.to_string()))] {
                let expected = Expected { dependent: 1, head, label };
                let why_not = explainer.why_not(&words, analysis, &expected, 3).unwrap();
                let contrast = why_not.head.or(why_not.label).unwrap();
                let (gain, loss) = (contrast.in_favour.0, contrast.against.0);
                assert!((gain + loss - contrast.margin).abs() <= 1e-9 * (gain - loss).max(1e-12));
                assert!(gain >= 0.0 && loss <= 0.0);
                if rule == Rule::sum() {
                    let margin = contrast.scores[0] - contrast.scores[1];
                    assert!((margin - contrast.margin).abs() < 1e-5 * contrast.scores[0].abs(), "{margin}");
                }
                assert!(contrast.arguments_for.iter().all(|citation| citation.similarity.is_finite()));
            }
        }
    }
}

#[test]
fn leaving_sentences_out_is_as_if_they_had_never_been_indexed() {
    let sandbox = trained();
    let gone = "train-01";
    let sentences: Vec<Sentence> = read_trees(&sandbox.path("train.conllu")).unwrap();
    let ids: Vec<&str> = sentences.iter().filter_map(|sentence| sentence.sent_id()).collect();
    let prefix =
        ids.iter().map(|id| &id[..id.len() - 1]).find(|p| ids.iter().filter(|id| id.starts_with(p)).count() > 3);
    let prefix = prefix.unwrap_or(gone);
    let kept: Vec<Sentence> = sentences.iter().filter(|s| !s.sent_id().unwrap().starts_with(prefix)).cloned().collect();
    assert!(kept.len() < sentences.len());
    sandbox.write_treebank("kept.conllu", &kept);
    let explain = |more: &[&str]| {
        let args = [&["explain", "t.citree", "dev.conllu", "--format", "json", "--by", "genre"], more].concat();
        let output = sandbox.citree(&args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<serde_json::Value>>()
    };
    let rules: [&[&str]; 3] = [&[], &["--rule", "nca"], &["--rule", "knn"]];
    let without: Vec<_> = rules.iter().map(|rule| explain(&[rule, &["--without", prefix][..]].concat())).collect();
    let output = sandbox.citree(&["index", "t.citree", "--treebank", "kept.conllu"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    for (rule, without) in rules.iter().zip(&without) {
        for (a, b) in without.iter().zip(explain(rule)) {
            assert_eq!((&a["heads"], &a["labels"]), (&b["heads"], &b["labels"]));
            for (a, b) in a["edges"].as_array().unwrap().iter().zip(b["edges"].as_array().unwrap()) {
                for side in ["attachment", "labelling"] {
                    let number = |value: &serde_json::Value| value["score"].as_f64().unwrap();
                    let (x, y) = (number(&a[side]), number(&b[side]));
                    // By nca the far edges of a whole index are estimated, and those of a part of it are not.
                    let close = if rule.contains(&"nca") { 5e-3 } else { 1e-4 };
                    assert!((x - y).abs() <= close * x.abs().max(1.0), "{rule:?}: {x} {y}");
                    let cited = |value: &serde_json::Value| -> Vec<String> {
                        let hits = value["citations"].as_array().unwrap().iter();
                        hits.map(|hit| format!("{}:{}", hit["sent_id"], hit["dependent"])).collect()
                    };
                    assert_eq!(cited(&a[side]), cited(&b[side]));
                }
            }
        }
    }
}
