"""The same answer in every way that the fast engine can go: threads, numpy, disk, killed and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from click.testing import Result as Told

from harness.thinned import but
from rota.cli.main import main
from rota.environment.broker.coordinator import Coordinator
from rota.environment.clients.assignment import assign
from rota.environment.clients.state import Client
from rota.explore import Limits, Result, Verdict
from rota.explore.fast import engine as fast
from rota.explore.fast import numpy_search
from rota.invariants.views import CLIENT, COORDINATOR
from rota.kernel import Kind, Property, System
from rota.mutants import system
from rota.scopes import load
from rota.spec import GroupState

ROOT = Path(__file__).parents[2]
WORLD = "moves"
"""A configuration of small with some ten thousands of states, soon explored."""

MEMORY = 1 << 18
"""Bytes: some of the states go to disk."""

Way = Callable[[System, Path], Result]

WAYS: dict[str, Way] = {
    "two workers": lambda world, folder: fast.explore(world, Limits(workers=2)),
    "numpy": lambda world, folder: numpy_search.explore(world),
    "on disk": lambda world, folder: fast.explore(world, Limits(memory=MEMORY, workers=2)),
    "fingerprints": lambda world, folder: fast.explore(world, Limits(fingerprints=True)),
    "with checkpoints": lambda world, folder: fast.explore(world, Limits(checkpoint=folder)),
}


@pytest.fixture(scope="module")
def plain() -> Result:
    """What the engine says when it is asked for nothing in particular."""
    return fast.explore(system(load("small").configuration(WORLD).settings))


@pytest.mark.parametrize("way", but(["with checkpoints"], WAYS))
def test_a_fault_in_every_way(way: str, plain: Result, tmp_path: Path) -> None:
    result = WAYS[way](system(load("small").configuration(WORLD).settings), tmp_path)
    assert result.answer == plain.answer
    assert result.rules_fired == plain.rules_fired
    if way == "on disk":
        assert result.stats["bytes_on_disk"] > 0


def check(*arguments: str, world: str = WORLD) -> Told:
    """What the verb says, in this process."""
    asked = ("check", "--json", "--quiet", "--scope", "small", "--configuration", world)
    return CliRunner().invoke(main, [*asked, *arguments])


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path, plain: Result) -> None:
    """The process gets SIGKILL between two levels somewhere in the middle; nothing else tidies up."""
    kept = ("--checkpoint", str(tmp_path / "kept"), "--out", str(tmp_path / "out"))
    manifest = tmp_path / "kept" / WORLD / "manifest.json"
    command = [sys.executable, "-m", "rota", "check", "--scope", "small", "--configuration", WORLD, *kept]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT) as running:
        deadline = time.monotonic() + 120
        while not manifest.exists() or json.loads(manifest.read_bytes())["level"] < 11:
            assert running.poll() is None, "the run was over before it could be killed"
            assert time.monotonic() < deadline, "no checkpoint came"
            time.sleep(0.01)
        os.kill(running.pid, signal.SIGKILL)
    level = json.loads(manifest.read_bytes())["level"]
    assert level < plain.depth
    (run,) = json.loads(check(*kept, "--resume").stdout)["runs"]
    assert run["histogram"] == list(plain.histogram)
    assert (run["digest"], run["generated"]) == (plain.digest, plain.generated)
    (told,) = json.loads(check(*kept, "--resume").stdout)["runs"]
    assert told["digest"] == plain.digest  # a run that is over prints its result


def test_a_folder_of_another_system_is_refused(tmp_path: Path) -> None:
    kept = ("--checkpoint", str(tmp_path), "--out", str(tmp_path / "out"))
    assert check(*kept, world="core").exit_code == 0
    done = check(*kept, "--resume", "--set", "partitions=3", world="core")
    assert done.exit_code == 2
    assert "is of another search (its settings differs); give another folder" in done.stderr


def test_a_property_that_sees_everything_does_not_blow_up() -> None:
    """Whole values of coordinator and client, judged by the assignor itself: only pairs that occur cost."""
    asked: list[int] = []

    def as_assigned(coordinator: Coordinator, client: Client) -> bool:
        asked.append(1)
        group = coordinator.group
        if client.assignment is None or group is None or client.generation_id != group.generation_id:
            return True
        if group.state is not GroupState.STABLE:
            return True
        return (
            dict(assign(group.generation_id, group.protocol_name, group.member_list(), 2))[client.member_id]
            == client.assignment
        )

    settings = load("small").configuration("leave-and-rejoin").settings
    world = system(settings)
    wide = Property("as-assigned", Kind.SAFETY, "wide", (COORDINATOR, CLIENT), as_assigned)
    result = fast.explore(replace(world, properties=(*world.properties, wide)))
    values = result.stats["values"]
    product = 2 * values["coordinator"] * values["client/c1"]
    assert result.verdict is Verdict.HOLDS
    assert result.digest == fast.explore(world).digest
    assert len(asked) < product / 20
    swapped = system(settings, "shares-swapped")
    assert fast.explore(replace(swapped, properties=(wide,))).verdict is Verdict.VIOLATED
