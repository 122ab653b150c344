"""Documents, sentences and words."""

from __future__ import annotations

from collections.abc import Iterator
from os import fspath
from typing import TYPE_CHECKING, Any, overload

from . import _native
from .explanation import EdgeExplanation
from .notebook import image
from .table import Table

if TYPE_CHECKING:
    from .pipeline import Pipeline


class Word:
    """A word of a sentence, with its edge: the ten columns of CoNLL-U, and how probable head and label are.

    >>> word = nlp("She reads old letters.").sentences[0].words[3]
    >>> (word.id, word.form, word.sentence.words[word.head - 1].form)
    (4, 'letters', 'reads')
    """

    __slots__ = (
        "sentence", "id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc", "head_prob",
        "label_prob",
    )  # fmt: skip

    sentence: Sentence
    id: int
    form: str
    lemma: str
    upos: str
    xpos: str
    feats: str
    head: int | None
    deprel: str
    deps: str
    misc: str
    head_prob: float | None
    label_prob: float | None

    def __init__(self, sentence: Sentence, id: int, row: _native._Row) -> None:
        self.sentence, self.id = sentence, id
        (self.form, self.lemma, self.upos, self.xpos, self.feats, self.head, self.deprel, self.deps, self.misc, probs) = row
        self.head_prob, self.label_prob = probs if probs is not None else (None, None)

    def explain(self, k: int | None = None) -> EdgeExplanation:
        """Why the word has this head and this label: the training edges for them and against them.

        `k` edges are cited on each side of each decision; by default those that vote, up to 20, or 10.

        >>> edge = nlp("She reads old letters.").sentences[0].words[3].explain(k=2)
        >>> [citation.label for citation in edge.labelling.citations] == [edge.label] * 2
        True
        """
        return EdgeExplanation._of(self.sentence, self.id, k)

    def __repr__(self) -> str:
        return f"Word({self.id}, {self.form!r}, head={self.head}, deprel={self.deprel!r})"


class Sentence:
    """A sentence and its tree. In a notebook it is drawn.

    >>> sentence = nlp("It rained.").sentences[0]
    >>> len(sentence), sentence.text
    (3, 'It rained.')
    """

    __slots__ = ("_native", "_nlp", "_words", "__weakref__")

    def __init__(self, native: _native.Sentence, nlp: Pipeline | None = None) -> None:
        self._native, self._nlp = native, nlp
        self._words: list[Word] | None = None

    @property
    def words(self) -> list[Word]:
        """The syntactic words; the word with id `i` is `words[i - 1]`."""
        if self._words is None:
            self._words = [Word(self, id, row) for id, row in enumerate(self._native.rows(), 1)]
        return self._words

    @property
    def tokens(self) -> list[tuple[int, int, str]]:
        """The tokens that stand for several words, such as `don't`: first word, last word, form."""
        return self._native.tokens()

    @property
    def sent_id(self) -> str | None:
        """The value of `# sent_id = …`."""
        return self._native.sent_id

    @property
    def text(self) -> str | None:
        """The value of `# text = …`."""
        return self._native.text

    @property
    def comments(self) -> list[str]:
        """The comment lines, with their `#`."""
        return self._native.comments

    @property
    def is_parsed(self) -> bool:
        """Whether a parser made the tree, so that it can be explained."""
        return self._nlp is not None

    def explain(self, k: int | None = None, *, below: float | None = None) -> list[EdgeExplanation]:
        """Explains every edge, or those whose head or label is less probable than `below`.

        >>> [edge.dependent for edge in nlp("It rained.").sentences[0].explain(k=1)]
        [1, 2, 3]
        """
        return EdgeExplanation._of_all(self, k, below)

    def to_conllu(self, *, scores: bool = False) -> str:
        """The sentence as CoNLL-U; with `scores`, MISC has HeadProb and LabelProb."""
        return self._native.to_conllu(scores)

    def to_svg(self) -> str:
        """The tree as a drawing that needs no other file."""
        return self._native.svg()

    def _repr_html_(self) -> str | None:
        return image(self.to_svg(), self.text or "a sentence") if self.is_parsed and len(self) else None

    def __len__(self) -> int:
        return len(self._native)

    def __iter__(self) -> Iterator[Word]:
        return iter(self.words)

    def __repr__(self) -> str:
        return f"Sentence({' '.join(word.form for word in self.words)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._nlp is None:
            return _read_one, (self.to_conllu(),)
        return _restore, (self._nlp, *self._state())

    def _state(self) -> tuple[str, list[float | None], list[float | None]]:
        """What a parsed sentence is restored from."""
        return self.to_conllu(), [word.head_prob for word in self.words], [word.label_prob for word in self.words]


