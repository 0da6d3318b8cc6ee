"""What can be asked next: right requests of each kind, and what may be wrong with one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as with_fields
from random import Random
from typing import Any

from rota.generate.cast import STRANGER, TOPICS, Cast, Client, Terms
from rota.generate.odd_values import (
    RETENTIONS,
    leavers_twice,
    long_metadata,
    no_text,
    odd_commit,
    odd_names,
    odd_offset,
)
from rota.generate.plan import GROUP, Ask
from rota.generate.requests import RETENTION_VERSIONS, SEVERAL_LEAVE, carried
from rota.generate.simulated import Simulated
from rota.kernel import replace
from rota.spec import GroupState
from rota.spec.admin_messages import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from rota.spec.classic.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    ProtocolMetadata,
    SyncGroupRequest,
)
from rota.spec.messages import FindCoordinatorRequest, Request
from rota.spec.offset_messages import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TopicPartitions,
)

SELDOM = 0.1
"""How often a client that does everything right does something that few do."""

LEAST, GREATEST = -(2**31), 2**31 - 1

STATIC_SINCE = {"JoinGroup": 5, "SyncGroup": 3, "Heartbeat": 3, "LeaveGroup": 3, "OffsetCommit": 7}
"""API -> the first version with group instance ids."""

Change = Callable[["Moves", Any, Client], Any]
"""A request and who asks it -> the same with something wrong or odd in it."""


class Moves:
    """Draws requests. number: of the next one; older: whether for the coordinator before Kafka 4.

    That one loses a group, or all of a partition, by metadata that announce more than is there
    (docs/findings.md), and before 3.5 upper and lower case are two states: it is asked neither.
    """

    def __init__(self, rng: Random, terms: Terms, cast: Cast, simulated: Simulated, older: bool) -> None:
        self.rng, self.terms, self.cast, self.simulated = rng, terms, cast, simulated
        self.number, self.older = 0, older

    def polite(self, client: Client) -> Ask:
        """What a client does next that does everything right."""
        state = None if self.simulated.group is None else self.simulated.group.state
        if client.told is None or client.out or state is GroupState.PREPARING_REBALANCE:
            return self.made("JoinGroup", client)
        if client.instance is not None and self.rng.random() < SELDOM:
            return self._changed(self.made("JoinGroup", client), _no_id, client)  # its process was restarted
        if client.owes:
            ask = self.made("SyncGroup", client)
            return self._changed(ask, _assignments, client) if self.rng.random() < SELDOM else ask
        kinds = ("Heartbeat",) * 4 + ("OffsetCommit",) * 3 + ("OffsetFetch", "LeaveGroup", "JoinGroup")
        return self.made(self.rng.choice(kinds), client)

    def any(self, client: Client) -> Ask:
        """A request of any kind, which may be wrong in one way, or in two."""
        name = self.rng.choice(_KINDS)
        asker = self.cast.operator if name in _OF_OPERATORS else client
        ask = self.made(name, asker)
        for _ in range(self.rng.choice((0, 1, 1, 1, 2))):
            change = self.rng.choice(CHANGES.get(ask.api, (_same,)))
            ask = self._changed(ask, change, asker)
        return self._carried(ask)

    def _changed(self, ask: Ask, change: Change, asker: Client) -> Ask:
        """With something wrong or odd; shares that were changed are not made from an answer any more."""
        changed = change(self, ask.request, asker)
        return with_fields(ask, request=changed, shares=ask.shares and change is not _assignments)

    def made(self, name: str, client: Client) -> Ask:
        """A request of this kind as the client should ask it."""
        if not self.terms.spoken(name):
            name = "Heartbeat"
        version = self._version(name, client)
        told = client.told[0] if client.told and name in _OF_A_GENERATION else None
        ask = Ask(
            self.number,
            client.name,
            client.line,
            version,
            _MAKES[name](self, client),
            told,
            client.generation,
            shares=name == "SyncGroup" and told is not None,
        )
        return self._carried(ask)

    def alone(self, client: Client) -> Ask:
        """A commit from outside of the group's members."""
        ask = self.made("OffsetCommit", client)
        if not isinstance(ask.request, OffsetCommitRequest):
            return ask
        return with_fields(ask, request=_simple(self, ask.request, client), told_by=None)

    def _carried(self, ask: Ask) -> Ask:
        """As its version can carry it."""
        return with_fields(ask, request=carried(_sayable(ask.request, ask.version), ask.version))

    def _version(self, name: str, client: Client) -> int:
        least = STATIC_SINCE.get(name, 0) if client.instance is not None else 0
        spoken = self.terms.spoken(name, least) or self.terms.spoken(name)
        if name == "OffsetCommit" and self.rng.random() < (0.2 if self.terms.looks_every_ms is None else 0.5):
            spoken = self.terms.spoken(name, RETENTION_VERSIONS.start, RETENTION_VERSIONS.stop - 1) or spoken
        return spoken[-1] if self.rng.random() < 0.5 else self.rng.choice(spoken)

    def other_id(self) -> str:
        """Some member id: of anybody who has one, or of nobody."""
        return self.rng.choice((*self.cast.ids(), STRANGER))

    def other_instance(self) -> str | None:
        """Some group instance id."""
        return self.rng.choice(("i1", "i2", "i3"))

    def generation(self) -> int:
        """A generation that is none of now."""
        now = self.simulated.group.generation_id if self.simulated.group else 0
        return self.rng.choice((now - 1, now + 1, now, 0, -1, LEAST, GREATEST))


