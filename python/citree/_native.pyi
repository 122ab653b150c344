# The extension module, as python/src makes it. Users see the classes of the other files.

from typing import Any, final

__all__ = [
    "BundleError", "CitreeError", "CoNLLUError", "Engine", "EvidenceError", "Rows", "Sentence", "__version__",
    "arrow_stream", "audit", "main", "read_conllu", "start", "starter", "train",
]

_Row = tuple[str, str, str, str, str, int | None, str, str, str, tuple[float, float] | None]

__version__: str

class CitreeError(Exception):
    """What goes wrong in citree. Its message says what to do."""

class BundleError(CitreeError):
    """A bundle or its index is missing, damaged or of another version."""

class CoNLLUError(CitreeError):
    """A file is not CoNLL-U, or a sentence is no tree: `file`, `line` and `column` say where."""

class EvidenceError(CitreeError):
    """A change of the evidence is refused. Nothing was changed."""

@final
class Sentence:
    @staticmethod
    def from_words(words: list[str]) -> Sentence: ...
    def rows(self) -> list[_Row]: ...
    def tokens(self) -> list[tuple[int, int, str]]: ...
    @property
    def sent_id(self) -> str | None: ...
    @property
    def text(self) -> str | None: ...
    @property
    def comments(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def to_conllu(self, scores: bool = False) -> str: ...
    def explain(
        self,
        words: list[int],
        k: int | None = None,
        by: list[str] = ...,
        why_not: list[tuple[int, int, str | None]] = ...,
        flip: bool = False,
    ) -> str: ...
    def html(
        self,
        title: str,
        words: list[int],
        k: int | None = None,
        by: list[str] = ...,
        why_not: list[tuple[int, int, str | None]] = ...,
        flip: bool = False,
    ) -> str: ...
    def svg(self) -> str: ...

@final
class Rows:
    @property
    def __array_interface__(self) -> dict[str, Any]: ...

@final
class Engine:
    def __new__(
        cls,
        path: str,
        *,
        rule: str | None = None,
        temperature: float | None = None,
        neighbors: int | None = None,
        decode: str = "mst",
        exact: bool = False,
        treebanks: list[str] = ...,
        weights: list[tuple[str, float]] = ...,
        device: str = "auto",
        threads: int = 0,
    ) -> Engine: ...
    def parse_texts(self, texts: list[str], lines: bool, keep: bool) -> list[list[Sentence]]: ...
    def parse(self, sentences: list[Sentence], keep: bool) -> list[Sentence]: ...
    def restore(self, conllu: str, heads: list[float], labels: list[float]) -> Sentence: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def rule(self) -> str: ...
    def info(self) -> str: ...
    def pinned(self) -> Engine: ...
    def refresh(self) -> None: ...
    def rows(self, name: str) -> list[Rows]: ...
    def shape(self, name: str) -> tuple[int, int]: ...
    def named(
        self, numbers: list[int]
    ) -> tuple[list[str], list[int], list[str], list[int], list[str], list[str]]: ...
    def edge(self, number: int) -> tuple[str, str, list[str], int, int, str]: ...
    def vectors(self, sentences: list[Sentence], name: str) -> bytes: ...
    def neighbors(
        self, sentences: list[Sentence], name: str, k: int, gold: bool, exact: bool, others: bool
    ) -> tuple[list[tuple[int, int, int, str]], bytes, bytes]: ...
    def nearest(self, vectors: bytes, name: str, k: int, exact: bool) -> tuple[bytes, bytes]: ...
    def commit(
        self,
        added: list[Sentence],
        replaced: list[Sentence],
        removed: list[str],
        *,
        treebank: str | None = None,
        weight: float | None = None,
        new_labels: bool = False,
        message: str = "",
    ) -> tuple[int, int, int]: ...
    def undo(self, message: str = "") -> int: ...
    def merge(self, message: str = "") -> int | None: ...
    def log(self) -> list[tuple[int, int, str, str, str]]: ...
    def segments(self) -> list[tuple[str, int, int, int, int, float]]: ...

def read_conllu(path: str, text: str | None = None, trees: bool = False) -> list[Sentence]: ...
def arrow_stream(columns: list[tuple[str, str, list[Any]]]) -> object: ...
def audit(
    engine: Engine,
    conllu: bytes | None,
    name: str,
    *,
    top: int,
    kind: str | None = None,
    inconsistent: bool = False,
    folds: int = 5,
    punctuation: bool = False,
    decisions: str | None = None,
    progress: Any | None = None,
) -> tuple[list[str], int, int, str]: ...
def train(
    train: str,
    dev: str,
    out: str,
    *,
    preset: str = "small",
    config: str | None = None,
    epochs: int | None = None,
    seed: int | None = None,
    system: str | None = None,
    rule: str | None = None,
    init: str | None = None,
    resume: bool = False,
    word_vectors: str | None = None,
    encoder: str | None = None,
    encoder_train: bool = False,
    cache: str | None = None,
    device: str = "auto",
    threads: int = 0,
    progress: Any | None = None,
    epoch: Any | None = None,
) -> None: ...
def starter() -> tuple[str, str]: ...
def start() -> None: ...
def main(arguments: list[str]) -> int: ...
