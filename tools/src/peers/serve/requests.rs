//! The measured requests as bytes, prepared in advance so that they take no time from the server.

use anyhow::ensure;
use citree::treebank::Sentence;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::Path;

/// The length of the sentences.
pub const WORDS: usize = 20;
/// The most sentences.
const SENTENCES: usize = 200;
/// The word to explain in [`Kind::ExplainOne`].
pub const WORD: usize = 4;

/// A kind of request about a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Explain every edge, with 10 citations per decision.
    Explain,
    /// Explain one edge.
    ExplainOne,
    Parse,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Explain => "explain every edge",
            Self::ExplainOne => "explain one edge",
            Self::Parse => "parse",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Explain | Self::ExplainOne => "/v1/explain",
            Self::Parse => "/v1/parse",
        }
    }

    fn body(self, words: &[String]) -> Value {
        match self {
            Self::Explain | Self::Parse => json!({ "words": words }),
            Self::ExplainOne => json!({ "words": words, "edges": [WORD] }),
        }
    }

    /// A request for each sentence.
    pub fn requests(self, address: SocketAddr, sentences: &[Vec<String>]) -> Vec<Vec<u8>> {
        sentences.iter().map(|words| post(address, self.path(), &self.body(words))).collect()
    }
}

/// The words of distinct sentences of [`WORDS`] words.
pub fn sentences(treebank: &[Sentence], from: &Path) -> anyhow::Result<Vec<Vec<String>>> {
    let mut seen = HashSet::new();
    let of_length = treebank.iter().filter(|sentence| sentence.words().len() == WORDS);
    let words = of_length.map(|sentence| sentence.forms().map(str::to_string).collect::<Vec<_>>());
    let sentences: Vec<_> = words.filter(|words| seen.insert(words.clone())).take(SENTENCES).collect();
    ensure!(!sentences.is_empty(), "{}: no sentence has {WORDS} words", from.display());
    Ok(sentences)
}

/// A request without a body.
pub fn get(address: SocketAddr, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").into_bytes()
}

/// A request with a JSON body.
pub fn post(address: SocketAddr, path: &str, body: &Value) -> Vec<u8> {
    with_body(address, path, "application/json", body.to_string().as_bytes())
}

/// A request with any body.
pub fn with_body(address: SocketAddr, path: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let mut request = head(address, path, kind, &format!("content-length: {}", body.len()));
    request.extend_from_slice(body);
    request
}

/// The request line and the headers of a request with a body. `length` is the header that gives the body's end.
pub fn head(address: SocketAddr, path: &str, kind: &str, length: &str) -> Vec<u8> {
    format!("POST {path} HTTP/1.1\r\nhost: {address}\r\ncontent-type: {kind}\r\n{length}\r\n\r\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinct_sentences_of_the_right_length_are_used() {
        let sentence = |first: usize, words: usize| Sentence::from_forms((first..first + words).map(|i| i.to_string()));
        let treebank = [sentence(0, WORDS), sentence(0, WORDS - 1), sentence(0, WORDS), sentence(1, WORDS)];
        let taken = sentences(&treebank, Path::new("dev")).expect("sentences");
        assert_eq!(taken.iter().map(|words| words[0].as_str()).collect::<Vec<_>>(), ["0", "1"]);
        assert!(sentences(&treebank[1..2], Path::new("dev")).expect_err("none").to_string().contains("dev"));
    }

    #[test]
    fn a_request_has_the_length_of_its_body() {
        let address = SocketAddr::from(([127, 0, 0, 1], 80));
        let requests = Kind::ExplainOne.requests(address, &[vec!["Hé".to_string()]]);
        let expected = "POST /v1/explain HTTP/1.1\r\nhost: 127.0.0.1:80\r\ncontent-type: application/json\r\n\
                        content-length: 29\r\n\r\n";
        let text = String::from_utf8(requests[0].clone()).expect("text");
        let (head, body) = text.split_at(expected.len());
        assert_eq!((head, body.len()), (expected, 29));
        let value: Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(value, json!({ "words": ["Hé"], "edges": [WORD] }));
    }
}
