//! The API as programs use it: the same results as the command line, in the format of the OpenAPI document.

use crate::sandbox::{Sandbox, stderr, stdout};
use crate::server::{Answer, Server};
use citree::treebank::{Reader, Sentence, read_all};
use serde_json::{Value, json};

const TEXT: &str = "Anna didn't find the old letters in the kitchen.";

fn served() -> (Sandbox, Server) {
    let sandbox = Sandbox::new();
    sandbox.trained("t.citree");
    let server = Server::start(&sandbox, "t.citree", &[]);
    (sandbox, server)
}

fn citree(sandbox: &Sandbox, arguments: &[&str], input: &str) -> String {
    let output = sandbox.citree_with_input(arguments, input);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn the_openapi_document_in_docs_is_the_generated_one() {
    let made = format!("{:#}\n", citree::serve::openapi());
    let kept = include_str!("../../docs/openapi.json");
    if made != kept {
        let path = concat!(env!("CARGO_TARGET_TMPDIR"), "/openapi.json");
        std::fs::write(path, &made).unwrap();
        panic!("the API has changed: look at what changed, then copy {path} to docs/openapi.json");
    }
}

#[test]
fn every_answer_matches_the_openapi_document() {
    let (_sandbox, server) = served();
    let document = server.get("/openapi.json").json();
    assert_eq!(document, citree::serve::openapi());
    let schema = |path: &str, method: &str| {
        let content = &document["paths"][path][method]["responses"]["200"]["content"]["application/json"]["schema"];
        let mut schema = content.clone();
        schema["components"] = document["components"].clone();
        jsonschema::validator_for(&schema).unwrap()
    };
    let fits = |answer: Answer, path: &str, method: &str| {
        assert_eq!((answer.status, answer.kind.as_str()), (200, "application/json"), "{path}: {}", answer.body);
        let problems: Vec<String> =
            schema(path, method).iter_errors(&answer.json()).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{path}: {problems:?}");
    };
    fits(server.post("/v1/parse", &json!({ "text": TEXT })), "/v1/parse", "post");
    let mut asked =
        document["paths"]["/v1/explain"]["post"]["requestBody"]["content"]["application/json"]["schema"].clone();
    asked["components"] = document["components"].clone();
    let asked = jsonschema::validator_for(&asked).unwrap();
    assert!(
        !asked.is_valid(&json!({ "text": TEXT, "rule": { "heads": { "name": "sum" } } })),
        "labels need a rule too"
    );
    for more in [
        json!({ "by": ["label", "genre", "prefix:2", "document", "dependent", "head"] }),
        json!({ "rule": { "name": "nca" }, "why_not": ["6:1", "6:1:obj"], "edges": [6], "count": 3 }),
        json!({ "rule": { "name": "knn", "neighbors": 5 }, "below": 0.9, "count": 0 }),
        json!({ "rule": { "heads": { "name": "nca", "temperature": 9 }, "labels": { "name": "knn" } } }),
        json!({ "rule": "heads=sum,labels=knn" }),
    ] {
        let mut body = json!({ "text": TEXT });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert!(asked.is_valid(&body), "{body}");
        fits(server.post("/v1/explain", &body), "/v1/explain", "post");
    }
    fits(server.post("/v1/neighbors", &json!({ "edge": 3, "space": "labels" })), "/v1/neighbors", "post");
    fits(server.post("/v1/neighbors", &json!({ "text": TEXT, "exact": true })), "/v1/neighbors", "post");
    fits(server.get("/v1/edges/3?generation=1"), "/v1/edges/{id}", "get");
    fits(server.get("/v1/sentences/3"), "/v1/sentences/{id}", "get");
    fits(server.get("/v1/sentences?find=the&from=1&count=3"), "/v1/sentences", "get");
    fits(server.get("/readyz"), "/readyz", "get");
    // The check detects wrong answers: none of these matches another schema.
    assert!(!schema("/v1/parse", "post").is_valid(&server.get("/readyz").json()));
    let described: Vec<&String> = document["paths"].as_object().unwrap().keys().collect();
    for path in &described {
        assert!(path.starts_with("/v1/") || ["/livez", "/readyz", "/metrics"].contains(&path.as_str()), "{path}");
    }
    assert_eq!(described.len(), 11);
}

#[test]
fn explanations_are_those_of_the_command_line_to_the_byte() {
    let (sandbox, server) = served();
    let dev = std::fs::read_to_string(sandbox.path("dev.conllu")).unwrap();
    for (options, arguments) in [
        (json!({}), &[][..]),
        (json!({ "count": 3, "by": ["genre"], "below": 0.9 }), &["--count", "3", "--by", "genre", "--below", "0.9"]),
        (json!({ "rule": { "name": "nca", "temperature": 64 } }), &["--rule", "nca", "--temperature", "64"]),
        (json!({ "rule": { "name": "knn", "neighbors": 7 } }), &["--rule", "knn", "--neighbors", "7"]),
        (json!({ "rule": "nca" }), &["--rule", "nca"]),
        (json!({ "rule": "labels=sum,heads=knn" }), &["--rule", "heads=knn,labels=sum"]),
        (
            json!({ "rule": { "heads": { "name": "knn", "neighbors": 7 }, "labels": { "name": "sum" } } }),
            &["--rule", "heads=knn,labels=sum", "--neighbors", "7"],
        ),
    ] {
        let few: String = dev.split_inclusive("\n\n").take(6).collect();
        let mut body = json!({ "conllu": few });
        body.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
        let arguments = [&["explain", "t.citree", "-", "--format", "json"], arguments].concat();
        let lines: Vec<String> = citree(&sandbox, &arguments, &few).lines().map(str::to_string).collect();
        assert_eq!(lines.len(), 6);
        let answer = server.post("/v1/explain", &body);
        assert_eq!(answer.body, format!("{{\"generation\":1,\"sentences\":[{}]}}", lines.join(",")), "{arguments:?}");
    }
    let body = json!({ "text": TEXT, "edges": [6], "why_not": ["6:1:obj"] });
    let line = citree(
        &sandbox,
        &["explain", "t.citree", "--lines", "--format", "json", "--edge", "6", "--why-not", "6:1:obj"],
        &format!("{TEXT}\n"),
    );
    assert_eq!(server.post("/v1/explain", &body).json()["sentences"][0].to_string(), json_of(&line).to_string());
}

fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn parses_and_explanations_come_as_conllu_html_and_svg_too() {
    let (sandbox, server) = served();
    let dev = std::fs::read_to_string(sandbox.path("dev.conllu")).unwrap();
    let body = json!({ "conllu": dev });
    let parsed = server.post_for("/v1/parse", "text/x-conllu", &body);
    assert_eq!(parsed.kind, "text/x-conllu; charset=utf-8");
    assert_eq!(parsed.body, citree(&sandbox, &["parse", "t.citree", "-", "--scores"], &dev));
    let sent =
        server.send("POST", "/v1/parse", &[("content-type", "text/x-conllu"), ("accept", "text/x-conllu")], Some(&dev));
    assert_eq!(sent.body, parsed.body, "CoNLL-U can be sent as it is");
    let explained = server.post_for("/v1/explain", "text/x-conllu", &body);
    assert_eq!(explained.body, citree(&sandbox, &["explain", "t.citree", "-", "--format", "conllu"], &dev));
    let page = server.post_for("/v1/explain", "text/html", &json!({ "text": TEXT }));
    let own = citree(&sandbox, &["explain", "t.citree", "--lines", "--format", "html"], &format!("{TEXT}\n"));
    assert_eq!((page.kind.as_str(), page.body), ("text/html; charset=utf-8", own));
    let svg = server.post_for("/v1/explain", "image/svg+xml", &json!({ "text": "a \u{1} <b> & \"c\"", "edges": [1] }));
    assert_eq!(svg.kind, "image/svg+xml");
    assert!(svg.body.starts_with("<svg xmlns=") && svg.body.contains("&lt;") && !svg.body.contains("<b>"));
    assert!(!svg.body.contains('\u{1}'), "no file with that in it can be opened");
    let refused = server.post_for("/v1/parse", "image/png", &json!({ "text": TEXT }));
    assert_eq!(refused.status, 406);
    assert!(refused.body.contains("text/x-conllu"), "{refused:?}");
}

#[test]
fn text_words_and_conllu_are_parsed_alike() {
    let (_sandbox, server) = served();
    let by_text = server.post("/v1/parse", &json!({ "text": TEXT })).json();
    let words = by_text["sentences"][0]["words"].clone();
    let by_words = server.post("/v1/parse", &json!({ "words": words })).json();
    assert_eq!(by_text, by_words);
    let plain = server.send("POST", "/v1/parse", &[("content-type", "text/plain; charset=utf-8")], Some(TEXT)).json();
    assert_eq!(by_text, plain);
    let two = server.post("/v1/parse", &json!({ "text": format!("{TEXT}\n\n  {TEXT}\n") })).json();
    assert_eq!(two["sentences"].as_array().unwrap().len(), 2);
    for (sentence, key) in [0, 1].into_iter().flat_map(|place| ["words", "heads", "labels"].map(|key| (place, key))) {
        assert_eq!(two["sentences"][sentence][key], by_text["sentences"][0][key], "{key}");
    }
}

#[test]
fn neighbours_are_those_of_the_command_line_and_a_training_edge_has_its_own() {
    let (sandbox, server) = served();
    let dev = std::fs::read_to_string(sandbox.path("dev.conllu")).unwrap();
    let dev: String = dev.split_inclusive("\n\n").take(6).collect();
    let body = json!({ "conllu": dev, "gold": true, "others": true, "count": 4, "exact": true });
    let lines =
        citree(&sandbox, &["neighbors", "t.citree", "-", "--gold", "--others", "--count", "4", "--exact"], &dev);
    let edges: Vec<Value> = lines.lines().map(json_of).collect();
    assert_eq!(server.post("/v1/neighbors", &body).json()["edges"], Value::from(edges));

    let edge = server.get("/v1/edges/17").json();
    let own = |body: Value| server.post("/v1/neighbors", &body).json()["edges"][0].clone();
    let all = own(json!({ "edge": 17, "count": 50 }));
    let others = own(json!({ "edge": 17, "count": 50, "others": true }));
    assert_eq!((&all["sent_id"], &all["dependent"]), (&edge["sent_id"], &edge["dependent"]));
    let near = |value: &Value, key: &str| -> Vec<Value> {
        value["neighbors"].as_array().unwrap().iter().map(|one| one[key].clone()).collect()
    };
    assert!(!near(&all, "edge").contains(&json!(17)), "an edge is not its own neighbour");
    assert!(!near(&others, "sent_id").contains(&edge["sent_id"]));
    assert_eq!(near(&all, "edge").len(), 50);
    assert_eq!(own(json!({ "edge": 17, "exact": true }))["exact"], true);
}

#[test]
fn the_treebank_can_be_read_from_end_to_end() {
    let (sandbox, server) = served();
    let treebank = read_all(&sandbox.path("train.conllu")).unwrap();
    for (number, sentence) in treebank.iter().enumerate().step_by(7) {
        let shown = server.get(&format!("/v1/sentences/{number}")).json();
        assert_eq!(shown["sent_id"].as_str(), sentence.sent_id());
        for (id, (word, own)) in (1..).zip(sentence.words().iter().zip(shown["words"].as_array().unwrap())) {
            assert_eq!(
                (own["form"].as_str(), own["head"].as_u64()),
                (Some(word.form.as_str()), word.head.map(|head| head as u64))
            );
            let edge = server.get(&format!("/v1/edges/{}?generation=1", own["edge"])).json();
            assert_eq!((&edge["sentence"], &edge["dependent"]), (&json!(number), &json!(id)));
            assert_eq!((&edge["label"], edge["head"].as_u64()), (&own["label"], own["head"].as_u64()));
        }
        let conllu = server.send("GET", &format!("/v1/sentences/{number}"), &[("accept", "text/x-conllu")], None);
        let read: Vec<Sentence> = Reader::new(conllu.body.as_bytes(), "x").collect::<Result<_, _>>().unwrap();
        assert_eq!(read[0].gold_heads(), sentence.gold_heads());
    }
    let all = server.get("/v1/sentences?count=100").json();
    assert_eq!((all["total"].as_u64(), all["sentences"].as_array().unwrap().len()), (Some(60), 60));
    let wanted = treebank[5].text().unwrap();
    let query: String = wanted.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let found = server.get(&format!("/v1/sentences?find={query}")).json();
    assert_eq!(found["sentences"][0]["sentence"], 5);
    assert_eq!(server.get("/v1/sentences?find=no-such-thing-anywhere").json()["total"], 0);
}

#[test]
fn refused_requests_get_problem_json_with_a_remedy() {
    let (_sandbox, server) = served();
    let json = [("content-type", "application/json")];
    for (path, body, status, detail) in [
        ("/v1/parse", "{", 400, "not such a request"),
        ("/v1/parse", "{}", 400, "`text`, `conllu` and `words`"),
        ("/v1/parse", r#"["Anna sleeps.", null, null]"#, 400, "a JSON object"),
        ("/v1/explain", " [\"Anna sleeps.\"]", 400, "a JSON object"),
        ("/v1/parse", r#"{"text": "a", "words": ["a"]}"#, 400, "one of"),
        ("/v1/parse", r#"{"text": "a", "file": "/etc/passwd"}"#, 400, "unknown field `file`"),
        ("/v1/parse", r#"{"text": "  \n "}"#, 422, "no word"),
        ("/v1/parse", r#"{"conllu": "1\tx\n\n"}"#, 422, "conllu:1"),
        ("/v1/explain", r#"{"text": "a b", "edges": [3]}"#, 422, "there is no word 3"),
        ("/v1/explain", r#"{"text": "a b", "why_not": ["x"]}"#, 422, "WORD:HEAD"),
        ("/v1/explain", r#"{"text": "a b", "why_not": ["1:1"]}"#, 422, "its own head"),
        ("/v1/explain", r#"{"text": "a b", "why_not": ["1:2:nolabel"]}"#, 422, "no label nolabel"),
        ("/v1/explain", r#"{"text": "a b", "by": ["moon"]}"#, 422, "label, treebank, document, genre"),
        ("/v1/explain", r#"{"text": "a", "rule": {"name": "magic"}}"#, 422, "no rule `magic`"),
        ("/v1/explain", r#"{"text": "a", "rule": {"name": "knn", "neighbors": 0}}"#, 422, "`neighbors` of 2 or more"),
        ("/v1/explain", r#"{"text": "a", "rule": {"name": "nca", "temperature": -1}}"#, 422, "positive"),
        ("/v1/explain", r#"{"text": "a", "rule": {"name": "nca", "votes": 1}}"#, 400, "unknown field `votes`"),
        ("/v1/explain", r#"{"text": "a", "rule": "heads=knn"}"#, 422, "heads=RULE,labels=RULE"),
        ("/v1/explain", r#"{"text": "a", "rule": {"heads": {"name": "knn"}}}"#, 400, "missing field `labels`"),
        (
            "/v1/explain",
            r#"{"text": "a", "rule": {"heads": {"name": "knn", "neighbors": 2000}, "labels": {"name": "sum"}}}"#,
            422,
            "at most 1000",
        ),
        (
            "/v1/explain",
            r#"{"text": "a", "rule": {"heads": {"name": "heads=knn,labels=sum"}, "labels": {"name": "sum"}}}"#,
            422,
            "a pair of rules",
        ),
        ("/v1/explain", r#"{"text": "a", "rule": 3}"#, 400, "a name or an object"),
        ("/v1/neighbors", r#"{"edge": 4000000}"#, 404, "no training edge 4000000"),
        ("/v1/neighbors", r#"{"edge": 1, "generation": 9}"#, 409, "generation 9"),
        ("/v1/neighbors", r#"{"text": "a", "gold": true}"#, 422, "without a head"),
        ("/v1/neighbors", r#"{"text": "a", "edge": 1}"#, 400, "without sentences"),
        ("/v1/neighbors", r#"{"text": "a", "generation": 1}"#, 400, "goes with `edge`"),
    ] {
        let answer = server.send("POST", path, &json, Some(body));
        assert_eq!((answer.status, answer.kind.as_str()), (status, "application/problem+json"), "{body}: {answer:?}");
        let problem = answer.json();
        assert_eq!(problem["status"], status);
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{body}: {problem}");
    }
    for (path, status) in [
        ("/v1/edges/x", 400),
        ("/v1/edges/4000000000", 404),
        ("/v1/edges/-1", 400),
        ("/v1/sentences/60", 404),
        ("/v1/sentences?count=x", 400),
        ("/v1/sentences?limit=2", 400),
        ("/v1/sentences/1?generation=2", 409),
        ("/v1/parse", 405),
        ("/v2/parse", 404),
        ("/index/CURRENT", 404),
        ("/../../../etc/passwd", 404),
        ("/%2e%2e/t.citree/model/config.toml", 404),
        ("/page/page.js", 404),
    ] {
        let answer = server.get(path);
        assert_eq!((answer.status, answer.kind.as_str()), (status, "application/problem+json"), "{path}: {answer:?}");
    }
    let typed = server.send("POST", "/v1/parse", &[("content-type", "application/x-www-form-urlencoded")], Some("a"));
    assert_eq!(typed.status, 415);
    assert!(typed.body.contains("text/plain"), "{typed:?}");
}

#[test]
fn a_system_that_decides_by_weights_parses_and_says_why_it_cannot_explain() {
    let sandbox = Sandbox::new();
    sandbox.trained_with("w.citree", &["--system", "WWd"]);
    let server = Server::start(&sandbox, "w.citree", &[]);
    assert_eq!(server.post("/v1/parse", &json!({ "text": TEXT })).status, 200);
    assert_eq!(server.post("/view/sentence", &json!({ "text": TEXT })).status, 200);
    for body in [json!({ "text": TEXT }), json!({ "text": TEXT, "rule": { "name": "nca" } })] {
        let answer = server.post("/v1/explain", &body);
        assert_eq!(answer.status, 422, "{answer:?}");
    }
    assert!(server.post("/v1/explain", &json!({ "text": TEXT })).body.contains("decides by learnt weights"));
    assert_eq!(server.post("/v1/neighbors", &json!({ "text": TEXT })).status, 200);
}
