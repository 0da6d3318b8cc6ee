"""Safety: nothing bad in any state."""

from __future__ import annotations

from rota.environment.broker.coordinator import Coordinator
from rota.environment.clients.assignment import Assignment
from rota.environment.clients.state import IN_GENERATION, Client, Phase
from rota.invariants.shape import WITH_GENERATION
from rota.invariants.views import CLIENT, COORDINATOR, GROUP, both, labels, present
from rota.kernel import Kind, Property, View
from rota.spec import ErrorCode, Group, GroupState, JoinGroupReply
from rota.spec.classic.voting import candidates


def _has_a_generation(group: Group | None) -> bool:
    return group is not None and group.state in WITH_GENERATION


def _chosen_supported_by_all(group: Group) -> bool:
    return all(group.protocol_name in member.names for member in group.members.values())


def _has_members(group: Group | None) -> bool:
    return group is not None and bool(group.members)


def _common_protocol(group: Group) -> bool:
    return bool(candidates([member.names for member in group.members.values()]))


def _leads(client: Client) -> tuple[int, int, str] | None:
    return (client.epoch, client.generation_id, client.label) if client.leads else None


def _one_leader(one: tuple[int, int, str], other: tuple[int, int, str]) -> bool:
    """Two processes of one instance are one member, until the older one hears that it is fenced."""
    return one[:2] != other[:2] or one[2] == other[2]


def _join_answer(client: Client) -> JoinGroupReply | None:
    reply = client.inbox
    return reply if isinstance(reply, JoinGroupReply) and reply.error_code is ErrorCode.NONE else None


def _list_for_leader_only(reply: JoinGroupReply) -> bool:
    listed = {line.member_id for line in reply.members}
    return reply.member_id in listed if reply.leader == reply.member_id else not listed


def _first_epoch(value: Coordinator) -> Group | None:
    """The group while its coordinator has not moved: afterwards a generation's number may come again."""
    return None if value.epoch else value.group


def _still_in(reply: JoinGroupReply, group: Group) -> bool:
    """Whether the leader is in the group: if not, its group was removed and a new one of that name begun."""
    own = [
        line.group_instance_id or line.member_id
        for line in reply.members
        if line.member_id == reply.member_id
    ]
    return not set(labels(group)).isdisjoint(own)


def _leads_this_generation(group: Group | None, reply: JoinGroupReply | None) -> bool:
    if group is None or reply is None or not reply.members or group.state not in WITH_GENERATION:
        return False
    return reply.generation_id == group.generation_id and _still_in(reply, group)


def _list_is_membership(group: Group, reply: JoinGroupReply) -> bool:
    return {line.group_instance_id or line.member_id for line in reply.members} == set(labels(group))


def _own_part(client: Client) -> Assignment | None:
    """The assignment of its generation; none while a cooperative client joins with that of an older one."""
    holds = client.assignment and client.phase in IN_GENERATION
    return Assignment.decode(client.assignment) if client.assignment and holds else None


def _has_a_part(client: Client) -> bool:
    return _own_part(client) is not None


def _own_assignment(client: Client) -> bool:
    part = _own_part(client)
    assert part is not None
    return (part.member_id, part.generation_id) == (client.label, client.generation_id)


Owns = tuple[int, int, str, tuple[int, ...]]
"""(epoch, generation, member id or instance id, partitions)."""


def _owns(client: Client) -> Owns | None:
    part = _own_part(client)
    return None if part is None else (client.epoch, client.generation_id, client.label, part.partitions)


def _two_of_a_generation(one: Owns | None, other: Owns | None) -> bool:
    return one is not None and other is not None and one[:2] == other[:2] and one[2] != other[2]


def _disjoint(one: Owns, other: Owns) -> bool:
    return not set(one[3]) & set(other[3])


Consumes = tuple[int, str, int, bytes]
"""(epoch, member id, generation, assignment)."""


def _consumes(client: Client) -> Consumes | None:
    if client.assignment is None or client.phase not in IN_GENERATION:
        return None
    return client.epoch, client.member_id, client.generation_id, client.assignment


def _consumes_in_this_generation(value: Coordinator, consumes: Consumes | None) -> bool:
    group = value.group
    if group is None or consumes is None or group.state not in WITH_GENERATION:
        return False
    epoch, member_id, generation_id, _ = consumes
    return (epoch, generation_id) == (value.epoch, group.generation_id) and member_id in group.members


