"""The training edges of a bundle: their vectors without a copy, and the nearest of them."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

from . import _native
from .document import Sentence
from .table import Table

if TYPE_CHECKING:
    import numpy

    from .document import Doc
    from .pipeline import Pipeline, Space


class TrainingEdge(NamedTuple):
    """A training edge and its sentence."""

    sent_id: str
    document: str
    words: list[str]
    dependent: int
    head: int
    label: str


class Neighbors:
    """The nearest training edges, one row for each edge or vector that was asked about.

    >>> found = nlp.neighbors(nlp("It rained."), k=2)
    >>> found.to_table().columns["rank"]
    [1, 2, 1, 2, 1, 2]
    """

    ids: numpy.ndarray[Any, numpy.dtype[numpy.int64]]
    """Numbers of training edges, most similar first; −1 where there are fewer."""
    similarities: numpy.ndarray[Any, numpy.dtype[numpy.float32]]
    """How similar they are; NaN where there are fewer."""
    edges: list[tuple[int, int, int, str]]
    """The edges asked about: number of the sentence from 0, dependent, head, label. Empty for vectors."""

    def __init__(
        self, engine: _native.Engine, k: int, edges: list[tuple[int, int, int, str]], ids: bytes, similarities: bytes
    ) -> None:
        import numpy

        self.ids = numpy.frombuffer(ids, dtype=numpy.int64).reshape(-1, k)
        self.similarities = numpy.frombuffer(similarities, dtype=numpy.float32).reshape(-1, k)
        self.edges = edges
        # It stays at its generation of the index, so the numbers keep their meaning.
        self._engine: _native.Engine | None = engine
        self._table: Table | None = None

    def to_table(self) -> Table:
        """One row for each neighbour, with its sentence and words: the columns of `citree neighbors --format parquet`.

        `query` is the row of `ids`. What is said of the edge asked about is missing where vectors were given.
        """
        if self._table is None:
            assert self._engine is not None
            found = [(row, at) for row, at in zip(*(self.ids >= 0).nonzero(), strict=True)]
            numbers = [int(self.ids[place]) for place in found]
            queries = [int(row) for row, _ in found]
            asked = [self.edges[row] if self.edges else (None,) * 4 for row in queries]
            columns: dict[str, list[Any]] = {"query": queries}
            for at, name in enumerate(("sentence", "dependent", "head", "label")):
                columns[name] = [edge[at] for edge in asked]
            columns["rank"] = [int(rank) + 1 for _, rank in found]
            columns["edge"] = numbers
            names = (f"edge_{name}" for name in _NAMED)
            columns |= zip(names, self._engine.named(numbers), strict=True)
            columns["similarity"] = [float(str(self.similarities[place])) for place in found]
            self._table = Table(columns, {name: str if name in _TEXTS else int for name in columns if name != "similarity"})
        return self._table

    def to_pandas(self) -> Any:
        """The same as a pandas DataFrame."""
        return self.to_table().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_table().__arrow_c_stream__(requested_schema)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_engine": None, "_table": self.to_table()}

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"Neighbors({self.ids.shape[1]} of each of {len(self)})"


_NAMED = ("sent_id", "dependent", "dependent_form", "head", "head_form", "label")
_TEXTS = {
    "label", "sent_id", "dependent_form", "head_form", "edge_sent_id", "edge_dependent_form", "edge_head_form", "edge_label",
}  # fmt: skip


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

    def to_table(self) -> Table:
        """All training edges as a table: number, `sent_id`, dependent, head and label.

        >>> len(nlp.index.to_table()) == len(nlp.index)
        True
        """
        engine = self._engine.pinned()
        numbers = list(range(engine.shape("heads")[0]))
        columns: dict[str, list[Any]] = {"edge": numbers, **dict(zip(_NAMED, engine.named(numbers), strict=True))}
        return Table(columns, {name: str if name in _TEXTS else int for name in columns})

    def to_pandas(self) -> Any:
        """All training edges as a pandas DataFrame."""
        return self.to_table().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_table().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return self._engine.shape("heads")[0]

    def __getitem__(self, number: SupportsIndex) -> TrainingEdge:
        at = index(number)
        if not 0 <= at < len(self):
            raise IndexError(f"no training edge {at}; there are {len(self)}")
        return TrainingEdge(*self._engine.edge(at))

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

    def transform(self, sentences: Doc | Sentence | Iterable[Sentence]) -> numpy.ndarray[Any, numpy.dtype[numpy.float32]]:
        """One row for each word of the sentences, in order: the vector of the edge to its predicted head."""
        import numpy

        given = [sentences] if isinstance(sentences, Sentence) else list(sentences)
        for one in given:
            if not isinstance(one, Sentence):
                raise TypeError(f"a Doc or sentences of one are expected, not {type(one).__name__}")
        dims = self.nlp._engine.shape(self.space)[1]
        rows = self.nlp._engine.vectors([sentence._native for sentence in given], self.space)
        return numpy.frombuffer(rows, dtype=numpy.float32).reshape(-1, dims)

    def fit_transform(self, sentences: Doc | Sentence | Iterable[Sentence], y: Any = None) -> Any:
        """The same as `transform`."""
        return self.transform(sentences)


def nearest_to_edges(
    engine: _native.Engine, sentences: list[_native.Sentence], space: Space, k: int, gold: bool, exact: bool, others: bool
) -> Neighbors:
    """Neighbours of the edges of sentences."""
    engine = engine.pinned()
    return Neighbors(engine, k, *engine.neighbors(sentences, space, k, gold, exact, others))


def nearest_to_vectors(engine: _native.Engine, vectors: Any, space: Space, k: int, exact: bool) -> Neighbors:
    """Neighbours of vectors."""
    import numpy

    engine = engine.pinned()
    rows = numpy.ascontiguousarray(vectors, dtype=numpy.float32)
    dims = engine.shape(space)[1]
    if rows.ndim != 2 or rows.shape[1] != dims:
        raise ValueError(f"rows of {dims} numbers are expected, not an array of shape {rows.shape}")
    return Neighbors(engine, k, [], *engine.nearest(rows.tobytes(), space, k, exact))
