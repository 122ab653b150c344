"""The examples in the docstrings, and those of the guide."""

import ast
import doctest
import importlib
import json
import pkgutil
import shutil
from pathlib import Path

import pytest
from conftest import need

import citree

DOCS = Path(__file__).resolve().parents[2] / "docs"
MODULES = [name for _, name, _ in pkgutil.iter_modules(citree.__path__) if not name.startswith("_") and name != "spacy"]


@pytest.mark.parametrize("name", ["citree", *(f"citree.{name}" for name in MODULES)])
def test_the_examples_of_a_module_are_true(name: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
    need("pandas")
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
