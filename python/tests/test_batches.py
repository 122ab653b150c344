"""Jobs over Arrow tables, and over DataFrames of pandas, Dask and Ray Data."""

import os
import pickle
import shutil
from pathlib import Path

import pytest
from conftest import TEXT, command, need

import citree
from citree import batches
from citree.shared import share

pyarrow = need("pyarrow")

TEXTS = ["It rained. She reads.", "", "Köln 😀 is nice.", TEXT, "a\0b \u200b\n\n x", "다리가 길다."]


def rows(texts: list[object], column: str = "text") -> object:
    return pyarrow.table({"key": list(range(len(texts))), column: texts})


@pytest.fixture(scope="module")
def gold(folder: Path) -> list[str]:
    """The dev set in rows of 25 sentences."""
    sentences = citree.read_conllu(folder / "dev.conllu").sentences
    return ["".join(one.to_conllu() for one in sentences[at : at + 25]) for at in range(0, len(sentences), 25)]


def test_every_row_is_what_the_parser_says_of_it_alone(nlp: citree.Pipeline, bundle: Path) -> None:
    table = batches.parse(bundle)(rows(TEXTS))
    assert table.schema.names == ["key", "text", "parsed", "edges", "error"]
    assert table["key"].to_pylist() == list(range(len(TEXTS))) and table["error"].null_count == len(TEXTS)
    for text, parsed, edges in zip(TEXTS, table["parsed"].to_pylist(), table["edges"].to_pylist(), strict=True):
        (doc,) = nlp.pipe([text])
        assert parsed == doc.to_conllu(scores=True)
        expected = [
            (at, word.id, word.form, word.head, word.deprel, word.head_prob, word.label_prob)
            for at, sentence in enumerate(doc)
            for word in sentence
        ]
        assert [tuple(edge.values()) for edge in edges] == expected


@pytest.mark.parametrize("make", [batches.parse, batches.explain, batches.neighbors])
def test_a_result_does_not_depend_on_the_rows_beside_it(bundle: Path, make: object) -> None:
    job = make(bundle)
    together = job(rows(TEXTS))
    for at in range(len(TEXTS)):
        assert job(rows(TEXTS).slice(at, 1)).equals(together.slice(at, 1))


def test_conllu_and_lines_and_words_give_what_the_command_gives(bundle: Path, folder: Path) -> None:
    gold = (folder / "dev.conllu").read_text(encoding="utf-8")
    expected = command("parse", bundle, folder / "dev.conllu", "--scores").stdout
    assert batches.parse(bundle, "gold", form="conllu")(rows([gold], "gold"))["parsed"].to_pylist() == [expected]
    text = "\n".join(sentence.text for sentence in citree.read_conllu(gold))
    expected = command("parse", bundle, "--lines", "--scores", text=text).stdout
    assert batches.parse(bundle, form="lines")(rows([text]))["parsed"].to_pylist() == [expected]
    words = [["It", "rained", "."], ["She", "reads"]]
    nested, flat = (batches.parse(bundle, "w", form="words")(rows([value], "w")) for value in (words, words[0]))
    assert [edge["sentence"] for edge in nested["edges"].to_pylist()[0]] == [0, 0, 0, 1, 1]
    assert [edge["form"] for edge in flat["edges"].to_pylist()[0]] == words[0]


def test_explanations_are_those_of_the_parser_in_the_form_of_the_reference(nlp: citree.Pipeline, bundle: Path, gold: list[str]) -> None:
    (cell,) = batches.explain(bundle, "gold", form="conllu", below=0.8, k=3)(rows(gold[:1], "gold"))["explained"].to_pylist()
    doc = nlp(citree.read_conllu(gold[0]))
    expected = [(at, edge) for at, sentence in enumerate(doc) for edge in sentence.explain(3, below=0.8)]
    assert len(cell) == len(expected) > 5
    for own, (at, edge) in zip(cell, expected, strict=True):
        assert (own["sentence"], own["dependent"], own["head"], own["label"]) == (at, edge.dependent, edge.head, edge.label)
        for name in ("attachment", "labelling"):
            theirs = getattr(edge, name)
            assert (own[name]["score"], own[name]["probability"]) == (theirs.score, theirs.probability)
            assert own[name]["coverage"]["score"] == theirs.coverage.score
            for side in ("citations", "against"):
                fields = ("edge", "sent_id", "words", "dependent", "head", "gold_head", "label", "similarity", "share", "margin_share")
                cited = [tuple(citation[field] for field in fields) for citation in own[name][side]]
                assert cited == [tuple(getattr(citation, field) for field in fields) for citation in getattr(theirs, side)]


