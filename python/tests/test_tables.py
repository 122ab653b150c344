"""Tables: Arrow into pandas, polars and DuckDB."""

from pathlib import Path

import pytest
from conftest import TEXT, need

import citree


def tables(nlp: citree.Pipeline) -> dict[str, object]:
    edge = nlp(TEXT).sentences[0].words[4].explain(k=3)
    audit = citree.audit(nlp, top=5, folds=0)
    return {"words": nlp(TEXT), "citations": edge, "roll-up": edge.roll_up("document"), "findings": audit}


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


def test_duckdb_queries_a_document(nlp: citree.Pipeline) -> None:
    duckdb, pyarrow = need("duckdb"), need("pyarrow")
    words = pyarrow.table(nlp(TEXT))  # noqa: F841
    roots = duckdb.sql("select form from words where head = 0 order by sentence").fetchall()
    assert [form for (form,) in roots] == [word.form for s in nlp(TEXT) for word in s if word.head == 0]


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
