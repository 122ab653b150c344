//! Correcting parses on the served page, in a real browser: the next parse follows, and the change can be undone and
//! taken back to the treebank.

use crate::browser::Browser;
use crate::sandbox::Sandbox;
use crate::serve_changes::{TOKEN, served};
use crate::server::Server;
use crate::what_is_needed::{BROWSER, needs};
use citree::treebank::{Reader, Sentence};
use citree::{Bundle, Rule};
use serde_json::{Value, json};

const TEXT: &str = "Anna found the old letters in the kitchen.";
/// The nearest edge for a head and the nearest one against it decide.
const ADDRESS: &str = "/#text=Anna+found+the+old+letters+in+the+kitchen.&rule=knn&n=2";
/// The columns of the parse that the page shows.
const ROWS: &str = "document.querySelector('#result pre.conllu').textContent.split('\\n').filter(line => /^\\d+\\t/.test(line)).map(line => line.split('\\t'))";
const ENTER: &str = "\u{e007}";

fn trained() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    sandbox
}

/// The head and the label of every word that the page shows.
fn shown(browser: &Browser) -> Vec<(usize, String)> {
    let rows = browser.run(&format!("return {ROWS}"));
    let edge = |row: &Value| (row[6].as_str().unwrap().parse().unwrap(), row[7].as_str().unwrap().to_string());
    rows.as_array().unwrap().iter().map(edge).collect()
}

/// Other edges for words on which none depends, so that the whole stays a tree: the word, its head and its label.
fn other_edges(edges: &[(usize, String)]) -> Vec<(usize, usize, String)> {
    let is_leaf = |word: &usize| edges.iter().all(|(head, _)| head != word) && edges[word - 1].0 != 0;
    let label = |word: usize| if edges[word - 1].1 == "obj" { "nsubj" } else { "obj" }.to_string();
    let heads = |word: usize| (1..=edges.len()).filter(move |head| *head != word && *head != edges[word - 1].0);
    let of_word = |word: usize| heads(word).map(move |head| (word, head, label(word)));
    (1..=edges.len()).filter(is_leaf).flat_map(of_word).collect()
}

/// An edge that the parse follows once it is added. The tiny model confuses many edges, so it does not follow all.
fn followed_edge(sandbox: &Sandbox) -> (usize, usize, String) {
    sandbox.trained("probe.citree");
    let bundle = Bundle::open(sandbox.path("probe.citree")).unwrap();
    let sentence = bundle.parser().unwrap().split(TEXT);
    let parsed = || {
        let explainer = bundle.refreshed().unwrap().explainer().unwrap();
        let explainer = explainer.deciding_by(&Rule::knn(2).unwrap()).unwrap();
        explainer.parser().parse(std::slice::from_ref(&sentence)).unwrap().remove(0)
    };
    let before = parsed();
    let edges: Vec<(usize, String)> = before.heads[1..].iter().copied().zip(before.labels[1..].to_vec()).collect();
    let follows = |(word, head, label): &(usize, usize, String)| {
        let mut lesson = sentence.clone();
        before.annotate(&mut lesson, false);
        lesson.set_comment("sent_id", "lesson");
        lesson.words_mut().iter_mut().for_each(|word| word.misc = "Evidence=No".to_string());
        let own = &mut lesson.words_mut()[word - 1];
        (own.head, own.label, own.misc) = (Some(*head), label.clone(), "_".to_string());
        bundle.evidence().to_treebank("corrections").with_weight(4.0).add(&[lesson]).unwrap().commit("").unwrap();
        let after = parsed();
        bundle.evidence().undo("").unwrap();
        after.heads[*word] == *head && after.labels[*word] == *label
    };
    other_edges(&edges).into_iter().find(follows).unwrap()
}

/// Chooses an edge and corrects it.
fn correct(browser: &Browser, word: usize, head: usize, label: &str) {
    browser.click(&format!("#result a.edge[data-edge='{word}'] .word"));
    browser.wait_for(&format!(
        "!document.querySelector('#correction').hidden && ![...document.querySelector('#new-head').options].some(one => one.value === '{word}')"
    ));
    for (control, value) in [("new-head", head.to_string()), ("new-label", label.to_string())] {
        browser.run(&format!("document.querySelector('#{control}').value = '{value}'"));
    }
    browser.run("document.querySelector('#correction button').focus()");
    browser.press(ENTER);
    browser.wait_for("!document.querySelector('#lesson').hidden");
}

