"""The first job one writes to count events on Spark: `python -m bench.histories_plain FOLDER [MASTER]`.

Reads the lines of JSON, parses all their fields, groups by source and group, and counts. It judges nothing.
"""

from __future__ import annotations

import sys


def main(folder: str, master: str = "local[2]") -> None:
    """Print how many groups and events there are."""
    from pyspark.sql import SparkSession, functions

    session = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    try:
        lines = session.read.option("recursiveFileLookup", "true").json(folder)
        whole = functions.hash(functions.struct(*(lines[name] for name in lines.columns)))
        counted = lines.groupBy("source", "group").agg(
            functions.count("*").alias("events"), functions.sum(whole).alias("read")
        )
        groups = counted.collect()
        print(f"{len(groups)} groups, {sum(one['events'] for one in groups)} events")
    finally:
        session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
