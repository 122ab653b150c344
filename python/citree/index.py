"""The training edges of a bundle: their vectors without a copy, and the nearest of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native

if TYPE_CHECKING:
    import numpy

    from .document import Doc, Sentence
    from .pipeline import Pipeline, Space


class TrainingEdge(NamedTuple):
    """A training edge and its sentence."""

    sent_id: str
    document: str
    words: list[str]
    dependent: int
    head: int
    label: str


class Neighbors(NamedTuple):
    """The nearest training edges, one row for each edge or vector that was asked about."""

    ids: numpy.ndarray[Any, numpy.dtype[numpy.int64]]
    """Numbers of training edges, most similar first; −1 where there are fewer."""
    similarities: numpy.ndarray[Any, numpy.dtype[numpy.float32]]
    """How similar they are; NaN where there are fewer."""
    edges: list[tuple[int, int, int, str]]
    """The edges asked about: number of the sentence from 0, dependent, head, label. Empty for vectors."""


class Index:
    """The training edges that a bundle cites.

    >>> nlp.index.heads.shape == (len(nlp.index), nlp.index.heads.shape[1])
    True
    >>> nlp.index.heads.flags.writeable
    False
    """

    def __init__(self, engine: _native.Engine) -> None:
        self._engine = engine

    @property
    def heads(self) -> numpy.ndarray[Any, numpy.dtype[numpy.float32]]:
        """The vectors of all gold edges by the head model: the mapped file as a read-only array, without a copy."""
        return self._whole("heads")

    @property
    def labels(self) -> numpy.ndarray[Any, numpy.dtype[numpy.float32]]:
        """The same by the label model."""
        return self._whole("labels")

    def runs(self, space: Space) -> list[numpy.ndarray[Any, numpy.dtype[numpy.float32]]]:
        """The vectors as they lie in the files, without a copy: one array after another, in the order of the numbers.

        A treebank that was never changed is one array. What was added is in others, and what was removed parts them.
        """
        import numpy

        return [numpy.asarray(rows) for rows in self._engine.rows(space)]

    def _whole(self, space: Space) -> numpy.ndarray[Any, numpy.dtype[numpy.float32]]:
        runs = self.runs(space)
        if len(runs) != 1:
            raise ValueError(
                f"the rows lie in {len(runs)} pieces, because the evidence was changed; take index.runs({space!r}), or "
                "concatenate these, which copies them"
            )
        return runs[0]

    def __len__(self) -> int:
        return sum(len(run) for run in self.runs("heads"))

    def __getitem__(self, number: int) -> TrainingEdge:
        if not 0 <= number < len(self):
            raise IndexError(f"no training edge {number}; there are {len(self)}")
        return TrainingEdge(*self._engine.edge(number))

    def __repr__(self) -> str:
        return f"Index({len(self)} edges)"


class EdgeVectors:
    """The vectors of predicted edges, in the manner of scikit-learn.

    >>> citree.EdgeVectors(nlp).transform(nlp("It rained.")).shape[0]
    3
    """

    def __init__(self, nlp: Pipeline, space: Space = "heads") -> None:
        self.nlp = nlp
        self.space: Space = space

    def fit(self, sentences: Any = None, y: Any = None) -> EdgeVectors:
        """Does nothing: the vectors are those of the trained model."""
        return self

    def transform(self, sentences: Doc | Iterable[Sentence]) -> numpy.ndarray[Any, numpy.dtype[numpy.float32]]:
        """One row for each word of the sentences, in order: the vector of the edge to its predicted head."""
        import numpy

        dims = self.nlp.index.runs(self.space)[0].shape[1]
        rows = self.nlp._engine.vectors([sentence._native for sentence in sentences], self.space)
        return numpy.frombuffer(rows, dtype=numpy.float32).reshape(-1, dims)

    def fit_transform(self, sentences: Doc | Iterable[Sentence], y: Any = None) -> Any:
        """The same as `transform`."""
        return self.transform(sentences)


def nearest_to_edges(
    engine: _native.Engine, sentences: list[_native.Sentence], space: Space, k: int, gold: bool, exact: bool, others: bool
) -> Neighbors:
    """Neighbours of the edges of sentences."""
    edges, ids, similarities = engine.neighbors(sentences, space, k, gold, exact, others)
    return _neighbors(ids, similarities, k, edges)


def nearest_to_vectors(engine: _native.Engine, vectors: Any, space: Space, k: int, exact: bool) -> Neighbors:
    """Neighbours of vectors."""
    import numpy

    rows = numpy.ascontiguousarray(vectors, dtype=numpy.float32)
    dims = numpy.asarray(engine.rows(space)[0]).shape[1]
    if rows.ndim != 2 or rows.shape[1] != dims:
        raise ValueError(f"rows of {dims} numbers are expected, not an array of shape {rows.shape}")
    ids, similarities = engine.nearest(rows.tobytes(), space, k, exact)
    return _neighbors(ids, similarities, k, [])


def _neighbors(ids: bytes, similarities: bytes, k: int, edges: list[tuple[int, int, int, str]]) -> Neighbors:
    import numpy

    return Neighbors(
        numpy.frombuffer(ids, dtype=numpy.int64).reshape(-1, k),
        numpy.frombuffer(similarities, dtype=numpy.float32).reshape(-1, k),
        edges,
    )
