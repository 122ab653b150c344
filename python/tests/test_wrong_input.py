"""Wrong input: every mistake is a Python exception with a remedy, never a panic, a crash or a silent answer."""

import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
from conftest import TEXT

import citree

HUGE = (10**12, 2**63, 2**64, 10**30)


def refuses(call: Callable[[], object], *kinds: type[Exception]) -> str:
    """The message of the exception that a call raises. A panic is no `Exception`, so it fails the test."""
    with pytest.raises(kinds or (ValueError, TypeError, OverflowError, citree.CitreeError)) as error:
        call()
    message = str(error.value)
    assert "bug" not in message and "panicked" not in message, message
    return message


def test_words_that_are_none_are_refused_and_white_space_in_words_is_one_space(nlp: citree.Pipeline) -> None:
    for word in ("", " ", "\t", "\n", "\r\n", "\u00a0"):
        assert "no word" in refuses(lambda word=word: nlp(["It", word]), ValueError)
        refuses(lambda word=word: nlp([["It"], [word]]), ValueError)
    for word in ("a\tb", " a\nb", "a\r\n b ", "\x0ba\u2028b"):
        assert nlp(["It", word]).to_conllu().split("\n")[1].split("\t")[1] == "a b"
    # All others come back as they were.
    for word in ("a\x00b", "\x1b[31m", "\u200b", "a b", "𝒜", "e\u0301", "\ufeffx", "_", "-", "#", "# x"):
        doc = nlp([["It", word, "rained"]])
        assert [w.form for w in doc[0]] == ["It", word, "rained"]
        assert citree.read_conllu(doc.to_conllu()).to_conllu() == doc.to_conllu(), repr(word)
        assert [w.form for w in pickle.loads(pickle.dumps(doc))[0]] == ["It", word, "rained"]


def test_strange_texts_are_parsed_or_refused(nlp: citree.Pipeline) -> None:
    for text in ("\x00", "a\x00b.", "\ufeff", "\u2028\u2029", "...", "!!! ???", "\u0301", "\x85", "a\x1cb", "💩 " * 50, "ا" * 200):
        for sentence in nlp(text):
            assert len(sentence.words) > 0 and sentence.to_conllu()
        nlp(text).to_table()
    refuses(lambda: nlp("a \ud800 b"), UnicodeEncodeError)
    refuses(lambda: nlp(["a", "\udcff"]), UnicodeEncodeError)
    refuses(lambda: list(nlp.pipe(["a", "\ud800"])), UnicodeEncodeError)
    refuses(lambda: citree.read_conllu("1\t\ud800\n\n"), UnicodeEncodeError)


def test_empty_lists_are_documents_without_words(nlp: citree.Pipeline) -> None:
    assert len(nlp([]).to_table()) == len(nlp([[]]).to_table()) == 0
    assert nlp([[], ["It", "rained"]])[1].words[0].form == "It"
    assert nlp.neighbors(nlp([]), k=3).ids.shape == (0, 3)
    assert citree.EdgeVectors(nlp).transform([]).shape[0] == 0
    assert nlp([[]])[0].explain() == []
    assert len(nlp.neighbors(nlp(""), k=3).to_table()) == 0


def test_a_sentence_that_is_too_long_is_refused(nlp: citree.Pipeline) -> None:
    assert "4001" in refuses(lambda: nlp(["a"] * 4001), ValueError)


def test_numbers_out_of_range_are_refused(nlp: citree.Pipeline, bundle: Path) -> None:
    doc = nlp(TEXT)
    word, edge = doc[0].words[4], doc[0].words[4].explain(k=1)
    for number in (-1, *HUGE):
        refuses(lambda n=number: nlp.neighbors(doc, k=n))
        refuses(lambda n=number: nlp.neighbors(nlp.index.heads[:2], k=n))
        refuses(lambda n=number: edge.why_not(head=n))
        refuses(lambda n=number: citree.load(bundle, threads=n))
        refuses(lambda n=number: nlp.index[n], IndexError, OverflowError)
    refuses(lambda: nlp.neighbors(doc, k=0), ValueError)
    refuses(lambda: word.explain(k=-1))
    assert word.explain(k=0).attachment.citations == []
    # More than there are is all there are.
    assert len(word.explain(k=10**12).attachment.citations) <= len(nlp.index)
    refuses(lambda: edge.why_not(head=5), ValueError)
    for wrong in ({"neighbors": 0}, {"neighbors": -1}, {"temperature": 0.0}, {"temperature": float("nan")}, {"temperature": -1.0}):
        rule = "knn" if "neighbors" in wrong else "nca"
        refuses(lambda wrong=wrong, rule=rule: citree.load(bundle, rule=rule, **wrong))
    for weight in (-1.0, float("nan"), float("inf")):
        refuses(lambda weight=weight: citree.load(bundle, weights={"train": weight}))
    refuses(lambda: citree.load(bundle, rule="knn", neighbors=10**6), ValueError)


