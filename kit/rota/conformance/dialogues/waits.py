"""How long a target was waited for: where a dialogue runs late, whether that was it or the kit."""

from __future__ import annotations

from dataclasses import dataclass

from rota.conformance.dialogues.failures import Late
from rota.conformance.dialogues.prerequisites import rule_behind

OVERTIME = 2.0
"""Seconds for which a missing answer is listened for, so that one that is late is told from none."""

SLOW = 0.2
"""Seconds in which any target answers what it need not wait for, where it has time; milliseconds mostly."""

PENDING = frozenset({"JoinGroup", "SyncGroup"})
"""What a coordinator answers when others have done something, but for refusals."""

SLICE = 0.5
"""Seconds after which somebody who waits for an answer looks whether the run is to stop."""


@dataclass(frozen=True)
class _Wait:
    api: str
    began: float
    seconds: float
    rule: str
    error: str | None

    @property
    def prompt(self) -> bool:
        """Whether an answer came for which the target needs nobody else."""
        return self.error is not None and (self.api not in PENDING or self.error != "NONE")


class Waits:
    """The waits of a dialogue for answers, each by when it began and how long it was, in seconds."""

    def __init__(self) -> None:
        self._waits: list[_Wait] = []

    def note(self, api: str, began: float, ended: float, error: str | None, rule: str = "") -> None:
        """An answer was waited for. error: None where none came, of what is `PENDING` its error's name.

        rule: which one has it come at once, if not that which grants it.
        """
        rule = rule or rule_behind(api, "NONE", None)
        self._waits.append(_Wait(api, began, ended - began, rule, error))

    @property
    def were_slow(self) -> bool:
        """Whether the target took long for what it need not wait for: it may have had no time itself."""
        return any(wait.seconds > SLOW for wait in self._waits if wait.prompt)

    def in_time(self, since: float, now: float, limit: float) -> None:
        """Nothing where no more time passed. Errors: Late."""
        if now - since > limit:
            raise self.late(since, now, limit)

    def late(self, since: float, now: float, limit: float) -> Late:
        """What is to be raised where steps took longer than the limit: the target may have been slow in them.

        It was where the kit itself would have been in time; the rule is that of the longest wait.
        """
        took, waits = now - since, [wait for wait in self._waits if wait.began >= since]
        waited = sum(wait.seconds for wait in waits)
        told = f"{took:.1f} s went by in steps that have to fit into {limit:g} s"
        if took - waited > limit or not waits:
            return Late(f"the kit was late: {told}")
        longest = max(waits, key=lambda wait: wait.seconds)
        slow = f"{longest.seconds:.1f} s of them in a wait for an answer to {longest.api}"
        return Late(f"{told}, {slow}", longest.rule)
