//! Changing evidence over HTTP: who may do it, what the next request sees, and what happens when several do it at once.

use crate::sandbox::{Sandbox, stderr};
use crate::server::{Answer, Server, eventually};
use citree::treebank::{Sentence, starter, write_sentence};
use serde_json::{Value, json};
use std::collections::BTreeSet;

pub const TOKEN: &str = "d5b8-a-token-of-the-tests";

/// A server that allows changes.
pub fn served(sandbox: &Sandbox, bundle: &str) -> Server {
    sandbox.write("token", &format!("{TOKEN}\n"));
    Server::start(sandbox, bundle, &["--allow-changes", "--token-file", "token"])
}

fn trained() -> (Sandbox, Server) {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let server = served(&sandbox, "t.citree");
    (sandbox, server)
}

fn change(server: &Server, method: &str, path: &str, body: &Value) -> Answer {
    let authorization = format!("Bearer {TOKEN}");
    let headers = [("content-type", "application/json"), ("authorization", authorization.as_str())];
    server.send(method, path, &headers, Some(&body.to_string()))
}

fn conllu(sentences: &[Sentence]) -> String {
    let mut text = Vec::new();
    sentences.iter().for_each(|sentence| write_sentence(&mut text, sentence).unwrap());
    String::from_utf8(text).unwrap()
}

/// Sentences that are not in the index and whose labels the model knows.
fn new_sentences(server: &Server) -> Vec<Sentence> {
    let facts = server.get("/v1/evidence").json();
    let known: Vec<&str> = facts["labels"].as_array().unwrap().iter().map(|label| label.as_str().unwrap()).collect();
    let fits = |sentence: &&Sentence| sentence.words().iter().all(|word| known.contains(&word.label.as_str()));
    starter::train()[60..].iter().filter(fits).cloned().collect()
}

fn id(sentence: &Sentence) -> &str {
    sentence.sent_id().unwrap()
}

fn sent_ids(server: &Server) -> BTreeSet<String> {
    let found = server.get("/v1/sentences?count=100").json();
    let all = found["sentences"].as_array().unwrap();
    assert_eq!(found["total"], all.len(), "all are listed");
    all.iter().map(|one| one["sent_id"].as_str().unwrap().to_string()).collect()
}

fn generation(server: &Server) -> u64 {
    server.get("/v1/evidence").json()["generation"].as_u64().unwrap()
}

/// The parse of a sentence by the votes of its nearest edges, and the training sentences that it cites.
fn explained(server: &Server, sentence: &Sentence) -> (Value, BTreeSet<String>) {
    let words: Vec<&str> = sentence.forms().collect();
    let answer = server.post("/v1/explain", &json!({ "words": words, "rule": { "name": "knn", "neighbors": 4 } }));
    assert_eq!(answer.status, 200, "{answer:?}");
    let parse = answer.json()["sentences"][0].clone();
    let edges = parse["edges"].as_array().unwrap();
    let sides = edges.iter().flat_map(|edge| [&edge["attachment"], &edge["labelling"]]);
    let cited = sides.flat_map(|side| side["citations"].as_array().unwrap());
    let cited = cited.map(|citation| citation["sent_id"].as_str().unwrap().to_string()).collect();
    (parse, cited)
}

