"""A dependency parser that cites its sources.

>>> nlp = citree.load("demo.citree")
>>> doc = nlp("She reads the old letters in the garden. It rained.")
>>> [word.form for word in doc.sentences[1].words]
['It', 'rained', '.']
>>> edge = doc.sentences[0].words[4].explain(k=3)
>>> len(edge.attachment.citations)
3
"""

from ._native import BundleError, CitreeError, CoNLLUError, EvidenceError, __version__
from .auditing import Audit, Finding, audit
from .document import Doc, Sentence, Word, read_conllu
from .evidence import Evidence, LogEntry, Segment
from .explanation import (
    Citation,
    Contrast,
    Coverage,
    EdgeExplanation,
    Flip,
    FlipSet,
    Group,
    Rationale,
    RollUp,
    RunnerUp,
    WhyNot,
)
from .index import EdgeVectors, Index, Neighbors, TrainingEdge
from .pipeline import Pipeline, load
from .table import Table
from .training import starter_treebank, train

__all__ = [
    "Audit",
    "BundleError",
    "Citation",
    "CitreeError",
    "CoNLLUError",
    "Contrast",
    "Coverage",
    "Doc",
    "EdgeExplanation",
    "EdgeVectors",
    "Evidence",
    "EvidenceError",
    "Finding",
    "Flip",
    "FlipSet",
    "Group",
    "Index",
    "LogEntry",
    "Neighbors",
    "Pipeline",
    "Rationale",
    "RollUp",
    "RunnerUp",
    "Segment",
    "Sentence",
    "Table",
    "TrainingEdge",
    "WhyNot",
    "Word",
    "__version__",
    "audit",
    "load",
    "read_conllu",
    "starter_treebank",
    "train",
]
