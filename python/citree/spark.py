"""citree on Spark: a DataFrame in, the same DataFrame with new columns out.

Rows keep their columns and, unless they are processed in blocks, their order. A row that cannot be processed has null results and
a message in the column `error`. What the columns hold is said by the function of the same name in `citree.batches`.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from . import batches
from .batches import Counts, Job, Shared
from .pipeline import load
from .shared import SharedBundle, fingerprint

if TYPE_CHECKING:
    import pyarrow
    from pyspark import SparkContext  # pyright: ignore[reportMissingImports]
    from pyspark.sql import DataFrame, SparkSession  # pyright: ignore[reportMissingImports]

_shipped: WeakKeyDictionary[SparkContext, set[str]] = WeakKeyDictionary()


def ship(spark: SparkSession, bundle: str | PathLike[str]) -> SharedBundle:
    """Sends a bundle of the driver's to every executor, for a cluster without shared storage.

    Spark unpacks it once in each executor, when its first task begins.
    """
    found = fingerprint(load(bundle))
    name = f"citree-{found[:32]}.tar"
    sent = _shipped.setdefault(spark.sparkContext, set())
    if name not in sent:
        folder = tempfile.mkdtemp(prefix="citree-ship-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        with tarfile.open(os.path.join(folder, name), "w", dereference=True) as archive:
            for entry in sorted(os.listdir(bundle)):
                archive.add(os.path.join(bundle, entry), arcname=entry)
        spark.sparkContext.addArchive(os.path.join(folder, name))
        sent.add(name)
    return SharedBundle(name, "spark", found)


class Metrics:
    """Accumulators of what was done: `rows`, `errors`, `sentences` and `words`.

    Read them after an action. A task that Spark runs again counts again.
    """

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        self.rows = context.accumulator(0)
        self.errors = context.accumulator(0)
        self.sentences = context.accumulator(0)
        self.words = context.accumulator(0)

    def add(self, counts: Counts) -> None:
        """Adds counts, in a task."""
        self.rows += counts.rows
        self.errors += counts.errors
        self.sentences += counts.sentences
        self.words += counts.words

    def __repr__(self) -> str:
        return ", ".join(f"{accumulator.value} {name}" for name, accumulator in vars(self).items())


def parse(
    df: DataFrame,
    bundle: Shared,
    column: str = "text",
    *,
    block: str | None = None,
    order: str | Sequence[str] = (),
    metrics: Metrics | None = None,
    **options: Any,
) -> DataFrame:
    """Adds `parsed`, CoNLL-U, and `edges`, a list of words. `options` are those of `citree.batches.parse`.

    With `block`, the rows with the same value in that column are processed together, in the order of the columns `order`, which takes
    less time for rows of one sentence. The rows come back in another order then.
    """
    return _apply(df, batches.parse(bundle, column, **options), block, order, metrics)


def explain(
    df: DataFrame,
    bundle: Shared,
    column: str = "text",
    *,
    block: str | None = None,
    order: str | Sequence[str] = (),
    metrics: Metrics | None = None,
    **options: Any,
) -> DataFrame:
    """Adds `explained`, the edges with their citations. `options` are those of `citree.batches.explain`, such as `rule` and `below`."""
    return _apply(df, batches.explain(bundle, column, **options), block, order, metrics)


def neighbors(
    df: DataFrame,
    bundle: Shared,
    column: str = "text",
    *,
    block: str | None = None,
    order: str | Sequence[str] = (),
    metrics: Metrics | None = None,
    **options: Any,
) -> DataFrame:
    """Adds `neighbors`, the edges with the training edges nearest to them. `options` are those of `citree.batches.neighbors`."""
    return _apply(df, batches.neighbors(bundle, column, **options), block, order, metrics)


def audit(df: DataFrame, bundle: Shared, column: str = "conllu", *, metrics: Metrics | None = None, **options: Any) -> DataFrame:
    """Adds `findings` and `judged`, of each row as a treebank. `options` are those of `citree.batches.audit`."""
    return _apply(df, batches.audit(bundle, column, **options), None, (), metrics)


def _apply(df: DataFrame, job: Job, block: str | None, order: str | Sequence[str], metrics: Metrics | None) -> DataFrame:
    import pyarrow
    from pyspark.sql.pandas.types import from_arrow_schema  # pyright: ignore[reportMissingImports]
    from pyspark.sql.types import StructType  # pyright: ignore[reportMissingImports]

    # Refused here rather than in every task.
    names = pyarrow.schema([(name, pyarrow.null()) for name in df.columns])
    new = [field for field in job.schema(names) if field.name not in df.columns]
    schema = StructType([*df.schema.fields, *from_arrow_schema(pyarrow.schema(new)).fields])
    count = None if metrics is None else metrics.add
    if block is None:

        def stream(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            return job.batches(batches, count)

        return df.mapInArrow(stream, schema)
    by = [order] if isinstance(order, str) else list(order)
    unknown = [name for name in (block, *by) if name not in df.columns]
    if unknown or not by:
        raise ValueError(f"order names the columns that order the rows of a block; there are {', '.join(df.columns)}")

    def together(rows: pyarrow.Table) -> pyarrow.Table:
        if rows.group_by(by).aggregate([]).num_rows < rows.num_rows:
            raise ValueError(f"rows of a block have the same {', '.join(by)}, so their order is not fixed; add a column to `order`")
        return job.block(rows.sort_by([(name, "ascending") for name in by]), count)

    return df.groupBy(block).applyInArrow(together, schema)
