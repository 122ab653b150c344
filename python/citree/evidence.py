"""Changes of the training sentences that count, without training or indexing again."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timezone
from os import PathLike
from typing import NamedTuple

from . import _native
from .document import Doc, Sentence, read_conllu

_log = logging.getLogger("citree")

Trees = str | PathLike[str] | Doc | Sentence


class LogEntry(NamedTuple):
    """A change of the evidence."""

    generation: int
    time: datetime
    who: str
    what: str
    message: str


class Segment(NamedTuple):
    """A part of the evidence."""

    treebank: str
    edges: int
    rejected: int
    sentences: int
    removed: int
    weight: float


class Evidence:
    """Collects changes. `commit` publishes them together, and the parser decides by them from then on.

    >>> evidence = nlp.evidence.remove("train-1")  # doctest: +SKIP
    >>> evidence.commit("a wrong tree")  # doctest: +SKIP
    """

    def __init__(self, engine: _native.Engine) -> None:
        self._engine = engine
        self._added: list[_native.Sentence] = []
        self._replaced: list[_native.Sentence] = []
        self._removed: list[str] = []

    def add(self, conllu: Trees) -> Evidence:
        """Adds sentences with gold trees and a `sent_id`: CoNLL-U, a file of it, or what `read_conllu` read."""
        self._added += _trees(conllu)
        return self

    def replace(self, conllu: Trees) -> Evidence:
        """Replaces the sentences that have the same `sent_id`."""
        self._replaced += _trees(conllu)
        return self

    def remove(self, names: str | Iterable[str]) -> Evidence:
        """Removes sentences by `sent_id`. A name that ends with `*` stands for all that begin so."""
        self._removed += [names] if isinstance(names, str) else list(names)
        return self

    def commit(
        self, message: str = "", *, treebank: str | None = None, weight: float | None = None, new_labels: bool = False
    ) -> int:
        """Publishes the changes and returns the new generation. If they are refused, nothing is changed.

        `treebank` is what the sentences are added to, `weight` how many times its edges count. `new_labels` takes in labels
        that the model was not trained with.
        """
        generation, added, removed = self._engine.commit(
            self._added,
            self._replaced,
            self._removed,
            treebank=treebank,
            weight=weight,
            new_labels=new_labels,
            message=message,
        )
        self._added, self._replaced, self._removed = [], [], []
        _log.info("evidence: generation %d, %d sentences added, %d removed", generation, added, removed)
        return generation

    def undo(self, message: str = "") -> int:
        """Takes back the last change; again, the one before it. Returns the new generation."""
        return self._engine.undo(message)

    def merge(self, message: str = "") -> int | None:
        """Writes the parts of each treebank as one, so that searches take less time. Changes cannot be undone then."""
        return self._engine.merge(message)

    def log(self) -> list[LogEntry]:
        """The changes since the index was built, oldest first.

        >>> nlp.evidence.log()
        []
        """
        log = self._engine.log()
        return [LogEntry(entry[0], datetime.fromtimestamp(entry[1], timezone.utc), *entry[2:]) for entry in log]

    def segments(self) -> list[Segment]:
        """The parts that the evidence consists of.

        >>> sum(segment.edges for segment in nlp.evidence.segments()) == len(nlp.index)
        True
        """
        return [Segment(*segment) for segment in self._engine.segments()]


def _trees(conllu: Trees) -> list[_native.Sentence]:
    if isinstance(conllu, Sentence):
        return [conllu._native]
    if not isinstance(conllu, Doc):
        conllu = read_conllu(conllu, trees=True)
    return [sentence._native for sentence in conllu.sentences]
