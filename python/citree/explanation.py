"""Explanations: why an edge has its head and its label. The same numbers as `citree explain --format json`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar

from .notebook import frame
from .table import Table

if TYPE_CHECKING:
    from . import _native
    from .document import Sentence

T = TypeVar("T")


def _build(kind: type[T], data: dict[str, Any], **made: Any) -> T:
    """An object from its JSON form. What the form leaves out has a default."""
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{**{name: value for name, value in data.items() if name in names}, **made})


@dataclass(frozen=True)
class Citation:
    """A training edge that speaks for a decision or against it."""

    edge: int
    """Its number in the index, among the edges of its kind."""
    sent_id: str
    words: list[str]
    dependent: int
    head: int
    """Of a rejected edge, the wrong head."""
    label: str
    similarity: float
    share: float
    """Its share of all that counts for what was chosen or against it."""
    margin_share: float | None = None
    """Its share of the margin over the runner-up."""
    gold_head: int | None = None
    """The head that the dependent really has, if this is a rejected edge."""
    document: str = ""

    @property
    def text(self) -> str:
        """The sentence with the dependent in brackets and the head in braces."""
        marked = {self.dependent: "[{}]", self.head: "{{{}}}"}
        return " ".join(marked.get(id, "{}").format(word) for id, word in enumerate(self.words, 1))


@dataclass(frozen=True)
class RunnerUp:
    """The best other head or label."""

    score: float
    probability: float
    margin: float
    """The lead of the chosen alternative; negative if the tree constraint decided for it."""
    head: int | None = None
    label: str | None = None


@dataclass(frozen=True)
class Coverage:
    """How far citations carry a decision."""

    score: float
    """Their share of all contributions."""
    against: float
    """The share of all contributions that speaks against what was chosen."""
    margin: float | None
    cited: int
    of: int
    """How many training edges count in the decision."""
    exact: bool
    """Whether no nearer training edge can have been missed."""
    recall: float | None = None
    bounds: list[float] | None = None


@dataclass(frozen=True)
class Group:
    """A group of training edges in a roll-up."""

    name: str
    evidence: float
    share: float
    margin: float | None
    margin_share: float | None


@dataclass(frozen=True)
class RollUp:
    """A score and a margin split over groups of training edges."""

    by: str
    evidence: float
    margin: float | None
    groups: list[Group]

    def to_table(self) -> Table:
        """The groups as a table."""
        return Table.of(self.groups, Group, {"name": str})

    def to_pandas(self) -> Any:
        """The groups as a pandas DataFrame."""
        return self.to_table().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_table().__arrow_c_stream__(requested_schema)

    @classmethod
    def _from(cls, data: dict[str, Any]) -> RollUp:
        return _build(cls, data, groups=[_build(Group, group) for group in data["groups"]])


@dataclass(frozen=True)
class Rationale:
    """The reasons for one decision: a head, or a label."""

    score: float
    probability: float
    runner_up: RunnerUp | None
    citations: list[Citation]
    """The training edges for the choice, most similar first."""
    against: list[Citation]
    """Those against it."""
    coverage: Coverage

    @classmethod
    def _from(cls, data: dict[str, Any]) -> Rationale:
        second = data["runner_up"]
        return _build(
            cls,
            data,
            runner_up=None if second is None else _build(RunnerUp, second),
            citations=[_build(Citation, citation) for citation in data["citations"]],
            against=[_build(Citation, citation) for citation in data["against"]],
            coverage=_build(Coverage, data["coverage"]),
        )

    def _lines(self) -> list[str]:
        sides = [(" for", self.citations), (" against", self.against)]
        return [
            f"   {side} {citation.similarity:.4f} {citation.share:7.1%}  {citation.text}  ({citation.sent_id}, {citation.label})"
            for side, citations in sides
            for citation in citations
        ]


@dataclass(frozen=True)
class Contrast:
    """What the training edges contribute to one choice over another."""

    chosen: str
    alternative: str
    scores: list[float]
    margin: float
    in_favour: list[float]
    """The total contribution of the edges in favour, and their number."""
    against: list[float]
    arguments_for: list[Citation]
    arguments_against: list[Citation]

    @classmethod
    def _from(cls, data: dict[str, Any] | None) -> Contrast | None:
        if data is None:
            return None
        both = ("arguments_for", "arguments_against")
        return _build(cls, data, **{side: [_build(Citation, one) for one in data[side]] for side in both})


@dataclass(frozen=True)
class WhyNot:
    """The decisions about a word compared with another head or label."""

    dependent: int
    head: Contrast | None
    label: Contrast | None


@dataclass(frozen=True)
class FlipSet:
    """Training edges, and training sentences, without which a decision would be another. Printed without its members."""

    instead: str
    edges: int
    of_edges: int
    smallest: bool
    first_edges: list[str] = field(repr=False)
    sentences: int | None
    of_sentences: int
    first_sentences: list[str] = field(repr=False)
    all_edges: dict[str, list[int]] = field(repr=False)
    all_sentences: list[str] = field(repr=False)


@dataclass(frozen=True)
class Flip:
    """What has to be removed to change the decisions about a word."""

    dependent: int
    head: FlipSet | None
    label: FlipSet | None
    forced: bool = False
    ended_early: tuple[str, ...] = ()


class EdgeExplanation:
    """An edge explained: why this head (`attachment`) and why this label (`labelling`). In a notebook it is a page.

    >>> edge = nlp("She reads old letters.").sentences[0].words[3].explain(k=5)
    >>> (edge.dependent, edge.head) == (4, edge.sentence.words[3].head)
    True
    >>> edge.attachment.probability == edge.sentence.words[3].head_prob
    True
    """

    def __init__(self, sentence: Sentence, k: int | None, data: dict[str, Any]) -> None:
        self.sentence = sentence
        self.dependent: int = data["dependent"]
        self.head: int = data["head"]
        self.label: str = data["label"]
        self.attachment = Rationale._from(data["attachment"])
        self.labelling = Rationale._from(data["labelling"])
        self._k = k

    @classmethod
    def _of(cls, sentence: Sentence, word: int, k: int | None) -> EdgeExplanation:
        return cls(sentence, k, json.loads(sentence._native.explain([word], k, []))["edges"][0])

    @classmethod
    def _of_all(cls, sentence: Sentence, k: int | None, below: float | None) -> list[EdgeExplanation]:
        if len(sentence) == 0:
            return []
        words = [] if below is None else [word.id for word in sentence.words if _certainty(word) < below]
        if below is not None and not words:
            return []
        edges = json.loads(sentence._native.explain(words, k, []))["edges"]
        return [cls(sentence, k, edge) for edge in edges]

    def why_not(self, head: int | None = None, label: str | None = None) -> WhyNot:
        """Why not this head, or this label: the training edges for the decision and against it.

        >>> edge = nlp("She reads old letters.").sentences[0].words[3].explain()
        >>> edge.why_not(head=1).head.alternative
        '1 She'
        """
        if head is None and label is None:
            raise ValueError("name another head or label")
        expected = (self.dependent, self.head if head is None else head, label)
        answer = json.loads(self._native.explain([self.dependent], self._k, [], [expected]))["why_not"][0]
        contrasts = {side: Contrast._from(answer[side]) for side in ("head", "label")}
        return WhyNot(self.dependent, **contrasts)

    def flip(self) -> Flip:
        """The smallest set of training edges, and of sentences, without which the decision would be another.

        >>> nlp("She reads old letters.").sentences[0].words[3].explain().flip().dependent
        4
        """
        answer = json.loads(self._native.explain([self.dependent], self._k, [], [], True))["flips"][0]
        sets = {side: None if answer[side] is None else _build(FlipSet, answer[side]) for side in ("head", "label")}
        return _build(Flip, answer, **sets, ended_early=tuple(answer.get("ended_early", ())))

    def roll_up(self, by: str = "label", *, of: str = "head") -> RollUp:
        """Splits score and margin by label, treebank, document, genre, prefix:N, dependent or head.

        `of` is the decision: about the `head`, or about the `label`, which has no split by label.

        >>> nlp("She reads old letters.").sentences[0].words[3].explain().roll_up(by="document").by
        'document'
        """
        if of not in ("head", "label"):
            raise ValueError(f"no decision {of!r}; there are head and label")
        answer = json.loads(self._native.explain([self.dependent], 0, [by]))["edges"][0]
        roll_ups = answer["attachment" if of == "head" else "labelling"]["roll_ups"]
        if not roll_ups:
            raise ValueError("only edges with the label count for it, so a split of the label by label has no information")
        return RollUp._from(roll_ups[0])

    def to_table(self) -> Table:
        """All citations as a table."""
        rows = [
            (decision, side, citation)
            for decision, rationale in (("head", self.attachment), ("label", self.labelling))
            for side, citations in (("for", rationale.citations), ("against", rationale.against))
            for citation in citations
        ]
        table = Table.of([row[2] for row in rows], Citation, _CITATION_TYPES, without=("words",))
        columns = {"decision": [row[0] for row in rows], "side": [row[1] for row in rows], **table.columns}
        columns["text"] = [row[2].text for row in rows]
        return Table(columns, {**table.types, "decision": str, "side": str, "text": str})

    def to_pandas(self) -> Any:
        """All citations as a pandas DataFrame."""
        return self.to_table().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_table().__arrow_c_stream__(requested_schema)

    def to_html(self) -> str:
        """A page that needs no other file and no network."""
        return self._native.html(str(self).splitlines()[0], [self.dependent], self._k)

    def _repr_html_(self) -> str:
        return frame(self.to_html())

    @property
    def _native(self) -> _native.Sentence:
        return self.sentence._native

    def _form(self, id: int) -> str:
        return self.sentence.words[id - 1].form if id else "ROOT"

    def __str__(self) -> str:
        edge = f"{self._form(self.dependent)} is {self.label} of {self._form(self.head)}"
        lines = [edge, f"  head, probability {self.attachment.probability:.4f}", *self.attachment._lines()]
        lines += [f"  label, probability {self.labelling.probability:.4f}", *self.labelling._lines()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"EdgeExplanation({self.dependent}, head={self.head}, label={self.label!r})"


def _certainty(word: Any) -> float:
    return min(word.head_prob or 0.0, word.label_prob or 0.0)


_CITATION_TYPES = {
    "edge": int, "sent_id": str, "dependent": int, "head": int, "gold_head": int, "label": str, "document": str,
}  # fmt: skip
