"""The same commit, scope and mutant give the same bytes, whatever the hash seed of the process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


def check(seed: str, out: Path, *arguments: str) -> str:
    """Run `rota check` in a process of its own; its stdout."""
    command = [
        sys.executable,
        "-m",
        "rota.cli.main",
        "check",
        "--out",
        str(out),
        "--workers",
        "1",
        *arguments,
    ]
    env = {**os.environ, "PYTHONHASHSEED": seed}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False, timeout=120).stdout


def test_traces_are_byte_identical(tmp_path: Path) -> None:
    traces = []
    for seed in ("1", "77"):
        check(seed, tmp_path / seed, "--mutant", "session-takes-parked", "--quiet")
        (trace,) = (tmp_path / seed).glob("trace-*.jsonl")
        traces.append(trace.read_bytes())
    assert traces[0] == traces[1]
    assert traces[0].count(b"\n") > 5


def test_digests_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    choice = ("--scope", "tiny", "--configuration", "leave-and-rejoin", "--json")
    runs = [json.loads(check(seed, tmp_path, *choice))["runs"][0] for seed in ("1", "77")]
    assert runs[0]["digest"] == runs[1]["digest"] == runs[0]["expected"]["digest"]
