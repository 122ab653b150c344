"""A component for spaCy: `nlp.add_pipe("citree_parser", config={"bundle": "en.citree"})`.

It works on spaCy's own tokens and sets `token.head`, `token.dep_` and the starts of sentences. `token._.citations` explains
a token's edge, and `doc._.citree` is the document of citree.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Token

from .document import Doc as Parsed
from .document import Sentence, _restore
from .explanation import EdgeExplanation
from .pipeline import Pipeline, _reopened, load

# Where a document of spaCy has what is saved with it.
_KEY = "citree"
_SETTINGS = {"rule": None, "decode": "mst", "threads": 0}


class CitreeParser:
    """The component. Saved with a pipeline, it keeps the path of the bundle and the settings."""

    def __init__(self, bundle: str, **settings: Any) -> None:
        self.bundle = bundle
        self.settings = settings
        self._nlp: Pipeline | None = None

    @property
    def nlp(self) -> Pipeline:
        """The bundle, opened when it is first needed."""
        if self._nlp is None:
            if not self.bundle:
                raise ValueError('name a bundle: nlp.add_pipe("citree_parser", config={"bundle": "en.citree"})')
            self._nlp = load(self.bundle, **self.settings)
        return self._nlp

    def __call__(self, doc: Doc) -> Doc:
        """Parses a document."""
        return next(iter(self.pipe([doc])))

    def pipe(self, docs: Iterable[Doc], batch_size: int = 256) -> Iterator[Doc]:
        """Parses documents as a stream."""
        docs = iter(docs)
        while batch := list(islice(docs, batch_size)):
            sentences = [[_words(span) for span in _spans(doc)] for doc in batch]
            parsed = iter(self.nlp([words for doc in sentences for words in doc]).sentences)
            for doc, own in zip(batch, sentences, strict=True):
                _annotate(doc, list(islice(parsed, len(own))))
                doc.user_data[_KEY]["pipeline"] = list(self.nlp._key())
                yield doc

    def to_disk(self, path: str | Path, exclude: Iterable[str] = ()) -> None:
        """Nothing: the configuration of the pipeline names the bundle."""

    def from_disk(self, path: str | Path, exclude: Iterable[str] = ()) -> CitreeParser:
        """Nothing: the configuration of the pipeline names the bundle."""
        return self

    def to_bytes(self, exclude: Iterable[str] = ()) -> bytes:
        """Nothing: the configuration of the pipeline names the bundle."""
        return b""

    def from_bytes(self, data: bytes, exclude: Iterable[str] = ()) -> CitreeParser:
        """Nothing: the configuration of the pipeline names the bundle."""
        return self


@Language.factory("citree_parser", assigns=["token.head", "token.dep"], default_config={"bundle": "", **_SETTINGS})
def create(nlp: Language, name: str, bundle: str, rule: str | None, decode: str, threads: int) -> CitreeParser:
    """Makes the component from its configuration."""
    if not Token.has_extension("citations"):
        Token.set_extension("citations", getter=_citations)
    if not Doc.has_extension("citree"):
        Doc.set_extension("citree", getter=_parsed)
    return CitreeParser(bundle, rule=rule, decode=decode, threads=threads)


def _spans(doc: Doc) -> list[list[Token]]:
    """The tokens of each sentence, without those of white space. A document without sentences is one."""
    spans = doc.sents if doc.has_annotation("SENT_START") else [doc[:]]
    tokens = [[token for token in span if not token.is_space] for span in spans]
    return [span for span in tokens if span]


def _words(span: list[Token]) -> list[str]:
    return [token.text for token in span]


def _annotate(doc: Doc, sentences: list[Sentence]) -> None:
    """Writes heads and labels into a document, and what explanations need in a form that is saved with it."""
    heads, labels = [token.i for token in doc], ["dep"] * len(doc)
    places: list[list[int]] = []
    spans = _spans(doc)
    for number, (span, sentence) in enumerate(zip(spans, sentences, strict=True)):
        for token, word in zip(span, sentence.words, strict=True):
            heads[token.i] = span[word.head - 1].i if word.head else token.i
            labels[token.i] = "ROOT" if word.head == 0 else word.deprel
            places.append([token.i, number, word.id])
    words = [place[0] for place in places]
    for token in doc:
        # White space belongs to the word before it, or at the start to the one after it.
        if token.is_space and words:
            heads[token.i] = words[max(bisect(words, token.i) - 1, 0)]
    annotated = Doc(doc.vocab, words=[token.text for token in doc], spaces=[bool(t.whitespace_) for t in doc],
                    heads=heads, deps=labels)  # fmt: skip
    columns: Any = annotated.to_array(["HEAD", "DEP"])
    doc.from_array(["HEAD", "DEP"], columns)
    doc.user_data[_KEY] = {"places": places, "sentences": [list(sentence._state()) for sentence in sentences]}


def _parsed(doc: Doc) -> Parsed | None:
    """The document of citree, from what is saved with the document of spaCy."""
    saved = doc.user_data.get(_KEY)
    if saved is None:
        return None
    path, settings = saved["pipeline"]
    sentences = [_sentence(path, settings, text, tuple(heads), tuple(labels)) for text, heads, labels in saved["sentences"]]
    return Parsed(sentences)


@lru_cache(maxsize=256)
def _sentence(path: str, settings: str, conllu: str, heads: tuple[float, ...], labels: tuple[float, ...]) -> Sentence:
    """A parsed sentence. Kept, so that the tokens of a sentence share what explains them."""
    return _restore(_reopened(path, settings), conllu, list(heads), list(labels))


def _citations(token: Token) -> EdgeExplanation | None:
    parsed = token.doc._.citree
    if parsed is None:
        return None
    for place, sentence, word in token.doc.user_data[_KEY]["places"]:
        if place == token.i:
            explanation: EdgeExplanation = parsed.sentences[sentence].words[word - 1].explain()
            return explanation
    return None
