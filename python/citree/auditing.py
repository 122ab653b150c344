"""A treebank judged by itself: gold edges that are probably wrong."""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _native
from .explanation import _build
from .notebook import frame
from .progress import Progress, listening
from .table import Table

if TYPE_CHECKING:
    from .pipeline import Pipeline


_log = logging.getLogger("citree")


@dataclass(frozen=True)
class Finding:
    """An edge that seems to be wrong."""

    sent_id: str
    dependent: int
    head: int
    label: str
    kind: str
    suggested_head: int
    suggested_label: str
    score: float
    """The expected share of errors among edges that are so suspicious."""
    says: str
    """What speaks against it, in words."""
    words: list[str]
    line: int | None = None
    column: int = 0
    rule: str | None = None
    """The rule of the Universal Dependencies guidelines that it breaks."""
    same_words_as_it_is: int = 0
    same_words_as_suggested: int = 0
    as_it_is: list[dict[str, Any]] = field(default_factory=list)
    """Similar edges that are annotated as this one is."""
    as_suggested: list[dict[str, Any]] = field(default_factory=list)
    """Similar edges that are annotated as suggested."""


class Audit:
    """The findings, most suspicious first. In a notebook it is a page to decide by keyboard."""

    def __init__(self, findings: list[Finding], judged: int, found: int, page: str) -> None:
        self.findings = findings
        self.judged = judged
        self.found = found
        self._page = page

    def to_table(self) -> Table:
        """The findings as a table."""
        table = Table.of(self.findings, Finding, _TYPES, without=("words", "as_it_is", "as_suggested"))
        text = [" ".join(finding.words) for finding in self.findings]
        return Table({**table.columns, "text": text}, {**table.types, "text": str})

    def to_pandas(self) -> Any:
        """The findings as a pandas DataFrame."""
        return self.to_table().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_table().__arrow_c_stream__(requested_schema)

    def to_html(self) -> str:
        """A page that needs no other file and no network."""
        return self._page

    def _repr_html_(self) -> str:
        return frame(self._page, 720, "allow-scripts allow-downloads")

    def __len__(self) -> int:
        return len(self.findings)

    def __repr__(self) -> str:
        return f"Audit({len(self.findings)} of {self.found} findings in {self.judged} edges)"


def audit(
    nlp: Pipeline,
    treebank: str | PathLike[str] | None = None,
    *,
    top: int = 300,
    kind: Literal["head", "label"] | None = None,
    inconsistent: bool = False,
    folds: int = 5,
    punctuation: bool = False,
    decisions: str | PathLike[str] | None = None,
    progress: Progress = False,
) -> Audit:
    """Judges the gold edges of a CoNLL-U file, or those of the bundle's own evidence, by similar edges of other sentences.

    `folds` models of the words are trained too, each without a part of the documents; 0 trains none. `decisions` is a
    file of what was decided before, as the page saves it. `progress` is a function of what, done and total, or True.

    >>> citree.audit(nlp, top=3, folds=0).judged == len(nlp.index)
    True
    """
    name = nlp.path if treebank is None else fspath(treebank)
    if decisions is not None and not Path(decisions).is_file():
        raise FileNotFoundError(f"no file of decisions {fspath(decisions)!r}; leave it out if there is none yet")
    with listening(progress) as listener:
        findings, judged, found, page = _native.audit(
            nlp._engine,
            None if treebank is None else Path(treebank).read_bytes(),
            name,
            top=top,
            kind=kind,
            inconsistent=inconsistent,
            folds=folds,
            punctuation=punctuation,
            decisions=None if decisions is None else fspath(decisions),
            progress=listener,
        )
    _log.info("audit of %s: %d findings in %d edges", name, found, judged)
    return Audit([_build(Finding, json.loads(finding)) for finding in findings], judged, found, page)


_TYPES = {
    "sent_id": str, "dependent": int, "head": int, "label": str, "kind": str, "suggested_head": int,
    "suggested_label": str, "says": str, "line": int, "column": int, "rule": str, "same_words_as_it_is": int,
    "same_words_as_suggested": int,
}  # fmt: skip