#[test]
fn changes_are_refused_without_the_option_and_without_the_token() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let sentence = conllu(&starter::train()[60..61]);
    let closed = Server::start(&sandbox, "t.citree", &[]);
    let requests = [
        ("POST", "/v1/evidence", json!({ "conllu": sentence })),
        ("DELETE", "/v1/evidence", json!({ "sent_ids": [id(&starter::train()[0])] })),
        ("POST", "/v1/evidence/undo", json!({})),
    ];
    for (method, path, body) in &requests {
        let refused = change(&closed, method, path, body);
        assert_eq!((refused.status, refused.kind.as_str()), (403, "application/problem+json"), "{refused:?}");
        assert!(refused.body.contains("--allow-changes"), "{refused:?}");
    }
    assert_eq!(closed.get("/readyz").json()["changes"], false);
    assert_eq!(generation(&closed), 1, "anyone may look");

    let open = served(&sandbox, "t.citree");
    assert_eq!(open.get("/readyz").json()["changes"], true);
    let longer = format!("Bearer {TOKEN}x");
    let wrong = [None, Some("Bearer x"), Some(TOKEN), Some(&longer), Some("Basic d5b8"), Some("Bearer "), Some("")];
    for ((method, path, body), token) in requests.iter().flat_map(|one| wrong.map(|token| (one, token))) {
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(token.map(|token| ("authorization", token)));
        let refused = open.send(method, path, &headers, Some(&body.to_string()));
        assert_eq!(refused.status, 401, "{token:?}: {refused:?}");
        assert_eq!(refused.header("www-authenticate"), Some("Bearer realm=\"citree\""));
    }
    // A page of another site gets nowhere, even with the token.
    let authorization = format!("Bearer {TOKEN}");
    let headers = [
        ("content-type", "application/json"),
        ("authorization", authorization.as_str()),
        ("origin", "https://evil.example"),
    ];
    let foreign = open.send("POST", "/v1/evidence", &headers, Some(&requests[0].2.to_string()));
    assert_eq!(foreign.status, 403);
    assert!(foreign.body.contains("another site"), "{foreign:?}");
    assert_eq!((generation(&open), sent_ids(&open).len()), (1, 60), "nothing was changed");
    for said in [std::fs::read_to_string(sandbox.path("stderr")).unwrap(), open.get("/metrics").body] {
        assert!(!said.contains(TOKEN), "the token is a secret: {said}");
    }
}

#[test]
fn a_server_that_allows_changes_does_not_start_without_a_good_token() {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let start = |token: Option<&str>, more: &[&str]| {
        let arguments = [&["serve", "t.citree", "--listen", "127.0.0.1:0", "--allow-changes"], more].concat();
        let mut command = sandbox.command(&arguments);
        command.env_remove("CITREE_TOKEN");
        command.envs(token.map(|token| ("CITREE_TOKEN", token)));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        stderr(&output)
    };
    assert!(start(None, &[]).contains("--token-file FILE"));
    let short = start(Some("abc-abc"), &[]);
    assert!(short.contains("16 or more") && !short.contains("abc-abc"), "{short}");
    sandbox.write("empty", "\n");
    assert!(start(Some(TOKEN), &["--token-file", "empty"]).contains("16 or more"), "the file is asked first");
    assert!(start(None, &["--token-file", "nowhere"]).contains("nowhere"));
}

