"""Why a client does not make a move now: each move that it knows, and what it needs.

A move is possible exactly where nothing that it needs is missing; a test compares that with what clients do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rota.environment.clients.commits import must_fetch
from rota.environment.clients.state import ENDED, Client, Phase
from rota.environment.clients.subscription import Subscription
from rota.kernel import Outcome, Refusal

Missing = Callable[[Subscription, Client], str]
"""What a client lacks for a move, in words, empty where it lacks nothing."""


@dataclass(frozen=True)
class Move:
    """A move of a client.

    text: what it does, put after its name; sign: the same of its outcomes, a pattern; needs: in the order in
    which they are told.
    """

    text: str
    sign: str
    needs: tuple[Missing, ...]

    def missing(self, subscription: Subscription, value: Client) -> str:
        """The first thing that is missing; empty where the move is possible."""
        return next((why for need in self.needs if (why := need(subscription, value))), "")

    def is_of(self, outcome: Outcome, value: Client) -> bool:
        """Whether an outcome is this move."""
        return re.fullmatch(self.sign, outcome.label.removeprefix(value.name).strip()) is not None


def refused(
    moves: Iterable[Move], subscription: Subscription, value: Client, offered: Iterable[Outcome]
) -> Iterator[Refusal]:
    """The moves that are not among the outcomes that a client offers, and why."""
    there = list(offered)
    for move in moves:
        why = move.missing(subscription, value)
        if why and not any(move.is_of(outcome, value) for outcome in there):
            yield Refusal(f"{value.name}{move.text}", why)


WAITS_FOR = {
    Phase.JOINING: "JoinGroup",
    Phase.SYNCING: "SyncGroup",
    Phase.PREPARING: "OffsetCommit",
    Phase.COMMITTING: "OffsetCommit",
    Phase.FETCHING: "OffsetFetch",
    Phase.LEAVING: "LeaveGroup",
    Phase.DROPPING: "LeaveGroup",
}
"""The request of each phase in which a client waits for an answer."""

STANDS = {
    Phase.UNJOINED: "it has not joined",
    Phase.STABLE: "it is stable already",
    Phase.PROCESSING: "its application is busy with what it got",
    Phase.GONE: "it has left for good",
    Phase.CRASHED: "its process has died",
    Phase.FAILED: "it has failed for good",
}
"""How it stands in the other phases."""


def _on_the_wire(_: Subscription, value: Client) -> str:
    return "" if value.outbox is None else f"its {_kind(value.outbox.request, 'Request')} is on the wire"


def _nothing_sent(_: Subscription, value: Client) -> str:
    return "" if value.outbox is not None else "no request of it is on the wire"


def _unread(_: Subscription, value: Client) -> str:
    return "" if value.inbox is None else f"it has {_kind(value.inbox, 'Reply')}'s answer to read first"


def _nothing_to_read(_: Subscription, value: Client) -> str:
    return "" if value.inbox is not None else "no answer has come"


def _kind(message: object, suffix: str) -> str:
    return type(message).__name__.removesuffix(suffix)


def _does_not_wait(_: Subscription, value: Client) -> str:
    return "" if value.waits else "no broker holds a request of it"


def _busy(_: Subscription, value: Client) -> str:
    return STANDS[Phase.PROCESSING] if value.phase is Phase.PROCESSING else ""


def _stands(value: Client) -> str:
    waiting = WAITS_FOR.get(value.phase)
    return STANDS[value.phase] if waiting is None else f"it waits for the answer to its {waiting}"


def _in(*phases: Phase) -> Missing:
    """It has to be in one of these phases."""
    return lambda _, value: "" if value.phase in phases else _stands(value)


def _runs(_: Subscription, value: Client) -> str:
    return "" if value.phase is Phase.CRASHED else "its process has not died"


def _polls(_: Subscription, value: Client) -> str:
    return "" if value.phase is Phase.PROCESSING else "its application is not busy with what it got"


def _ended(_: Subscription, value: Client) -> str:
    return _stands(value) if value.phase in ENDED else ""


def _looks_for_its_place(subscription: Subscription, value: Client) -> str:
    return "it asks first where to read on" if must_fetch(subscription, value) else ""


def _commits_nothing(subscription: Subscription, _: Client) -> str:
    return "" if subscription.offsets else "it commits nothing in this configuration"


def _knows_its_place(subscription: Subscription, value: Client) -> str:
    return "" if must_fetch(subscription, value) else "it knows where to read on, or does not consume"


def _reads_nothing(_: Subscription, value: Client) -> str:
    return "" if value.position >= 0 else "it does not read the partition whose offset is committed"


def _changed(_: Subscription, value: Client) -> str:
    return "it has changed its subscription once" if value.changed else ""


def _follows(_: Subscription, value: Client) -> str:
    return "" if value.leads else "it is not the leader"


def _left_nothing(_: Subscription, value: Client) -> str:
    return "" if value.orphan is not None else "it left no request behind on a broken connection"


def _nothing_under_way(_: Subscription, value: Client) -> str:
    there = value.outbox is not None or value.inbox is not None or value.waits
    return "" if there else "nothing is under way on its connection"


IDLE = (_on_the_wire, _unread, _in(Phase.STABLE))
SETTLED = (*IDLE, _looks_for_its_place)

HEARTBEATS = (_on_the_wire, _unread, _in(Phase.STABLE, Phase.PROCESSING), _looks_for_its_place)

MOVES = (
    Move(" sends JoinGroup", "sends JoinGroup", (_on_the_wire, _unread, _in(Phase.UNJOINED))),
    Move("'s request reaches the coordinator", "'s .* reaches the coordinator", (_nothing_sent,)),
    Move(" reads an answer", r"reads \w+ [A-Z_]+( and leaves)?", (_on_the_wire, _busy, _nothing_to_read)),
    Move(" heartbeats", "heartbeats", HEARTBEATS),
    Move(" asks for its offsets", "sends OffsetFetch", (_commits_nothing, *IDLE, _knows_its_place)),
    Move(
        " reads a record and commits",
        "reads a record and commits",
        (_commits_nothing, *SETTLED, _reads_nothing),
    ),
    Move(" rejoins of its own accord", "rejoins of its own accord", SETTLED),
    Move(" changes its subscription", "changes its subscription", (*SETTLED, _changed)),
    Move(" notices a new partition", "notices a .*", (*SETTLED, _follows)),
    Move(" leaves", "leaves|closes without a word", SETTLED),
    Move(" leaves, nobody polls", "(leaves|stops), nobody polls", SETTLED),
    Move(" processes for longer than its session", "processes for .*", SETTLED),
    Move(" polls again", "polls again", (_on_the_wire, _polls)),
    Move(" gives up waiting", "gives up waiting .*", (_on_the_wire, _unread, _does_not_wait)),
    Move(" retries its JoinGroup", "retries .*", (_on_the_wire, _unread, _in(Phase.JOINING))),
    Move(" left a request behind that arrives", "left a .* behind .*", (_left_nothing,)),
    Move(" loses its connection", "loses its connection", (_ended, _nothing_under_way)),
    Move(" crashes", "crashes", (_ended,)),
    Move(" restarts", "restarts", (_runs,)),
)
"""The moves of a client."""

_POLLED = Move(" heartbeats", "heartbeats", SETTLED)

OLD_MOVES = tuple(_POLLED if one.text == _POLLED.text else one for one in MOVES)
"""Those of a client before 0.10.1, which heartbeats only while the application polls."""
