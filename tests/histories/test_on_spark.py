"""Tables that tasks on Spark leave: one context for all; a worker that is killed; the queries of the docs."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import killed_once
import pytest

from harness.judged_frames import terms_of
from harness.nights_apart import as_tables, files, in_one_run, lines, own_nights, scattered, verdicts
from rota.explore.spark import session
from rota.histories.on_spark import OnSpark, look_at_workers
from rota.histories.tables import rows

pytestmark = pytest.mark.spark

PAGE = Path(__file__).parents[2] / "docs" / "many-groups.md"
WORST = PAGE.with_name("worst-groups.md")


@pytest.fixture(scope="module")
def context():
    with session.spark_context("local[2,4]", [killed_once.__file__]) as running:
        running.setLogLevel("OFF")
        yield running


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    events = [one for night in own_nights() for one in night]
    scattered(events, 3, folder / "cluster=east", copies=11)
    (folder / "cluster=west").mkdir()
    (folder / "cluster=west" / "night.jsonl").write_text(lines(own_nights()[1]) + "no event\n")
    return folder


def test_a_worker_that_is_killed_changes_nothing(context, lake, tmp_path):
    look_at_workers(context)
    flag = tmp_path / "killed"
    make = partial(as_tables, [lake], terms=terms_of(), unordered=True)
    make(tmp_path / "here")
    make(tmp_path / "there", run=OnSpark(context, work=partial(killed_once.deadly, str(flag))))
    assert flag.exists()
    assert files(tmp_path / "there") == files(tmp_path / "here")
    account, _ = in_one_run([lake], terms_of(), unordered=True)
    assert verdicts(tmp_path / "there") == [*account.verdicts()]


def test_the_queries_of_the_docs(context, lake, tmp_path):
    from pyspark.sql import SparkSession

    as_tables([lake], tmp_path / "out", terms_of(), unordered=True)
    queries = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(queries) == 3
    spark = SparkSession(context)
    broken, least, counted = (
        spark.sql(one.replace("DIR", str(tmp_path / "out"))).collect() for one in queries
    )
    account, _ = in_one_run([lake], terms_of(), unordered=True)
    assert {one["rule"]: one["violations"] for one in broken} == _rules(account)
    assert {one["group"] for one in least} >= {"late_members", "offsets"}
    assert {one["cluster"] for one in counted} == {"east", "west"}
    assert sum(sum(one[1:]) for one in counted) == account.events - 1, "one line is no event"


def test_the_worst_groups_of_the_page(context, lake, tmp_path):
    from pyspark.sql import SparkSession

    as_tables([lake], tmp_path / "out", terms_of(), unordered=True)
    (query,) = re.findall(r"```sql\n(.*?)```", WORST.read_text(), re.DOTALL)
    found = SparkSession(context).sql(query.replace("DIR", str(tmp_path / "out"))).collect()
    seconds, why = {}, {}
    for one in rows(tmp_path / "out", "incidents"):
        key = one["cluster"], one["group"]
        seconds[key] = seconds.get(key, 0.0) + one["seconds"]
        why[key] = max(why.get(key, (0.0, "")), (one["seconds"], one["sentence"]))
    assert 0 < len(found) == min(10, len(seconds))
    for one in found:
        key = one["cluster"], one["group"]
        assert one["seconds"] == pytest.approx(seconds[key], abs=0.051)
        assert one["why"] == why[key][1]
    assert [one["seconds"] for one in found] == sorted((one["seconds"] for one in found), reverse=True)


def _rules(account):
    found = {}
    for standing in account.standings.values():
        for rule, number in standing.rules.items():
            found[rule] = found.get(rule, 0) + number
    return found
