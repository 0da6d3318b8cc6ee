"""The budget: causes are bounded, effects are not. What is charged beyond it does not happen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rota.environment.messages import Charge, Known
from rota.kernel import FrozenMap, Message, Outcome, Value

FAULTS = ("crash", "break", "late", "append")
"""crash: a process dies; break: a connection breaks; late: a timer expires against a client that is alive
(its session runs out, or it misses a timeout); append: the log fails."""

WISHES = (
    "leave",
    "rejoin",
    "change",
    "commit",
    "process",
    "poll-timeout",
    "retry",
    "partitions",
    "odd",
)
"""What clients do of their own accord: leave, join again without being told to, change the subscription, read
and commit, process for longer than a session, not poll for longer than they may, send a JoinGroup again that
takes too long, notice that a topic has a further partition, send a request that no client would send."""

MOVES = ("failover",)
"""The coordinator moves to another broker. The pool `fault` does not pay for it: it multiplies the states, so
a configuration asks for it by name; and with a number of its own the log knows when the last move has
happened."""

CLOCK = ("retention",)
"""The retention time of offsets passes."""

KINDS = (*FAULTS, *WISHES, *MOVES, *CLOCK)


@dataclass(frozen=True)
class Budget:
    """The machine that grants charges.

    Parameters: allowed, pool -> how many; pools, kind -> the pool that pays. A kind without a pool is
    refused.
    """

    allowed: FrozenMap[str, int]
    pools: FrozenMap[str, str]
    name: str = "budget"
    role: str = "budget"

    def initial(self) -> Sequence[Value]:
        """The whole budget."""
        return (self.allowed,)

    def actions(self, value: Value) -> Sequence[Outcome]:
        """The budget does nothing by itself."""
        return ()

    def receive(self, value: FrozenMap[str, int], sender: str, message: Message) -> Sequence[Outcome]:
        """Grant a charge, or refuse it when its pool is empty; say whether something has happened."""
        if isinstance(message, Known):
            spent = self.allowed.get(message.kind, 0) - value.get(message.kind, 0)
            return (Outcome(value),) if spent >= message.times else ()
        if not isinstance(message, Charge):
            raise TypeError(f"the budget takes charges, not {message!r}")
        pool = self.pools.get(message.kind)
        if pool is None or value[pool] == 0:
            return ()
        return (Outcome(value.set(pool, value[pool] - 1)),)

    def why_refused(self, value: FrozenMap[str, int], sender: str, message: Message) -> str | None:
        """How the budget stands."""
        if not isinstance(message, Charge | Known):
            return None
        kind = message.kind
        pool = self.pools.get(kind)
        if pool is None:
            return "this configuration does not allow that"
        if isinstance(message, Known):
            times = "once" if message.times == 1 else f"{message.times} times"
            return f"{kind}: that has not happened {times} yet"
        allowed = self.allowed[pool]
        return f"no {pool} left of {allowed}" if pool == kind else f"no {pool} left of {allowed} for a {kind}"