def _sayable(request: Any, version: int) -> Request:
    """A request that its version can say at all: one member leaves below version 3."""
    if isinstance(request, LeaveGroupRequest) and version < SEVERAL_LEAVE:
        return replace(request, members=request.members[:1] or (LeavingMember(STRANGER),))
    if isinstance(request, OffsetFetchRequest) and version < 2 and request.topics is None:
        return replace(request, topics=(TopicPartitions(TOPICS[0], (0,)),))
    return request  # type: ignore[no-any-return]


def _join(moves: Moves, client: Client) -> JoinGroupRequest:
    return JoinGroupRequest(
        GROUP,
        client.session_ms,
        client.rebalance_ms,
        client.member_id,
        moves.cast.type,
        client.protocols,
        client.instance,
    )


def _sync(moves: Moves, client: Client) -> SyncGroupRequest:
    name = client.told[1].protocol_name if client.told else None
    shares: tuple[MemberAssignment, ...] = ()
    if client.told:
        ids = [each.member_id for each in client.told[1].members]
        shares = tuple(
            MemberAssignment(one, f"share {n} of {len(ids)}".encode()) for n, one in enumerate(ids)
        )
    return SyncGroupRequest(
        GROUP, client.generation, client.member_id, shares, moves.cast.type, name or None, client.instance
    )


def _heartbeat(moves: Moves, client: Client) -> HeartbeatRequest:
    return HeartbeatRequest(GROUP, client.generation, client.member_id, client.instance)


def _leave(moves: Moves, client: Client) -> LeaveGroupRequest:
    return LeaveGroupRequest(GROUP, (LeavingMember(client.member_id, client.instance),))


def offsets(moves: Moves) -> tuple[OffsetCommitTopic, ...]:
    """Offsets of one topic or both, which tell by whom they were committed."""
    topics = moves.rng.choice((TOPICS[:1], TOPICS[1:], TOPICS, TOPICS))
    return tuple(
        OffsetCommitTopic(
            name,
            (OffsetCommitPartition(0, moves.number, moves.rng.choice((-1, 0, 3)), f"at {moves.number}"),),
        )
        for name in topics
    )


def _commit(moves: Moves, client: Client) -> OffsetCommitRequest:
    kept = -1 if moves.terms.looks_every_ms is None else moves.rng.choice(RETENTIONS)
    return OffsetCommitRequest(
        GROUP, offsets(moves), client.generation, client.member_id, client.instance, kept
    )


def _fetch(moves: Moves, client: Client) -> OffsetFetchRequest:
    named = tuple(TopicPartitions(name, (0,)) for name in TOPICS)
    return OffsetFetchRequest(GROUP, moves.rng.choice((named, named[:1], None)), moves.rng.random() < 0.3)


def _delete_offsets(moves: Moves, client: Client) -> OffsetDeleteRequest:
    topics = moves.rng.choice((TOPICS[:1], TOPICS[1:], TOPICS))
    return OffsetDeleteRequest(GROUP, tuple(TopicPartitions(name, (0,)) for name in topics))


