"""Bugs planted in the coordinator's consumer protocol, and what the kit's cases say of a server with one.

    python tests/harness/consumer_bugs.py [BUG ...]

plays the cases about the consumer protocol on a server with each bug, and prints which fail beside the one
that the table names.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from harness.own_server import OPTIONS, played
from harness.subtle_bugs import FORKS, PLAYS
from rota.conformance.catalogue import all_cases, select
from rota.conformance.dialogues.script import Case
from rota.conformance.results import DEVIATION_VERDICT, Verdict
from rota.conformance.rules import CONSUMER
from rota.mutants.core import CoreBug, planted

TABLE = Path(__file__).parent.parent / "conformance" / "consumer_bugs.toml"
PROFILE = "kafka-4.x"
AT_A_TIME = 8
HURRIED = replace(OPTIONS, patience=4.0)
DEVIATES = (*DEVIATION_VERDICT.values(), Verdict.DIED)


@dataclass(frozen=True)
class ConsumerBug:
    """A planted bug, and the case of its rule that has to fail."""

    planted: CoreBug
    case_id: str

    @property
    def case(self) -> Case:
        """The case."""
        (found,) = select(all_cases(), [self.case_id])
        return found


@cache
def consumer_bugs() -> dict[str, ConsumerBug]:
    """All bugs of the table, by name."""
    entries = tomllib.loads(TABLE.read_text(encoding="utf-8"))["bug"]
    bugs = (ConsumerBug(CoreBug(**one), case_id) for one in entries for case_id in (one.pop("case"),))
    return {bug.planted.name: bug for bug in bugs}


def deviating(bug: ConsumerBug, cases: Iterable[Case]) -> dict[str, Verdict]:
    """Which of these cases deviate where the bug is planted in this process, by id."""
    with planted(bug.planted):
        results = played([*cases], PROFILE, HURRIED)
    return {one.case.id: one.verdict for one in results if one.verdict in DEVIATES}


def is_seen(name: str) -> bool:
    """Whether the case that the table names deviates."""
    bug = consumer_bugs()[name]
    return any(deviating(bug, [bug.case]) for _ in range(PLAYS))


def unseen(names: Sequence[str]) -> list[str]:
    """Bugs that their case does not see; each in a process of its own."""
    with ProcessPoolExecutor(AT_A_TIME, mp_context=FORKS) as processes:
        return [name for name, seen in zip(names, processes.map(is_seen, names), strict=True) if not seen]


def all_deviating(name: str) -> dict[str, Verdict]:
    """As `deviating`, of every case about the consumer protocol."""
    return deviating(consumer_bugs()[name], select(all_cases(), [CONSUMER]))


def main(names: Sequence[str]) -> None:
    """Print what each bug does to the cases."""
    for name in names or [*consumer_bugs()]:
        found = all_deviating(name)
        print(consumer_bugs()[name].planted.rule, name, len(found), *found, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
