"""What becomes of one row of a table: a parse, explanations, neighbours or findings, each with its Arrow type."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from .index import Neighbors
from .pipeline import Space

if TYPE_CHECKING:
    import pyarrow

    from .pipeline import Pipeline

Form = Literal["text", "lines", "conllu", "words"]

MOST_RESULT = 256 << 20
"""The most bytes that a row may become. A column of text in Arrow cannot have more than eight times this."""
_MOST_TEXT = 1 << 20
_CONLLU = 16
"""How many times the bytes of its text CoNLL-U may have."""

_TOGETHER = 256
"""Sentences whose neighbours are searched together, as the engine itself does, so that the numbers are the same."""


@dataclass(frozen=True)
class Result:
    """What a row became: a value for each field of the verb."""

    values: list[pyarrow.Array]
    sentences: int = 0
    words: int = 0


class Verb(ABC):
    """What is done to each row. Rows that are given together share matrix products, so the last digits can depend on it."""

    form: Form
    most = _MOST_TEXT
    """The most bytes of a row, so that no row takes all memory."""

    @property
    def most_bytes(self) -> int:
        """The same in the form of the column."""
        return self.most * _CONLLU if self.form == "conllu" else self.most

    @abstractmethod
    def fields(self) -> list[pyarrow.Field]:
        """The columns that it adds."""

    @abstractmethod
    def results(self, nlp: Pipeline, rows: list[Any]) -> list[Result]:
        """What becomes of rows that are processed together. Fails as a whole."""

    def values(self, *columns: Any) -> list[pyarrow.Array]:
        """The values of a row as arrays of length one."""
        import pyarrow

        return [pyarrow.array([value], field.type) for value, field in zip(columns, self.fields(), strict=True)]

    def read(self, value: Any) -> Any:
        """The value of a row, checked by itself, so that an error is that of one row."""
        if self.form in ("text", "lines"):
            return value
        if self.form == "conllu":
            return _native.read_conllu("row", value)
        nested = [value] if all(isinstance(word, str) for word in value) else value
        if any(words is None or any(word is None for word in words) for words in nested):
            raise ValueError("a word is null")
        return [_native.Sentence.from_words(list(words)) for words in nested]

    def parsed(self, nlp: Pipeline, rows: list[Any], keep: bool) -> list[list[_native.Sentence]]:
        """The parsed sentences of each row. With `keep`, what explanations need is kept with them."""
        if self.form in ("text", "lines"):
            return nlp._engine.parse_texts(rows, self.form == "lines", keep)
        flat = iter(nlp._engine.parse([sentence for row in rows for sentence in row], keep))
        return [list(islice(flat, len(row))) for row in rows]


@dataclass(frozen=True)
class Parse(Verb):
    """Heads and labels."""

    form: Form

    def fields(self) -> list[pyarrow.Field]:
        import pyarrow

        word = pyarrow.struct([
            ("sentence", pyarrow.int32()), ("id", pyarrow.int32()), ("form", pyarrow.string()), ("head", pyarrow.int32()),
            ("deprel", pyarrow.string()), ("head_prob", pyarrow.float64()), ("label_prob", pyarrow.float64()),
        ])  # fmt: skip
        return [pyarrow.field("parsed", pyarrow.string()), pyarrow.field("edges", pyarrow.list_(word))]

    def results(self, nlp: Pipeline, rows: list[Any]) -> list[Result]:
        return [self._result(sentences) for sentences in self.parsed(nlp, rows, False)]

    def _result(self, sentences: list[_native.Sentence]) -> Result:
        edges = [
            (at, id, row[0], row[5], row[6], *(row[9] or (None, None)))
            for at, sentence in enumerate(sentences)
            for id, row in enumerate(sentence.rows(), 1)
        ]
        names = [field.name for field in self.fields()[1].type.value_type]
        structs = [dict(zip(names, edge, strict=True)) for edge in edges]
        text = "".join(sentence.to_conllu(True) for sentence in sentences)
        return Result(self.values(text, structs), len(sentences), len(edges))


@dataclass(frozen=True)
class Explain(Verb):
    """Why each edge has its head and its label, in the form of `citree explain --format json`."""

    form: Form
    below: float | None
    k: int | None
    # What explanations need is kept for all of its sentences meanwhile.
    most = _MOST_TEXT // 4

    def fields(self) -> list[pyarrow.Field]:
        import pyarrow

        number, real, text = pyarrow.int32(), pyarrow.float64(), pyarrow.string()
        citation = pyarrow.struct([
            ("edge", pyarrow.int64()), ("sent_id", text), ("document", text), ("words", pyarrow.list_(text)), ("dependent", number),
            ("head", number), ("gold_head", number), ("label", text), ("similarity", real), ("share", real), ("margin_share", real),
        ])  # fmt: skip
        second = pyarrow.struct([
            ("head", number), ("label", text), ("score", real), ("probability", real), ("margin", real),
        ])  # fmt: skip
        coverage = pyarrow.struct([
            ("score", real), ("against", real), ("margin", real), ("cited", number), ("of", pyarrow.int64()),
            ("exact", pyarrow.bool_()), ("recall", real), ("bounds", pyarrow.list_(real)),
        ])  # fmt: skip
        rationale = pyarrow.struct([
            ("score", real), ("probability", real), ("runner_up", second), ("citations", pyarrow.list_(citation)),
            ("against", pyarrow.list_(citation)), ("coverage", coverage),
        ])  # fmt: skip
        edge = pyarrow.struct([
            ("sentence", number), ("dependent", number), ("head", number), ("label", text), ("attachment", rationale),
            ("labelling", rationale),
        ])  # fmt: skip
        return [pyarrow.field("explained", pyarrow.list_(edge))]

    def results(self, nlp: Pipeline, rows: list[Any]) -> list[Result]:
        return [self._result(sentences) for sentences in self.parsed(nlp, rows, True)]

    def _result(self, sentences: list[_native.Sentence]) -> Result:
        """Sentence by sentence, because explanations take a hundred times the memory of their text."""
        import pyarrow

        kind, parts, size = self.fields()[0].type.value_type, list[pyarrow.Array](), 0
        for at, sentence in enumerate(sentences):
            words = self._doubtful(sentence)
            if words:
                explained = json.loads(sentence.explain(words, self.k, []))["edges"]
                parts.append(pyarrow.array([{"sentence": at, **edge} for edge in explained], kind))
                size += parts[-1].nbytes
                if size > MOST_RESULT:
                    break
        return Result([_list(parts, kind)], len(sentences), sum(len(sentence) for sentence in sentences))

    def _doubtful(self, sentence: _native.Sentence) -> list[int]:
        if self.below is None:
            return list(range(1, len(sentence) + 1))
        return [id for id, row in enumerate(sentence.rows(), 1) if row[9] is not None and min(row[9]) < self.below]


@dataclass(frozen=True)
class FindNeighbors(Verb):
    """The training edges nearest to every edge."""

    form: Form
    k: int
    space: Space
    gold: bool
    others: bool
    exact: bool

    def fields(self) -> list[pyarrow.Field]:
        import pyarrow

        number, text = pyarrow.int32(), pyarrow.string()
        neighbor = pyarrow.struct([
            ("edge", pyarrow.int64()), ("sent_id", text), ("dependent", number), ("dependent_form", text), ("head", number),
            ("head_form", text), ("label", text), ("similarity", pyarrow.float64()),
        ])  # fmt: skip
        edge = pyarrow.struct([
            ("sentence", number), ("dependent", number), ("head", number), ("label", text), ("neighbors", pyarrow.list_(neighbor)),
        ])  # fmt: skip
        return [pyarrow.field("neighbors", pyarrow.list_(edge))]

    def results(self, nlp: Pipeline, rows: list[Any]) -> list[Result]:
        import pyarrow

        if self.form in ("text", "lines"):
            rows = self.parsed(nlp, rows, False)
        kind = self.fields()[0].type.value_type
        engine, parts = nlp._engine.pinned(), [list[pyarrow.Array]() for _ in rows]
        flat = [(row, at, sentence) for row, own in enumerate(rows) for at, sentence in enumerate(own)]
        for start in range(0, len(flat), _TOGETHER):
            some = flat[start : start + _TOGETHER]
            for row, edges in groupby(self._found(engine, some), lambda edge: some[edge[0]][0]):
                parts[row].append(pyarrow.array([edge for _, edge in edges], kind))
        words = [sum(len(sentence) for sentence in row) for row in rows]
        return [Result([_list(own, kind)], len(row), count) for own, row, count in zip(parts, rows, words, strict=True)]

    def _found(self, engine: _native.Engine, some: list[tuple[int, int, _native.Sentence]]) -> list[tuple[int, dict[str, Any]]]:
        """The place of its sentence in `some`, and what is said of it, for each edge."""
        sentences = [sentence for _, _, sentence in some]
        found = engine.neighbors(sentences, self.space, self.k, self.gold, self.exact, self.others)
        columns = Neighbors(engine, self.k, *found).to_table().columns
        names = [name for name in columns if name.startswith("edge") or name == "similarity"]
        hits: list[list[dict[str, Any]]] = [[] for _ in found[0]]
        for query, *values in zip(columns["query"], *(columns[name] for name in names), strict=True):
            hits[query].append({name.removeprefix("edge_"): value for name, value in zip(names, values, strict=True)})
        return [
            (place, {"sentence": some[place][1], "dependent": dependent, "head": head, "label": label, "neighbors": near})
            for (place, dependent, head, label), near in zip(found[0], hits, strict=True)
        ]


@dataclass(frozen=True)
class JudgeGold(Verb):
    """Gold edges that similar training edges contradict. A row is a treebank of its own."""

    top: int
    kind: str | None
    inconsistent: bool
    punctuation: bool
    form: Form = "conllu"

    def fields(self) -> list[pyarrow.Field]:
        import pyarrow

        number, text = pyarrow.int32(), pyarrow.string()
        finding = pyarrow.struct([
            ("sent_id", text), ("dependent", number), ("head", number), ("label", text), ("kind", text), ("suggested_head", number),
            ("suggested_label", text), ("score", pyarrow.float64()), ("says", text), ("words", pyarrow.list_(text)),
            ("line", number), ("column", number), ("rule", text),
        ])  # fmt: skip
        return [pyarrow.field("findings", pyarrow.list_(finding)), pyarrow.field("judged", pyarrow.int64())]

    def read(self, value: Any) -> Any:
        return value, _native.read_conllu("row", value, True)

    def results(self, nlp: Pipeline, rows: list[Any]) -> list[Result]:
        return [self._result(nlp, text, sentences) for text, sentences in rows]

    def _result(self, nlp: Pipeline, text: str, sentences: Sequence[_native.Sentence]) -> Result:
        findings, judged, _, _ = _native.audit(
            nlp._engine, text.encode(), "row", top=self.top, kind=self.kind, inconsistent=self.inconsistent, folds=0,
            punctuation=self.punctuation,
        )  # fmt: skip
        values = self.values([json.loads(finding) for finding in findings], judged)
        return Result(values, len(sentences), sum(len(sentence) for sentence in sentences))


def _list(parts: list[pyarrow.Array], kind: pyarrow.DataType) -> pyarrow.Array:
    """One list of all values, as an array of length one."""
    import pyarrow

    if sum(part.nbytes for part in parts) > MOST_RESULT:
        raise ValueError(f"the row becomes more than {MOST_RESULT >> 20} MiB; split it, or ask for less, as by `below`")
    values = pyarrow.concat_arrays(parts) if parts else pyarrow.array([], kind)
    return pyarrow.ListArray.from_arrays(pyarrow.array([0, len(values)], pyarrow.int32()), values, type=pyarrow.list_(kind))
