"""A component for spaCy: `nlp.add_pipe("citree_parser", config={"bundle": "en.citree"})`.

It works on spaCy's own tokens and sets `token.head`, `token.dep_` and the starts of sentences. `token._.citations` explains
a token's edge, and `doc._.citree` is the document of citree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import spacy.tokens
from spacy.language import Language
from spacy.tokens import Doc, Token

from .document import Doc as Parsed
from .explanation import EdgeExplanation
from .pipeline import Pipeline, load

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
                _annotate(doc, Parsed([sentence for _, sentence in zip(own, parsed, strict=False)], doc.text))
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
    if not spacy.tokens.Doc.has_extension("citree"):
        Doc.set_extension("citree", default=None)
    return CitreeParser(bundle, rule=rule, decode=decode, threads=threads)


def _spans(doc: Doc) -> list[list[Token]]:
    """The tokens of each sentence, without those of white space. A document without sentences is one."""
    spans = doc.sents if doc.has_annotation("SENT_START") else [doc[:]]
    tokens = [[token for token in span if not token.is_space] for span in spans]
    return [span for span in tokens if span]


def _words(span: list[Token]) -> list[str]:
    return [token.text for token in span]


def _annotate(doc: Doc, parsed: Parsed) -> None:
    heads, labels = [token.i for token in doc], ["dep"] * len(doc)
    places: dict[int, tuple[int, int]] = {}
    first = None
    for number, (span, sentence) in enumerate(zip(_spans(doc), parsed.sentences, strict=True)):
        for token, word in zip(span, sentence.words, strict=True):
            heads[token.i] = span[word.head - 1].i if word.head else token.i
            labels[token.i] = "ROOT" if word.head == 0 else word.deprel
            places[token.i] = (number, word.id)
        first = span[0].i if first is None else first
    for token in doc:
        # White space belongs to the word before it, or at the start to the one after it.
        if token.i not in places and places:
            heads[token.i] = next((i for i in range(token.i - 1, -1, -1) if i in places), first or 0)
    annotated = Doc(doc.vocab, words=[token.text for token in doc], spaces=[bool(t.whitespace_) for t in doc],
                    heads=heads, deps=labels)  # fmt: skip
    columns: Any = annotated.to_array(["HEAD", "DEP"])
    doc.from_array(["HEAD", "DEP"], columns)
    doc._.citree = parsed
    doc.user_data["citree_words"] = places


def _citations(token: Token) -> EdgeExplanation | None:
    parsed, place = token.doc._.citree, token.doc.user_data.get("citree_words", {}).get(token.i)
    if parsed is None or place is None:
        return None
    explanation: EdgeExplanation = parsed.sentences[place[0]].words[place[1] - 1].explain()
    return explanation
