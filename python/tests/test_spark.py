"""citree on Spark: two real executors, one of which is killed. Needs pyspark and Java."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import TEXT, command

import citree
from citree import batches

pyspark = pytest.importorskip("pyspark", reason="citree.spark needs pyspark")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java", allow_module_level=True)

import citree.spark  # noqa: E402

SCRIPT = Path(__file__).parents[1] / "examples" / "spark_job.py"
LOCAL = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost", "PYSPARK_PYTHON": sys.executable}
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    # So that a partition has several batches.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "8",
}


@pytest.fixture(scope="module")
def spark() -> Iterator[object]:
    from pyspark.sql import SparkSession

    os.environ.update(LOCAL)
    session = SparkSession.builder.master("local-cluster[2,1,1024]").config(map=SETTINGS).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def texts(folder: Path) -> list[str]:
    """Rows of two sentences, some of them empty, and one with more than ASCII."""
    sentences = [sentence.text for sentence in citree.read_conllu(folder / "dev.conllu")]
    pairs = [" ".join(sentences[at : at + 2]) for at in range(0, len(sentences), 2)]
    return [*pairs, "", "Köln 😀 is nice. 다리가 길다.", TEXT]


@pytest.fixture(scope="module")
def frame(spark: object, texts: list[str]) -> object:
    return spark.createDataFrame([(f"key {at}", at, text) for at, text in enumerate(texts)], "name string, id long, text string")


def in_order(result: object) -> list[dict[str, object]]:
    return sorted(result.toArrow().to_pylist(), key=lambda row: row["id"])


def test_rows_are_what_the_parser_says_with_any_number_of_partitions(
    frame: object, nlp: citree.Pipeline, bundle: Path, texts: list[str]
) -> None:
    expected = [doc.to_conllu(scores=True) for text in texts for doc in nlp.pipe([text])]
    whole = batches.parse(bundle)(frame.toArrow()).to_pylist()
    for parts in (1, 2, 4):
        rows = in_order(citree.spark.parse(frame.repartition(parts), bundle))
        assert rows == whole and [row["parsed"] for row in rows] == expected
        assert [row["name"] for row in rows] == [f"key {at}" for at in range(len(texts))]


def test_order_is_kept(frame: object, bundle: Path) -> None:
    rows = citree.spark.parse(frame.coalesce(1), bundle).toArrow()
    assert rows["id"].to_pylist() == list(range(rows.num_rows))


def test_whole_treebanks_are_parsed_explained_and_searched_as_by_the_command(spark: object, bundle: Path, folder: Path) -> None:
    gold = (folder / "dev.conllu").read_text(encoding="utf-8")
    frame = spark.createDataFrame([(gold,)], "gold string")
    parsed = citree.spark.parse(frame, bundle, "gold", form="conllu").first()["parsed"]
    assert parsed == command("parse", bundle, folder / "dev.conllu", "--scores").stdout
    explained = citree.spark.explain(frame, bundle, "gold", form="conllu", rule="knn", below=0.7, k=2).toArrow()
    options = ("--format", "json", "--count", "2", "--below", "0.7", "--rule", "knn")
    lines = [json.loads(line) for line in command("explain", bundle, folder / "dev.conllu", *options).stdout.splitlines()]
    expected = [edge for line in lines for edge in line["edges"]]
    own = explained["explained"].to_pylist()[0]
    assert len(own) == len(expected) > 50
    for edge, theirs in zip(own, expected, strict=True):
        for name in ("attachment", "labelling"):
            assert edge[name]["score"] == theirs[name]["score"]
            assert [c["similarity"] for c in edge[name]["citations"]] == [c["similarity"] for c in theirs[name]["citations"]]
            assert [c["edge"] for c in edge[name]["against"]] == [c["edge"] for c in theirs[name]["against"]]
    found = citree.spark.neighbors(frame, bundle, "gold", form="conllu", gold=True, k=3).toArrow()["neighbors"].to_pylist()[0]
    lines = command("neighbors", bundle, folder / "dev.conllu", "--gold", "--count", "3").stdout.splitlines()
    expected = [[(near["edge"], near["similarity"]) for near in json.loads(line)["neighbors"]] for line in lines]
    assert [[(near["edge"], near["similarity"]) for near in edge["neighbors"]] for edge in found] == expected


def test_an_audit_is_that_of_the_package(spark: object, nlp: citree.Pipeline, bundle: Path, folder: Path) -> None:
    frame = spark.createDataFrame([((folder / "dev.conllu").read_text(encoding="utf-8"),)], "conllu string")
    row = citree.spark.audit(frame, bundle, top=50).first()
    expected = citree.audit(nlp, folder / "dev.conllu", folds=0, top=50)
    assert row["judged"] == expected.judged
    assert [(one["sent_id"], one["score"]) for one in row["findings"]] == [(one.sent_id, one.score) for one in expected.findings]


def test_an_executor_killed_in_the_middle_changes_nothing(frame: object, bundle: Path, tmp_path: Path) -> None:
    marker = str(tmp_path / "killed")

    def kill_once(batches: object) -> object:
        import signal

        for at, batch in enumerate(batches):
            if at == 1 and not os.path.exists(marker):
                process = os.getppid()
                while b"ExecutorBackend" not in open(f"/proc/{process}/cmdline", "rb").read():
                    process = int(open(f"/proc/{process}/stat").read().rsplit(") ", 1)[1].split()[1])
                open(marker, "x").close()
                os.kill(process, signal.SIGKILL)
            yield batch

    parsed = citree.spark.parse(frame.repartition(2, "id"), bundle).drop("error")
    result = citree.spark.neighbors(parsed, bundle, k=3)
    expected = in_order(result)
    assert in_order(result.mapInArrow(kill_once, result.schema)) == expected
    assert os.path.exists(marker)


def test_bad_rows_have_messages_and_empty_partitions_no_rows(spark: object, bundle: Path) -> None:
    data = [(0, None), (1, "no tabs\n\n"), (2, "1\tHi\t_\t_\t_\t_\t0\troot\t_\t_\n\n")]
    frame = spark.createDataFrame(data, "id long, gold string").repartition(6)
    metrics = citree.spark.Metrics(spark)
    rows = in_order(citree.spark.parse(frame, bundle, "gold", form="conllu", metrics=metrics))
    assert rows[0]["error"] == "the row is null" and "10 are needed" in rows[1]["error"]
    assert rows[2]["error"] is None and rows[2]["edges"][0]["form"] == "Hi"
    assert [row["parsed"] is None for row in rows] == [True, True, False]
    assert repr(metrics) == "3 rows, 2 errors, 1 sentences, 1 words"
    assert citree.spark.parse(frame.limit(0), bundle, "gold", form="conllu").count() == 0


def test_blocks_have_the_same_bytes_however_the_rows_are_spread(frame: object, bundle: Path) -> None:
    from pyspark.sql import functions

    with_block = frame.withColumn("block", functions.floor(functions.col("id") / 10))
    seen = [in_order(citree.spark.parse(with_block.repartition(parts), bundle, block="block", order="id")) for parts in (1, 2, 4)]
    assert seen[0] == seen[1] == seen[2] and len(seen[0]) == frame.count()
    first = batches.parse(bundle).block(frame.toArrow().slice(0, 10)).drop_columns(["name"]).to_pylist()
    assert [row["edges"] for row in seen[0][:10]] == [row["edges"] for row in first]
    with pytest.raises(ValueError, match="order names the columns"):
        citree.spark.parse(with_block, bundle, block="block")
    with pytest.raises(Exception, match="so their order is not fixed"):
        citree.spark.parse(with_block, bundle, block="block", order="block").count()


def test_a_shipped_bundle_is_opened_from_the_executors_own_copy(spark: object, frame: object, bundle: Path, tmp_path: Path) -> None:
    shutil.copytree(bundle, tmp_path / "own.citree")
    shipped = citree.spark.ship(spark, tmp_path / "own.citree")
    assert citree.spark.ship(spark, tmp_path / "own.citree") == shipped
    shutil.rmtree(tmp_path / "own.citree")
    assert in_order(citree.spark.parse(frame, shipped)) == in_order(citree.spark.parse(frame, bundle))


def test_a_bundle_that_is_missing_or_another_on_an_executor_ends_the_job(frame: object, bundle: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.citree"
    shutil.copytree(bundle, own)
    planned = citree.spark.parse(frame, own)
    nlp = citree.load(own)
    nlp.evidence.remove(nlp.index[0].sent_id).commit()
    with pytest.raises(Exception, match="another than the one the work was planned with"):
        planned.toArrow()
    shutil.rmtree(own)
    with pytest.raises(Exception, match="put it on storage that all hosts have"):
        planned.toArrow()


def test_a_column_of_a_results_name_is_refused_before_anything_runs(frame: object, bundle: Path) -> None:
    with pytest.raises(ValueError, match="'edges' already"):
        citree.spark.parse(frame.withColumnRenamed("name", "edges"), bundle)
    with pytest.raises(ValueError, match="one column 'conllu' is expected; there are name, id, text"):
        citree.spark.audit(frame, bundle)


def test_the_guide_is_true(spark: object, bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(bundle, tmp_path / "en.citree")
    monkeypatch.chdir(tmp_path)
    guide = Path(__file__).resolve().parents[2] / "docs" / "howto" / "spark.md"
    blocks = [block.split("```")[0] for block in guide.read_text(encoding="utf-8").split("```python\n")[1:]]
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(guide), "exec"), names)
    assert str(names["metrics"]) in blocks[2] and names["table"].num_rows == 1 and len(blocks) == 5


def test_the_script_runs_under_spark_submit(bundle: Path, tmp_path: Path, nlp: citree.Pipeline) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": 1, "text": TEXT}) + "\n", encoding="utf-8")
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    settings = [part for name, value in SETTINGS.items() for part in ("--conf", f"{name}={value}")]
    asked = [str(bundle), str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl"), "--ship"]
    done = subprocess.run(
        [submit, "--master", "local[2]", *settings, SCRIPT, *asked], capture_output=True, encoding="utf-8", timeout=300,
        env={**os.environ, **LOCAL, "PYSPARK_DRIVER_PYTHON": sys.executable}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    # spark-submit passes both streams of Python on as its output.
    assert "citree: 1 rows, 0 errors, 2 sentences" in done.stdout
    (part,) = (tmp_path / "out.jsonl").glob("part-*")
    assert json.loads(part.read_text(encoding="utf-8"))["parsed"] == next(iter(nlp.pipe([TEXT]))).to_conllu(scores=True)
