"""What is left of a group after the target was ended and started again: what was stored, the rest as new.

Sessions are long where nothing is to expire: those who prepare wait for one another.
"""

from __future__ import annotations

from typing import Any

from rota.conformance.connections.connection import Closed
from rota.conformance.connections.error_codes import NOT_READY, error_name
from rota.conformance.dialogues.broker_settings import MAX_SIZE
from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue, Member
from rota.conformance.dialogues.operator import BACK_SECONDS
from rota.conformance.dialogues.registry import KILLED, after, otherwise
from rota.conformance.dialogues.script import Level, Signal
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.steps.administration import described
from rota.conformance.steps.group_formation import all_leave, join_together, lead_stable, stable
from rota.conformance.steps.membership import heartbeat_until_error, pending_member, static
from rota.conformance.steps.offsets import (
    TOPIC,
    commit,
    expect_each,
    expect_fetched,
    topic,
)
from rota.conformance.steps.restarts import end_target, reconnect, restart, start_again
from rota.conformance.steps.version_ranges import (
    COMMIT,
    DESCRIBE,
    FETCH,
    HANDSHAKE,
    STATIC,
)

LOAD = "GroupMetadataManager.onLoaded; CoordinatorLoaderImpl"
LASTING = 300_000
"""Milliseconds of a session that does not end in a case."""

_ENDING = 20_000
"""Milliseconds of a session that ends in a case, though not before a slow target is back."""

_BOTH = [("range", subscription()), ("roundrobin", subscription())]


def lasting(d: Dialogue, *names: str, **settings: Any) -> list[Member]:
    return [d.member(name, **{"session_timeout_ms": LASTING, **settings}) for name in names]


@after(
    "join.empty.recorded",
    "a group that everybody has left is there, Empty, and goes on counting its generations.",
    f"{LOAD}; GroupMetadataManager.completeClassicGroupJoin",
    KILLED,
    needs=DESCRIBE,
)
@after(
    "persistence.emptied-stored.kept",
    "those who left are not back, and the next generation has a number of its own.",
    f"{LOAD}; GroupMetadataManager.completeClassicGroupJoin",
    needs=DESCRIBE,
)
def emptied(d: Dialogue) -> None:
    (a,) = lasting(d, "a")
    stable(d, a)
    all_leave(d, a)
    restart(d)
    group = described(d)
    actual = (group["group_state"], group["members"])
    d.require(actual == ("Empty", []), "an Empty group", f"{actual}")
    d.expect(a.heartbeat(), error="UNKNOWN_MEMBER_ID")
    formed = join_together(d, d.member("b"))
    d.expect(formed.replies["b"], error="NONE", generation_id=3)


@after(
    "persistence.creation-stored.kept",
    "a group in which only an id was handed out is there, Empty.",
    "GroupMetadataManager.classicGroupJoinToClassicGroup, which writes the new group; Kafka 3 does not",
    KILLED,
    level=Level.INFO,
    needs={**DESCRIBE, **HANDSHAKE},
)
def created(d: Dialogue) -> None:
    _created_then(d, "Empty")


@otherwise(
    "persistence.creation-stored.kept-after-sigkill",
    "creation_recorded",
    "A group in which only an id was handed out is not written, and not there after a restart (SIGKILL).",
)
def not_created(d: Dialogue) -> None:
    _created_then(d, "Dead")


def _created_then(d: Dialogue, state: str) -> None:
    pending_member(d, "a")
    d.wait(0.3)  # nobody waits for what is written then
    restart(d)
    actual = described(d)["group_state"]
    d.require(actual == state, f"the state {state}", str(actual))


@after(
    "persistence.assignment-stored.kept",
    "each member that syncs again is given its assignment.",
    LOAD,
    KILLED,
)
def assignment_again(d: Dialogue) -> None:
    formed = stable(d, *lasting(d, "a", "b", "c"))
    restart(d)
    for member in formed.everyone:
        given = formed.assignments[member.member_id]
        d.expect(member.sync(), error="NONE", assignment=given)


@after(
    "loading.load.members",
    "the members are there with their ids, subscriptions and assignments, in the generation that they had, "
    "and may commit.",
    LOAD,
    needs={**COMMIT, **DESCRIBE, **FETCH},
)
def members_kept(d: Dialogue) -> None:
    topic(d)
    formed = lead_stable(d, *lasting(d, "a", "b"))
    before = _as_described(d)
    restart(d)
    for member in formed.everyone:
        d.expect(member.heartbeat(), error="NONE")
    same = _as_described(d)
    d.require(same == before, "the group as it was described before the restart", f"{same}")
    topic(d)
    expect_each(d, commit(formed.followers[0], 12), "NONE")
    expect_fetched(d, 12)