def test_wrong_types_are_type_errors(nlp: citree.Pipeline, bundle: Path) -> None:
    doc = nlp(TEXT)
    edge = doc[0].words[4].explain(k=1)
    calls: list[Callable[[], object]] = [
        lambda: citree.load(None),
        lambda: citree.load(3),
        lambda: citree.load(bundle, threads="two"),
        lambda: citree.load(bundle, threads=1.5),
        lambda: citree.load(bundle, rule=3),
        lambda: citree.load(bundle, weights={"a": "b"}),
        lambda: nlp({"a": 1}),
        lambda: nlp([["a"], "b"]),
        lambda: nlp([doc[0], "b"]),
        lambda: nlp.pipe("one text").__next__(),
        lambda: next(nlp.pipe(None)),
        lambda: next(nlp.pipe([None])),
        lambda: next(nlp.pipe(["a"], batch_size="b")),
        lambda: nlp.neighbors("text"),
        lambda: nlp.neighbors(None),
        lambda: nlp.neighbors(doc, k="ten"),
        lambda: nlp.neighbors(doc, k=1.5),
        lambda: nlp.index["one"],
        lambda: nlp.index[1.5],
        lambda: citree.EdgeVectors(nlp).transform(["text"]),
        lambda: citree.EdgeVectors(nlp).transform("text"),
        lambda: citree.EdgeVectors(nlp).transform(3),
        lambda: doc[0].words[0].explain(k="many"),
        lambda: edge.why_not(head="two"),
        lambda: edge.why_not(label=3),
        lambda: edge.roll_up(by=3),
        lambda: nlp.evidence.add(3),
        lambda: nlp.evidence.remove(3),
        lambda: nlp.evidence.remove([3]).commit(),
        lambda: citree.read_conllu(None),
        lambda: citree.read_conllu(3),
        lambda: citree.audit(nlp, 3),
        lambda: citree.audit(nlp, top="all"),
        lambda: citree.train(1, 2, 3),
        lambda: citree.train("a", "b", "c", epochs="many"),
    ]
    for number, call in enumerate(calls):
        try:
            call()
        except (TypeError, ValueError):
            continue
        pytest.fail(f"call {number} is not refused")


def test_vectors_of_every_kind(nlp: citree.Pipeline) -> None:
    rows = nlp.index.heads[:6]
    expected = nlp.neighbors(rows, k=3, exact=True).ids
    kinds = (
        rows.astype(numpy.float64), rows.tolist(), numpy.asfortranarray(rows), rows[::-1][::-1], rows.copy(),
        numpy.ascontiguousarray(rows.T).T, rows.astype(">f4"),
    )  # fmt: skip
    for same in kinds:
        assert numpy.array_equal(nlp.neighbors(same, k=3, exact=True).ids, expected)
    assert numpy.array_equal(nlp.neighbors(rows[::2], k=3, exact=True).ids, expected[::2])
    dims = rows.shape[1]
    wrong = (
        numpy.full((1, dims), numpy.nan), numpy.full((1, dims), numpy.inf), numpy.full((1, dims), 1e300),
        numpy.zeros((1, dims + 1)), numpy.zeros((0,)), numpy.zeros((2, 2, dims)), numpy.array([["a"] * dims]),
        numpy.array([[None] * dims]), [[1.0], [1.0, 2.0]], numpy.array(3.0),
    )  # fmt: skip
    for vectors in wrong:
        with numpy.errstate(over="ignore"):
            refuses(lambda vectors=vectors: nlp.neighbors(vectors, k=1, exact=True))
    assert nlp.neighbors(numpy.zeros((0, dims)), k=2).ids.shape == (0, 2)


def test_rows_cannot_be_made_writeable(nlp: citree.Pipeline) -> None:
    rows = nlp.index.heads
    refuses(lambda: rows.setflags(write=True), ValueError)
    refuses(lambda: rows.__setitem__((0, 0), 1.0), ValueError)
    refuses(lambda: nlp.neighbors(rows[:1], k=1).ids.__setitem__((0, 0), 1), ValueError)


