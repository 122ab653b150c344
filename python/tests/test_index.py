"""The index: rows without a copy, neighbours, and changes of the evidence."""

from pathlib import Path

import numpy
import pytest
from conftest import need

import citree


def test_the_rows_are_the_mapped_file_and_cannot_be_changed(nlp: citree.Pipeline) -> None:
    for rows in (nlp.index.heads, nlp.index.labels):
        assert rows.dtype == numpy.float32 and len(rows) == len(nlp.index)
        assert rows.base is not None and not rows.flags.owndata
        with pytest.raises(ValueError, match="read-only"):
            rows[0, 0] = 1.0
    assert nlp.index.heads.ctypes.data == nlp.index.heads.ctypes.data
    assert numpy.allclose(numpy.linalg.norm(nlp.index.heads, axis=1), 1.0, atol=1e-5)


def test_the_rows_outlive_the_parser(bundle: Path) -> None:
    rows = citree.load(bundle).index.heads
    assert numpy.isfinite(rows.sum())


def test_each_row_is_its_own_nearest_neighbour(nlp: citree.Pipeline) -> None:
    rows = nlp.index.heads[:50]
    found = nlp.neighbors(rows, k=3, exact=True)
    assert found.ids.shape == found.similarities.shape == (50, 3)
    # Another edge may have the same vector.
    assert numpy.array_equal(nlp.index.heads[found.ids[:, 0]], rows)
    assert numpy.allclose((nlp.index.heads @ rows[7])[found.ids[7]], found.similarities[7], atol=1e-5)


def test_vectors_of_predicted_edges_find_what_the_edges_find(nlp: citree.Pipeline) -> None:
    doc = nlp("She reads old letters. It rained.")
    for space in ("heads", "labels"):
        vectors = citree.EdgeVectors(nlp, space).fit_transform(doc)
        by_vectors = nlp.neighbors(vectors, k=5, space=space, exact=True)
        by_edges = nlp.neighbors(doc, k=5, space=space, exact=True)
        assert numpy.array_equal(by_vectors.ids, by_edges.ids)
    assert [edge[:2] for edge in by_edges.edges] == [(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (1, 1), (1, 2), (1, 3)]


def test_vectors_are_a_step_of_a_pipeline_of_scikit_learn(nlp: citree.Pipeline) -> None:
    need("sklearn")
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline

    doc = nlp("She reads old letters. It rained.")
    assert make_pipeline(citree.EdgeVectors(nlp), PCA(2)).fit_transform(doc).shape == (8, 2)
    one = citree.EdgeVectors(nlp).transform(doc[1])
    assert numpy.array_equal(one, citree.EdgeVectors(nlp).transform([doc[1]]))


def test_wrong_vectors_are_refused(nlp: citree.Pipeline) -> None:
    for wrong in ([[1.0, 2.0]], [1.0], numpy.full((1, nlp.index.heads.shape[1]), numpy.nan)):
        with pytest.raises((ValueError, citree.CitreeError)):
            nlp.neighbors(wrong)
    with pytest.raises(ValueError, match="no space"):
        nlp.index.runs("tails")
    with pytest.raises(IndexError):
        nlp.index[len(nlp.index)]


def test_more_neighbours_than_edges_are_filled_up(nlp: citree.Pipeline) -> None:
    count = len(nlp.index)
    found = nlp.neighbors(nlp.index.heads[:1], k=count + 2, exact=True)
    assert found.ids[0, count:].tolist() == [-1, -1] and numpy.isnan(found.similarities[0, count:]).all()


def test_added_evidence_is_cited_at_once_and_undone(own: citree.Pipeline) -> None:
    before, generation = len(own.index), own.info()["index"]["generation"]
    sentence = own("She reads old letters.").sentences[0]
    new = citree.read_conllu("# sent_id = mine-1\n" + sentence.to_conllu())
    assert own.evidence.add(new).commit("a test", treebank="mine") > generation
    assert len(own.index) == before + 5
    edges = own("She reads old letters.").sentences[0].explain(k=1)
    assert {edge.attachment.citations[0].sent_id for edge in edges} == {"mine-1"}
    assert [segment.treebank for segment in own.evidence.segments()][-1] == "mine"
    assert sentence.words[0].explain(k=1).attachment.citations[0].sent_id != "mine-1", "an old sentence keeps its index"
    with pytest.raises(ValueError, match="2 pieces"):
        own.index.heads
    assert sum(map(len, own.index.runs("heads"))) == len(own.index)
    assert own.index[len(own.index) - 1].sent_id == "mine-1"
    own.evidence.undo("not good")
    assert len(own.index) == before
    assert [entry.message for entry in own.evidence.log()] == ["a test", "not good"]


def test_a_refused_change_changes_nothing(own: citree.Pipeline) -> None:
    generation = own.info()["index"]["generation"]
    with pytest.raises(citree.EvidenceError):
        own.evidence.remove("nobody-has-this").commit()
    with pytest.raises(citree.EvidenceError, match="nothing to add"):
        own.evidence.commit()
    with pytest.raises(citree.CitreeError):
        own.evidence.add(own("It rained.")).commit()
    assert own.info()["index"]["generation"] == generation


def test_an_audit_finds_a_planted_error(nlp: citree.Pipeline, folder: Path, tmp_path: Path) -> None:
    text = (folder / "dev.conllu").read_text(encoding="utf-8")
    wrong = text.replace("\tnsubj\t", "\tobj\t", 1)
    line = next(at for at, (a, b) in enumerate(zip(text.splitlines(), wrong.splitlines(), strict=True), 1) if a != b)
    (tmp_path / "wrong.conllu").write_text(wrong, encoding="utf-8")
    steps: list[tuple[str, int, int]] = []
    audit = citree.audit(nlp, tmp_path / "wrong.conllu", folds=2, progress=lambda *step: steps.append(step))
    assert line in [finding.line for finding in audit.findings]
    assert steps and all(what == "judging" and 0 < done <= total for what, done, total in steps)
    assert "wrong.conllu" in audit.to_html() and audit._repr_html_().startswith("<iframe")
    with pytest.raises(ValueError, match="folds"):
        citree.audit(nlp, folds=1)
    with pytest.raises(FileNotFoundError):
        citree.audit(nlp, tmp_path / "nothing.conllu")
