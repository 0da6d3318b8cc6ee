"""What can be asked next of a group by the consumer protocol: what is right, and what may be wrong in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from rota.generate.cast import Terms
from rota.generate.consumer.cast import MISSING, OWN, STRANGER, ConsumerCast, ConsumerClient
from rota.generate.consumer.planned import (
    GREATEST,
    LEAST,
    OWNED,
    Beat,
    Changing,
    Committing,
    Deleting,
    Fetching,
    Leaving,
    Listing,
    Looking,
    Planned,
)
from rota.generate.consumer.simulated import ConsumerSimulated
from rota.generate.plan import Ask
from rota.linearise.consumer.requests import CREATED, DELETED, GROWN

MOST_PARTITIONS = 4
"""Up to how many partitions a topic of a walk grows: all ways to share them out have to be followed."""

MEMBER_FETCH, MEMBER_COMMIT = 9, 9
"""The first versions of OffsetFetch and OffsetCommit that know of member epochs."""

OFFSETS = (0, 1, 7, 2**31, 2**53 + 1, 2**63 - 1)

EMPTY = 0.3
"""How often it is used that nobody is in a group that was one of members."""

LEAVES, LEAVES_FOR_A_WHILE = -1, -2

Change = Callable[["ConsumerMoves", Any, ConsumerClient], Any]


class ConsumerMoves:
    """Draws requests. number: of the next one."""

    def __init__(
        self, rng: Random, terms: Terms, cast: ConsumerCast, simulated: ConsumerSimulated, own: bool
    ) -> None:
        self.rng, self.terms, self.cast, self.simulated, self.own = rng, terms, cast, simulated, own
        self.number = 0
        self.refuses = terms.consumer is not None and terms.consumer.refuses

    # -- right ones
    def polite(self, client: ConsumerClient) -> Ask:
        """What a member does next that does everything right."""
        if not client.joined:
            return self.made("join", client)
        kinds = ("partial",) * 4 + ("acknowledges",) * 6 + ("full", "commit", "commit", "fetch")
        rare = ("leave", "subscribes") if self.rng.random() < 0.35 else ()
        return self.made(self.rng.choice((*kinds, *rare)), client)

    def any(self, client: ConsumerClient) -> Ask:
        """A request of any kind, which may be wrong in one way, or in two."""
        group = self.simulated.group
        if group is not None and not group.members and self.rng.random() < EMPTY:
            operator = self.cast.operator
            return self.made("delete", operator) if self.rng.random() < 0.4 else self.alone(operator)
        name = self.rng.choice(_KINDS)
        ask = self.made(name, self.cast.operator if name in _OF_OPERATORS else client)
        for _ in range(self.rng.choice((0, 1, 1, 1, 2))):
            changes = _CHANGES.get(type(ask.request), ())
            if changes:
                changed = self.rng.choice(changes)(self, ask.request, client)
                ask = replace(ask, request=changed)
        request: Any = ask.request
        if isinstance(request, Beat) and not request.member_id.strip():
            ask = replace(ask, version=self._version(request))
        if isinstance(request, Fetching) and request.since != "zero":
            ask = replace(ask, version=self._version(request))
        return self._sayable(ask)

    def made(self, name: str, client: ConsumerClient) -> Ask:
        """A request of this kind as the client should ask it."""
        request: Planned = _MAKES[name](self, client)
        if not self.terms.spoken(request.api):
            request = _partial(self, client)
        return self._sayable(Ask(self.number, client.name, client.line, self._version(request), request))  # type: ignore[arg-type]

    def alone(self, client: ConsumerClient) -> Ask:
        """A commit from outside of the group's members."""
        request = Committing("", self._offsets(), (), "zero", -1)
        return self._sayable(Ask(self.number, client.name, client.line, 8, request))  # type: ignore[arg-type]

    def _version(self, request: Planned) -> int:
        least = 0
        if isinstance(request, Committing) and request.member_id and self.rng.random() < 0.9:
            least = MEMBER_COMMIT
        if isinstance(request, Fetching) and (request.member_id is not None or request.since != "zero"):
            least = MEMBER_FETCH
        if isinstance(request, Changing) and request.how == CREATED:
            least = 7
        if isinstance(request, Beat):
            least = 1 if request.member_id.strip() and self.rng.random() < 0.85 else 0
        spoken = self.terms.spoken(request.api, least) or self.terms.spoken(request.api)
        return spoken[-1] if self.rng.random() < 0.5 else self.rng.choice(spoken)

    def _sayable(self, ask: Ask) -> Ask:
        """As its version can say it."""
        request: Any = ask.request
        if isinstance(request, Beat) and request.regex is not None and ask.version < 1:
            request = replace(request, regex=None)
        unnamed = isinstance(request, Fetching) and request.member_id is None and not self.refuses
        if isinstance(request, Fetching) and (unnamed or ask.version < MEMBER_FETCH):
            request = replace(request, member_id=None, by=(), since="zero", ahead=-1)
        if isinstance(request, Leaving) and ask.version < 3:
            request = replace(request, member_ids=request.member_ids[:1] or (STRANGER,))
        if isinstance(request, Listing):
            request = Listing(
                request.states if ask.version >= 4 else (), request.types if ask.version >= 5 else ()
            )
        return replace(ask, request=request)

    def _offsets(self) -> tuple[tuple[str, int, int, str], ...]:
        names = self.rng.sample(self.cast.topics, self.rng.randint(1, min(2, len(self.cast.topics))))
        return tuple((one, self.rng.randint(0, 1), self.number, f"at {self.number}") for one in sorted(names))

    def partitions(self) -> tuple[tuple[str, int], ...]:
        """Those of which offsets are committed."""
        return tuple((name, index) for name in self.cast.topics for index in (0, 1))


