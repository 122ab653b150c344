"""Parses, explains or audits a table on Spark: spark-submit spark_job.py BUNDLE INPUT OUTPUT --verb parse.

The bundle is a path that all hosts have or an address such as s3://bucket/en.citree. With --ship it is a folder of the driver's
that Spark sends to the executors. Tables are Parquet, or JSON lines where their name ends so.
"""

import argparse
import sys

from pyspark.sql import DataFrame, SparkSession

import citree.spark


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bundle")
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--verb", default="parse", choices=["parse", "explain", "neighbors", "audit"])
    parser.add_argument("--column", help="the column to read [default: text, or conllu for an audit]")
    parser.add_argument("--form", default="text", choices=["text", "lines", "conllu", "words"], help="what the column holds")
    parser.add_argument("--below", type=float, help="explain edges less probable than this only")
    parser.add_argument("--rule", help="sum, knn or nca [default: the bundle's own]")
    parser.add_argument("--block", help="process the rows with the same value in this column together")
    parser.add_argument("--order", action="append", help="a column that orders the rows of a block")
    parser.add_argument("--ship", action="store_true", help="send the bundle to the executors")
    return parser.parse_args()


def read(spark: SparkSession, path: str) -> DataFrame:
    return spark.read.json(path) if path.endswith((".json", ".jsonl")) else spark.read.parquet(path)


def main() -> int:
    asked = arguments()
    spark = SparkSession.builder.appName(f"citree {asked.verb}").getOrCreate()
    metrics = citree.spark.Metrics(spark)
    options: dict = {"metrics": metrics, "rule": asked.rule}
    if asked.column:
        options["column"] = asked.column
    if asked.verb != "audit":
        options |= {"form": asked.form, "block": asked.block, "order": asked.order or ()}
    if asked.verb == "explain":
        options["below"] = asked.below
    bundle = citree.spark.ship(spark, asked.bundle) if asked.ship else asked.bundle
    result = getattr(citree.spark, asked.verb)(read(spark, asked.input), bundle, **options)
    writer = result.write.mode("errorifexists")
    (writer.json if asked.output.endswith((".json", ".jsonl")) else writer.parquet)(asked.output)
    print(f"citree: {metrics}", file=sys.stderr)
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