def _as_stored(value: Coordinator, consumes: Consumes) -> bool:
    group, (_, member_id, _, assignment) = value.group, consumes
    assert group is not None
    return group.state is GroupState.STABLE and group.members[member_id].assignment == assignment


def _reached(value: Coordinator) -> tuple[int, int]:
    return value.epoch, 0 if value.group is None else value.group.generation_id


def _generation(client: Client) -> tuple[int, int]:
    return client.epoch, client.generation_id


def _carries_one_of_its(reached: tuple[int, int], generation: tuple[int, int]) -> bool:
    return reached[0] == generation[0] and generation[1] >= 0


def _not_ahead(reached: tuple[int, int], generation: tuple[int, int]) -> bool:
    return generation[1] <= reached[1]


def _stable_as(client: Client) -> tuple[str, int] | None:
    """The membership that a client believes in; None for a static member, or after its own late request.

    A static member stays in the group without joining. A client whose late request has overtaken it cannot
    know that the group has moved on.
    """
    known = not client.overtaken and client.group_instance_id is None
    calm = client.phase in IN_GENERATION and known
    return (client.member_id, client.generation_id) if calm else None


def _a_member_believes(group: Group | None, stable: tuple[str, int] | None) -> bool:
    if group is None or stable is None or group.state not in WITH_GENERATION:
        return False
    return stable[0] in group.members


def _no_bystander(group: Group, stable: tuple[str, int]) -> bool:
    return stable[1] == group.generation_id


Debt = tuple[str, Phase]
"""Whose request is unanswered (an address), and of which kind."""


def _parked(value: Coordinator) -> frozenset[Debt]:
    if value.group is None:
        return frozenset()
    joins = {(m.awaiting_join, Phase.JOINING) for m in value.group.members.values() if m.awaiting_join}
    syncs = {(m.awaiting_sync, Phase.SYNCING) for m in value.group.members.values() if m.awaiting_sync}
    return frozenset(joins | syncs)


Waits = tuple[str, Phase | None, bool]
"""(address, the kind of answer it waits for, whether a later request may have replaced its own)."""


def _waiting(client: Client) -> Waits:
    owed = client.waits and client.phase in (Phase.JOINING, Phase.SYNCING)
    return client.name, client.phase if owed else None, client.overtaken


def _parked_or_waiting(parked: frozenset[Debt], waiting: Waits) -> bool:
    name, owed, _ = waiting
    return owed is not None or any(address == name for address, _ in parked)


def _every_request_held(parked: frozenset[Debt], waiting: Waits) -> bool:
    name, owed, _ = waiting
    held = {phase for address, phase in parked if address == name}
    return held == (set() if owed is None else {owed})


def _held_or_replaced(parked: frozenset[Debt], waiting: Waits) -> bool:
    name, owed, overtaken = waiting
    gone = overtaken and not any(address == name for address, _ in parked)
    return gone or _every_request_held(parked, (name, owed, False))


def _syncs_as(client: Client) -> str | None:
    """The id under which a client waits in SyncGroup, unless a late request of its own has overtaken it."""
    waits = client.waits and client.phase is Phase.SYNCING and not client.overtaken
    return client.member_id if waits else None


def _still_a_member(group: Group, syncs_as: str) -> bool:
    return syncs_as in group.members


def _never_unasked(client: Client) -> bool:
    return not client.unasked


