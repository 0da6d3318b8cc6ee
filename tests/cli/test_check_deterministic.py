"""The same commit, scope and mutant give the same bytes, whatever the hash seed of the process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.thinned import long


def check(seed: str, out: Path, *arguments: str) -> str:
    """Run `rota check` in a process of its own; its stdout."""
    command = [
        sys.executable,
        "-m",
        "rota",
        "check",
        "--out",
        str(out),
        *(() if "--workers" in arguments else ("--workers", "1")),
        *arguments,
    ]
    env = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=120).stdout


def test_traces_are_byte_identical_and_a_violation_is_told_the_same_but_for_times(
    tmp_path: Path, timeless: Callable[[Any], Any]
) -> None:
    traces, told = [], []
    for seed in ("1", "77"):
        out = tmp_path / seed / "out"
        what = ("--mutant", "session-takes-parked", "--configuration", "fault", "--json")
        said = check(seed, out, *what)
        told.append(json.dumps(timeless(json.loads(said.replace(str(out), "out")))))
        (trace,) = out.glob("trace-*.jsonl")
        traces.append(trace.read_bytes())
    assert traces[0] == traces[1]
    assert traces[0].count(b"\n") > 5
    assert told[0] == told[1]
    assert '"verdict": "violated"' in told[0]


@pytest.mark.long
def test_digests_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    choice = ("--scope", "tiny", "--configuration", "leave-and-rejoin", "--json")
    runs = [json.loads(check(seed, tmp_path, *choice))["runs"][0] for seed in ("1", "77")]
    assert runs[0]["digest"] == runs[1]["digest"] == runs[0]["expected"]["digest"]


@pytest.mark.parametrize(
    ("configuration", "workers"),
    [("three", "2"), long(("fault-no-handshake", "1")), long(("fault-no-handshake", "2"))],
)
def test_reports_are_byte_identical_but_for_times(
    configuration: str, workers: str, tmp_path: Path, timeless: Callable[[Any], Any]
) -> None:
    """Sizes of tables, bytes a state, retries and all: numbers of values do not depend on seed or threads."""
    choice = ("--scope", "small", "--configuration", configuration, "--json", "--workers", workers)
    told = [check(seed, tmp_path, *choice) for seed in ("1", "77")]
    first, second = (json.dumps(timeless(json.loads(text))) for text in told)
    assert first == second
    assert '"verdict": "holds"' in first
