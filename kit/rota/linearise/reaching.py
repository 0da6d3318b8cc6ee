"""Which orders of what is under way a run looks at.

Most coordinators take requests as they come. One order that explains what was seen is enough, and to look at
all of them is dear: of N members who sync at once any may have had their turn. So where fewer orders may be
looked at (`Limits.narrow`) and much is under way, that of sending is looked at first, and alone, with a log
that answers at once: the run hurries. Where it does not explain what comes, the judge goes back and looks at
all orders (`all_orders`), as far as its limits go, and from then on does so in this history.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rota.linearise.history import Event
from rota.linearise.judgement import Limits, UndecidedError

WIDTHS = (3, 1)
"""How many of the oldest requests may be next where not all orders are looked at."""

MOST_REQUESTS = 1
"""Requests in unknown order past which a run hurries."""


class Reaching:
    """The part of a run that says which orders are looked at.

    Attributes: narrowed, whether orders were left out, so that no state left says nothing; hurries, whether
    it may hurry; hurried, whether it has.
    """

    _limits: Limits
    _width: int | None = None
    _stores_first = False
    narrowed = hurried = False
    hurries = True

    def _reachable(self, now: float) -> Any:
        """The states that may be reached until now, by all orders, or by fewer where those are too many."""
        if self.hurries and self._limits.narrow and self._at_once() > MOST_REQUESTS:
            self._width = 1
            with suppress(UndecidedError):
                found = self._in_a_hurry(now)
                self.narrowed = self.hurried = True
                return found
        self._width = None
        for width in WIDTHS if self._limits.narrow else ():
            try:
                return self._followed(now)
            except UndecidedError:
                self._width, self.narrowed = width, True
        return self._followed(now)

    def _in_a_hurry(self, now: float) -> Any:
        """The states that may be reached by the order of sending: where the log answers before anything else
        is done, if one of those will do, else where it answers at any time."""
        self._stores_first = True
        found = self._followed(now)
        self._stores_first = False
        return found if self._will_do(found, now) else self._followed(now)

    def _will_do(self, found: Any, now: float) -> bool:
        """Whether one of the states is such as is looked for."""
        raise NotImplementedError

    def _followed(self, now: float) -> Any:
        """The states that may be reached until now. Errors: UndecidedError."""
        raise NotImplementedError

    def _at_once(self) -> int:
        """How many requests may have had no turn yet, in the state where they are most."""
        raise NotImplementedError


def all_orders(base: Any, events: Sequence[Event], ahead: Sequence[Event]) -> tuple[Any, bool]:
    """A run that goes on from another, and whether states are left in it. base: a run that does not hurry,
    where events begin; ahead: what will be seen after them. Errors: UndecidedError."""
    base.hurried = False
    base.look_ahead((*events, *ahead))
    return base, all(base.see(event) for event in events)
