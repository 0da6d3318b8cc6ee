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
from rota.conformance.dialogues.registry import rule_of
from rota.conformance.dialogues.script import Case
from rota.conformance.results import DEVIATION_VERDICT, Verdict
from rota.conformance.runner import Options, play_all
from rota.conformance.targets.grammar import parse_target
from rota.mutants.core import CoreBug, planted

TABLE = Path(__file__).parent.parent / "conformance" / "subtle_bugs.toml"

AT_A_TIME = 32
"""So many bugs are judged at a time: more would make the timers of one late by the work of the others."""

PLAYS = 3
"""How often a bug is judged that is not seen: a machine is rarely that busy for long."""

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["rota.conformance.catalogue", "rota.conformance.targets.grammar", "rota.mutants.core"]
)


@dataclass(frozen=True)
class SubtleBug:
    """A planted bug, and the case that has to fail."""

    planted: CoreBug
    case_id: str

    @property
    def case(self) -> Case:
        """The case."""
        (found,) = select(all_cases(), [self.case_id])
        return found

    @property
    def wanted(self) -> Verdict:
        """The verdict where the bug is seen."""
        return DEVIATION_VERDICT[self.case.level]


def subtle_bugs() -> list[SubtleBug]:
    """All bugs of the table."""
    entries = tomllib.loads(TABLE.read_text(encoding="utf-8"))["bug"]
    return [SubtleBug(_core_bug(entry), entry["case"]) for entry in entries]


def _core_bug(entry: dict[str, str]) -> CoreBug:
    name, meaning, function, old, new = (
        entry[field] for field in ("name", "meaning", "function", "old", "new")
    )
    return CoreBug(rule_of(entry["case"]), name, meaning, function, old, new)


def unseen(bugs: Iterable[SubtleBug]) -> dict[str, Verdict]:
    """Bugs whose case does not deviate, by name, with the verdict; each is judged again before it is told."""
    left = dict.fromkeys(bugs, Verdict.UNDECIDED)
    for _ in range(PLAYS):
        left = {bug: found for bug, found in _judged(left) if found is not bug.wanted}
    return {bug.planted.name: found for bug, found in left.items()}


def _judged(bugs: Iterable[SubtleBug]) -> list[tuple[SubtleBug, Verdict]]:
    with ProcessPoolExecutor(AT_A_TIME, mp_context=FORKS) as processes:
        return [*zip(bugs, processes.map(verdict, bugs), strict=True)]


def verdict(bug: SubtleBug) -> Verdict:
    """The verdict on the bug's case where it is planted in this process, as Kafka to the letter."""
    letter = parse_target("rota", profile="kafka-4.x")
    with planted(bug.planted):
        (result,) = play_all([bug.case], letter, Options(seed=1, patience=2), {})
    return result.verdict
