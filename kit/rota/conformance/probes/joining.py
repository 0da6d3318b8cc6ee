"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup of dynamic members: what no case judges."""

from __future__ import annotations

import time

from rota.conformance.dialogue import A_WHILE, PROMPTLY, Dialogue
from rota.conformance.groups import ON_ITS_WAY, forming, stable
from rota.conformance.probes.talk import SHORT_SESSIONS, form_of
from rota.conformance.registry import probe

_NEW_DYNAMIC = "KIP-394; GroupMetadataManager#classicGroupJoinNewDynamicMember"
_VALIDATE_SYNC = "KIP-559; GroupMetadataManager#validateSyncGroup"
_LEAVE = "KIP-345; GroupCoordinatorService#leaveGroup"


@probe(
    "join.handshake.id-form",
    "The id that is handed out is made of the client id and a UUID.",
    "ClassicGroup#generateMemberId",
    needs={"JoinGroup": (4, 9)},
)
def id_form(d: Dialogue) -> None:
    form_of(d, d.member("anna").join(""))


@probe(
    "join.handshake.no-protocol",
    "From version 7 the answer that hands out an id names no protocol: type and name are null.",
    f"KIP-559; {_NEW_DYNAMIC}",
    needs={"JoinGroup": (7, 9)},
)
def handshake_null_protocol(d: Dialogue) -> None:
    reply = d.member("a").join("")
    d.remark(f"protocol {reply['protocol_type']!r}/{reply['protocol_name']!r}, leader {reply['leader']!r}")


@probe(
    "join.handshake.empty-protocol",
    "Before version 7 the answer that hands out an id has an empty protocol name.",
    f"KIP-559; {_NEW_DYNAMIC}",
    needs={"JoinGroup": (4, 6)},
)
def handshake_empty_protocol(d: Dialogue) -> None:
    reply = d.member("a").join("")
    d.remark(f"protocol {reply['protocol_name']!r}, leader {reply['leader']!r}")


@probe(
    "join.leader.first-of-empty",
    "Of those who join an empty group the first one leads.",
    "ClassicGroup#add",
    initial_delay_ms=1000,
)
def first_leads(d: Dialogue) -> None:
    members = [d.member(name) for name in "abc"]
    waiting = []
    for member in members:
        waiting.append(member.enter())
        time.sleep(ON_ITS_WAY)
    for join in waiting:
        join.answer()


@probe(
    "join.session-bounds.inclusive",
    "A session timeout that is just the least or the greatest allowed is accepted; beyond, it is not.",
    "GroupMetadataManager#classicGroupJoin; group.min.session.timeout.ms, group.max.session.timeout.ms",
    settings=SHORT_SESSIONS,
)
def session_bounds(d: Dialogue) -> None:
    a = d.member("a")
    for bound in (999, 1000, 1_800_000, 1_800_001):
        a.join("", session_timeout_ms=bound)


@probe(
    "sync.protocol.empty",
    "From version 5 an empty protocol type or name is none of the group's.",
    f"{_VALIDATE_SYNC}; KafkaApis#handleSyncGroupRequest",
    needs={"SyncGroup": (5, 5)},
)
def sync_empty_protocol(d: Dialogue) -> None:
    leader = forming(d, d.member("a")).leader
    leader.sync(protocol_type="")
    leader.sync(protocol_name="")
    leader.sync(protocol_type="", protocol_name="")


@probe(
    "sync.protocol.older-versions",
    "Before version 5 SyncGroup names no protocol and nothing of it is checked.",
    _VALIDATE_SYNC,
    needs={"SyncGroup": (0, 4)},
)
def sync_before_five(d: Dialogue) -> None:
    formed = forming(d, d.member("a"))
    formed.leader.sync(formed.assignments)


@probe(
    "sync.checks.generation-before-protocol",
    "SyncGroup checks the generation before the protocol.",
    _VALIDATE_SYNC,
    needs={"SyncGroup": (5, 5)},
)
def sync_generation_first(d: Dialogue) -> None:
    leader = forming(d, d.member("a")).leader
    leader.sync(generation_id=leader.generation_id + 1, protocol_name="roundrobin")


@probe(
    "sync.checks.protocol-before-state",
    "SyncGroup checks the protocol before the state: a wrong one wins over a rebalance.",
    _VALIDATE_SYNC,
    needs={"SyncGroup": (5, 5)},
)
def sync_protocol_before_state(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    with d.reaching("a rebalance"):
        d.member("b").enter().silent()
    a.sync(protocol_name="roundrobin")


@probe(
    "leave.older.error-on-top",
    "Before version 3 LeaveGroup says its error at the top.",
    _LEAVE,
    needs={"LeaveGroup": (0, 2)},
)
def leave_error_on_top(d: Dialogue) -> None:
    a = d.member("a")
    a.leave("never-handed-out")
    stable(d, a)
    a.leave("never-handed-out")
    a.leave()


@probe(
    "leave.older.empty-group-id",
    "Before version 3 LeaveGroup with an empty group id is refused as from it on.",
    _LEAVE,
    needs={"LeaveGroup": (0, 2)},
)
def leave_empty_group_id(d: Dialogue) -> None:
    d.member("a").send("LeaveGroup", {"group_id": "", "member_id": "nobody"}).answer()


@probe(
    "join.metadata.unreadable",
    "A consumer whose metadata is no subscription is admitted as any other, and so is the next one.",
    "ClassicGroup#computeSubscribedTopics",
)
def unreadable_metadata(d: Dialogue) -> None:
    d.member("a", protocols=[("range", b"changed")]).enter().answer(PROMPTLY)
    d.member("b", protocols=[("range", b"")]).enter().answer(A_WHILE)
