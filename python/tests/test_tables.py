"""Tables: Arrow into pandas, polars and DuckDB."""

import pickle
from pathlib import Path

import pytest
from conftest import TEXT, need

import citree


def tables(nlp: citree.Pipeline) -> dict[str, object]:
    edge = nlp(TEXT).sentences[0].words[4].explain(k=3)
    audit = citree.audit(nlp, top=5, folds=0)
    found = nlp.neighbors(nlp(TEXT), k=3)
    by_vector = nlp.neighbors(nlp.index.heads[:2], k=2)
    return {
        "words": nlp(TEXT), "citations": edge, "roll-up": edge.roll_up("document"), "findings": audit, "edges": nlp.index,
        "neighbours": found, "neighbours of vectors": by_vector,
    }  # fmt: skip


def test_pandas_takes_words_and_citations(nlp: citree.Pipeline) -> None:
    need("pandas")
    words = nlp(TEXT).to_pandas()
    assert words["form"].tolist()[:2] == ["She", "reads"] and words["head_prob"].between(0, 1).all()
    citations = nlp(TEXT).sentences[0].words[4].explain(k=3).to_pandas()
    assert set(citations["decision"]) == {"head", "label"}
    assert citree.audit(nlp, top=5, folds=0).to_pandas().columns.tolist()[:2] == ["sent_id", "dependent"]


def test_polars_takes_every_table(nlp: citree.Pipeline) -> None:
    polars = need("polars")
    for name, table in tables(nlp).items():
        frame = polars.DataFrame(table)
        assert frame.columns == list(table.to_table().columns), name
        assert frame.to_dict(as_series=False) == table.to_table().columns, name


def test_pandas_takes_every_table_by_arrow(nlp: citree.Pipeline) -> None:
    pandas = need("pandas")
    need("pyarrow")
    for name, table in tables(nlp).items():
        frame = pandas.DataFrame.from_arrow(table)
        assert frame.columns.tolist() == table.to_pandas().columns.tolist(), name
        assert len(frame) == len(table.to_table()) > 0, name


def test_duckdb_queries_every_table_without_another_package(nlp: citree.Pipeline) -> None:
    duckdb = need("duckdb")
    for name, result in tables(nlp).items():
        rows = duckdb.sql("select * from result").fetchall()
        assert rows == list(zip(*result.to_table().columns.values(), strict=True)), name
    words = nlp(TEXT)
    roots = duckdb.sql("select form from words where head = 0 order by sentence").fetchall()
    assert [form for (form,) in roots] == [word.form for s in words for word in s if word.head == 0]


def test_neighbours_as_a_table_are_those_of_the_arrays_with_their_words(nlp: citree.Pipeline) -> None:
    doc = nlp(TEXT)
    found = nlp.neighbors(doc, k=3)
    columns = found.to_table().columns
    assert columns["edge"] == found.ids.flatten().tolist()
    assert columns["rank"] == [1, 2, 3] * len(found)
    assert columns["similarity"] == [float(str(one)) for one in found.similarities.flatten()]
    for at, number in enumerate(columns["edge"]):
        edge = nlp.index[number]
        named = (edge.sent_id, edge.dependent, edge.head, edge.label)
        assert named == tuple(columns[f"edge_{name}"][at] for name in ("sent_id", "dependent", "head", "label"))
        assert columns["edge_dependent_form"][at] == edge.words[edge.dependent - 1]
        word = doc[columns["sentence"][at]].words[columns["dependent"][at] - 1]
        assert (word.head, word.deprel) == (columns["head"][at], columns["label"][at])
    assert nlp.neighbors(nlp.index.heads[:2], k=2).to_table().columns["label"] == [None] * 4
    assert pickle.loads(pickle.dumps(found)).to_table().columns == columns


def test_neighbours_keep_the_index_that_found_them(own: citree.Pipeline) -> None:
    found, before = own.neighbors(own(TEXT), k=2), own.neighbors(own(TEXT), k=2).to_table().columns
    own.evidence.remove(before["edge_sent_id"][0]).commit()
    assert found.to_table().columns == before
    assert own.neighbors(own(TEXT), k=2).to_table().columns["edge_sent_id"] != before["edge_sent_id"]


def test_no_words_are_a_table_without_rows(nlp: citree.Pipeline) -> None:
    pyarrow = need("pyarrow")
    assert pyarrow.table(nlp("")).num_rows == 0


def test_a_column_of_another_type_is_an_error() -> None:
    with pytest.raises(TypeError):
        citree.Table({"a": ["one"]}, {"a": int}).__arrow_c_stream__()
    with pytest.raises(ValueError, match="there are str, int and float"):
        citree.Table({"a": [1]}, {"a": dict}).__arrow_c_stream__()


def test_the_file_of_a_table_can_be_read_again(nlp: citree.Pipeline, tmp_path: Path) -> None:
    parquet, pyarrow = need("pyarrow.parquet"), need("pyarrow")
    parquet.write_table(pyarrow.table(nlp(TEXT)), tmp_path / "words.parquet")
    assert parquet.read_table(tmp_path / "words.parquet")["form"].to_pylist()[0] == "She"
