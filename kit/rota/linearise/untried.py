"""What a judge has not looked at, and may have to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rota.linearise.history import Event
from rota.linearise.run import Run


@dataclass(frozen=True)
class Untried:
    """Of what orders were not tried when an answer was late: base, where they begin; events, what was seen
    since then; until: request → until when it is forgiven that its answer has not come.
    """

    base: Run
    events: tuple[Event, ...] = ()
    until: Mapping[int, float] = field(default_factory=dict)

    def and_then(self, events: Sequence[Event]) -> Untried:
        """With what was seen after it."""
        return replace(self, events=(*self.events, *events))
