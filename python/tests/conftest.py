"""What the tests share: a small bundle, trained once, and the command line to compare with."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import citree

TEXT = "She reads the old letters in the garden. It rained."


def need(name: str) -> ModuleType:
    """A package that a test needs. In CI it has to be there; elsewhere the test is skipped without it."""
    return importlib.import_module(name) if os.environ.get("CI") else pytest.importorskip(name)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the starter treebank and demo.citree, trained on it."""
    folder = tmp_path_factory.mktemp("citree")
    for name, doc in zip(("train", "dev"), citree.starter_treebank(), strict=True):
        (folder / f"{name}.conllu").write_text(doc.to_conllu(), encoding="utf-8")
    given = os.environ.get("CITREE_TEST_BUNDLE")
    if given:
        shutil.copytree(given, folder / "demo.citree")
    else:
        citree.train(folder / "train.conllu", folder / "dev.conllu", folder / "demo.citree", preset="demo", epochs=6)
    return folder


@pytest.fixture(scope="session")
def bundle(folder: Path) -> Path:
    return folder / "demo.citree"


@pytest.fixture(scope="session")
def nlp(bundle: Path) -> citree.Pipeline:
    return citree.load(bundle)


@pytest.fixture
def own(bundle: Path, tmp_path: Path) -> citree.Pipeline:
    """A copy of the bundle that a test may change."""
    shutil.copytree(bundle, tmp_path / "own.citree")
    return citree.load(tmp_path / "own.citree")


def program() -> list[str]:
    """The `citree` command: the binary that CITREE_BINARY names, or that of the package."""
    binary = os.environ.get("CITREE_BINARY")
    return [binary] if binary else [sys.executable, "-m", "citree"]


def command(*arguments: str | Path, text: str = "", ok: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs the command to its end."""
    done = subprocess.run(
        [*program(), *map(str, arguments)], input=text, capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert not ok or done.returncode == 0, done.stderr
    return done