def _join(moves: ConsumerMoves, client: ConsumerClient) -> Beat:
    given = moves.rng.random() < 0.1 and bool(moves.terms.spoken("ConsumerGroupHeartbeat", 0, 0))
    name = "" if given else f"{client.name}{client.times + 1}"
    return Beat(name, (), "zero", 0, client.timeout_ms, client.names, "nothing", client.assignor)


def _partial(moves: ConsumerMoves, client: ConsumerClient) -> Beat:
    return Beat(client.member_id, client.by)


def _acknowledges(moves: ConsumerMoves, client: ConsumerClient) -> Beat:
    return Beat(client.member_id, client.by, owns="assigned")


def _full(moves: ConsumerMoves, client: ConsumerClient) -> Beat:
    return Beat(client.member_id, client.by, "told", 0, client.timeout_ms, client.names, "assigned")


def _subscribes(moves: ConsumerMoves, client: ConsumerClient) -> Beat:
    names = moves.cast.subscription()
    owns = moves.rng.choice(("assigned", "assigned", "nothing", None))
    return Beat(client.member_id, client.by, names=names, owns=owns)


def _wishes(moves: ConsumerMoves, client: ConsumerClient) -> Beat:
    return Beat(client.member_id, client.by, assignor=moves.rng.choice(moves.cast.wishes), owns="assigned")


def _leave(moves: ConsumerMoves, client: ConsumerClient) -> Beat:
    return Beat(client.member_id, client.by, "zero", LEAVES)


def _commit(moves: ConsumerMoves, client: ConsumerClient) -> Committing:
    return Committing(client.member_id, moves._offsets(), client.by)


def _fetch(moves: ConsumerMoves, client: ConsumerClient) -> Fetching:
    return Fetching(moves.partitions(), client.member_id, client.by, "told", 0)


def _classic(moves: ConsumerMoves, client: ConsumerClient) -> Looking:
    """A request of the classic protocol; Kafka 4.4.0 loses an Empty group by a JoinGroup (findings.md)."""
    group = moves.simulated.group
    joins = moves.refuses or (group is not None and group.members)
    names = ("JoinGroup", "SyncGroup", "Heartbeat") if joins else ("SyncGroup", "Heartbeat")
    return Looking(moves.rng.choice(names))


def _fetch_all(moves: ConsumerMoves, client: ConsumerClient) -> Fetching:
    return Fetching(moves.partitions())