#[test]
fn a_corrected_edge_is_followed_at_once_and_can_be_undone_and_downloaded() {
    needs!(BROWSER);
    let browser = Browser::start();
    let sandbox = trained();
    let server = served(&sandbox, "t.citree");
    browser.visit(&server.url(ADDRESS));
    browser.wait_for("!document.querySelector('#correct').hidden");
    let before = shown(&browser);
    let (word, head, label) = followed_edge(&sandbox);
    correct(&browser, word, head, &label);
    assert_eq!(browser.count("#corrections li"), 1);
    assert_eq!(browser.text("#others"), "Only the corrected edge counts.");
    browser.click("#whole");
    let others = browser.text("#others");
    assert_eq!(others, format!("The other {} edges count as you see them.", before.len() - 1));
    browser.click("#whole");
    assert_eq!(shown(&browser), before, "nothing counts before it is added");

    // The token is asked for once. A wrong one is asked for again.
    browser.run("document.querySelector('#add button').focus()");
    browser.press(ENTER);
    browser.wait_for("document.activeElement.id === 'token'");
    browser.type_into("#token", "not the token at all");
    browser.press(ENTER);
    browser.wait_for("document.querySelector('#alert').textContent.includes('token')");
    browser.wait_for("document.activeElement.id === 'token' && document.activeElement.value === ''");
    browser.type_into("#token", TOKEN);
    browser.press(ENTER);
    browser.wait_for("document.querySelector('#outcome').textContent.includes('The parse follows it')");
    assert!(browser.text("#outcome").contains("generation 2") && browser.text("#alert").is_empty());
    let mut expected = before.clone();
    expected[word - 1] = (head, label.clone());
    assert_eq!(shown(&browser)[word - 1], expected[word - 1]);
    assert_eq!(browser.run("return document.activeElement.dataset.edge"), word.to_string(), "the focus is not lost");
    let spoken =
        browser.run(&format!("return document.querySelector('#result a.edge[data-edge=\"{word}\"]').ariaLabel"));
    assert!(spoken.as_str().unwrap().contains(&format!(" is {label} of ")), "{spoken}");
    // The next parse of these words follows too, whoever asks.
    let words = browser.run(&format!("return {ROWS}.map(row => row[1])"));
    let asked = json!({ "words": words, "rule": { "name": "knn", "neighbors": 2 } });
    let next = || server.post("/v1/explain", &asked).json()["sentences"][0].clone();
    assert_eq!((&next()["heads"][word - 1], &next()["labels"][word - 1]), (&json!(head), &json!(label)));
    assert_eq!(server.get("/v1/evidence").json()["log"][0]["who"], "page");

    // A link leads to the new training sentence. The list lasts as long as the window, the token nowhere else.
    assert_eq!(browser.count("#made li"), 1);
    let kept =
        "return [localStorage.length, document.cookie, Object.values(sessionStorage).join().includes(arguments)]";
    assert_eq!(browser.run(&kept.replace("arguments", &format!("{TOKEN:?}"))), json!([0, "", true]));
    browser.click("#made a");
    browser.wait_for("document.querySelector('#result .training h2')?.textContent.includes('correction-')");
    assert!(!browser.shows("#correct"), "a training sentence is not a parse");
    browser.visit(&server.url(ADDRESS));
    browser
        .wait_for("document.querySelectorAll('#made li').length === 1 && !document.querySelector('#correct').hidden");

    browser.run("window.saved = []; URL.createObjectURL = blob => { saved.push(blob); return 'blob:none' }");
    browser.click("#take");
    let text = browser.run("return saved[0].text()");
    let back: Vec<Sentence> = Reader::new(text.as_str().unwrap().as_bytes(), "x").collect::<Result<_, _>>().unwrap();
    assert!(back[0].sent_id().unwrap().starts_with("correction-"), "{text}");
    assert_eq!(back[0].text(), Some(TEXT));
    let edges: Vec<(usize, String)> =
        back[0].words().iter().map(|word| (word.head.unwrap(), word.label.clone())).collect();
    assert_eq!((back.len(), edges), (1, expected), "the corrected edge, and the others as they were shown");
    let evidence: Vec<usize> = (1..=before.len()).filter(|at| back[0].words()[at - 1].is_evidence()).collect();
    assert_eq!(evidence, [word], "nobody checked the others");
    let part = server.get("/v1/evidence").json()["parts"][1].clone();
    assert_eq!((&part["name"], &part["edges"], &part["weight"]), (&json!("corrections"), &json!(1), &json!(4.0)));

    browser.click("#undo");
    browser.wait_for("document.querySelector('#outcome').textContent.includes('Undone: generation 3')");
    assert_eq!(shown(&browser), before);
    assert_eq!(next()["labels"][word - 1], before[word - 1].1);
    assert_eq!((browser.count("#made li"), browser.count("#undo:disabled")), (0, 1));
}