def test_files_that_are_missing_or_no_files(nlp: citree.Pipeline, tmp_path: Path, folder: Path) -> None:
    missing = tmp_path / "missing.conllu"
    for call in (lambda: citree.read_conllu(missing), lambda: citree.audit(nlp, missing), lambda: nlp.evidence.add(missing)):
        assert "missing.conllu" in refuses(call, FileNotFoundError)
    refuses(lambda: citree.read_conllu(tmp_path), OSError)
    refuses(lambda: citree.read_conllu("a\x00b"), OSError, ValueError)
    refuses(lambda: citree.audit(nlp, folder / "dev.conllu", decisions=missing), FileNotFoundError, ValueError)
    for name in ("config", "word_vectors", "bert", "init"):
        out = tmp_path / f"{name}.citree"
        refuses(lambda name=name, out=out: citree.train(folder / "train.conllu", folder / "dev.conllu", out, preset="demo",
                **{name: tmp_path / "nothing"}), OSError, citree.CitreeError, ValueError)  # fmt: skip
    (tmp_path / "latin.conllu").write_bytes(b"1\tcaf\xe9\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    with pytest.raises(citree.CoNLLUError, match="UTF-8") as error:
        citree.read_conllu(tmp_path / "latin.conllu")
    assert error.value.line == 1 and Path(error.value.file).name == "latin.conllu"
    (tmp_path / "empty.conllu").write_text("")
    assert len(citree.read_conllu(tmp_path / "empty.conllu")) == 0
    refuses(lambda: citree.train(tmp_path / "empty.conllu", tmp_path / "empty.conllu", tmp_path / "e.citree", preset="demo"))


def test_an_error_of_conllu_says_where_and_what_to_do() -> None:
    with pytest.raises(citree.CoNLLUError) as error:
        citree.read_conllu("1\tHi\t_\t_\t_\t_\t7\tdep\t_\t_\n\n", trees=True)
    assert (error.value.line, error.value.column, str(error.value.file)) == (1, 7, "<text>")
    first, remedy = str(error.value).split("\n", 1)
    assert first.startswith("<text>:1:7: ") and remedy.strip()


def test_damaged_pickles_are_refused(nlp: citree.Pipeline, own: citree.Pipeline) -> None:
    _, (pipeline, conllu, heads, labels) = nlp("It rained.")[0].__reduce__()
    restore = pipeline._engine.restore
    broken = conllu.replace("\t2\tnsubj", "\t9\tnsubj").replace("\t2\t", "\t9\t", 1)
    for state in ((conllu, heads[1:], labels), (broken, heads, labels), ("", heads, labels), ("nonsense\n", heads, labels)):
        refuses(lambda state=state: restore(*state))
    unknown = conllu.replace("\troot\t", "\tnothing\t")
    assert restore(unknown, heads, labels).to_conllu() == unknown
    # The bundle is gone when the pickle is read.
    saved = pickle.dumps(own)
    shutil.move(own.path, own.path + ".moved")
    assert "own.citree" in refuses(lambda: pickle.loads(saved), citree.BundleError)


def test_a_bundle_that_is_removed_stays_usable_and_one_that_is_cut_is_an_error(own: citree.Pipeline) -> None:
    doc = own(TEXT)
    cited = str(doc[0].words[4].explain(k=2))
    copy = Path(own.path + ".copy")
    shutil.copytree(own.path, copy)
    other = citree.load(copy)
    shutil.rmtree(own.path)
    assert str(own(TEXT)[0].words[4].explain(k=2)) == cited
    refuses(own.refresh, citree.BundleError, OSError)
    assert str(own(TEXT)[0].words[4].explain(k=2)) == cited
    largest = max((path for path in (copy / "index").rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    with largest.open("r+b") as file:
        file.truncate(64)
    assert largest.name in refuses(lambda: other(TEXT), citree.BundleError)
    refuses(lambda: other.index.heads, citree.BundleError)
    refuses(lambda: doc[0].words[0].explain(), citree.BundleError)
    del other


def test_damaged_bundles_are_refused(bundle: Path, tmp_path: Path) -> None:
    files = [path.relative_to(bundle) for path in bundle.rglob("*") if path.is_file()]
    for number, name in enumerate(sorted(files)):
        copy = tmp_path / f"{number}.citree"
        shutil.copytree(bundle, copy)
        (copy / name).write_bytes(b"\x00" * 40)
        try:
            citree.load(copy)("It rained.")[0].words[0].explain(k=1)
        except (citree.CitreeError, ValueError, OSError):
            continue
        # What only informs, such as the log of a training, is not needed to parse.
        assert name.name.lower().endswith((".jsonl", ".svg", "lock")), name