def _list(moves: Moves, client: Client) -> ListGroupsRequest:
    states = tuple(state.value for state in GroupState)
    picked = moves.rng.choice(states)
    lower = picked if moves.older else picked.lower()
    filters: Sequence[tuple[str, ...]] = ((), (), (picked,), (lower,), (f" {picked}",), states[:2])
    types: Sequence[tuple[str, ...]] = ((), (), ("classic",), ("Classic",), ("consumer",))
    return ListGroupsRequest(GROUP, moves.rng.choice(filters), moves.rng.choice(types))


_MAKES: Mapping[str, Callable[[Moves, Client], Request]] = {
    "JoinGroup": _join,
    "SyncGroup": _sync,
    "Heartbeat": _heartbeat,
    "LeaveGroup": _leave,
    "OffsetCommit": _commit,
    "OffsetFetch": _fetch,
    "OffsetDelete": _delete_offsets,
    "DescribeGroups": lambda moves, client: DescribeGroupsRequest(GROUP),
    "ListGroups": _list,
    "DeleteGroups": lambda moves, client: DeleteGroupsRequest(GROUP),
    "FindCoordinator": lambda moves, client: FindCoordinatorRequest((GROUP,)),
}

_OF_OPERATORS = ("DescribeGroups", "ListGroups", "DeleteGroups", "OffsetDelete", "FindCoordinator")

_OF_A_GENERATION = ("SyncGroup", "Heartbeat", "OffsetCommit")

_KINDS = (
    *("JoinGroup",) * 6,
    *("SyncGroup",) * 4,
    *("Heartbeat",) * 4,
    *("LeaveGroup",) * 3,
    *("OffsetCommit",) * 4,
    *("OffsetFetch",) * 2,
    *("OffsetDelete",) * 2,
    *("DescribeGroups",) * 3,
    *("ListGroups",) * 2,
    *("DeleteGroups",),
    *("FindCoordinator",),
)
"""How often each kind is drawn where nothing else speaks for one."""


def _same(moves: Moves, request: Any, client: Client) -> Any:
    return request


def _no_group(moves: Moves, request: Any, client: Client) -> Any:
    return replace(request, group_id="")


def _id(moves: Moves, request: Any, client: Client) -> Any:
    return replace(request, member_id=moves.other_id())


def _no_id(moves: Moves, request: Any, client: Client) -> Any:
    return replace(request, member_id="")


def _instance(moves: Moves, request: Any, client: Client) -> Any:
    return replace(request, group_instance_id=moves.other_instance())


def _no_instance(moves: Moves, request: Any, client: Client) -> Any:
    return replace(request, group_instance_id=None)


def _generation(moves: Moves, request: Any, client: Client) -> Any:
    return replace(request, generation_id=moves.generation())


def _commit_generation(moves: Moves, request: OffsetCommitRequest, client: Client) -> Any:
    return replace(request, generation_id_or_member_epoch=moves.generation())


def _simple(moves: Moves, request: OffsetCommitRequest, client: Client) -> Any:
    return replace(request, generation_id_or_member_epoch=-1, member_id="", group_instance_id=None)


def _long_metadata(moves: Moves, request: OffsetCommitRequest, client: Client) -> Any:
    return long_metadata(moves.rng, moves.terms.config.offset_metadata_max_bytes, request)


def _session(moves: Moves, request: JoinGroupRequest, client: Client) -> Any:
    low = moves.terms.config.group_min_session_timeout_ms
    high = moves.terms.config.group_max_session_timeout_ms
    bad = [low, low - 1, 0, -1, LEAST] + [value for value in (high + 1, GREATEST) if value <= GREATEST]
    return replace(request, session_timeout_ms=moves.rng.choice(bad))


def _rebalance(moves: Moves, request: JoinGroupRequest, client: Client) -> Any:
    return replace(request, rebalance_timeout_ms=moves.rng.choice((0, -1, 1, 500, 4000)))


