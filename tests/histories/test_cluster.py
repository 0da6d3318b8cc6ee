"""Tables on two executors that are processes of their own: what they need, who is killed, their memory."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial

import killed_once
import pytest

from harness.judged_frames import terms_of
from harness.nights_apart import as_tables, files, own_nights, scattered
from harness.spark_cluster import bare, cluster
from rota.explore.spark import session
from rota.explore.spark.memory import MIB, NoMemory
from rota.histories.on_spark import Missing, OnSpark, look_at_workers
from rota.histories.runs import HALVES

pytestmark = [pytest.mark.spark, pytest.mark.long]

WORKERS_NEED = ("pyarrow", "google_crc32c", "msgspec")


@pytest.fixture(scope="module")
def context():
    with cluster(killed_once) as running:
        yield running


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """Makes tables of some nights in a folder, as `as_tables`."""
    events = [one for night in own_nights() for one in night]
    lake = scattered(events, 3, tmp_path_factory.mktemp("lake") / "cluster=east", copies=11)
    return partial(as_tables, [lake], terms=terms_of(), unordered=True)


@pytest.fixture(scope="module")
def here(make, tmp_path_factory):
    """The files that this process makes."""
    folder = tmp_path_factory.mktemp("here")
    make(folder)
    return files(folder)


def test_executors_make_the_same_files(context, make, here, tmp_path):
    session.ship(context, lambda line: None)
    look_at_workers(context)
    make(tmp_path, run=OnSpark(context))
    assert files(tmp_path) == here


@pytest.mark.parametrize("kind", ["read", "route", "judge"])
def test_an_executor_is_killed(context, make, here, tmp_path, kind):
    flag, out = tmp_path / "killed", tmp_path / "out"
    deadly = partial(killed_once.deadly_to_executors, str(flag), os.getpid(), kind)
    make(out, run=OnSpark(context, work=deadly))
    assert flag.exists()
    assert files(out) == here
    assert not [*out.rglob(HALVES)], "what was left half is swept away"


def test_workers_have_what_the_docs_say_and_no_rota(context, make, here, tmp_path, monkeypatch):
    monkeypatch.setattr(context, "pythonExec", bare(tmp_path / "bare", WORKERS_NEED))
    session.ship(context, lambda line: None)
    look_at_workers(context)
    make(tmp_path / "out", run=OnSpark(context))
    assert files(tmp_path / "out") == here


@pytest.mark.parametrize("missing", WORKERS_NEED)
def test_workers_that_lack_a_package_are_refused(context, tmp_path, monkeypatch, missing):
    others = tuple(name for name in WORKERS_NEED if name != missing)
    monkeypatch.setattr(context, "pythonExec", bare(tmp_path, others))
    session.ship(context, lambda line: None)
    named = missing.replace("_", "-")
    with pytest.raises(Missing, match=rf"^the workers have no {named}; install rota\[spark\] there$"):
        look_at_workers(context)


def test_what_a_task_may_have_is_held_to(context, make, here, tmp_path):
    with pytest.raises(NoMemory, match="give more with --memory"):
        make(tmp_path, run=OnSpark(context, ceiling=24 * MIB))
    make(tmp_path, run=OnSpark(context, ceiling=512 * MIB))
    assert files(tmp_path) == here


def test_the_command_on_a_cluster(make, tmp_path):
    """Its driver starts the two executors: what it prints and leaves is what one process does."""
    (lake,) = make.args[0]
    place = {"SPARK_LOCAL_IP": session.LOOPBACK, "PYSPARK_PYTHON": sys.executable}
    cluster = "--engine", "spark", "--master", "local-cluster[2,1,1024]", "--memory", "2048"
    for verb in ("validate", "explain"):
        told = []
        for name, how in (("here", ()), ("there", cluster)):
            out = tmp_path / f"{verb}-{name}"
            command = [sys.executable, "-m", "rota", verb, str(lake), "--unordered", "--out", str(out), *how]
            ended = subprocess.run(
                command, env={**os.environ, **place}, capture_output=True, text=True, check=False
            )
            told.append((ended.returncode, ended.stdout.replace(str(out), "OUT"), files(out)))
            assert files(out), ended.stderr
        assert told[0] == told[1]
