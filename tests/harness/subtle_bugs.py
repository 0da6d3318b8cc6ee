"""Subtle bugs of the table `tests/conformance/subtle_bugs.toml`, and what the kit says of a server with one.

A bug is planted in a process of its own, forked from one that has everything imported, so that many can be
judged at a time: nearly all that their dialogues do is wait.
"""

from __future__ import annotations

import multiprocessing
import tomllib
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rota.conformance.catalogue import all_cases, select
from rota.conformance.results import Verdict
from rota.conformance.runner import Options, play_all
from rota.conformance.targets.grammar import parse_target
from rota.mutants.core import CoreBug, planted

TABLE = Path(__file__).parent.parent / "conformance" / "subtle_bugs.toml"

AT_A_TIME = 32
"""So many bugs are judged at a time: more would make the timers of one late by the work of the others."""

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["harness.subtle_bugs"])


@dataclass(frozen=True)
class SubtleBug:
    """A planted bug, and the case that has to fail."""

    planted: CoreBug
    case: str


def subtle_bugs() -> list[SubtleBug]:
    """All bugs of the table."""
    entries = tomllib.loads(TABLE.read_text(encoding="utf-8"))["bug"]
    return [SubtleBug(_core_bug(entry), entry["case"]) for entry in entries]


def _core_bug(entry: dict[str, str]) -> CoreBug:
    (case,) = select(all_cases(), [entry["case"]])
    name, meaning, function, old, new = (
        entry[field] for field in ("name", "meaning", "function", "old", "new")
    )
    return CoreBug(case.rule, name, meaning, function, old, new)


def judged(bugs: Iterable[SubtleBug]) -> dict[str, Verdict]:
    """Name of each bug -> the verdict on its case where it is planted in rota's own server."""
    bugs = list(bugs)
    with ProcessPoolExecutor(AT_A_TIME, mp_context=FORKS) as processes:
        return dict(zip((bug.planted.name for bug in bugs), processes.map(verdict, bugs), strict=True))


def verdict(bug: SubtleBug) -> Verdict:
    """The verdict on the bug's case where it is planted in this process, as Kafka to the letter."""
    letter = parse_target("rota", profile="kafka-4.x")
    with planted(bug.planted):
        (result,) = play_all(select(all_cases(), [bug.case]), letter, Options(seed=1, patience=2), {})
    return result.verdict