#[test]
fn what_is_no_tree_is_not_sent_and_changes_of_others_are_not_undone() {
    needs!(BROWSER);
    let browser = Browser::start();
    let sandbox = trained();
    let server = served(&sandbox, "t.citree");
    browser.visit(&server.url(ADDRESS));
    browser.wait_for("!document.querySelector('#correct').hidden");
    browser.run(&format!("sessionStorage.setItem('citree token', {TOKEN:?})"));
    let before = shown(&browser);
    let root = before.iter().position(|(head, _)| *head == 0).unwrap() + 1;
    let child = before.iter().position(|(head, _)| *head == root).unwrap() + 1;
    correct(&browser, root, child, "obj");
    browser.click("#add button");
    browser.wait_for("document.querySelector('#alert').textContent.includes('no tree. No word is below ROOT')");
    // The first correction is kept while another edge is chosen. Both together are a tree.
    correct(&browser, child, 0, "root");
    assert_eq!(browser.count("#corrections li"), 2);
    let phone = json!({ "width": 360, "height": 740, "deviceScaleFactor": 2, "mobile": true });
    browser.devtools("Emulation.setDeviceMetricsOverride", phone);
    let wider = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(browser.run(wider), 0, "it fits a phone");
    browser.devtools("Emulation.clearDeviceMetricsOverride", json!({}));
    let unnamed = "return [...document.querySelectorAll('input, select, textarea, button, a')].filter(one => \
                   !(one.textContent.trim() || one.labels?.length || one.getAttribute('aria-label'))).map(one => one.outerHTML)";
    assert_eq!(browser.run(unnamed), json!([]), "everything that can be used has a name");
    browser.run("document.querySelector('#why').value = 'a lesson'");
    browser.click("#add button");
    browser.wait_for("document.querySelector('#outcome').textContent.includes('generation 2')");
    assert_eq!(server.get("/v1/evidence").json()["log"][0]["message"], "a lesson");
    // The same sentence once more replaces the first correction.
    let (word, head, label) = other_edges(&shown(&browser)).remove(0);
    correct(&browser, word, head, &label);
    browser.click("#add button");
    browser.wait_for("document.querySelector('#outcome').textContent.includes('generation 3')");
    let part = server.get("/v1/evidence").json()["parts"][1].clone();
    assert_eq!(
        (&part["sentences"], &part["edges"]),
        (&json!(1), &json!(3)),
        "one sentence, not two, with all corrections"
    );

    let gone = citree::treebank::starter::train()[0].sent_id().unwrap().to_string();
    assert!(sandbox.citree(&["evidence", "t.citree", "remove", &gone]).status.success());
    browser.click("#undo");
    browser.wait_for("document.querySelector('#alert').textContent.includes('generation 4 is current, not 3')");
    assert_eq!(browser.count("#made li"), 2, "nothing was undone");
}

#[test]
fn a_training_sentence_is_replaced_as_a_whole_and_no_other_loses_its_name() {
    needs!(BROWSER);
    let browser = Browser::start();
    let sandbox = trained();
    let server = served(&sandbox, "t.citree");
    let mut own = citree::treebank::starter::train()[0].clone();
    let name = own.sent_id().unwrap().to_string();
    let mut other = Sentence::from_forms(["Dogs", "bark", "loudly", "."]);
    other.set_comment("sent_id", &name);
    let evidence = || server.get("/v1/evidence").json();
    let sentences = evidence()["parts"][0]["sentences"].clone();
    for (sentence, outcome) in [(&mut other, "because another sentence is called"), (&mut own, "In the place of")] {
        browser.visit(&server.url("/"));
        browser.run(&format!("sessionStorage.setItem('citree token', {TOKEN:?})"));
        let mut text = Vec::new();
        citree::treebank::write_sentence(&mut text, sentence).unwrap();
        let text = String::from_utf8(text).unwrap();
        browser.run(&format!(
            "document.querySelector('#text').value = {}; document.querySelector('#ask').requestSubmit()",
            json!(text)
        ));
        browser.wait_for("!document.querySelector('#correct').hidden");
        let (word, head, label) = other_edges(&shown(&browser)).remove(0);
        correct(&browser, word, head, &label);
        browser.click("#add button");
        browser.wait_for(&format!("document.querySelector('#outcome').textContent.includes({outcome:?})"));
        assert_eq!(
            evidence()["parts"][0]["sentences"],
            sentences.as_u64().unwrap() - u64::from(outcome.starts_with("In"))
        );
    }
    let found = server.get(&format!("/v1/sentences?find={name}")).json();
    assert_eq!(found["sentences"][0]["sent_id"], name);
    let parts = evidence()["parts"].clone();
    let edges = |part: &str| -> u64 {
        let of = |one: &&Value| one["name"] == part;
        parts.as_array().unwrap().iter().filter(of).map(|one| one["edges"].as_u64().unwrap()).sum()
    };
    assert_eq!(edges("corrections"), 1);
    assert_eq!(
        edges("treebank"),
        Bundle::open(sandbox.path("t.citree")).unwrap().index().unwrap().accepted() as u64 - 1
    );
}

#[test]
fn a_server_without_changes_shows_nothing_of_them() {
    needs!(BROWSER);
    let browser = Browser::start();
    let sandbox = trained();
    let server = Server::start(&sandbox, "t.citree", &[]);
    browser.visit(&server.url(&format!("{ADDRESS}&edge=5")));
    browser.wait_for("document.querySelector('#panel .citations li')");
    browser.wait_for("document.querySelector('#bundle').textContent.includes('training edges')");
    for hidden in ["#correct", "#changes", "#token-form"] {
        assert!(!browser.shows(hidden), "{hidden}");
    }
    assert_eq!(browser.count("#result pre.conllu"), 0);
}