#[test]
fn the_next_request_decides_by_a_change_and_cites_it_until_it_is_undone() {
    let (sandbox, server) = trained();
    let lesson = new_sentences(&server)[0].clone();
    let (before, cited) = explained(&server, &lesson);
    assert!(!cited.contains(id(&lesson)));
    // The lesson says something else about a word than the parse does.
    let mut lesson = lesson;
    let (heads, labels) = (before["heads"].as_array().unwrap(), before["labels"].as_array().unwrap());
    for (word, (head, label)) in lesson.words_mut().iter_mut().zip(heads.iter().zip(labels)) {
        (word.head, word.label) = (Some(head.as_u64().unwrap() as usize), label.as_str().unwrap().to_string());
    }
    let leaf = (1..=heads.len()).find(|word| !heads.contains(&json!(word)) && heads[word - 1] != 0).unwrap();
    let other = if labels[leaf - 1] == "obj" { "nsubj" } else { "obj" };
    lesson.words_mut()[leaf - 1].label = other.to_string();
    let conllu = conllu(&[lesson.clone()]);

    let body = json!({ "conllu": conllu, "action": "add", "name": "lessons", "message": "a lesson", "who": "Anna" });
    let made = change(&server, "POST", "/v1/evidence", &body);
    assert_eq!(made.status, 200, "{made:?}");
    let edges = lesson.words().len();
    assert_eq!(made.json(), json!({ "generation": 2, "added": 1, "removed": 0, "edges": edges, "new_labels": [] }));
    let (after, cited) = explained(&server, &lesson);
    assert!(cited.contains(id(&lesson)), "{cited:?}");
    assert_eq!(after["labels"][leaf - 1], other);
    assert_eq!(server.get("/readyz").json()["generation"], 2);
    assert!(server.get("/metrics").body.contains("citree_index_generation 2"));

    // Again, as it was, and gone.
    lesson.words_mut()[leaf - 1].label = labels[leaf - 1].as_str().unwrap().to_string();
    let body = json!({ "conllu": self::conllu(&[lesson.clone()]), "action": "replace", "generation": 2 });
    assert_eq!(change(&server, "POST", "/v1/evidence", &body).json()["removed"], 1);
    assert_eq!(explained(&server, &lesson).0["labels"][leaf - 1], labels[leaf - 1]);
    let removed = change(&server, "DELETE", "/v1/evidence", &json!({ "sent_ids": [id(&lesson)], "message": "enough" }));
    assert_eq!(removed.json(), json!({ "generation": 4, "added": 0, "removed": 1, "edges": 0, "new_labels": [] }));
    assert!(!explained(&server, &lesson).1.contains(id(&lesson)));

    for generation in [5, 6, 7] {
        let undone = change(&server, "POST", "/v1/evidence/undo", &json!({ "generation": generation - 1 }));
        assert_eq!(undone.json(), json!({ "generation": generation }), "{undone:?}");
        let cites = explained(&server, &lesson).1.contains(id(&lesson));
        assert_eq!(cites, generation < 7, "generation {generation}");
    }
    assert_eq!(explained(&server, &lesson).0["labels"], before["labels"]);
    let nothing = change(&server, "POST", "/v1/evidence/undo", &json!({}));
    assert_eq!(nothing.status, 409);
    assert!(nothing.body.contains("no change to undo") && !nothing.body.contains("t.citree"), "{nothing:?}");

    let facts = server.get("/v1/evidence").json();
    assert_eq!((&facts["parts"][0]["name"], &facts["parts"][0]["sentences"]), (&json!("treebank"), &json!(60)));
    let log = facts["log"].as_array().unwrap();
    let entry = |at: usize| [&log[at]["who"], &log[at]["what"], &log[at]["message"]].map(|one| one.as_str().unwrap());
    let name = id(&lesson);
    assert_eq!(entry(0), ["Anna", &format!("added 1 sentence ({name}) to lessons"), "a lesson"]);
    assert_eq!(entry(2), ["http", &format!("removed 1 sentence ({name})"), "enough"]);
    assert_eq!(log.len(), 6);
    assert_eq!(server.get("/v1/evidence?count=1").json()["log"], json!([log[5]]));
    assert!(log[0]["time"].as_str().unwrap().ends_with('Z'));
    eventually("a word to the operator", || {
        std::fs::read_to_string(sandbox.path("stderr")).unwrap().contains("now serving generation 7").then_some(())
    });
}

