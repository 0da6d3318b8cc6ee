"""Which of the coordinator's planted bugs the cases see, each by a case of its own rule.

    python tests/harness/bitten.py [BUG ...]

records what all cases make the server ask of its coordinator, finds for each bug the cases in which a
coordinator that has it does anything else, and plays these on a server that has the bug: those of the bug's
own rule; where none of them deviates those of the same part of the protocol, and where none of these does,
all others. It prints a line for each bug, which case sees it first, and which cases the bug touches though
their dialogues do not run its rule.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import get_context

from harness.own_server import OPTIONS, playable, played, recorded
from harness.recorded_calls import Life, first_difference
from harness.rules_run import rules_run
from rota.conformance.dialogues.script import Case
from rota.conformance.results import DEVIATION_VERDICT, Verdict
from rota.conformance.runner import Options
from rota.mutants.core import CoreBug, core_bugs, planted
from rota.oracle.report import Divergence

PROFILES = ("kafka-4.x", "rota")
SEEN = (*DEVIATION_VERDICT.values(), Verdict.DIED)


@dataclass(frozen=True)
class Bite:
    """How a bug is seen.

    near: whether the cases that see it are of its own "rule", its "part", or "others"; verdicts: theirs;
    touched: the ids of all cases in which the coordinator does something else, whether that is seen or not;
    strangers: those of them whose dialogues do not run the bug's rule.
    """

    bug: CoreBug
    near: str
    verdicts: Mapping[str, Verdict]
    touched: tuple[str, ...]
    strangers: tuple[str, ...]

    @property
    def first(self) -> str:
        """The case to name: a violation if there is one, a short id."""
        return min(self.verdicts, key=lambda id: (self.verdicts[id] not in VIOLATIONS, len(id), id))

    def __str__(self) -> str:
        if not self.verdicts:
            return f"unseen {self.bug.rule}: {self.bug.name}; touches {len(self.touched)}"
        return (
            f"{self.verdicts[self.first]} {self.bug.rule}: {self.bug.name} by {len(self.verdicts)} of its "
            f"{self.near}, {self.first}; touches {len(self.touched)}, {len(self.strangers)} elsewhere"
        )


VIOLATIONS = (Verdict.FAIL, Verdict.DIED)


def profile_for(bug: CoreBug) -> str:
    """The profile whose server shows the bug."""
    return "rota" if bug.mended else "kafka-4.x"


class Recordings:
    """The cases of a profile that its server passes, with what they made it do. Errors: AssertionError."""

    def __init__(self, profile: str, options: Options = OPTIONS) -> None:
        self.profile = profile
        self.cases = playable(profile, options)
        self.lives, results = recorded(self.cases, profile)
        failed = {result.case.id: result.verdict for result in results if result.verdict is not Verdict.PASS}
        assert not failed, f"the sound server does not pass: {failed}"

    @cached_property
    def rules(self) -> Mapping[str, frozenset[str]]:
        """Case id → the rules that its dialogue runs."""
        return {id: _explained(id, lives) for id, lives in self.lives.items()}

    def touched(self, bug: CoreBug) -> list[Case]:
        """The cases in which a coordinator with the bug does something else than a sound one."""
        with planted(bug):
            return [case for case in self.cases if first_difference(self.lives[case.id]) is not None]

    def bite(self, bug: CoreBug) -> Bite:
        """Plays what the bug touches until something deviates, the nearest first."""
        touched = self.touched(bug)
        ids = tuple(case.id for case in touched)
        strangers = tuple(id for id in ids if bug.rule not in self.rules[id])
        for near, some in nearest(bug.rule, touched):
            if verdicts := seen(bug, some, self.profile):
                return Bite(bug, near, verdicts, ids, strangers)
        return Bite(bug, "", {}, ids, strangers)


def _explained(id: str, lives: Sequence[Life]) -> frozenset[str]:
    try:
        return rules_run(lives)
    except Divergence as found:
        raise AssertionError(f"{id}: the spec does not explain what the server did: {found}") from found


def nearest(rule: str, cases: Sequence[Case]) -> Iterator[tuple[str, list[Case]]]:
    """The cases of a rule, then those of its part, then all others."""
    part = rule.split(".", 1)[0]
    yield "rule", [one for one in cases if one.rule == rule]
    yield "part", [one for one in cases if one.part == part and one.rule != rule]
    yield "others", [one for one in cases if one.part != part]


def seen(bug: CoreBug, cases: Sequence[Case], profile: str) -> dict[str, Verdict]:
    """The cases, by id, that deviate on a server with the bug, and their verdicts."""
    if not cases:
        return {}
    with planted(bug):
        results = played(cases, profile)
    return {result.case.id: result.verdict for result in results if result.verdict in SEEN}


_recordings: dict[str, Recordings] = {}


def _bite(name: str) -> Bite:
    bug = core_bugs()[name]
    return _recordings[profile_for(bug)].bite(bug)


def bites(names: Sequence[str], processes: int = 2) -> Iterator[Bite]:
    """How each of these bugs is seen, in their order."""
    bugs = [core_bugs()[name] for name in names]
    for profile in {profile_for(bug) for bug in bugs}:
        _recordings[profile] = Recordings(profile)
        _ = _recordings[profile].rules
    with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
        yield from pool.map(_bite, names)


def main(names: Sequence[str]) -> None:
    """Print how each bug is seen."""
    found = []
    for one in bites(names or [*core_bugs()]):
        found.append(one)
        print(one, *(f"\n    {id} does not run it" for id in one.strangers), flush=True)
    unseen = [one for one in found if not one.verdicts]
    own = sum(one.near == "rule" for one in found)
    print(f"{len(found)} bugs, {own} seen by a case of their own rule, {len(unseen)} by none")


if __name__ == "__main__":
    main(sys.argv[1:])
