//! Tests of fetching an encoder and word vectors from a local hub.

use super::super::{blob::Hash, encoder::fetch_into, vectors};
use super::*;
use crate::hub::HubModel;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const WEIGHTS: &str = "the weights, a large file";

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn git(text: &str) -> String {
    hex(digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("blob {}\0{text}", text.len()).as_bytes()).as_ref())
}

fn sha256(text: &str) -> String {
    hex(digest(&SHA256, text.as_bytes()).as_ref())
}

/// The content of a small file, which is its name.
fn small(name: &str) -> String {
    format!(r#"{{"rfilename":"{name}","size":{},"blobId":"{}"}}"#, name.len(), git(name))
}

fn large(name: &str, content: &str) -> String {
    let (length, hash) = (content.len(), sha256(content));
    format!(r#"{{"rfilename":"{name}","size":{length},"lfs":{{"sha256":"{hash}","size":{length},"pointerSize":9}}}}"#)
}

fn description(files: &[String]) -> Answer {
    found(&format!(r#"{{"id":"org/tiny","sha":"{COMMIT}","siblings":[{}]}}"#, files.join(",")))
}

fn files() -> Vec<String> {
    let more = ["README.md", "onnx/model.onnx", "pytorch_model.bin"].map(small);
    let mut files = vec![small("config.json"), small("tokenizer.json"), large("model.safetensors", WEIGHTS)];
    files.extend(more);
    files
}

fn hub(weights: impl Fn(&str, usize) -> Answer + Send + Sync + 'static) -> Server {
    Server::start(move |path, before| match path {
        _ if path.starts_with("/api/models/org/tiny/revision/main") => description(&files()),
        _ if path.ends_with("model.safetensors") => weights(path, before),
        _ => found(path.rsplit('/').next().unwrap()),
    })
}

fn client() -> Client {
    Client::with(Patience { silence: LONG, first_wait: Duration::from_millis(1) }, None)
}

fn fetch_tiny(server: &Server, cache: &Path) -> Result<PathBuf> {
    let model = HubModel::new("org/tiny", None).unwrap();
    fetch_into(&client(), &model, &server.base, cache, Some("secret"), &mut |_| {})
}

#[test]
fn an_encoder_is_written_where_other_tools_look_and_only_with_the_files_it_needs() {
    let server = hub(|_, _| found(WEIGHTS));
    let cache = tempfile::tempdir().unwrap();
    let folder = fetch_tiny(&server, cache.path()).unwrap();
    let model = cache.path().join("models--org--tiny");
    assert_eq!(folder, model.join("snapshots").join(COMMIT));
    assert_eq!(names(&folder), ["config.json", "model.safetensors", "tokenizer.json"]);
    assert_eq!(std::fs::read_to_string(folder.join("model.safetensors")).unwrap(), WEIGHTS);
    assert_eq!(std::fs::read_to_string(model.join("refs/main")).unwrap(), COMMIT);
    let mut blobs = vec![git("config.json"), git("tokenizer.json"), sha256(WEIGHTS)];
    blobs.sort();
    assert_eq!(names(&model.join("blobs")), blobs, "nothing half-made stays behind");
    assert_eq!(HubModel::new("org/tiny", None).unwrap().cached(cache.path()), Some(folder));
    fetch_tiny(&server, cache.path()).unwrap();
    assert_eq!(server.count("model.safetensors"), 1, "what is there is not downloaded again");
}

#[test]
fn an_interrupted_download_goes_on_where_it_stopped() {
    let server = hub(|_, before| {
        match before {
        0 => Answer::Bytes(
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", WEIGHTS.len(), &WEIGHTS[..9])
                .into_bytes(),
        ),
        _ => Answer::Bytes(
            format!(
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 9-{}/{}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
                WEIGHTS.len() - 1,
                WEIGHTS.len(),
                WEIGHTS.len() - 9,
                &WEIGHTS[9..]
            )
            .into_bytes(),
        ),
    }
    });
    let cache = tempfile::tempdir().unwrap();
    let folder = fetch_tiny(&server, cache.path()).unwrap();
    assert_eq!(std::fs::read_to_string(folder.join("model.safetensors")).unwrap(), WEIGHTS);
    assert_eq!(server.count("model.safetensors"), 2);
    let asked = server.heads();
    assert!(asked.iter().any(|head| head.to_lowercase().contains("range: bytes=9-")), "{asked:?}");
    assert!(asked.iter().all(|head| head.to_lowercase().contains("authorization: bearer secret")), "{asked:?}");
}

#[test]
fn a_file_with_another_content_than_announced_is_never_kept() {
    let server = hub(|_, _| found("other weights, as long..."));
    let cache = tempfile::tempdir().unwrap();
    let message = fetch_tiny(&server, cache.path()).unwrap_err().to_string();
    assert!(message.contains("not what the server has announced"), "{message}");
    let model = cache.path().join("models--org--tiny");
    assert!(!names(&model.join("blobs")).contains(&sha256(WEIGHTS)));
    assert_eq!(HubModel::new("org/tiny", None).unwrap().cached(cache.path()), None, "no reference to half a model");
}

#[test]
fn a_missing_model_or_one_without_weights_is_refused_with_a_remedy() {
    let none = Server::start(|_, _| status("404 Not Found"));
    let cache = tempfile::tempdir().unwrap();
    let message = fetch_tiny(&none, cache.path()).unwrap_err().to_string();
    assert!(message.contains("org/tiny") && message.contains("HF_TOKEN"), "{message}");
    let closed = Server { base: "http://127.0.0.1:1".to_owned(), ..Server::start(|_, _| status("200 OK")) };
    let message = fetch_tiny(&closed, cache.path()).unwrap_err().to_string();
    assert!(message.contains("127.0.0.1:1 does not answer") && message.contains("--encoder DIR"), "{message}");
    let weightless = Server::start(|_, _| description(&["config.json", "vocab.txt"].map(small)));
    let message = fetch_tiny(&weightless, cache.path()).unwrap_err().to_string();
    assert!(message.contains("neither model.safetensors nor pytorch_model.bin"), "{message}");
    let odd = Server::start(|_, _| found("<html>"));
    let message = fetch_tiny(&odd, cache.path()).unwrap_err().to_string();
    assert!(message.contains("not understood"), "{message}");
    assert_eq!(names(cache.path()), [""; 0]);
}

#[test]
fn weights_in_several_files_are_all_downloaded() {
    let shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    let server = Server::start(move |path, _| {
        let names = ["config.json", "vocab.txt", "model.safetensors.index.json", shards[0], shards[1]];
        if path.starts_with("/api") { description(&names.map(small)) } else { found(path.rsplit('/').next().unwrap()) }
    });
    let cache = tempfile::tempdir().unwrap();
    let folder = fetch_tiny(&server, cache.path()).unwrap();
    let expected = ["config.json", shards[0], shards[1], "model.safetensors.index.json", "vocab.txt"];
    assert_eq!(names(&folder), expected);
}

#[test]
fn the_token_is_not_sent_to_where_the_hub_redirects() {
    let store = Server::start(|_, _| found(WEIGHTS));
    // Another host by name, as a hub's store is.
    let elsewhere = store.base.replace("127.0.0.1", "localhost");
    let server = hub(move |_, _| {
        let head = format!("HTTP/1.1 302 Found\r\nLocation: {elsewhere}/weights\r\nContent-Length: 0\r\n");
        Answer::Bytes(format!("{head}Connection: close\r\n\r\n").into_bytes())
    });
    let cache = tempfile::tempdir().unwrap();
    fetch_tiny(&server, cache.path()).unwrap();
    let asked = store.heads();
    assert_eq!(asked.len(), 1);
    assert!(!asked[0].to_lowercase().contains("authorization"), "{asked:?}");
}

#[test]
fn a_hash_of_the_wrong_length_is_not_one() {
    assert!(Hash::Sha256(sha256("x")).is_possible() && Hash::Git(git("x")).is_possible());
    assert!(!Hash::Sha256(git("x")).is_possible() && !Hash::Git("../../x".to_owned()).is_possible());
}

#[test]
fn word_vectors_are_fetched_once_and_a_language_that_is_missing_is_named() {
    let server =
        Server::start(|path, _| if path.contains("xx") { status("404 Not Found") } else { found("1 1\na 0.5\n") });
    let into = tempfile::tempdir().unwrap();
    let fetch = |name: &str| vectors::fetch_with(&client(), name, &server.base, into.path(), &mut |_| {});
    assert_eq!(fetch("fasttext:tr").unwrap(), into.path().join("cc.tr.300.vec.gz"));
    fetch("fasttext:tr").unwrap();
    assert_eq!(server.count("cc.tr.300.vec.gz"), 1);
    assert!(fetch("fasttext:xx").unwrap_err().to_string().contains("fasttext.cc"));
    for name in ["tr", "glove:tr", "fasttext:", "fasttext:../tr", "fasttext:TR"] {
        assert!(fetch(name).unwrap_err().to_string().contains("fasttext:tr"), "{name}");
    }
}
