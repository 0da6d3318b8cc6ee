"""Walks again without what went wrong: a walk is judged until its first deviation, and there may be others.

Without the request that was answered wrongly the rest of the plan is walked on as by a target that does not
have this mistake. So every deviation that is told is the first of some walk, and none a consequence of one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from rota.generate.plan import Ask, Plan
from rota.generate.verdicts import Verdict, Walked

ROUNDS = 12
"""How often a plan is played again at most, with less each time."""

KEPT = 500
"""Plans that wait to be played again, at most; of more the oldest are forgotten."""


class Avoiding:
    """Plans that avoid what is known to be wrong. A target without mistakes has none.

    Attribute: walked, how many were played.
    """

    def __init__(self) -> None:
        self.walked = 0
        self._waiting: deque[Plan] = deque(maxlen=KEPT)
        self._causes: dict[tuple[str, int, int], set[tuple[str, ...]]] = {}
        self._turn = False

    def next(self) -> Plan | None:
        """The next of them; None every second time, and where there is none."""
        self._turn = not self._turn
        if not (self._turn and self._waiting):
            return None
        self.walked += 1
        return self._waiting.popleft()

    def hear(self, walked: Walked) -> None:
        """What became of a walk."""
        plan = walked.played.plan
        walk = (plan.protocol, plan.seed, plan.number)
        met = self._causes.setdefault(walk, set())
        less = without_fault(walked, alike=walked.cause in met)
        met.add(walked.cause)
        if less is not None and less.left_out <= ROUNDS:
            self._waiting.append(less)
        else:
            del self._causes[walk]


def without_fault(walked: Walked, alike: bool = False) -> Plan | None:
    """The plan without the request that was answered wrongly; None where it is not known.

    alike: without all requests of its kind.
    """
    plan = walked.played.plan
    wrong = next((one for one in plan.steps if isinstance(one, Ask) and one.number == walked.fault), None)
    if walked.verdict is not Verdict.FAIL or wrong is None:
        return None
    kept = (
        one
        for one in plan.steps
        if one is not wrong and not (alike and isinstance(one, Ask) and one.api == wrong.api)
    )
    return replace(plan, steps=tuple(kept), left_out=plan.left_out + 1)
