"""What the coordinator does in one step, as sentences about effects see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from rota.spec import Arm, BrokerConfig
from rota.spec.effects import Timer
from rota.spec.kind import AnyGroup, AnyStep
from rota.spec.messages import Request


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
    def armed(self) -> Mapping[Timer, int]:
        """The timers that the step leaves armed by what it says, with their delays in milliseconds: the last
        word on each counts.
        """
        last = {effect.timer: effect for effect in self.step.timers}
        return {timer: effect.delay_ms for timer, effect in last.items() if isinstance(effect, Arm)}