def _as_described(d: Dialogue) -> dict[str, Any]:
    """What DescribeGroups says, but for where members come from: they have new connections."""
    group = described(d)
    kept = ("member_id", "group_instance_id", "member_metadata", "member_assignment")
    members = {each["member_id"]: tuple(each.get(name) for name in kept) for each in group["members"]}
    return {**{name: group[name] for name in ("group_state", "protocol_type", "protocol_data")}, **members}


@after(
    "loading.load.old-generation",
    "an older generation and a stranger are refused as before, heartbeat and commit.",
    LOAD,
    KILLED,
    needs=COMMIT,
)
def old_generation(d: Dialogue) -> None:
    topic(d)
    formed = lead_stable(d, *lasting(d, "a", "b"))
    old = formed.leader.generation_id - 1
    restart(d)
    topic(d)
    for member in formed.everyone:
        d.expect(member.heartbeat(generation_id=old), error="ILLEGAL_GENERATION")
        expect_each(d, commit(member, generation_id_or_member_epoch=old), "ILLEGAL_GENERATION")
    d.expect(formed.leader.heartbeat(member_id="stranger"), error="UNKNOWN_MEMBER_ID")
    expect_each(d, commit(formed.leader, member_id="stranger"), "UNKNOWN_MEMBER_ID")


@after(
    "loading.load.static-members",
    "static members are known by their instance ids: a stranger with one is fenced, who restarts takes over.",
    LOAD,
    needs=STATIC,
)
def static_kept(d: Dialogue) -> None:
    a, b = (static(d, name, f"one-{name}", session_timeout_ms=LASTING) for name in "ab")
    lead_stable(d, a, b)
    restart(d)
    d.expect(a.heartbeat(), error="NONE")
    d.expect(b.heartbeat(member_id=a.member_id), error="FENCED_INSTANCE_ID")
    again = static(d, "again", "one-b", session_timeout_ms=LASTING)
    d.expect(again.join("", within=PROMPTLY), error="NONE", generation_id=b.generation_id)
    d.expect(b.heartbeat(), error="FENCED_INSTANCE_ID")
    d.expect(again.heartbeat(), error="NONE")


@after(
    "static.replaced-in-stable.assignment",
    "a static member that had taken over is given the assignment that its former self had.",
    f"{LOAD}; GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin",
    KILLED,
    needs=STATIC,
)
@after(
    "static.replacement-stored.kept",
    "a static member that had taken over is the member, and its former self is fenced.",
    f"{LOAD}; GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin",
    needs=STATIC,
)
def replacement_kept(d: Dialogue) -> None:
    a, again = (static(d, name, "one", session_timeout_ms=LASTING) for name in ("a", "again"))
    given = stable(d, a).assignments[a.member_id]
    with d.reaching("a static member that has taken over"):
        d.expect(again.join(""), error="NONE", generation_id=a.generation_id)
    restart(d)
    d.expect(again.heartbeat(), error="NONE")
    d.expect(again.sync(), error="NONE", assignment=given)
    d.expect(a.heartbeat(), error="FENCED_INSTANCE_ID")


@after(
    "loading.load.waits-in-join",
    "a member is no newcomer: it may wait for the others to join for longer than its session.",
    f"{LOAD}; ClassicGroupMember.isNew",
    (Signal.TERM,),
    level=Level.SHOULD,
    seconds=30.0,
)
def waits_in_join(d: Dialogue) -> None:
    (b,) = lasting(d, "b")
    a = d.member("a", session_timeout_ms=_ENDING)
    stable(d, a, b)
    end_target(d)
    ended = d.transcript.elapsed()
    start_again(d)
    d.in_time(ended, _ENDING / 1000 * 0.8)
    d.expect(a.heartbeat(), error="NONE")
    joining = a.send_join(protocols=[("range", subscription("changed"))])
    joining.silent(_ENDING / 1000 + 1.5)
    d.expect(b.join(), error="NONE")
    d.expect(joining.answer(PROMPTLY), error="NONE", member_id=a.member_id)


@after(
    "loading.load.handed-out-ids",
    "an id that was handed out and not used is not known.",
    LOAD,
    KILLED,
    level=Level.INFO,
    needs=HANDSHAKE,
)
def pending_forgotten(d: Dialogue) -> None:
    (a,) = lasting(d, "a", protocols=_BOTH)
    stable(d, a)
    pending = pending_member(d, "b", session_timeout_ms=LASTING)
    restart(d)
    d.expect(a.heartbeat(), error="NONE")
    d.expect(pending.join(within=PROMPTLY), error="UNKNOWN_MEMBER_ID")


