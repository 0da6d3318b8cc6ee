"""The tools that are measured: how each is built, run and read. All command lines are in this file."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from bench.peers.instances import SMALL, Counts, Instance

ROOT = Path(__file__).parents[2]
STATERIGHT = ROOT / "bench" / "peers" / "stateright"
PROMELA = ROOT / "bench" / "peers" / "spin" / "kgroup.pml"

GCC = ("gcc", "-O2", "-w", "-DSAFETY", "-DNOREDUCE", "-DNOFAIR", "-DVECTORSZ=128")
SPIN_DEPTH = 100_000
"""The deepest path that Spin's depth-first search has room for; pan says so where it is not enough."""


class Missing(Exception):
    """A tool is not on this machine; the message names the remedy."""


class Failed(Exception):
    """A tool has not searched to the end; the message has what it said."""


@dataclass(frozen=True)
class Reading:
    """What a tool reports. seconds: of the search, None where only the process can be timed; peak_kib: its
    own measure, None where there is none or the system's is right."""

    counts: Counts
    seconds: float | None
    peak_kib: int | None = None


@dataclass(frozen=True)
class Tool:
    """A tool with its options.

    Parameters: prepare, builds what is needed below a folder and returns the command for an instance
    (errors: Missing); read, from what the command printed (errors: Failed); fits, instances that it is
    measured on; orbits, whether it counts states up to symmetry.
    """

    name: str
    family: str
    workers: int
    prepare: Callable[[Instance, Path], list[str]]
    read: Callable[[str], Reading]
    fits: Callable[[Instance], bool]
    orbits: bool = False

    def expected(self, instance: Instance) -> Counts:
        """The counts that it must have."""
        return instance.orbits if self.orbits and instance.orbits else instance.counts


