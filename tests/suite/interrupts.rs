//! Long work of a parser or an explainer asks between two steps whether to go on, and ends soon if it must not.

use crate::explain::rules;
use crate::sandbox::Sandbox;
use citree::explain::{By, Expected, Explainer, NeighborQuery, Options, Question};
use citree::parse::{Analysis, Settings};
use citree::treebank::{Sentence, starter};
use citree::{Bundle, Error, Flow, Result, Task};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

type Work<'a> = &'a dyn Fn(&Explainer) -> Result<()>;

/// Runs work that has to stop at the `last` question. Returns how many were asked, and how it ended.
fn asked(explainer: &Explainer, last: usize, work: Work<'_>) -> (usize, Result<()>) {
    let questions = Arc::new(AtomicUsize::new(0));
    let counter = questions.clone();
    let ask = move || if counter.fetch_add(1, Ordering::SeqCst) + 1 < last { Flow::Continue } else { Flow::Stop };
    let result = work(&explainer.interrupted_by(ask));
    (questions.load(Ordering::SeqCst), result)
}

/// Work that is not stopped asks at least `least` times. Wherever it is stopped, it ends with an error, and soon.
fn stops_anywhere(what: &str, explainer: &Explainer, least: usize, work: Work<'_>) {
    let (all, result) = asked(explainer, usize::MAX, work);
    result.unwrap();
    assert!(all >= least, "{what}: {all} questions");
    for last in [1, all.div_ceil(3), all.div_ceil(2), all] {
        let (questions, result) = asked(explainer, last, work);
        assert!(matches!(result, Err(Error::Stopped)), "{what}, stopped at {last} of {all}: {result:?}");
        // Other threads may ask once more for what they have begun.
        assert!((last..=last + 16).contains(&questions), "{what}: {questions} questions, stopped at {last} of {all}");
    }
}

#[test]
fn parsing_explaining_and_searching_can_be_stopped_between_any_two_steps() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let bundle = Bundle::open(sandbox.path("t.citree")).unwrap();
    let sentences: Vec<Sentence> = starter::dev()[..6].to_vec();
    let one = &sentences[0];
    for (rule, exact) in rules().into_iter().flat_map(|rule| [(rule.clone(), false), (rule, true)]) {
        let settings = Settings { rule: Some(rule.clone()), exact, ..Settings::default() };
        let explainer = bundle.explainer_with(&settings).unwrap();
        let what = |work: &str| format!("{work} by {rule}, exact: {exact}");
        stops_anywhere(&what("parse"), &explainer, 3, &|explainer| explainer.parser().parse(&sentences).map(drop));
        let analysis: Analysis = explainer.parser().analyse(&sentences[..1]).unwrap().remove(0).unwrap();
        let options = Options { by: vec![By::Label, By::Document], ..Options::default() };
        let answer = |question: Question| {
            let analysis = &analysis;
            move |explainer: &Explainer| explainer.answer(one, analysis, &question, None).map(drop)
        };
        let question = Question { options: options.clone(), ..Question::default() };
        stops_anywhere(&what("explain"), &explainer, one.words().len(), &answer(question));
        let first = Options { words: vec![1], ..options };
        let flip = Question { options: first.clone(), flip: true, ..Question::default() };
        stops_anywhere(&what("flip"), &explainer, 4, &answer(flip));
        let other = (0..).find(|head| *head != 1 && *head != analysis.parse.heads[1]).unwrap();
        let expected = Expected { dependent: 1, head: other, label: None };
        let why_not = Question { options: first, why_not: vec![expected], ..Question::default() };
        stops_anywhere(&what("why not"), &explainer, 4, &answer(why_not));
        let query = NeighborQuery { space: Task::Heads, count: 3, gold: true, exact, others: false };
        let neighbors = |explainer: &Explainer| explainer.neighbors(&sentences, query).map(drop);
        stops_anywhere(&what("neighbours"), &explainer, 1, &neighbors);
    }
}

#[test]
fn what_was_left_out_of_the_evidence_can_be_stopped_too() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let explainer = Bundle::open(sandbox.path("t.citree")).unwrap().explainer().unwrap();
    let fewer = |explainer: &Explainer| {
        explainer.without(|sentence| sentence < 3)?.parser().parse(&starter::dev()[..1]).map(drop)
    };
    stops_anywhere("parse without some", &explainer, 1, &fewer);
}