def _topic(moves: ConsumerMoves, client: ConsumerClient) -> Planned:
    """The next thing that happens to a topic of the walk; where it has none, a description."""
    mine = [name for name in OWN if name in moves.cast.topics]
    if not moves.own or not mine:
        return Looking("ConsumerGroupDescribe")
    name = moves.rng.choice(mine)
    known = moves.simulated.state.topics.get(name)
    if known is None:
        return Changing(CREATED, name, moves.rng.choice((1, 1, 2, 3)))
    if known.partitions < MOST_PARTITIONS and moves.rng.random() < 0.5:
        return Changing(GROWN, name, known.partitions + 1)
    return Changing(DELETED, name)


_MAKES: Mapping[str, Callable[[ConsumerMoves, ConsumerClient], Planned]] = {
    "join": _join,
    "partial": _partial,
    "acknowledges": _acknowledges,
    "full": _full,
    "subscribes": _subscribes,
    "wishes": _wishes,
    "leave": _leave,
    "commit": _commit,
    "fetch": _fetch,
    "fetch-all": _fetch_all,
    "topic": _topic,
    "delete-offsets": lambda moves, client: Deleting(moves.rng.choice(moves.cast.topics), (0, 1)),
    "delete": lambda moves, client: Looking("DeleteGroups"),
    "describe": lambda moves, client: Looking("ConsumerGroupDescribe"),
    "describe-as-classic": lambda moves, client: Looking("DescribeGroups"),
    "list": lambda moves, client: Listing(),
    "classic": _classic,
    "remove": lambda moves, client: Leaving((client.member_id,)),
    "remove-all": lambda moves, client: Leaving(
        tuple(moves.simulated.group.members if moves.simulated.group else ())
    ),
}
_KINDS = (
    *("join", "join", "partial", "partial", "acknowledges", "acknowledges", "full", "full", "subscribes"),
    *("subscribes", "wishes", "leave", "commit", "commit", "commit", "fetch", "fetch", "fetch-all"),
    *("topic", "topic", "delete-offsets", "delete", "describe", "describe", "describe-as-classic", "list"),
    *("classic", "remove", "remove-all"),
)
_OF_OPERATORS = (
    "topic",
    "delete-offsets",
    "delete",
    "describe",
    "describe-as-classic",
    "list",
    "fetch-all",
    "remove-all",
)


def _other_id(moves: ConsumerMoves, request: Any, client: ConsumerClient) -> Any:
    if request.member_id is None:
        return request
    # Of somebody else, with what that one was told; else the epoch would be nobody's.
    other = moves.rng.choice([one for one in moves.cast.clients if one.times] or [client])
    if moves.rng.random() < 0.6:
        return replace(request, member_id=other.member_id)
    if moves.rng.random() < 0.5:
        return replace(request, member_id=STRANGER)
    return replace(request, member_id=other.member_id, by=other.by)


def _no_id(moves: ConsumerMoves, request: Any, client: ConsumerClient) -> Any:
    """Of nobody, at any epoch: the oldest version gives an id to who joins without one."""
    unnamed = replace(request, member_id=moves.rng.choice(("", "", " ")))
    if isinstance(request, Beat) and moves.rng.random() < 0.5:
        return replace(unnamed, since="zero", ahead=moves.rng.choice((LEAVES, LEAVES, 0, 1)))
    return unnamed


def _nameless(moves: ConsumerMoves, request: Fetching, client: ConsumerClient) -> Fetching:
    """With an epoch, and of nobody: Kafka 4.4.0 fails at that (docs/findings.md)."""
    if not moves.refuses:
        return request
    return replace(request, member_id=None, by=client.by, since=moves.rng.choice(("told", "zero")), ahead=0)


def _epoch(moves: ConsumerMoves, request: Any, client: ConsumerClient) -> Any:
    if moves.rng.random() < 0.6:
        return replace(request, since="told", ahead=moves.rng.choice((-1, -1, -1, -2, 1, 1, 5)))
    ahead = moves.rng.choice((0, -1, -2, -3, 1, LEAST, GREATEST))
    return replace(request, since="zero", ahead=ahead)


