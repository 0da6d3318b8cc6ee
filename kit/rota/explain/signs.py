"""What the events of rebalances are signs of: counted, so that causes can ask how many of each there are."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from enum import StrEnum

from rota.explain.reasons import Said, said
from rota.explain.rebalance import Rebalance, client_of
from rota.history import Event, Kind

TOGETHER = 10.0
"""Seconds within which sessions that run out did so together: clients heartbeat every three seconds or so."""

NEW_MEMBER = 299.0
"""Seconds after which a newcomer whose first join phase lasts is removed, less a second for the log's
clock."""

MOST = 200
"""Members that are remembered of an incident."""


class Sign(StrEnum):
    """Something that was seen, once for each member or event."""

    LATE_POLL = "late-poll"
    """A client said that it was not polled in time."""
    SESSION_OVER = "session-over"
    """The session of a member ran out."""
    TOGETHER = "sessions-together"
    """Members whose sessions ran out within seconds, the most of them."""
    CUT_OFF = "cut-off"
    """The broker had ended the connection of a member whose session ran out afterwards."""
    HEARD_AFTER = "heard-after"
    """A member was heard of again, as itself, after its session had run out."""
    INSTANCE_BACK = "instance-back"
    """An instance id whose session ran out joined again."""
    LEFT = "left"
    """A member left of itself."""
    CLOSED = "closed"
    UNSUBSCRIBED = "unsubscribed"
    ADMIN = "removed-by-admin"
    LEFT_NEW = "left-new"
    """A member that had come in this incident is gone again."""
    RETURNED = "returned"
    """A client of the same id as one that is gone came."""
    JOINED = "joined"
    """Somebody came."""
    REPLACED = "replaced"
    """A static member came back."""
    REPLACED_AGAIN = "replaced-again"
    """One that had come back already in this incident."""
    FENCED = "fenced"
    """A request under an instance id was refused since another member has it."""
    NOT_REJOINED = "not-rejoined"
    NOT_SYNCED = "not-synced"
    NEW_LATE = "new-member-late"
    """A newcomer waited too long for its first join phase to end."""
    PENDING_OVER = "pending-over"
    """An id that was handed out was not used in time."""
    NOT_STORED = "not-stored"
    """The log did not take a record of the group."""
    FULL = "full"
    """Somebody is refused, or the group is rebalanced, for its size."""
    MOVED = "moved"
    """The group came from or went to another coordinator."""
    METADATA = "metadata"
    SUBSCRIPTION = "subscription"
    ENFORCED = "enforced"
    CHANGED = "changed"
    """Somebody joined again with other metadata."""
    LEADER = "leader"
    """The leader joined again."""
    FROM_EMPTY = "from-empty"
    GONE = "gone"
    """A member is not in the next generation; how it went is not visible."""
    CAME = "came"


_LEAVING = {
    Said.LATE_POLL: Sign.LATE_POLL,
    Said.CLOSED: Sign.CLOSED,
    Said.UNSUBSCRIBED: Sign.UNSUBSCRIBED,
    Said.ADMIN: Sign.ADMIN,
}

_JOINING = {
    Said.METADATA: Sign.METADATA,
    Said.SUBSCRIPTION: Sign.SUBSCRIPTION,
    Said.ENFORCED: Sign.ENFORCED,
}

REFUSALS = (
    ("FENCED", Sign.FENCED),
    ("MAX_SIZE", Sign.FULL),
    ("MAX SIZE", Sign.FULL),
    ("MAXIMUM SIZE", Sign.FULL),
    ("UNKNOWN_MEMBER", Sign.HEARD_AFTER),
    ("UNKNOWN MEMBER", Sign.HEARD_AFTER),
    ("NOT AWARE OF THIS MEMBER", Sign.HEARD_AFTER),
)
"""Words of errors, as brokers, Java's client and librdkafka write them → what they show, the last if it was a
member."""


def refusal(reason: str) -> Sign | None:
    """What an error shows."""
    error = reason.upper()
    return next((sign for words, sign in REFUSALS if words in error), None)


_TRIGGERS = {
    "changed": Sign.CHANGED,
    "leader": Sign.LEADER,
    "not-stored": Sign.NOT_STORED,
    "capacity": Sign.FULL,
    "static-back": Sign.REPLACED,
    "static-vote": Sign.REPLACED,
    "static-while": Sign.REPLACED,
    "joined": Sign.JOINED,
    "static-joined": Sign.JOINED,
    "failed": Sign.SESSION_OVER,
    "left": Sign.LEFT,
    "not-synced": Sign.NOT_SYNCED,
}
"""What a broker's words alone are a sign of, where the line of the member itself is missing."""

