"""Subtle bugs of the table `tests/conformance/subtle_bugs.toml`, and what the kit says of a server with one.

A bug is planted in a process of its own, forked from one that has everything imported, so that many can be
judged at a time: nearly all that their dialogues do is wait.
"""

from __future__ import annotations

import multiprocessing
import tomllib
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from harness.own_server import OPTIONS, played
from harness.seen_bugs import profile_for
from rota.conformance.catalogue import all_cases, select
from rota.conformance.dialogues.registry import rule_of
from rota.conformance.dialogues.script import Case
from rota.conformance.profiles import for_profile
from rota.conformance.results import DEVIATION_VERDICT, Verdict
from rota.mutants.core import CoreBug, planted

TABLE = Path(__file__).parent.parent / "conformance" / "subtle_bugs.toml"

AT_A_TIME = 32
"""So many bugs are judged at a time: more would make the timers of one late by the work of the others."""

PLAYS = 3
"""How often a bug is judged that is not seen: a machine is rarely that busy for long."""

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["harness.own_server", "rota.conformance.catalogue", "rota.mutants.core"])


@dataclass(frozen=True)
class SubtleBug:
    """A planted bug, and the case that has to fail."""

    planted: CoreBug
    case_id: str

    @property
    def case(self) -> Case:
        """The case, as it is for the profile whose server shows the bug."""
        (found,), _ = for_profile(select(all_cases(), [self.case_id]), profile_for(self.planted))
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
    """The verdict on the bug's case where it is planted in this process."""
    with planted(bug.planted):
        (result,) = played([bug.case], profile_for(bug.planted), replace(OPTIONS, patience=2))
    return result.verdict