#[test]
fn of_changes_to_one_generation_the_first_wins_and_no_other_is_lost() {
    let (_sandbox, server) = trained();
    let new = new_sentences(&server);
    let add = |sentence: &Sentence, generation: Option<u64>| {
        let mut body = json!({ "conllu": conllu(std::slice::from_ref(sentence)) });
        generation.into_iter().for_each(|generation| body["generation"] = json!(generation));
        change(&server, "POST", "/v1/evidence", &body)
    };
    // All clients saw generation 1, and one of them may change it.
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let clients: Vec<_> = new[..4].iter().map(|sentence| scope.spawn(|| add(sentence, Some(1)))).collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    let won: Vec<&Sentence> =
        new.iter().zip(&answers).filter(|(_, one)| one.status == 200).map(|(won, _)| won).collect();
    assert_eq!(won.len(), 1, "{answers:?}");
    for stale in answers.iter().filter(|answer| answer.status != 200) {
        let problem = stale.json();
        assert_eq!((stale.status, &problem["generation"]), (409, &json!(2)), "{stale:?}");
        assert!(problem["detail"].as_str().unwrap().contains("generation 2 is current, not 1"), "{problem}");
    }
    let mut expected: BTreeSet<String> = starter::train()[..60].iter().map(|one| id(one).to_string()).collect();
    expected.insert(id(won[0]).to_string());
    assert_eq!(sent_ids(&server), expected, "a refused change leaves nothing");
    for (method, path, body) in [
        ("DELETE", "/v1/evidence", json!({ "sent_ids": [id(won[0])], "generation": 1 })),
        ("POST", "/v1/evidence/undo", json!({ "generation": 1 })),
    ] {
        let stale = change(&server, method, path, &body);
        assert_eq!((stale.status, &stale.json()["generation"]), (409, &json!(2)));
    }
    assert_eq!(generation(&server), 2);

    // Without a generation all of them are made, one after another, while others read.
    let clients = &new[4..10];
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            (0..20).map(|_| server.get("/readyz").json()["generation"].as_u64().unwrap()).collect::<Vec<_>>()
        });
        let adding: Vec<_> = clients.iter().map(|sentence| scope.spawn(|| add(sentence, None))).collect();
        let made: BTreeSet<u64> =
            adding.into_iter().map(|one| one.join().unwrap().json()["generation"].as_u64().unwrap()).collect();
        assert_eq!(made, (3..=8).collect());
        assert!(reader.join().unwrap().is_sorted(), "no request goes back");
    });
    expected.extend(clients.iter().map(|sentence| id(sentence).to_string()));
    assert_eq!(sent_ids(&server), expected);
}

#[test]
fn other_programs_can_change_the_same_bundle() {
    let (sandbox, server) = trained();
    let new = new_sentences(&server);
    let body = json!({ "conllu": conllu(&new[..1]) });
    let busy = citree_index::Change::begin(sandbox.path("t.citree/index")).unwrap();
    let refused = change(&server, "POST", "/v1/evidence", &body);
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{refused:?}");
    drop(busy);
    // The command line is faster than the server's next look at the folder, and the change builds on it.
    sandbox.write_treebank("new.conllu", &new[1..2]);
    assert!(sandbox.citree(&["evidence", "t.citree", "add", "new.conllu"]).status.success());
    let made = change(&server, "POST", "/v1/evidence", &body);
    assert_eq!(made.json()["generation"], 3, "{made:?}");
    assert!(new[..2].iter().all(|sentence| sent_ids(&server).contains(id(sentence))));
}

