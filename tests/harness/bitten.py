"""Which of the coordinator's planted bugs the cases see, each by a case of its own rule.

    python tests/harness/bitten.py [BUG ...]

records what all cases make the server ask of its coordinator, finds for each bug the cases in which a
coordinator that has it does anything else, and plays these on a server that has the bug: those of the bug's
own rule; where none of them deviates those of the same part of the protocol, and where none of these does,
all others. It prints for each bug which case sees it, and which cases a coordinator that has it treats
otherwise though nothing in their dialogues asks for its rule. Without a BUG it writes the table of all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing import get_context

from harness.kept_server import LETTER
from harness.own_server import OPTIONS, playable, played, recorded
from harness.recorded_calls import Difference, Life, first_difference
from harness.rules_run import RulesRun, rules_run
from harness.seen_bugs import Seen, profile_for, write
from rota.conformance.dialogues.script import Case, Level
from rota.conformance.results import DEVIATION_VERDICT, Verdict
from rota.mutants.core import CoreBug, core_bugs, planted

SEEN = (*DEVIATION_VERDICT.values(), Verdict.DIED)
VIOLATIONS = (Verdict.FAIL, Verdict.DIED)

FEW = 6
"""Cases that are played on a server with a bug until it is looked whether one sees it; then twice as many."""

HURRIED = replace(OPTIONS, patience=4.0)
"""The server is in this process: what it has not answered by then it never does."""


@dataclass(frozen=True)
class Bite:
    """What a bug does to the cases.

    seen: None where no case deviates; strangers: cases, by id, in which a coordinator with the bug does
    something else though nothing in their dialogues asks for the bug's rule.
    """

    bug: CoreBug
    seen: Seen | None
    strangers: tuple[str, ...]

    def __str__(self) -> str:
        if self.seen is None:
            return f"unseen {self.bug.rule}: {self.bug.name}"
        return f"{self.seen.verdict} {self.bug.rule}: {self.bug.name}, by {self.seen.case} ({self.seen.near})"


class Recordings:
    """The cases of a profile, all of which its server passes, with what they made it do."""

    def __init__(
        self,
        profile: str,
        cases: Sequence[Case],
        lives: Mapping[str, Sequence[Life]],
        explain: Callable[[Sequence[Life]], RulesRun] = rules_run,
    ) -> None:
        self.profile = profile
        self.cases = cases
        self._lives = lives
        self._explain = explain

    @classmethod
    def made(cls, profile: str) -> Recordings:
        """Plays all cases; the slow ones to the letter, where mends do not matter.

        Errors: AssertionError where a sound server does not pass one.
        """
        cases = playable(profile, replace(OPTIONS, slow=profile == LETTER))
        lives, results = recorded(cases, profile)
        failed = {result.case.id: result.verdict for result in results if result.verdict is not Verdict.PASS}
        assert not failed, f"the sound server does not pass: {failed}"
        return cls(profile, cases, lives)

    @cached_property
    def rules(self) -> Mapping[str, RulesRun]:
        """Case id → the rules that its dialogue runs. Errors: AssertionError where none explain it."""
        return {id: self._explained(id, lives) for id, lives in self._lives.items()}

    def _explained(self, id: str, lives: Sequence[Life]) -> RulesRun:
        try:
            return self._explain(lives)
        except AssertionError as found:
            raise AssertionError(f"{id}: the spec does not explain what the server did: {found}") from found

    def touched(self, bug: CoreBug, cases: Iterable[Case]) -> dict[str, Difference]:
        """Those of the cases, by id, in which a coordinator with the bug does something else, and where."""
        with planted(bug):
            found = ((case.id, first_difference(self._lives[case.id])) for case in cases)
            return {id: difference for id, difference in found if difference is not None}

    def strangers(self, bug: CoreBug) -> tuple[str, ...]:
        """The cases that the bug touches though nothing in their dialogues asks for its rule."""
        unasked = [case for case in self.cases if bug.rule not in self.rules[case.id].asked]
        return tuple(self.touched(bug, unasked))

    def seen(self, bug: CoreBug) -> Seen | None:
        """Plays what the bug touches until something deviates, the nearest first."""
        for near, some in nearest(bug.rule, self.cases):
            verdicts = seen(bug, _promising(some, self.touched(bug, some)), self.profile)
            if verdicts:
                case = min(verdicts, key=lambda id: (verdicts[id] not in VIOLATIONS, len(id), id))
                return Seen(bug.name, case, verdicts[case].value, near)
        return None


def nearest(rule: str, cases: Sequence[Case]) -> Iterator[tuple[str, list[Case]]]:
    """The cases of a rule, then those of its part, then all others."""
    part = rule.split(".", 1)[0]
    yield "rule", [one for one in cases if one.rule == rule]
    yield "part", [one for one in cases if one.part == part and one.rule != rule]
    yield "others", [one for one in cases if one.part != part]


def _promising(cases: Iterable[Case], touched: Mapping[str, Difference]) -> list[Case]:
    """Cases that are told something else come first, then those that must hold, then short ones."""

    def place(case: Case) -> tuple[bool, bool, float, str]:
        return not touched[case.id].is_answered, case.level is not Level.MUST, case.seconds, case.id

    return sorted((case for case in cases if case.id in touched), key=place)


def seen(bug: CoreBug, cases: Sequence[Case], profile: str) -> dict[str, Verdict]:
    """The verdicts, by id, of the first few cases that deviate on a server with the bug."""
    verdicts: dict[str, Verdict] = {}
    left, few = [*cases], FEW
    with planted(bug):
        while left and not any(verdict in VIOLATIONS for verdict in verdicts.values()):
            if verdicts and not any(case.level is Level.MUST for case in left):
                break
            results = played(left[:few], profile, HURRIED)
            verdicts |= {one.case.id: one.verdict for one in results if one.verdict in SEEN}
            left, few = left[few:], 2 * few
    return verdicts


_recordings: dict[str, Recordings] = {}


def _bite(name: str) -> Bite:
    bug = core_bugs()[name]
    recordings = _recordings[profile_for(bug)]
    return Bite(bug, recordings.seen(bug), recordings.strangers(bug))


def bites(names: Sequence[str], processes: int = 2) -> Iterator[Bite]:
    """What each of these bugs does, in their order."""
    for profile in {profile_for(core_bugs()[name]) for name in names}:
        _recordings[profile] = Recordings.made(profile)
        _ = _recordings[profile].rules
    with ProcessPoolExecutor(processes, mp_context=get_context("fork")) as pool:
        yield from pool.map(_bite, names)


def main(names: Sequence[str]) -> None:
    """Print what each bug does; of all of them, write the table."""
    found = []
    for one in bites(names or [*core_bugs()]):
        found.append(one)
        print(
            one, *(f"\n    touches {id}, where nothing asks for its rule" for id in one.strangers), flush=True
        )
    if not names:
        write([one.seen for one in found if one.seen is not None])


if __name__ == "__main__":
    main(sys.argv[1:])