_ONCE = (Sign.JOINED, Sign.SESSION_OVER, Sign.LEFT, Sign.NOT_SYNCED, Sign.REPLACED)


class Seen:
    """Signs of an incident. counts: how many of each; members: who, by sign, in the order in which they were
    seen."""

    def __init__(self) -> None:
        self.counts: Counter[Sign] = Counter()
        self.members: dict[Sign, list[str]] = {}
        self._failures: deque[float] = deque()
        self._came: dict[str, float | None] = {}
        self._replaced: set[str] = set()
        self._instances_over: set[str] = set()
        self._clients_gone: set[str] = set()
        self._once: set[tuple[Sign, str]] = set()

    def take(self, rebalance: Rebalance) -> None:
        """All that one rebalance shows."""
        before = Counter(self.counts)
        sign = _TRIGGERS.get(rebalance.trigger.name)
        if sign is Sign.JOINED:  # Kafka 3 tells it in no line of its own but at DEBUG
            self._comes(rebalance.who, rebalance.began)
        for event in rebalance.events:
            self._event(event, rebalance)
        if rebalance.from_empty:
            self._count(Sign.FROM_EMPTY, "")
        if rebalance.moved:
            self._count(Sign.MOVED, "")
        for member in rebalance.came:
            self._count(Sign.CAME, member)
        for member in rebalance.gone:
            self._count(Sign.GONE, member)
        if sign is not None and (sign not in _ONCE or self.counts[sign] == before[sign]):
            self._count(sign, rebalance.who)
        if (joining := _JOINING.get(said(rebalance.reason))) is not None:
            self._count(joining, rebalance.who)

    def who(self, sign: Sign) -> list[str]:
        """Members that were seen so."""
        return self.members.get(sign, [])

    def knows(self, member: str) -> bool:
        """Whether a member, or a client of its id, has had a part in this already."""
        return member in self._came or client_of(member) in self._clients_gone

    def _event(self, event: Event, rebalance: Rebalance) -> None:
        for sign in self._signs(event, rebalance):
            self._count(sign, event.member or event.instance or event.client)

    def _signs(self, event: Event, rebalance: Rebalance) -> Iterator[Sign]:
        kind = event.kind
        if kind is Kind.FAILED:
            yield from self._failed(event, rebalance)
        elif kind in (Kind.LEFT, Kind.LEAVING) and not event.data.get("pending"):
            yield from self._left(event)
        elif kind is Kind.POLL_LATE:
            yield Sign.LATE_POLL
        elif kind in (Kind.JOINED, Kind.ID_GIVEN):  # an id is given to newcomers alone
            yield from self._joined(event)
        elif kind is Kind.REPLACED:
            yield Sign.REPLACED
            if event.instance in self._replaced:
                yield Sign.REPLACED_AGAIN
            if event.instance in self._instances_over:
                yield Sign.INSTANCE_BACK
            self._replaced.add(event.instance)
        elif kind is Kind.NOT_REJOINED:
            yield Sign.NOT_REJOINED
            self._gone(event.member)
        elif kind is Kind.NOT_SYNCED:
            yield Sign.NOT_SYNCED
            self._gone(event.member)
        elif kind in (Kind.REFUSED, Kind.COMMIT_REFUSED):
            yield from self._refused(event)
        elif kind in (Kind.SESSION_LATE, Kind.LOST):
            if self._is_over(event.member):
                yield Sign.HEARD_AFTER
        elif kind is Kind.APPEND_FAILED:
            yield Sign.NOT_STORED
        elif kind is Kind.FINDING:
            yield Sign.MOVED
        elif kind is Kind.CLIENT_CLOSED:
            yield Sign.CLOSED

    def _failed(self, event: Event, rebalance: Rebalance) -> Iterator[Sign]:
        if "pending" in event.reason.lower() or event.data.get("pending"):
            yield Sign.PENDING_OVER
            return
        if _waited_too_long(event, rebalance):
            yield Sign.NEW_LATE
            return
        again = self._is_over(event.member)  # told by another source too
        yield Sign.SESSION_OVER
        if event.data.get("cut"):
            yield Sign.CUT_OFF
        if event.instance:
            self._instances_over.add(event.instance)
        yield from self._gone(event.member)
        if event.at is not None and not again:
            self._failures.append(event.at)
            while event.at - self._failures[0] > TOGETHER:
                self._failures.popleft()
            self.counts[Sign.TOGETHER] = max(self.counts[Sign.TOGETHER], len(self._failures))

    def _left(self, event: Event) -> Iterator[Sign]:
        what = _LEAVING.get(said(event.reason))
        if what is not None:
            yield what
        if what is not Sign.LATE_POLL:
            yield Sign.LEFT
        yield from self._gone(event.member)

    def _joined(self, event: Event) -> Iterator[Sign]:
        yield Sign.JOINED
        if event.instance and event.instance in self._instances_over:
            yield Sign.INSTANCE_BACK
        if client_of(event.member) in self._clients_gone:
            yield Sign.RETURNED
        self._note(event.member, event.at)

    def _comes(self, member: str, at: float | None) -> None:
        """Somebody began a rebalance by coming."""
        if member and client_of(member) in self._clients_gone:
            self._count(Sign.RETURNED, member)
        self._note(member, at)

    def _note(self, member: str, at: float | None) -> None:
        """Somebody has come in this incident."""
        if member and len(self._came) < MOST:
            self._came[member] = at

    def _gone(self, member: str) -> list[Sign]:
        if len(self._clients_gone) < MOST:
            self._clients_gone.add(client_of(member))
        return [Sign.LEFT_NEW] if member in self._came else []

    def _refused(self, event: Event) -> Iterator[Sign]:
        found = refusal(event.reason)
        if found is Sign.HEARD_AFTER:
            if self._is_over(event.member):
                yield found
        elif found is not None:
            yield found

    def _is_over(self, member: str) -> bool:
        return bool(member) and (Sign.SESSION_OVER, member) in self._once

    def _count(self, sign: Sign, member: str) -> None:
        """Count it; what several sources tell of one member counts once."""
        if member and (sign, member) in self._once:
            return
        self.counts[sign] += 1
        if member and len(self._once) < MOST * len(Sign):
            self._once.add((sign, member))
        named = self.members.setdefault(sign, [])
        if member and len(named) < MOST:
            named.append(member)


def _waited_too_long(event: Event, rebalance: Rebalance) -> bool:
    """Whether a member failed in the join phase that it came in, after what a newcomer may wait."""
    came = (one.at for one in rebalance.events if one.kind is Kind.JOINED and one.member == event.member)
    joined = next(came, rebalance.began if _began_by_coming(rebalance, event.member) else None)
    return None not in (joined, event.at) and event.at - joined >= NEW_MEMBER  # type: ignore[operator]


def _began_by_coming(rebalance: Rebalance, member: str) -> bool:
    return rebalance.who == member and _TRIGGERS.get(rebalance.trigger.name) is Sign.JOINED
