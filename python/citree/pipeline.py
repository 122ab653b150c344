"""A bundle, opened: text in, documents out."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from .document import Doc, Sentence
from .evidence import Evidence
from .index import Index, Neighbors, nearest_to_edges, nearest_to_vectors

if TYPE_CHECKING:
    import numpy

_log = logging.getLogger("citree")

Decoder = Literal["mst", "greedy"]
Space = Literal["heads", "labels"]


def load(
    path: str | PathLike[str],
    *,
    rule: str | None = None,
    temperature: float | None = None,
    neighbors: int | None = None,
    decode: Decoder = "mst",
    exact: bool = False,
    treebanks: Sequence[str] = (),
    weights: Mapping[str, float] | None = None,
    device: str = "auto",
    threads: int = 0,
) -> Pipeline:
    """Opens a bundle, as `citree train` or `citree.train` made it.

    `rule` is `sum`, `nca` or `knn`, or `heads=RULE,labels=RULE`; by default the bundle's own. `treebanks` are those whose
    edges count, and `weights` says how many times, by name. `threads` is 0 for one per core.

    >>> nlp = citree.load("demo.citree", rule="knn", neighbors=10)
    >>> nlp("It rained.").sentences[0].words[0].head
    2
    """
    settings = {
        "rule": rule,
        "temperature": temperature,
        "neighbors": neighbors,
        "decode": decode,
        "exact": exact,
        "treebanks": list(treebanks),
        "weights": list((weights or {}).items()),
        "device": device,
        "threads": threads,
    }
    return Pipeline(fspath(path), settings)


class Pipeline:
    """A bundle, opened. `load` makes it. It can be pickled, which keeps the path and the settings.

    >>> nlp
    Pipeline('demo.citree')
    """

    def __init__(self, path: str, settings: dict[str, Any]) -> None:
        prepare()
        self.path = path
        self._settings = settings
        self._engine = _native.Engine(path, **settings)
        _log.debug("opened %s: %s", path, self.rule)

    def __call__(self, text: str | Doc | Sentence | Sequence[str] | Sequence[Sequence[str]], *, lines: bool = False) -> Doc:
        """Parses a text, sentences that `read_conllu` read, or words: those of one sentence, or a list for each.

        A text is cut into paragraphs and sentences, as `citree parse --text` does; with `lines`, each line is a sentence, as
        with `citree parse --lines`. What explanations need is kept with the document; for many texts, `pipe` takes less
        memory.

        >>> nlp("It rained. She reads.", lines=True)
        Doc(1 sentence)
        >>> nlp(["It", "rained", "."]).sentences[0].words[1].deprel
        'root'
        """
        if isinstance(text, str):
            (native,) = self._engine.parse_texts([text], lines, True)
            return self._doc(native, text)
        return self._doc(self._engine.parse(_sentences(text), True))

    def pipe(self, texts: Iterable[str], *, batch_size: int = 256, lines: bool = False) -> Iterator[Doc]:
        """Parses texts as a stream, in order, `batch_size` of them together.

        What explanations need is not kept, so that many documents fit into memory. It is computed again for a sentence
        that is explained.

        >>> [len(doc) for doc in nlp.pipe(["It rained.", "She reads. It rained."])]
        [1, 2]
        """
        if isinstance(texts, str):
            raise TypeError("many texts are expected, not one; call nlp(text) for it")
        if batch_size < 1:
            raise ValueError("batch_size is at least 1")
        texts = iter(texts)
        while batch := list(islice(texts, batch_size)):
            for native, text in zip(self._engine.parse_texts(batch, lines, False), batch, strict=True):
                yield self._doc(native, text)

    def neighbors(
        self,
        edges: Doc | Sentence | Sequence[Sequence[float]] | numpy.ndarray[Any, Any],
        k: int = 10,
        *,
        space: Space = "heads",
        gold: bool = False,
        exact: bool = False,
        others: bool = False,
    ) -> Neighbors:
        """The training edges nearest to every edge of some sentences, or to vectors, one in a row.

        `gold` takes the edges that the sentences have, instead of predicted ones. `exact` scans, so that no nearer edge is
        missed. `others` leaves out the training sentence with the same `sent_id`.

        >>> found = nlp.neighbors(nlp("It rained."), k=4)
        >>> found.ids.shape, found.edges[0][:3]
        ((3, 4), (0, 1, 2))
        """
        if isinstance(edges, (Doc, Sentence)):
            return nearest_to_edges(self._engine, _sentences(edges), space, k, gold, exact, others)
        return nearest_to_vectors(self._engine, edges, space, k, exact)

    @property
    def index(self) -> Index:
        """The training edges."""
        return Index(self._engine)

    @property
    def evidence(self) -> Evidence:
        """Changes the training sentences that count."""
        return Evidence(self._engine)

    @property
    def labels(self) -> list[str]:
        """The labels that can be predicted."""
        return self._engine.labels

    @property
    def rule(self) -> str:
        """The rule that decides, in words."""
        return self._engine.rule

    def info(self) -> dict[str, Any]:
        """The facts of the bundle, as `citree info --format json` prints them.

        >>> nlp.info()["index"]["generation"] > 0
        True
        """
        facts: dict[str, Any] = json.loads(self._engine.info())
        return facts

    def refresh(self) -> None:
        """Takes up an index that somebody else changed. Documents keep what parsed them."""
        self._engine.refresh()

    def _doc(self, sentences: list[_native.Sentence], text: str | None = None) -> Doc:
        return Doc([Sentence(sentence, self) for sentence in sentences], text)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, self._key()

    def _key(self) -> tuple[str, str]:
        """What it is opened again from, in another process."""
        return os.path.abspath(self.path), json.dumps(self._settings)

    def __repr__(self) -> str:
        return f"Pipeline({self.path!r})"


@lru_cache(maxsize=4)
def _reopened(path: str, settings: str) -> Pipeline:
    """A pickled pipeline. Opened once in a process, however many objects that need it are unpickled."""
    given = json.loads(settings)
    # JSON has no tuples, which the engine expects.
    return Pipeline(path, {**given, "weights": [tuple(pair) for pair in given["weights"]]})


def _sentences(given: Any) -> list[_native.Sentence]:
    if isinstance(given, Sentence):
        return [given._native]
    if isinstance(given, Doc):
        return [sentence._native for sentence in given.sentences]
    if isinstance(given, (list, tuple)) and all(isinstance(word, str) for word in given):
        return [_native.Sentence.from_words(list(given))]
    if isinstance(given, (list, tuple)) and all(isinstance(words, (list, tuple)) for words in given):
        return [_native.Sentence.from_words(list(words)) for words in given]
    raise TypeError(f"a text, a Doc, a Sentence or a list of words is expected, not {type(given).__name__}")


@lru_cache(maxsize=1)
def prepare() -> None:
    """Starts candle's pool without threads, which a forked process would lack. The environment stays as it was."""
    before = os.environ.get("CANDLE_NUM_THREADS")
    os.environ["CANDLE_NUM_THREADS"] = "1"
    try:
        _native.start()
    finally:
        if before is None:
            del os.environ["CANDLE_NUM_THREADS"]
        else:
            os.environ["CANDLE_NUM_THREADS"] = before
