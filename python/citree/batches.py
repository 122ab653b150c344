"""Tables in, tables out: parses, explanations, neighbours and audits of a column, for Spark, Ray Data, Dask and Arrow itself.

A row is processed by itself, so its result does not depend on the rows beside it, and computing it again gives the same bytes.
A row that cannot be processed has null results and a message in the column `error`.

>>> import pyarrow
>>> job = citree.batches.parse("demo.citree", "text")
>>> table = job(pyarrow.table({"key": [7, 8], "text": ["It rained. She reads.", None]}))
>>> table["key"].to_pylist(), table["error"].to_pylist()
([7, 8], [None, 'the row is null'])
>>> [edge["head"] for edge in table["edges"][0].as_py()][:3]
[2, 0, 2]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from inspect import signature
from os import PathLike
from typing import TYPE_CHECKING, Any

from ._native import BundleError, CitreeError
from .pipeline import Space, load
from .rows import Explain, FindNeighbors, Form, JudgeGold, Parse, Result, Verb
from .shared import SharedBundle, share

if TYPE_CHECKING:
    import pyarrow

    from .pipeline import Pipeline

Shared = str | PathLike[str] | SharedBundle
Counter = Callable[["Counts"], object]

_TOGETHER = 8 << 20
"""Bytes of results that are passed on together."""


@dataclass
class Counts:
    """What was done: rows, those with an error, sentences and words."""

    rows: int = 0
    errors: int = 0
    sentences: int = 0
    words: int = 0


@dataclass(frozen=True)
class Job:
    """What is done to a table, and the bundle it is done with. It can be pickled; the bundle is opened where it is called.

    For Ray Data: `dataset.map_batches(job, batch_format="pyarrow")`. For Dask: `frame.map_partitions(job, meta=job(frame._meta))`.
    """

    bundle: SharedBundle
    column: str
    verb: Verb
    settings: dict[str, Any] = field(default_factory=dict)

    def __call__(self, table: Any) -> Any:
        """The table with the new columns: a `pyarrow.Table`, or a DataFrame of pandas, which keeps its index."""
        import pyarrow

        if isinstance(table, pyarrow.Table):
            schema = self.schema(table.schema)
            return pyarrow.Table.from_batches(self.batches(table.to_batches()), schema)
        schema = pyarrow.schema([(name, pyarrow.null()) for name in table.columns])
        self.schema(schema)
        new = self(pyarrow.table({self.column: pyarrow.Array.from_pandas(table[self.column])})).to_pandas()
        return table.assign(**{field.name: new[field.name].array for field in self._new()})

    def batches(self, batches: Iterable[pyarrow.RecordBatch], count: Counter | None = None) -> Iterator[pyarrow.RecordBatch]:
        """The same for a stream of batches, in order. It holds one of them, and some MiB of results."""
        for batch in batches:
            start, size, results, counts = 0, 0, list[list[Any]](), Counts()
            for at, value in enumerate(batch[self._place(batch.schema)]):
                results.append(self._row(value, counts))
                size += sum(array.nbytes for array in results[-1])
                if size > _TOGETHER or at + 1 == batch.num_rows:
                    yield self._joined(batch.slice(start, len(results)), results)
                    start, size, results = at + 1, 0, []
            if count is not None and counts.rows:
                count(counts)

    def block(self, table: pyarrow.Table, count: Counter | None = None) -> pyarrow.Table:
        """The rows of a table processed together, which is faster. The last digits depend on which they are, and their order."""
        import pyarrow

        counts = Counts(rows=table.num_rows)
        values = [self._checked(value) for value in table[self._place(table.schema)]]
        good = [value for value in values if not isinstance(value, _Bad)]
        try:
            found = self.verb.results(self._nlp(), good) if good else []
        except BundleError:
            raise
        except _BAD:
            # One of them fails, so each is by itself.
            rows = [self._row(value, counts) for value in table[self._place(table.schema)]]
            counts.rows = table.num_rows
        else:
            results = iter(found)
            rows = [self._told(value if isinstance(value, _Bad) else next(results), counts) for value in values]
        if count is not None and counts.rows:
            count(counts)
        columns = [pyarrow.chunked_array([row[at] for row in rows], new.type) for at, new in enumerate(self._new())]
        return pyarrow.Table.from_arrays([*table.columns, *columns], schema=self.schema(table.schema))

    def schema(self, given: pyarrow.Schema) -> pyarrow.Schema:
        """The columns of the result: those given and the new ones."""
        import pyarrow

        self._place(given)
        taken = [new.name for new in self._new() if new.name in given.names]
        if taken:
            raise ValueError(f"the table has a column {taken[0]!r} already; rename it, because the result is to have that name")
        return pyarrow.schema([*given, *self._new()])

    def _new(self) -> list[pyarrow.Field]:
        import pyarrow

        return [*self.verb.fields(), pyarrow.field("error", pyarrow.string())]

    def _place(self, schema: pyarrow.Schema) -> int:
        places: list[int] = schema.get_all_field_indices(self.column)
        if len(places) != 1:
            raise ValueError(f"one column {self.column!r} is expected; there are {', '.join(schema.names) or 'none'}")
        return places[0]

    def _nlp(self) -> Pipeline:
        return self.bundle.open(**self.settings)

    def _row(self, value: pyarrow.Scalar, counts: Counts) -> list[pyarrow.Array]:
        counts.rows += 1
        checked = self._checked(value)
        if isinstance(checked, _Bad):
            return self._told(checked, counts)
        nlp = self._nlp()
        try:
            (result,) = self.verb.results(nlp, [checked])
        except BundleError:
            # Every row would have it, so the job ends.
            raise
        except _BAD as error:
            return self._told(_Bad(error), counts)
        return self._told(result, counts)

    def _checked(self, value: pyarrow.Scalar) -> Any:
        try:
            given = value.as_py()
            if given is None:
                raise ValueError("the row is null")
            words = self.verb.form == "words"
            if isinstance(given, str) == words or not isinstance(given, (str, list)):
                raise TypeError(f"{'lists of words are' if words else 'a text is'} expected, not {value.type}")
            if _size(given) > self.verb.most_bytes:
                raise ValueError(f"the row has more than {self.verb.most_bytes >> 10} KiB; split it")
            return self.verb.read(given)
        except _BAD as error:
            return _Bad(error)

    def _told(self, result: Result | _Bad, counts: Counts) -> list[pyarrow.Array]:
        import pyarrow

        if isinstance(result, _Bad):
            counts.errors += 1
            return [*(pyarrow.nulls(1, new.type) for new in self.verb.fields()), pyarrow.array([str(result.error)], pyarrow.string())]
        counts.sentences += result.sentences
        counts.words += result.words
        return [*result.values, pyarrow.nulls(1, pyarrow.string())]

    def _joined(self, batch: pyarrow.RecordBatch, rows: list[list[pyarrow.Array]]) -> pyarrow.RecordBatch:
        import pyarrow

        new = [pyarrow.concat_arrays([row[at] for row in rows]) for at in range(len(rows[0]))]
        return pyarrow.RecordBatch.from_arrays([*batch.columns, *new], schema=self.schema(batch.schema))


@dataclass(frozen=True)
class _Bad:
    error: Exception


_BAD = (CitreeError, ValueError, TypeError, OverflowError)


def _size(given: Any) -> int:
    if isinstance(given, str):
        return len(given.encode(errors="surrogatepass"))
    return sum(_size(one) for one in given if one is not None) + len(given)


def parse(bundle: Shared, column: str = "text", *, form: Form = "text", **settings: Any) -> Job:
    """Adds `parsed`, the CoNLL-U with probabilities in MISC, and `edges`, a list of its words.

    `form` is that of the column: `text`, `lines` (a sentence in a line), `conllu`, or `words`, which are those of one sentence, or a
    list for each. `settings` are those of `citree.load`, but `threads` is 1 by default, because the engine runs one call for each core.
    """
    return _job(bundle, column, Parse(_form(form)), settings)


def explain(
    bundle: Shared, column: str = "text", *, form: Form = "text", below: float | None = None, k: int | None = None, **settings: Any
) -> Job:
    """Adds `explained`: the edges, or those whose head or label is less probable than `below`, with `k` citations on each side."""
    if k is not None and k < 0:
        raise ValueError("k is at least 0")
    return _job(bundle, column, Explain(_form(form), below, k), settings)


def neighbors(
    bundle: Shared,
    column: str = "text",
    *,
    form: Form = "text",
    k: int = 10,
    space: Space = "heads",
    gold: bool = False,
    others: bool = False,
    **settings: Any,
) -> Job:
    """Adds `neighbors`: the training edges nearest to every edge, as `Pipeline.neighbors` finds them."""
    if k < 1:
        raise ValueError("k is at least 1")
    if space not in ("heads", "labels"):
        raise ValueError(f"no space {space!r}; there are heads and labels")
    if gold and form != "conllu":
        raise ValueError("gold=True takes the edges that sentences have, so form='conllu' is expected")
    return _job(bundle, column, FindNeighbors(_form(form), k, space, gold, others, bool(settings.get("exact"))), settings)


def audit(
    bundle: Shared,
    column: str = "conllu",
    *,
    top: int = 300,
    kind: str | None = None,
    inconsistent: bool = False,
    punctuation: bool = False,
    **settings: Any,
) -> Job:
    """Adds `findings`, the gold edges of CoNLL-U that similar training edges contradict, and `judged`, how many were looked at.

    It is `citree.audit` of each row as a treebank with `folds=0`, so a row is a document or more.
    """
    if kind not in (None, "head", "label"):
        raise ValueError(f"no kind {kind!r}; there are head and label")
    return _job(bundle, column, JudgeGold(top, kind, inconsistent, punctuation), settings)


def _form(form: Form) -> Form:
    if form not in ("text", "lines", "conllu", "words"):
        raise ValueError(f"no form {form!r}; there are text, lines, conllu and words")
    return form


def _job(bundle: Shared, column: str, verb: Verb, settings: dict[str, Any]) -> Job:
    unknown = sorted(set(settings) - set(signature(load).parameters) | {"path"} & set(settings))
    if unknown:
        raise TypeError(f"no option {unknown[0]!r}; settings of the parser are those of citree.load")
    return Job(share(bundle), column, verb, {"threads": 1, **settings})