def test_neighbours_and_audits_are_those_of_the_parser(nlp: citree.Pipeline, bundle: Path, gold: list[str], tmp_path: Path) -> None:
    table = batches.neighbors(bundle, "gold", form="conllu", gold=True, k=3)(rows(gold[:2], "gold"))
    for text, cell in zip(gold, table["neighbors"].to_pylist(), strict=False):
        found = nlp.neighbors(citree.read_conllu(text), k=3, gold=True)
        assert [tuple(edge.values())[:4] for edge in cell] == found.edges
        assert [[near["edge"] for near in edge["neighbors"]] for edge in cell] == found.ids.tolist()
        similarities = [near["similarity"] for edge in cell for near in edge["neighbors"]]
        assert similarities == found.to_table().columns["similarity"]
    (tmp_path / "gold.conllu").write_text(gold[0], encoding="utf-8")
    expected = citree.audit(nlp, tmp_path / "gold.conllu", folds=0)
    table = batches.audit(bundle, "gold")(rows(gold[:1], "gold"))
    own = [(finding["sent_id"], finding["dependent"], finding["score"], finding["says"]) for finding in table["findings"].to_pylist()[0]]
    assert table["judged"].to_pylist() == [expected.judged] and len(own) > 3
    assert own == [(one.sent_id, one.dependent, one.score, one.says) for one in expected.findings]


def test_a_bad_row_has_a_message_and_the_others_their_results(bundle: Path, gold: list[str]) -> None:
    bad = [None, "1\tx\n\n", "x" * ((16 << 20) + 1)]
    for make in (batches.parse, batches.explain, batches.neighbors):
        job = make(bundle, "gold", form="conllu")
        for table in (job(rows([*bad, gold[0]], "gold")), job.block(rows([*bad, gold[0]], "gold"))):
            errors = table["error"].to_pylist()
            assert errors[0] == "the row is null" and "row:1" in errors[1] and "KiB; split it" in errors[2]
            assert errors[3] is None and [cell is None for cell in table.column(2).to_pylist()] == [True] * 3 + [False]
    cycle = "1\ta\t_\t_\t_\t_\t2\tdep\t_\t_\n2\tb\t_\t_\t_\t_\t1\tdep\t_\t_\n\n"
    table = batches.audit(bundle, "gold")(rows([cycle, gold[0]], "gold"))
    assert table["error"].to_pylist()[0] is not None and table["findings"].to_pylist()[1]
    words = batches.parse(bundle, "w", form="words")(rows([["a", None], ["It", "rained"]], "w"))
    assert words["error"].to_pylist() == ["a word is null", None]


def test_rows_of_a_block_fail_one_by_one_too(bundle: Path) -> None:
    # Only the parser finds out that a sentence is too long.
    job = batches.parse(bundle, form="lines")
    table = rows(["It rained.", "word " * 5000, "She reads."])
    errors = job.block(table)["error"].to_pylist()
    assert "5000 words" in errors[1] and [error is None for error in errors] == [True, False, True]
    assert job.block(table).equals(job(table))