SAFETY = (
    Property(
        "voting.chosen-supported-by-all",
        Kind.SAFETY,
        "Every member supports the protocol that the vote chose.",
        (GROUP,),
        _chosen_supported_by_all,
        given=_has_a_generation,
        source="upstream ClassicGroup#selectProtocol",
        rules=("voting.candidates", "join.protocol"),
    ),
    Property(
        "voting.common-protocol",
        Kind.SAFETY,
        "The members always have at least one protocol in common.",
        (GROUP,),
        _common_protocol,
        given=_has_members,
        source="upstream ClassicGroup#supportsProtocols",
        rules=("join.inconsistent-protocol", "voting.supports"),
    ),
    Property(
        "join.one-leader-per-generation",
        Kind.SAFETY,
        "No two clients believe that they lead the same generation.",
        (View("client", _leads), View("client", _leads)),
        _one_leader,
        given=both,
        source="upstream ClassicGroup#maybeElectNewJoinedLeader",
        rules=("join.leader", "join.next-generation"),
    ),
    Property(
        "join.members-for-leader-only",
        Kind.SAFETY,
        "The leader's join answer lists the members, itself among them; nobody else's does.",
        (View("client", _join_answer),),
        _list_for_leader_only,
        given=present,
        source="upstream GroupMetadataManager#completeClassicGroupJoin",
        rules=("join.next-generation", "join.unchanged"),
    ),
    Property(
        "join.list-is-the-membership",
        Kind.SAFETY,
        "The member list that the leader gets is the membership of that generation, as long as the leader is "
        "in the group.",
        (View("coordinator", _first_epoch), View("client", _join_answer)),
        _list_is_membership,
        given=_leads_this_generation,
        source="KAFKA-9801; upstream ClassicGroup#currentClassicGroupMembers",
        rules=("join.next-generation", "leave.batch"),
    ),
    Property(
        "sync.own-assignment",
        Kind.SAFETY,
        "A client consumes only what the leader of its generation made for it.",
        (CLIENT,),
        _own_assignment,
        given=_has_a_part,
        source="upstream GroupMetadataManager#setAndPropagateAssignment",
        rules=("persistence.assignment-stored", "sync.stable"),
    ),
    Property(
        "sync.one-owner",
        Kind.SAFETY,
        "No partition has two owners in one generation.",
        (View("client", _owns), View("client", _owns)),
        _disjoint,
        given=_two_of_a_generation,
        source="upstream AbstractPartitionAssignor",
        rules=("persistence.assignment-stored", "sync.leader-assigns"),
    ),
    Property(
        "sync.as-stored",
        Kind.SAFETY,
        "A client that consumes in the current generation has exactly the bytes that are stored for it.",
        (COORDINATOR, View("client", _consumes)),
        _as_stored,
        given=_consumes_in_this_generation,
        source="upstream GroupMetadataManager#classicGroupSyncToClassicGroup",
        rules=("sync.follower-waits", "sync.leader-assigns", "persistence.assignment-stored"),
    ),
    Property(
        "generation.client-not-ahead",
        Kind.SAFETY,
        "No client carries a generation that its coordinator has not reached.",
        (View("coordinator", _reached), View("client", _generation)),
        _not_ahead,
        given=_carries_one_of_its,
        source="upstream ClassicGroup#initNextGeneration",
        rules=("join.next-generation",),
    ),
    Property(
        "join.no-bystander",
        Kind.SAFETY,
        "A dynamic member of the current generation has itself joined it, and consumes in no older one.",
        (GROUP, View("client", _stable_as)),
        _no_bystander,
        given=_a_member_believes,
        source="upstream GroupMetadataManager#completeClassicGroupJoin",
        rules=("join.complete-phase",),
    ),
    Property(
        "parked.iff-waiting",
        Kind.SAFETY,
        "Every parked request has a client that waits for its answer, and every client that waits has one "
        "parked, unless an earlier request of its own has overtaken it.",
        (View("coordinator", _parked), View("client", _waiting)),
        _held_or_replaced,
        given=_parked_or_waiting,
        source="KIP-394, KAFKA-7610; upstream GroupMetadataManager#completeClassicGroupJoin",
        rules=("join.next-generation", "persistence.assignment-stored", "leave.remove-member"),
    ),
    Property(
        "parked.answered-once",
        Kind.SAFETY,
        "No client is sent an answer that it does not wait for.",
        (CLIENT,),
        _never_unasked,
        source="upstream ClassicGroup#completeJoinFuture, #completeSyncFuture",
        rules=("join.next-generation", "join.unchanged", "persistence.assignment-stored"),
    ),
)

KNOWN_WEAKNESSES = (
    Property(
        "weakness.replaced-request-unanswered",
        Kind.SAFETY,
        "Every client that waits for an answer will get one.",
        (View("coordinator", _parked), View("client", _waiting)),
        _every_request_held,
        given=_parked_or_waiting,
        source="upstream ClassicGroup#updateMember: a second JoinGroup takes the first one's place",
        rules=("join.while-preparing",),
    ),
    Property(
        "weakness.removed-request-unanswered",
        Kind.SAFETY,
        "A client whose SyncGroup waits, and that no late request of its own has overtaken, is a member.",
        (GROUP, View("client", _syncs_as)),
        _still_a_member,
        given=both,
        source="upstream ClassicGroup#remove: nobody knows any more of the SyncGroup in which a member waits "
        "that somebody else's LeaveGroup removes",
        rules=("leave.remove-member",),
    ),
)
"""Sentences that one would wish to hold and that today's brokers break. They are looked for in every run
that allows their cause, and one that suddenly holds is a failure."""
