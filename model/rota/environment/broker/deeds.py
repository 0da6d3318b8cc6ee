"""What the coordinator does in one step, as sentences about effects see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from rota.spec import Arm, BrokerConfig
from rota.spec.kind import AnyGroup, AnyStep
from rota.spec.messages import Request

Lengths = Sequence[tuple[str, int]]
"""Timers that a step arms: whose (empty for the group's own), and for how many milliseconds."""


@dataclass(frozen=True)
class Deed:
    """One step.

    Parameters: config, of the broker; before, the group that the step began with, None where there was none;
    step; request, the one that was handled, None where it was something else: a timer, an answer of the log.
    """

    config: BrokerConfig
    before: AnyGroup | None
    step: AnyStep
    request: Request | None = None

    @cached_property
    def armed(self) -> Mapping[str, Lengths]:
        """The timers that the step leaves armed by what it says, by their names; the last word on each
        counts.
        """
        timers = self.step.timers
        if not timers:
            return {}
        by_name: dict[str, list[tuple[str, int]]] = {}
        for timer, effect in {effect.timer: effect for effect in timers}.items():
            if isinstance(effect, Arm):
                by_name.setdefault(timer.name, []).append((timer.member_id, effect.delay_ms))
        return by_name
