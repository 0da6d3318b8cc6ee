"""What is done while a log that grows tells nothing new: incidents end, groups that are stuck are told, time
runs out."""

from __future__ import annotations

import time
from collections.abc import Callable

from rota.explain.moments import clock
from rota.explain.rebalance import short
from rota.explain.worst import Explainer

STUCK = 30.0
"""Seconds without an assignment, after which that is told though it goes on."""

PAUSE = 0.2
"""Seconds between two looks."""


class Following:
    """seconds: when it ends, None: never; say: is called with each line; now, sleep: for tests."""

    def __init__(
        self,
        explainer: Explainer,
        seconds: float | None,
        say: Callable[[str], None],
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._explainer, self._say, self._now, self._sleep = explainer, say, now, sleep
        self._ends = None if seconds is None else now() + seconds
        self._events, self._since = -1, now()
        self._told: set[tuple[str, float | None]] = set()

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return self._ends is not None and self._now() >= self._ends

    def idle(self) -> bool:
        """Nothing new is there. Whether that was the end."""
        accounts = self._explainer.accounts
        if self._events != accounts.seen:
            self._events, self._since = accounts.seen, self._now()
        if accounts.now is not None:
            at = accounts.now + self._now() - self._since  # the log's clock, as it goes on
            self._explainer.incidents.close(at)
            self._tell_stuck(at)
        if self.over:
            return True
        self._sleep(PAUSE)
        return False

    def _tell_stuck(self, at: float) -> None:
        for group, one in self._explainer.accounts.open_now():
            key = (group, one.began)
            if one.began is None or at - one.began < STUCK or key in self._told:
                continue
            self._told.add(key)
            waits = ", ".join(short(name) for name in one.missing[:3])
            began = one.trigger.words.format(who=short(one.who) if one.who else "a member")
            awaited = (
                f"; it waits for {waits}" if waits else "; whom it waits for is not visible in this source"
            )
            self._say(
                f"{clock(at)}  {group} has no assignment for {at - one.began:.0f} s: {began}{awaited}\n"
            )
