"""The examples in the docstrings, and those of the guide."""

import ast
import doctest
import importlib
import json
import pickle
import pkgutil
import re
import shutil
from pathlib import Path

import pytest
from conftest import TEXT, need

import citree

DOCS = Path(__file__).resolve().parents[2] / "docs"
MODULES = [name for _, name, _ in pkgutil.iter_modules(citree.__path__) if not name.startswith("_") and name != "spacy"]


@pytest.mark.parametrize("name", ["citree", *(f"citree.{name}" for name in MODULES)])
def test_the_examples_of_a_module_are_true(name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "citree.batches":
        need("pyarrow")
    for file in ("demo.citree", "train.conllu", "dev.conllu"):
        (tmp_path / file).symlink_to(folder / file)
    monkeypatch.chdir(tmp_path)
    known = {"citree": citree, "nlp": citree.load("demo.citree")}
    result = doctest.testmod(importlib.import_module(name), extraglobs=known, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_most_of_the_interface_has_an_example() -> None:
    finder = doctest.DocTestFinder()
    modules = [citree, *(importlib.import_module(f"citree.{name}") for name in MODULES)]
    assert sum(bool(test.examples) for module in modules for test in finder.find(module)) >= 20


@pytest.fixture
def workplace(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current folder as the guides have it."""
    for package in ("pandas", "duckdb", "polars"):
        need(package)
    shutil.copytree(folder / "demo.citree", tmp_path / "en.citree")
    shutil.copy(folder / "dev.conllu", tmp_path / "dev.conllu")
    shutil.copy(folder / "train.conllu", tmp_path / "train.conllu")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("workplace")
def test_the_notebook_runs_and_shows_something_in_every_cell() -> None:
    cells = json.loads((DOCS / "treebank.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names: dict[str, object] = {}
    for cell in code:
        *before, last = ast.parse(cell).body
        exec(compile(ast.Module(before, []), "treebank.ipynb", "exec"), names)
        shown = eval(compile(ast.Expression(last.value), "treebank.ipynb", "eval"), names)
        assert shown is not None and (not hasattr(shown, "_repr_html_") or "<" in shown._repr_html_()), cell
    assert len(code) == 10


@pytest.mark.usefixtures("workplace")
def test_the_guide_is_true() -> None:
    guide = DOCS / "howto" / "python.md"
    blocks = guide.read_text(encoding="utf-8").split("```python\n")[1:]
    names: dict[str, object] = {}
    for block in blocks:
        code = block.split("```")[0]
        if "import spacy" not in code:
            exec(compile(code, str(guide), "exec"), names)
    assert len(blocks) >= 5


def calls(column: int) -> list[str]:
    """The code in a column of the guide's table for people who come from Stanza or spaCy."""
    guide = (DOCS / "howto" / "python.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in guide.split("## Coming from")[1].split("\n## ")[0].splitlines() if line.startswith("| ")]
    return [code for row in rows[1:] for code in re.findall(r"`([^`]+)`", row[column])]


@pytest.mark.usefixtures("workplace")
def test_every_call_of_citree_in_the_table_is_true() -> None:
    names: dict[str, object] = {"citree": citree, "pickle": pickle, "polars": need("polars"), "text": TEXT, "texts": [TEXT] * 2}
    names["multiprocessing"] = importlib.import_module("multiprocessing")
    names["gold"] = citree.read_conllu("dev.conllu")
    code = calls(1)
    for one in code:
        exec(compile(one, "the table", "exec"), names)
        if "doc" in names and "word" not in names:
            exec("sentence = doc.sentences[0]; word = sentence.words[0]", names)
        if re.fullmatch(r"(word|sentence|doc)\.\w+", one):
            assert eval(one, names) is not None, one
    assert len(code) >= 35 and "word" in names


def test_the_calls_of_spacy_in_the_table_are_true(bundle: Path) -> None:
    spacy = need("spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("citree_parser", config={"bundle": str(bundle)})
    doc = nlp(TEXT)
    names = {
        "spacy": spacy, "displacy": spacy.displacy, "Doc": spacy.tokens.Doc, "nlp": nlp, "doc": doc, "token": doc[0],
        "span": next(doc.sents), "text": TEXT, "texts": [TEXT], "words": ["It", "rained"],
    }  # fmt: skip
    # These need a model from elsewhere, another package, or are commands.
    others = ("en_core_web_sm", "get_pipe", "spacy_conll", "spacy convert", "spacy train", "displacy.render")
    code = [one for one in calls(3) if not any(other in one for other in others)]
    for one in code:
        exec(compile(one, "the table", "exec"), names)
    assert len(code) >= 20