def _protocols(moves: Moves, request: JoinGroupRequest, client: Client) -> Any:
    names = [each.name for each in request.protocols]
    changed = moves.rng.choice(((), ("other",), (*names, "extra"), tuple(reversed(names)), ("roundrobin",)))
    metadata = request.protocols[0].metadata if request.protocols else b""
    return replace(request, protocols=tuple(ProtocolMetadata(name, metadata) for name in changed))


def _metadata(moves: Moves, request: JoinGroupRequest, client: Client) -> Any:
    short, overlong = (b"", b"\xff\xff"), (b"m" * 300, b"\0\0" + b"x" * moves.number)
    data = moves.rng.choice(short + overlong)
    if data in overlong and moves.older:
        data = short[-1]
    return replace(request, protocols=tuple(replace(one, metadata=data) for one in request.protocols))


def _type(moves: Moves, request: JoinGroupRequest, client: Client) -> Any:
    return replace(request, protocol_type=moves.rng.choice(("", "consumer", "connect", "other")))


def _named(moves: Moves, request: SyncGroupRequest, client: Client) -> Any:
    if moves.rng.random() < 0.5:
        return replace(request, protocol_type=moves.rng.choice((None, "", "other")))
    return replace(request, protocol_name=moves.rng.choice((None, "", "other", "roundrobin")))


def _assignments(moves: Moves, request: SyncGroupRequest, client: Client) -> Any:
    """Somebody assigns, be it the leader or not: somebody's share twice, or a stranger's."""
    ids = [client.member_id, *moves.rng.sample(moves.cast.ids(), 1 if moves.cast.ids() else 0)]
    ids = moves.rng.choice((ids, ids * 2, [*ids, STRANGER]))
    shares = tuple(MemberAssignment(one, f"share {n} by {client.name}".encode()) for n, one in enumerate(ids))
    return replace(request, assignments=shares)


def _other_leavers(moves: Moves, request: LeaveGroupRequest, client: Client) -> Any:
    identities = [LeavingMember(one.member_id, one.instance) for one in moves.cast if one.member_id]
    odd = [
        LeavingMember(moves.other_id()),
        LeavingMember("", moves.other_instance()),
        LeavingMember(moves.other_id(), moves.other_instance()),
    ]
    known = identities + odd
    return replace(request, members=tuple(moves.rng.sample(known, moves.rng.randint(1, min(3, len(known))))))


def _nobody_leaves(moves: Moves, request: LeaveGroupRequest, client: Client) -> Any:
    return replace(request, members=())


def _odd(change: Callable[[Random, Any], Any]) -> Change:
    """A change that needs to know nothing of who asks."""
    return lambda moves, request, client: change(moves.rng, request)


def _of_one(change: Change) -> Change:
    """A change of a commit's first partition, where it has one and nothing was listed twice."""

    def changed(moves: Moves, request: OffsetCommitRequest, client: Client) -> Any:
        alone = request.topics and len(request.topics[0].partitions) == 1
        return change(moves, request, client) if alone else request

    return changed


CHANGES: Mapping[str, tuple[Change, ...]] = {
    "JoinGroup": (
        *(_no_group, _id, _id, _no_id, _no_id, _instance, _no_instance, _session, _session),
        *(_rebalance, _protocols, _protocols, _metadata, _type, _odd(no_text)),
    ),
    "SyncGroup": (
        *(_no_group, _id, _id, _no_id, _instance, _no_instance, _generation, _generation),
        *(_named, _assignments, _assignments),
    ),
    "Heartbeat": (_no_group, _id, _id, _no_id, _instance, _no_instance, _generation, _generation),
    "LeaveGroup": (
        *(_no_group, _other_leavers, _other_leavers, _other_leavers, _nobody_leaves),
        _odd(leavers_twice),
    ),
    "OffsetCommit": (
        *(_id, _id, _no_id, _instance, _commit_generation, _commit_generation),
        *(_simple, _simple, _simple, _of_one(_long_metadata)),
        *(_of_one(_odd(odd_offset)), _of_one(_odd(odd_commit))),
    ),
    "OffsetFetch": (_same, _same, _same, _odd(odd_names)),
    "OffsetDelete": (_no_group, _same, _same, _same, _odd(odd_names)),
}
"""What may be wrong or odd with a request of each kind. Where the empty group id is a group's name like any
other it is left out: all walks would share that group.
"""