class Doc:
    """The sentences of a text or a file.

    >>> doc = nlp("It rained. She reads.")
    >>> len(doc), doc[1].words[0].form
    (2, 'She')
    """

    def __init__(self, sentences: list[Sentence], text: str | None = None) -> None:
        self.sentences = sentences
        self.text = text

    def to_conllu(self, *, scores: bool = False) -> str:
        """The document as CoNLL-U; with `scores`, MISC has HeadProb and LabelProb."""
        return "".join(sentence.to_conllu(scores=scores) for sentence in self.sentences)

    def to_table(self) -> Table:
        """The words as a table: the number of the sentence from 0, its `sent_id`, and the columns of the words.

        >>> nlp("It rained.").to_table().columns["form"]
        ['It', 'rained', '.']
        """
        words = [(at, word) for at, sentence in enumerate(self.sentences) for word in sentence.words]
        names = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "head_prob", "label_prob")
        columns: dict[str, list[Any]] = {
            "sentence": [at for at, _ in words],
            "sent_id": [word.sentence.sent_id for _, word in words],
        }
        for name in names:
            columns[name] = [getattr(word, name) for _, word in words]
        return Table(columns, _WORD_TYPES)

    def offsets(self) -> list[list[tuple[int, int]]]:
        """Where the words of each sentence stand in `text`: first character, and the one after the last.

        The words of a multiword token have the place of the token. Only a document that was made from a text has one.

        >>> doc = nlp("It rained.  She reads.")
        >>> [doc.text[start:end] for start, end in doc.offsets()[1]]
        ['She', 'reads', '.']
        """
        if self.text is None:
            raise ValueError("the document has no text; it was made from words or from CoNLL-U")
        offsets, at = [], 0
        for sentence in self.sentences:
            tokens = {first: (last, form) for first, last, form in sentence.tokens}
            spans: list[tuple[int, int]] = []
            for word in sentence.words:
                if len(spans) < word.id:
                    last, form = tokens.get(word.id, (word.id, word.form))
                    start = self.text.index(form, at)
                    at = start + len(form)
                    spans += [(start, at)] * (last - word.id + 1)
            offsets.append(spans)
        return offsets

    def to_tokenlists(self) -> Any:
        """The sentences as a list of `TokenList`s of the package conllu."""
        import conllu

        return conllu.parse(self.to_conllu())

    def to_udapi(self) -> Any:
        """The same as a `Document` of the package udapi."""
        from udapi.core.document import Document

        document = Document()
        document.from_conllu_string(self.to_conllu())
        return document

    def to_pandas(self) -> Any:
        """The words as a pandas DataFrame."""
        return self.to_table().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_table().__arrow_c_stream__(requested_schema)

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> list[Sentence]: ...
    def __getitem__(self, index: int | slice) -> Sentence | list[Sentence]:
        return self.sentences[index]

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    def __len__(self) -> int:
        return len(self.sentences)

    def _repr_html_(self) -> str:
        return "\n".join(html for sentence in self.sentences if (html := sentence._repr_html_()))

    def __repr__(self) -> str:
        return f"Doc({len(self.sentences)} sentence{'s' if len(self.sentences) != 1 else ''})"


_WORD_TYPES = {
    "sentence": int, "sent_id": str, "id": int, "form": str, "lemma": str, "upos": str, "xpos": str, "feats": str,
    "head": int, "deprel": str, "head_prob": float, "label_prob": float,
}  # fmt: skip


def read_conllu(source: Any, *, trees: bool = False) -> Doc:
    r"""Reads a CoNLL-U file, or a string of CoNLL-U, which has a line break. Nothing is lost on the way to `to_conllu`.

    Objects of the packages conllu (a `TokenList`, or a list of them) and udapi (a `Document`) are taken too. With `trees`, every
    sentence must be a tree with labels, as training needs it.

    >>> doc = citree.read_conllu("1\tHi\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    >>> doc[0].words[0]
    Word(1, 'Hi', head=0, deprel='root')
    """
    given = source
    if isinstance(source, (list, tuple)) and all(hasattr(one, "serialize") for one in source):
        given = "".join(one.serialize() for one in source) or "\n"
    for write in ("serialize", "to_conllu_string"):
        if hasattr(source, write):
            given = getattr(source, write)()
    if isinstance(given, str) and "\n" in given:
        sentences = _native.read_conllu("<text>", given, trees)
    else:
        sentences = _native.read_conllu(fspath(given), None, trees)
    return Doc([Sentence(sentence) for sentence in sentences])


def _read_one(conllu: str) -> Sentence:
    return read_conllu(conllu)[0]


def _restore(nlp: Pipeline, conllu: str, heads: list[float], labels: list[float]) -> Sentence:
    return Sentence(nlp._engine.restore(conllu, heads, labels), nlp)