@after(
    "loading.load.elected-protocol-alone",
    "of a member's protocols only the elected one is known: who has only another one is refused.",
    LOAD,
    KILLED,
    level=Level.INFO,
)
def elected_alone(d: Dialogue) -> None:
    (a,) = lasting(d, "a", protocols=_BOTH)
    with d.reaching("a group that has range"):
        d.expect(stable(d, a).replies["a"], protocol_name="range")
    restart(d)
    d.expect(a.heartbeat(), error="NONE")
    other = d.member("c", protocols=_BOTH[1:])
    d.expect(other.join("", within=PROMPTLY), error="INCONSISTENT_GROUP_PROTOCOL")


_SESSION = 6_000
_ALONE = {MAX_SIZE: 2**31 - 1}
"""What every broker has anyway; by saying so the case has a server with nobody who keeps it waiting."""

_SILENT = 2.0
"""Seconds for which everyone was silent before the restart: where these count, a session ends too early."""

_SLACK = 3.0
"""Seconds that an expiry may be late."""


@after(
    "loading.load.sessions",
    "each session begins anew, with the member's own timeout: who stays silent is removed when it is over, "
    "and nobody else.",
    f"{LOAD}; GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat",
    KILLED,
    seconds=20,
    settings=_ALONE,
)
def sessions_begin(d: Dialogue) -> None:
    alive, patient = lasting(d, "alive", "patient")
    silent = d.member("silent", session_timeout_ms=_SESSION)
    lead_stable(d, alive, silent, patient)
    begun = d.transcript.elapsed()
    d.wait(_SILENT)
    end_target(d)
    ended = d.transcript.elapsed()
    start_again(d)
    d.in_time(d.transcript.elapsed() - (ended - begun), _SESSION / 1000 * 0.8)
    error = heartbeat_until_error(d, alive, _SESSION / 1000 + _SLACK)
    d.require(error == "REBALANCE_IN_PROGRESS", "a rebalance when the silent member is removed", error)
    lasted = d.transcript.elapsed() - ended
    d.require(lasted > _SESSION / 1000, "not before its whole session is over", f"after {lasted:.1f} s")
    d.expect(silent.heartbeat(), error="UNKNOWN_MEMBER_ID")
    d.expect(patient.heartbeat(), error="REBALANCE_IN_PROGRESS")


_NOT_YET = frozenset(map(error_name, NOT_READY))


@after(
    "hosting.loading.before-it-knows",
    "nobody is told that there is no offset, no member or no group before these have been read: until then "
    "a client is asked for patience.",
    "CoordinatorRuntime, which answers COORDINATORLOAD_IN_PROGRESS; KafkaApis",
    needs={**COMMIT, **FETCH, **DESCRIBE},
)
def nothing_said_before(d: Dialogue) -> None:
    topic(d)
    (a,) = lasting(d, "a")
    stable(d, a)
    with d.reaching("a committed offset"):
        expect_each(d, commit(a, 41), "NONE")
    end_target(d)
    start_again(d, ready=False)
    deadline = d.transcript.elapsed() + d.patience + BACK_SECONDS
    while d.transcript.elapsed() < deadline:
        try:
            if _all_known(d, a):
                return
        except Closed:  # so a broker may do while it starts, and nobody is told anything by it
            reconnect(a)
        d.wait(0.05)
    d.require(False, "the offset once it was read", "none until now")


def _all_known(d: Dialogue, a: Member) -> bool:
    """Whether an offset, a member and a group are known; a `Deviation` where one is denied."""
    asked = {"groups": [{"group_id": d.group_id, "topics": [{"name": TOPIC, "partition_indexes": [0]}]}]}
    fetching = a.send_whole("OffsetFetch", asked)
    first = fetching.poll(BACK_SECONDS) or fetching.answer()  # it may listen long before it says anything
    offsets = first["groups"].only()
    group = a.send_whole("DescribeGroups", {"groups": [d.group_id]}).answer()["groups"].only()
    beat = a.heartbeat().error
    told = [error_name(each["error_code"]) for each in (offsets, group)]
    for error in (*told, beat):
        d.require(error == "NONE" or error in _NOT_YET, "what was stored, or to ask again", error)
    if told[0] == "NONE":
        found = offsets["topics"][0]["partitions"][0]["committed_offset"]
        d.require(found == 41, "the offset 41, or to ask again", f"the offset {found}")
    if told[1] == "NONE":
        state = group["group_state"]
        d.require(state == "Stable", "the state Stable, or to ask again", str(state))
    return [*told, beat] == ["NONE"] * 3
