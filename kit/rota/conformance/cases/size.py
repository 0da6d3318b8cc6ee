"""The limit on a group's size, `group.max.size`, here 2 (KIP-389)."""

from __future__ import annotations

from collections.abc import Mapping

from rota.conformance.dialogues.broker_settings import MAX_SIZE
from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue, Member, PendingRequest
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.group_formation import awaiting_assignments, lead_stable, stable
from rota.conformance.steps.membership import pending_member, static
from rota.conformance.steps.version_ranges import HANDSHAKE, STATIC

_SOURCE = "KIP-389; GroupMetadataManager.acceptJoiningMember"
_TWO: Mapping[str, int] = {MAX_SIZE: 2}
_FULL = "GROUP_MAX_SIZE_REACHED"


@case(
    "join.group-max-size-reached.first-step",
    "A full Stable group refuses a newcomer at its first step, before the handshake.",
    _SOURCE,
    settings=_TWO,
)
def first_step(d: Dialogue) -> None:
    a = d.member("a")
    lead_stable(d, a, d.member("b"))
    d.expect(d.member("c").join("", within=PROMPTLY), error=_FULL)
    d.expect(a.heartbeat(), error="NONE")


@case(
    "join.group-max-size-reached.while-completing",
    "A full group refuses a newcomer also while its assignments are awaited.",
    _SOURCE,
    settings=_TWO,
)
def while_completing(d: Dialogue) -> None:
    formed = awaiting_assignments(d, d.member("a"), d.member("b"))
    d.expect(d.member("c").join("", within=PROMPTLY), error=_FULL)
    d.expect(formed.leader.sync(formed.assignments), error="NONE")


@case(
    "join.group-max-size-reached.static-newcomer",
    "A full group refuses a static newcomer.",
    f"{_SOURCE}; KIP-345",
    needs=STATIC,
    settings=_TWO,
)
def static_newcomer(d: Dialogue) -> None:
    lead_stable(d, d.member("a"), d.member("b"))
    d.expect(static(d, "c", "three").join("", within=PROMPTLY), error=_FULL)


@case(
    "join.group-max-size-reached.static-restart",
    "A full group refuses even a static member of its own that restarts: it has to wait for its old session.",
    f"{_SOURCE}; KIP-345",
    level=Level.INFO,
    needs=STATIC,
    settings=_TWO,
)
def static_restart(d: Dialogue) -> None:
    a, b = d.member("a"), static(d, "b", "two")
    lead_stable(d, a, b)
    d.expect(static(d, "again", "two").join("", within=PROMPTLY), error=_FULL)
    d.expect(b.heartbeat(), error="NONE")


@case(
    "join.group-max-size-reached.empty-id",
    "The refusal for size carries an empty member id, whatever the request's.",
    _SOURCE,
    level=Level.INFO,
    settings=_TWO,
)
def refused_with_empty_id(d: Dialogue) -> None:
    lead_stable(d, d.member("a"), d.member("b"))
    reply = d.member("c").join("never-handed-out", within=PROMPTLY)
    d.expect(reply, error=_FULL, member_id="", generation_id=-1, leader="", members=[])


@case(
    "join.group-max-size-reached.before-protocols",
    "The size is checked before the protocols.",
    _SOURCE,
    level=Level.SHOULD,
    settings=_TWO,
)
def before_protocols(d: Dialogue) -> None:
    lead_stable(d, d.member("a"), d.member("b"))
    d.expect(d.member("c", protocol_type="connect").join("", within=PROMPTLY), error=_FULL)
    d.expect(d.member("d", protocols=[]).join("", within=PROMPTLY), error=_FULL)