def _output(*command: str, folder: Path = ROOT, **variables: str) -> str:
    """What a command prints. Errors: Missing, with the last line of its complaint, if it fails."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        complaint = (done.stderr or done.stdout).strip().splitlines()
        raise Missing(
            f"`{' '.join(command[:3])} …` failed: {complaint[-1] if complaint else done.returncode}"
        )
    return done.stdout


def _needs(program: str, remedy: str) -> None:
    if shutil.which(program) is None:
        raise Missing(f"no {program} on the path; {remedy}")


# rota


@cache
def _rota() -> str:
    beside = Path(sys.executable).with_name("rota")
    found = str(beside) if beside.exists() else shutil.which("rota")
    if found is None:
        raise Missing("no rota command beside this Python or on the path; pip install --editable .")
    return found


@cache
def _rota_help() -> str:
    return _output(_rota(), "check", "--help")


def _rota_command(options: tuple[str, ...], instance: Instance, folder: Path) -> list[str]:
    unknown = [each for each in options if each.startswith("--") and each not in _rota_help()]
    if unknown:
        raise Missing(f"rota check has no option {unknown[0]}")
    settings = [part for name, value in instance.named.items() for part in ("--set", f"{name}={value}")]
    system = ["--system", "bench.kgroup:kgroup", *settings]
    return [_rota(), "check", *system, *options, "--json", "--quiet", "--out", str(folder / "rota")]


def _rota_reading(printed: str) -> Reading:
    figures = json.loads(printed)
    if figures["verdict"] != "holds":
        raise Failed(f"the verdict is {figures['verdict']}")
    return Reading(Counts(figures["distinct"], figures["generated"], figures["depth"]), figures["seconds"])


# Stateright


@cache
def _stateright(target: Path) -> Path:
    _needs("cargo", "install Rust (https://rustup.rs)")
    _output("cargo", "build", "--release", "--locked", "--quiet", "-j1",
            folder=STATERIGHT, CARGO_TARGET_DIR=str(target))  # fmt: skip
    return target / "release" / "kgroup"


def _stateright_command(search: str, threads: int, instance: Instance, folder: Path) -> list[str]:
    return [str(_stateright(folder / "stateright")), search, str(threads), *map(str, instance.settings)]


def _stateright_reading(printed: str) -> Reading:
    figures = json.loads(printed)
    if figures["violated"]:
        raise Failed(f"violated: {figures['violated']}")
    counts = Counts(figures["distinct"], figures["generated"], figures["depth"])
    return Reading(counts, figures["seconds"], figures["peak_kib"])


# Spin


def _slots(instance: Instance) -> int:
    """log2 of the slots of Spin's table: for all states, at most seven tenths full."""
    return (instance.counts.distinct * 10 // 7).bit_length()


@cache
def _pan(instance: Instance, breadth: bool, folder: Path) -> Path:
    for program in ("spin", "gcc"):
        _needs(program, f"install it (Debian: apt-get install {program})")
    folder.mkdir(parents=True, exist_ok=True)
    settings = [f"-D{name}={value}" for name, value in instance.named.items() if name != "ND"]
    _output("spin", *(["-DBREADTH"] if breadth else []), *settings, "-a", str(PROMELA), folder=folder)
    _output(*GCC, *(["-DBFS_PAR"] if breadth else []), "-o", "pan", "pan.c", folder=folder)
    return folder / "pan"


def _spin_depth_first(instance: Instance, folder: Path) -> list[str]:
    pan = _pan(instance, False, folder / "spin" / f"depth-first-{instance.name}")
    return [str(pan), f"-w{_slots(instance)}", f"-m{SPIN_DEPTH}", "-n"]


def _spin_breadth_first(workers: int, instance: Instance, folder: Path) -> list[str]:
    pan = _pan(instance, True, folder / "spin" / f"breadth-first-{instance.name}")
    return [str(pan), f"-w{_slots(instance)}", f"-u{workers}", "-n"]


def _found(pattern: str, printed: str) -> str:
    found = re.search(pattern, printed, flags=re.MULTILINE)
    if found is None:
        raise Failed(f"no {pattern!r} in what pan printed")
    return found[1]


def _spin_reading(printed: str) -> Reading:
    if _found(r"errors: (\d+)", printed) != "0" or "max search depth too small" in printed:
        raise Failed(next(line for line in printed.splitlines() if line.strip()))
    breadth = "Breadth-First" in printed
    counts = Counts(
        int(_found(r"^ *(\d+) states, stored", printed)),
        int(_found(r"^ *(\d+) transitions", printed)),
        int(_found(r"depth reached (\d+)", printed)) if breadth else None,
    )
    # Breadth-first workers are processes that share memory, so that no process's own size is right.
    parts = ("total shared", "total non-shared") if breadth else ()
    sizes = [float(_found(rf"^ *([\d.]+)\t{part} memory usage", printed)) for part in parts]
    seconds = float(_found(r"elapsed time ([\d.e+-]+) seconds", printed))
    return Reading(counts, seconds, round(sum(sizes) * 1024) if breadth else None)


# Any other


def other(named: str) -> Tool:
    """A tool given as NAME=COMMAND; {N}, {G} and so on in the command stand for an instance's settings.

    It prints distinct and generated, perhaps depth and seconds, as name=number or JSON. Errors: ValueError.
    """
    name, equals, command = named.partition("=")
    if not (name and equals and command.strip()):
        raise ValueError(f"{named!r} is not NAME=COMMAND")

    def prepare(instance: Instance, folder: Path) -> list[str]:
        return shlex.split(command.format(**instance.named))

    return Tool(name, "other", 0, prepare, _other_reading, lambda instance: True)


def _other_reading(printed: str) -> Reading:
    figures = dict(re.findall(r'"?\b(distinct|generated|depth|seconds)"?[=:] *([\d.]+)', printed))
    missing = {"distinct", "generated"} - figures.keys()
    if missing:
        raise Failed(f"it does not say {', '.join(sorted(missing))}")
    depth = int(figures["depth"]) if "depth" in figures else None
    seconds = float(figures["seconds"]) if "seconds" in figures else None
    return Reading(Counts(int(figures["distinct"]), int(figures["generated"]), depth), seconds)


def _everywhere(instance: Instance) -> bool:
    return instance.orbits is None


def _no_choices(instance: Instance) -> bool:
    return instance.named["ND"] == 0


def _rota_tool(name: str, workers: int, fits: Callable[[Instance], bool], *options: str) -> Tool:
    return Tool(name, "rota", workers, partial(_rota_command, options), _rota_reading, fits,
                orbits="--symmetry" in options)  # fmt: skip


def _stateright_tool(name: str, search: str, threads: int) -> Tool:
    fits = _everywhere if search == "dfs" or threads > 1 else lambda instance: True
    prepare = partial(_stateright_command, search, threads)
    return Tool(name, "Stateright", threads, prepare, _stateright_reading, fits)


REFERENCE = _rota_tool("rota reference", 1, lambda instance: instance is SMALL, "--engine", "reference")
"""Measured on a small instance only."""

TOOLS: tuple[Tool, ...] = (
    REFERENCE,
    _rota_tool("rota fast", 1, lambda instance: True, "--engine", "fast", "--workers", "1"),
    _rota_tool("rota fast, 2 workers", 2, _everywhere, "--engine", "fast", "--workers", "2"),
    _rota_tool("rota symmetric", 1, lambda instance: instance.orbits is not None,
               "--engine", "fast", "--workers", "1", "--symmetry"),
    _stateright_tool("Stateright breadth-first", "bfs", 1),
    _stateright_tool("Stateright breadth-first, 2 threads", "bfs", 2),
    _stateright_tool("Stateright depth-first", "dfs", 1),
    _stateright_tool("Stateright depth-first, 2 threads", "dfs", 2),
    Tool("Spin depth-first", "Spin", 1, _spin_depth_first, _spin_reading, _no_choices),
    Tool("Spin breadth-first", "Spin", 1, partial(_spin_breadth_first, 1), _spin_reading, _no_choices),
    Tool("Spin breadth-first, 2 workers", "Spin", 2, partial(_spin_breadth_first, 2), _spin_reading,
         _no_choices),
)  # fmt: skip
"""In the order of their turns. Stateright keeps 64-bit fingerprints, and so does Spin breadth-first; rota and
Spin depth-first are exact."""