def _joins_again(moves: ConsumerMoves, request: Beat, client: ConsumerClient) -> Beat:
    """As a process that has lost its epoch, under the same id."""
    fresh = Beat(client.member_id, client.by, "zero", 0, client.timeout_ms, client.names, "nothing")
    return replace(fresh, owns=moves.rng.choice(("nothing", "nothing", "nothing", None, "assigned")))


def _timeout(moves: ConsumerMoves, request: Beat, client: ConsumerClient) -> Beat:
    return replace(request, timeout_ms=moves.rng.choice((-1, 500, 1000, 3000, GREATEST)))


def _names(moves: ConsumerMoves, request: Beat, client: ConsumerClient) -> Beat:
    every = (None, (), moves.cast.topics, (MISSING,), (*client.names, MISSING))
    return replace(request, names=moves.rng.choice(every))


def _owns(moves: ConsumerMoves, request: Beat, client: ConsumerClient) -> Beat:
    return replace(request, owns=moves.rng.choice((None, *OWNED)))


def _assignor(moves: ConsumerMoves, request: Beat, client: ConsumerClient) -> Beat:
    return replace(request, assignor=moves.rng.choice((*moves.cast.wishes, "no-such-assignor", "")))


def _blanks(moves: ConsumerMoves, request: Beat, client: ConsumerClient) -> Beat:
    if moves.refuses and moves.rng.random() < 0.3:
        return replace(request, instance_id="i1")
    field = moves.rng.choice(("rack_id", "rack_id", "group_id", "instance_id"))
    return replace(request, **{field: moves.rng.choice(("", " "))})  # type: ignore[arg-type]


def _rack(moves: ConsumerMoves, request: Beat, client: ConsumerClient) -> Beat:
    return replace(request, rack_id=moves.rng.choice(("r1", "r2")))


def _regex(moves: ConsumerMoves, request: Beat, client: ConsumerClient) -> Beat:
    return replace(request, regex="rota-walk-[12]" if moves.refuses and moves.rng.random() < 0.5 else "")


def _offset(moves: ConsumerMoves, request: Committing, client: ConsumerClient) -> Committing:
    offsets = tuple(
        (name, index, moves.rng.choice(OFFSETS), moves.rng.choice(("", text, "\u00e9\u4e2d")))
        for name, index, _, text in request.offsets
    )
    return replace(request, offsets=offsets)


def _no_topics(moves: ConsumerMoves, request: Committing, client: ConsumerClient) -> Committing:
    return replace(request, offsets=((MISSING, 0, 1, ""), *request.offsets[:1]))


def _outside(moves: ConsumerMoves, request: Committing, client: ConsumerClient) -> Committing:
    """From outside of the group's members."""
    return replace(request, member_id="", by=(), since="zero", ahead=-1)


def _several(moves: ConsumerMoves, request: Leaving, client: ConsumerClient) -> Leaving:
    ids = [*moves.cast.ids(), STRANGER]
    return Leaving(tuple(moves.rng.choices(ids, k=moves.rng.randint(0, 3))))


def _filters(moves: ConsumerMoves, request: Listing, client: ConsumerClient) -> Listing:
    states = moves.rng.choice(
        ((), ("Stable",), ("Empty", "Stable"), ("stable", "RECONCILING"), ("Assigning", "Reconciling"))
    )
    types = moves.rng.choice(((), ("consumer",), ("classic",), ("CONSUMER",)))
    return Listing(states, types)


def _no_group(moves: ConsumerMoves, request: Looking, client: ConsumerClient) -> Looking:
    return replace(request, group_id="") if request.said == "ConsumerGroupDescribe" else request


_CHANGES: Mapping[type, tuple[Change, ...]] = {
    Beat: (
        *(_other_id, _no_id, _epoch, _epoch, _epoch, _joins_again, _joins_again, _timeout, _names, _names),
        *(_owns, _owns, _owns, _assignor, _blanks, _rack, _regex),
    ),
    Committing: (_other_id, _epoch, _epoch, _epoch, _offset, _no_topics, _outside),
    Fetching: (_other_id, _epoch, _epoch, _nameless),
    Leaving: (_several,),
    Listing: (_filters,),
    Looking: (_no_group,),
}