def test_a_block_is_parsed_as_one_document(nlp: citree.Pipeline, bundle: Path) -> None:
    table = batches.parse(bundle).block(rows(TEXTS))
    expected = [doc.to_conllu(scores=True) for doc in nlp.pipe(TEXTS)]
    assert table["parsed"].to_pylist() == expected
    again = batches.neighbors(bundle, form="lines").block(rows(["It rained.\nShe reads.", "It rained."]))["neighbors"].to_pylist()
    assert [[edge["sentence"] for edge in cell] for cell in again] == [[0, 0, 0, 1, 1, 1], [0, 0, 0]]


def test_a_row_that_becomes_too_large_has_a_message(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citree.rows.MOST_RESULT", 20_000)
    for make in (batches.explain, batches.neighbors):
        errors = make(bundle)(rows(["It rained.\n" * 30, ""]))["error"].to_pylist()
        assert errors[0].startswith("the row becomes more than") and errors[1] is None


def test_neighbours_of_many_sentences_are_those_of_the_parser(nlp: citree.Pipeline, bundle: Path) -> None:
    texts = ["It rained.\n" * 200 + "She reads the old letters.", TEXT, "It rained.\n" * 300]
    table = batches.neighbors(bundle, form="lines", k=3).block(rows(texts))
    found = nlp.neighbors(nlp([[word.form for word in one] for doc in nlp.pipe(texts, lines=True) for one in doc]), k=3)
    ids = [[near["edge"] for near in edge["neighbors"]] for cell in table["neighbors"].to_pylist() for edge in cell]
    assert ids == found.ids.tolist()
    assert [cell[-1]["sentence"] for cell in table["neighbors"].to_pylist()] == [200, 0, 299]


def test_streams_are_cut_into_pieces_in_order(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_TOGETHER", 2000)
    table, counts = rows(TEXTS * 4), []
    pieces = list(batches.parse(bundle).batches(table.to_batches(max_chunksize=10), counts.append))
    assert len(pieces) > 5 and pyarrow.Table.from_batches(pieces).equals(batches.parse(bundle)(table).combine_chunks())
    assert [count.rows for count in counts] == [10, 10, 4]


def test_no_rows_no_results_and_no_bundle_needed(bundle: Path, tmp_path: Path) -> None:
    shutil.copytree(bundle, tmp_path / "gone.citree")
    job = batches.parse(tmp_path / "gone.citree")
    shutil.rmtree(tmp_path / "gone.citree")
    assert job(rows(TEXTS).slice(0, 0)).num_rows == 0
    assert list(job.batches(rows(TEXTS).slice(0, 0).to_batches())) == []


def test_a_bundle_that_is_missing_or_another_is_refused_where_it_is_opened(bundle: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.citree"
    shutil.copytree(bundle, own)
    job = pickle.loads(pickle.dumps(batches.parse(own)))
    nlp = citree.load(own)
    nlp.evidence.remove(nlp.index[0].sent_id).commit()
    with pytest.raises(citree.BundleError, match="another than the one the work was planned with"):
        job(rows(["It rained."]))
    shutil.rmtree(own)
    with pytest.raises(citree.BundleError, match="no bundle .* on "):
        job(rows(["It rained."]))


def test_a_bundle_at_an_address_is_downloaded_once(
    nlp: citree.Pipeline, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("fsspec")
    monkeypatch.setenv("CITREE_SHARED_BUNDLES", str(tmp_path / "cache"))
    shutil.copytree(bundle, tmp_path / "far.citree")
    job = batches.parse(f"file://{tmp_path}/far.citree")
    shutil.rmtree(tmp_path / "far.citree")
    parsed = job(rows(["It rained."]))["parsed"].to_pylist()
    assert parsed == [doc.to_conllu(scores=True) for doc in nlp.pipe(["It rained."])]
    assert sorted(os.listdir(tmp_path / "cache")) == sorted(["LOCK", job.bundle.fingerprint])
    # As an object store has it: no folders, only names.
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.put(str(bundle), "/bucket/en.citree", recursive=True)
    (tmp_path / "cache" / "new-left").mkdir()
    assert share("memory://bucket/en.citree").fingerprint == job.bundle.fingerprint
    assert not (tmp_path / "cache" / "new-left").exists()
    with pytest.raises(citree.BundleError, match="no bundle at file://"):
        share(f"file://{tmp_path}/far.citree")


def test_the_same_bundle_elsewhere_has_the_same_fingerprint(bundle: Path, tmp_path: Path) -> None:
    shutil.copytree(bundle, tmp_path / "copy.citree")
    assert share(bundle).fingerprint == share(tmp_path / "copy.citree").fingerprint


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda b: batches.parse(b, form="html"), "no form 'html'"),
        (lambda b: batches.explain(b, k=-1), "k is at least 0"),
        (lambda b: batches.neighbors(b, k=0), "k is at least 1"),
        (lambda b: batches.neighbors(b, space="edges"), "no space 'edges'"),
        (lambda b: batches.neighbors(b, gold=True), "form='conllu'"),
        (lambda b: batches.audit(b, kind="word"), "no kind 'word'"),
        (lambda b: batches.parse(b, "other")(rows(TEXTS)), "one column 'other' is expected; there are key, text"),
        (lambda b: batches.parse(b, "edges")(rows(TEXTS, "edges")), "has a column 'edges' already"),
    ],
)
def test_wrong_arguments_are_refused_before_any_row(bundle: Path, wrong: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wrong(bundle)


def test_a_wrong_setting_of_the_parser_ends_the_job(bundle: Path) -> None:
    with pytest.raises((citree.CitreeError, ValueError), match="voting"):
        batches.parse(bundle, rule="voting")(rows(["It rained."]))


def test_settings_of_the_parser_hold_and_others_are_refused_at_once(bundle: Path) -> None:
    settings = {"rule": "sum", "treebanks": ["treebank"], "weights": {"treebank": 2.0}}
    job = pickle.loads(pickle.dumps(batches.parse(bundle, **settings)))
    (doc,) = citree.load(bundle, **settings).pipe([TEXT])
    assert job(rows([TEXT]))["parsed"].to_pylist() == [doc.to_conllu(scores=True)]
    for wrong in ("ruel", "path"):
        with pytest.raises(TypeError, match=f"no option '{wrong}'"):
            batches.parse(bundle, **{wrong: "sum"})


def test_pandas_keeps_its_index(bundle: Path) -> None:
    pandas = need("pandas")
    frame = pandas.DataFrame({"text": TEXTS, "weight": 0.5}, index=list("fedcba"))
    done = batches.parse(bundle)(frame)
    twice = batches.parse(bundle)(frame.set_axis([1] * 6))
    assert list(twice.index) == [1] * 6 and list(twice["parsed"]) == list(done["parsed"])
    with pytest.raises(ValueError, match="'edges' already"):
        batches.parse(bundle)(frame.rename(columns={"weight": "edges"}))
    assert list(done.index) == list("fedcba") and list(done.columns) == ["text", "weight", "parsed", "edges", "error"]
    assert list(done["parsed"]) == batches.parse(bundle)(rows(TEXTS))["parsed"].to_pylist()


def test_dask_gives_the_same(bundle: Path) -> None:
    pandas, dask = need("pandas"), need("dask.dataframe")
    job, frame = batches.parse(bundle), pandas.DataFrame({"text": TEXTS * 3})
    for parts in (1, 4):
        split = dask.from_pandas(frame, npartitions=parts)
        done = split.map_partitions(job, meta=job(split._meta)).compute(scheduler="threads")
        assert list(done["parsed"]) == job(rows(TEXTS * 3))["parsed"].to_pylist()


def test_ray_data_gives_the_same(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray", reason="Ray Data needs ray")
    pytest.importorskip("ray.data", reason="Ray Data needs ray")
    monkeypatch.setenv("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    job, table = batches.parse(bundle), rows(TEXTS * 3)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
    try:
        done = ray.data.from_arrow(table).repartition(4).map_batches(job, batch_format="pyarrow").sort("key").take_all()
    finally:
        ray.shutdown()
    assert [row["parsed"] for row in done] == job(table)["parsed"].to_pylist()