@case(
    "join.group-max-size-reached.members-spared",
    "A full group lets its own members join again.",
    _SOURCE,
    settings=_TWO,
)
def members_spared(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    now = lead_stable(d, a, b).leader.generation_id
    d.expect(b.join(within=PROMPTLY), error="NONE", generation_id=now)
    joining = a.send_join()
    joining.silent(A_WHILE / 4)
    d.expect(b.join(within=PROMPTLY), error="NONE", generation_id=now + 1)
    d.expect(joining.answer(PROMPTLY), error="NONE", generation_id=now + 1)


@case(
    "join.group-max-size-reached.handed-out-not-counted",
    "Ids that were handed out do not count: any number of them is handed out while there is room for one.",
    _SOURCE,
    needs=HANDSHAKE,
    settings=_TWO,
)
def handed_out_not_counted(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    late = [pending_member(d, name) for name in "bcde"]
    joining = late[0].send_join()
    joining.silent(A_WHILE / 4)
    again = a.send_join()
    again.silent(A_WHILE / 4)
    for member in late[1:]:
        d.expect(member.join(within=PROMPTLY), error=_FULL)


@case(
    "join.group-max-size-reached.first-generation",
    "While a group's first members wait, one more than fits is refused; the others form the group.",
    _SOURCE,
    settings=_TWO,
    initial_delay_ms=1000,
    least_delay_ms=1000,
    seconds=2.0,
)
def first_generation(d: Dialogue) -> None:
    a, b, c = (d.member(name) for name in "abc")
    began = d.transcript.elapsed()
    first, second = a.enter(), b.enter()
    second.silent(0.1)
    third = c.send_join("")
    d.in_time(began, 0.9 * d.initial_delay)
    d.expect(third.answer(PROMPTLY), error=_FULL)
    reply = first.answer()
    d.expect(reply, error="NONE")
    d.expect(second.answer(), error="NONE", generation_id=reply["generation_id"])


@case(
    "join.group-max-size-reached.room-again",
    "When a member has left a full group, a newcomer is admitted.",
    _SOURCE,
    settings=_TWO,
)
def room_again(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    lead_stable(d, a, b)
    with d.reaching("a full group that one leaves"):
        d.expect(d.member("c").join("", within=PROMPTLY), error=_FULL)
        d.expect(b.leave(), error="NONE")
        d.expect(a.join(), error="NONE")
    joining = d.member("d").enter()
    joining.silent(A_WHILE / 4)
    d.expect(a.join(within=PROMPTLY), error="NONE")
    d.expect(joining.answer(PROMPTLY), error="NONE")


@case(
    "join.group-max-size-reached.pushed-out",
    "While the members join only those who wait count: newcomers push out a member that comes later.",
    _SOURCE,
    level=Level.INFO,
    settings=_TWO,
)
def pushed_out(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    crowded(d, a, b)
    d.expect(b.join(within=PROMPTLY), error=_FULL)
    d.expect(b.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "join.group-max-size-reached.last-missing",
    "When the last member that is missing is refused for size, the join phase goes on to its timeout.",
    f"{_SOURCE}; GroupMetadataManager.classicGroupJoin",
    level=Level.INFO,
    settings=_TWO,
    seconds=5.0,
)
def last_missing(d: Dialogue) -> None:
    b, again, newcomer = last_missing_refused(d)
    again.silent(1.5)
    phase_ends(d, b, again, newcomer)


def last_missing_refused(d: Dialogue) -> tuple[Member, PendingRequest, PendingRequest]:
    """The member b, for which a and a newcomer wait, is refused for size; b and their JoinGroups."""
    a, b = (d.member(name, rebalance_timeout_ms=3000) for name in "ab")
    again, newcomer = crowded(d, a, b)
    d.expect(b.join(within=PROMPTLY), error=_FULL)
    return b, again, newcomer


def phase_ends(
    d: Dialogue, refused: Member, again: PendingRequest, newcomer: PendingRequest, within: float = 5.0
) -> None:
    """The join phase ends without the member that was refused."""
    reply = again.answer(within)
    d.expect(reply, error="NONE")
    d.require(refused.member_id not in reply.member_ids, "a list without the refused member", "it is there")
    d.expect(newcomer.answer(PROMPTLY), error="NONE")


def crowded(d: Dialogue, a: Member, b: Member) -> tuple[PendingRequest, PendingRequest]:
    """Of two members one has joined again, and so has a newcomer; both wait."""
    lead_stable(d, a, b)
    with d.reaching("a join phase in which a and a newcomer wait"):
        again = a.send_join()
        again.silent(0.2)
        newcomer = d.member("c", rebalance_timeout_ms=3000).enter()
        newcomer.silent(0.2)
    return again, newcomer


@case(
    "join.group-max-size-reached.last-pending",
    "A handed-out id that is refused for size is forgotten, but the join phase goes on to its timeout.",
    f"{_SOURCE}; GroupMetadataManager.classicGroupJoin",
    level=Level.INFO,
    needs=HANDSHAKE,
    settings=_TWO,
    seconds=5.0,
)
def last_pending(d: Dialogue) -> None:
    late, again, newcomer = last_pending_refused(d)
    again.silent(1.5)
    phase_ends(d, late, again, newcomer)


def last_pending_refused(d: Dialogue) -> tuple[Member, PendingRequest, PendingRequest]:
    """An id that was handed out, for which two wait, is refused for size; its owner and their JoinGroups."""
    a, b = (d.member(name, rebalance_timeout_ms=3000) for name in "ab")
    stable(d, a)
    late = pending_member(d, "c")
    with d.reaching("a join phase of two that waits for an id that was handed out"):
        newcomer = b.enter()
        newcomer.silent(0.2)
        again = a.send_join()
        again.silent(0.2)
    d.expect(late.join(within=PROMPTLY), error=_FULL)
    d.expect(late.heartbeat(generation_id=a.generation_id), error="UNKNOWN_MEMBER_ID")
    return late, again, newcomer