#[test]
fn sentences_that_cannot_be_evidence_are_refused_with_the_reason() {
    let (_sandbox, server) = trained();
    let good = new_sentences(&server)[0].clone();
    let text = |change: &dyn Fn(&mut Sentence)| {
        let mut sentence = good.clone();
        change(&mut sentence);
        conllu(&[sentence])
    };
    let added = |text: String| json!({ "conllu": text });
    let whole = conllu(std::slice::from_ref(&good));
    let nameless = whole.replace("# sent_id = ", "# id = ");
    for (body, status, reason) in [
        (added(nameless), 422, "has no sent_id"),
        (added(text(&|one| one.words_mut()[0].label = "unheard-of".into())), 422, "`unheard-of`"),
        (added(text(&|one| one.words_mut().iter_mut().for_each(|word| word.head = Some(0)))), 422, "not a tree"),
        (added(conllu(&starter::train()[..1])), 422, "in the evidence already"),
        (added(conllu(&[good.clone(), good.clone()])), 422, "two sentences"),
        (added("1\tx\n\n".into()), 422, "conllu:1"),
        (added(String::new()), 422, "no words"),
        (json!({ "conllu": whole, "action": "replace" }), 422, "no sentence"),
        (json!({ "conllu": whole, "message": "two\nlines" }), 422, "`message` is one line"),
        (json!({ "conllu": whole, "who": "x".repeat(501) }), 422, "`who`"),
        (json!({ "conllu": whole, "file": "/etc/passwd" }), 400, "unknown field `file`"),
        (json!({ "conllu": whole, "action": "burn" }), 400, "burn"),
        (json!({}), 400, "missing field `conllu`"),
    ] {
        let refused = change(&server, "POST", "/v1/evidence", &body);
        assert_eq!((refused.status, refused.kind.as_str()), (status, "application/problem+json"), "{refused:?}");
        assert!(refused.json()["detail"].as_str().unwrap().contains(reason), "{reason}: {refused:?}");
    }
    for (sent_ids, reason) in [
        (vec!["nobody-1"], "no sentence `nobody-1`"),
        (vec![], "nothing to add or to remove"),
        (vec!["a"; 65], "at most 64"),
    ] {
        let refused = change(&server, "DELETE", "/v1/evidence", &json!({ "sent_ids": sent_ids }));
        assert_eq!(refused.status, 422);
        assert!(refused.body.contains(reason), "{refused:?}");
    }
    let authorization = format!("Bearer {TOKEN}");
    let headers = [("content-type", "text/x-conllu"), ("authorization", authorization.as_str())];
    let typed = server.send("POST", "/v1/evidence", &headers, Some(&whole));
    assert_eq!(typed.status, 415);
    assert_eq!((generation(&server), sent_ids(&server).len()), (1, 60), "nothing was changed");
}

#[test]
fn a_label_that_the_model_was_not_trained_with_is_taken_in_if_the_request_asks_for_it() {
    let (_sandbox, server) = trained();
    let mut lesson = new_sentences(&server)[0].clone();
    lesson.words_mut()[0].label = "unheard-of".to_string();
    let made =
        change(&server, "POST", "/v1/evidence", &json!({ "conllu": conllu(&[lesson.clone()]), "new_labels": true }));
    assert_eq!((made.status, &made.json()["new_labels"]), (200, &json!(["unheard-of"])), "{made:?}");
    let labels = server.get("/v1/evidence").json()["labels"].clone();
    assert!(labels.as_array().unwrap().contains(&json!("unheard-of")), "the page can offer it: {labels}");
    assert!(explained(&server, &lesson).1.contains(id(&lesson)));
}

#[test]
fn answers_about_evidence_match_the_openapi_document() {
    let (_sandbox, server) = trained();
    let document = citree::serve::openapi();
    let fits = |answer: Answer, path: &str, method: &str| {
        let mut schema =
            document["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"].clone();
        schema["components"] = document["components"].clone();
        let schema = jsonschema::validator_for(&schema).unwrap();
        let problems: Vec<String> = schema.iter_errors(&answer.json()).map(|error| error.to_string()).collect();
        assert!(answer.status == 200 && problems.is_empty(), "{path}: {problems:?}: {answer:?}");
        let security = &document["paths"][path][method]["security"];
        assert_eq!(security.is_null(), method == "get", "{path}: only reading needs no token");
    };
    let added = json!({ "conllu": conllu(&new_sentences(&server)[..1]) });
    fits(change(&server, "POST", "/v1/evidence", &added), "/v1/evidence", "post");
    let removed = json!({ "sent_ids": [id(&starter::train()[0])] });
    fits(change(&server, "DELETE", "/v1/evidence", &removed), "/v1/evidence", "delete");
    fits(change(&server, "POST", "/v1/evidence/undo", &json!({})), "/v1/evidence/undo", "post");
    fits(server.get("/v1/evidence"), "/v1/evidence", "get");
    assert_eq!(document["components"]["securitySchemes"]["token"]["scheme"], "bearer");
}
