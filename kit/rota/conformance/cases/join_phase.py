"""JoinGroup: when a join phase begins, whom it waits for, when it ends."""

from __future__ import annotations

from rota.conformance.cases.join_admission import HANDSHAKE
from rota.conformance.dialogue import A_WHILE, PROMPTLY, Dialogue, subscription
from rota.conformance.groups import stable
from rota.conformance.model import Level
from rota.conformance.registry import case

_INITIAL = "KIP-134; GroupMetadataManager.maybeCompleteJoinElseSchedule"
_COMPLETE = "ClassicGroup.hasAllMembersJoined; GroupMetadataManager.maybeCompleteJoinPhase"


@case(
    "join.initial-delay",
    "The first member of an empty group is answered only after the initial rebalance delay.",
    _INITIAL,
    initial_delay_ms=1000,
    least_delay_ms=1000,
)
def initial_delay(d: Dialogue) -> None:
    a = d.member("a")
    began = d.transcript.elapsed()
    joining = a.enter()
    asked = d.transcript.elapsed()
    joining.silent(d.initial_delay * 0.8 - (asked - began))
    d.expect(joining.answer(), error="NONE")


@case(
    "join.initial-delay.together",
    "Members that join during the initial delay are all in the first generation.",
    _INITIAL,
    initial_delay_ms=1000,
    least_delay_ms=1000,
)
def initial_delay_together(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    began = d.transcript.elapsed()
    first = a.enter()
    second = b.enter()
    d.in_time(began, d.initial_delay * 0.9)
    one, other = first.answer(), second.answer()
    d.expect(one, error="NONE")
    d.expect(other, error="NONE", generation_id=one["generation_id"])


@case(
    "join.initial-delay.extended",
    "A newcomer during the initial delay extends it by a whole delay.",
    _INITIAL,
    level=Level.SHOULD,
    initial_delay_ms=1000,
    least_delay_ms=1000,
    seconds=2.0,
)
def initial_delay_extended(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    first = a.enter()
    began = d.transcript.elapsed()
    b.enter()
    d.in_time(began, d.initial_delay * 0.9)
    first.silent(began + d.initial_delay * 1.6 - d.transcript.elapsed())
    d.expect(first.answer(), error="NONE")


@case(
    "join.new-member-rebalances",
    "A newcomer to a Stable group waits until the members have joined again; they learn of it by heartbeat.",
    "GroupMetadataManager.addMemberThenRebalanceOrCompleteJoin",
)
def new_member_rebalances(d: Dialogue) -> None:
    a = d.member("a")
    before = stable(d, a).replies["a"]["generation_id"]
    joining = d.member("b").enter()
    joining.silent()
    d.expect(a.heartbeat(), error="REBALANCE_IN_PROGRESS")
    again = a.join()
    d.expect(again, error="NONE", generation_id=before + 1)
    d.expect(joining.answer(), error="NONE", generation_id=before + 1)


@case(
    "join.complete",
    "A join phase ends as soon as every member has joined again, not at its timeout.",
    _COMPLETE,
)
def completes_at_once(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    stable(d, a, b)
    joining = d.member("c").enter()
    joining.silent(A_WHILE / 2)
    one, other = a.send_join(), b.send_join()
    for waiting in (one, other, joining):
        d.expect(waiting.answer(within=PROMPTLY), error="NONE")


@case(
    "join.leader-stays",
    "The leader goes on leading while it joins again in time.",
    "ClassicGroup.maybeElectNewJoinedLeader",
)
def leader_stays(d: Dialogue) -> None:
    formed = stable(d, d.member("a"), d.member("b"))
    leader, (follower,) = formed.leader, formed.followers
    joining = d.member("c").enter()
    joining.silent(A_WHILE / 2)
    second = follower.send_join()
    second.silent()
    first = leader.send_join()
    for waiting in (second, first, joining):
        d.expect(waiting.answer(), error="NONE", leader=leader.member_id)


@case(
    "join.pending-blocks",
    "A member id that was handed out and not used yet holds up the rebalance of the others.",
    f"KIP-394; {_COMPLETE}",
    needs=HANDSHAKE,
)
def pending_blocks(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    stable(d, a)
    with d.reaching("a member id that was handed out"):
        d.expect(b.join("", within=PROMPTLY), error="MEMBER_ID_REQUIRED")
    again = a.send_join()
    again.silent()
    d.expect(b.join(), error="NONE")
    d.expect(again.answer(), error="NONE")


@case(
    "join.pending-blocks.not-the-first",
    "A member id that was handed out and not used yet does not hold up a group's very first generation.",
    f"KIP-394; {_INITIAL}",
    needs=HANDSHAKE,
    initial_delay_ms=0,
)
def pending_does_not_block_first(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    with d.reaching("a member id that was handed out"):
        d.expect(b.join("", within=PROMPTLY), error="MEMBER_ID_REQUIRED")
    d.expect(a.enter().answer(within=d.initial_delay + PROMPTLY), error="NONE")


@case(
    "join.pending-stays-stable",
    "Handing out a member id leaves a Stable group Stable.",
    "KIP-394; GroupMetadataManager.classicGroupJoinNewDynamicMember",
    needs=HANDSHAKE,
)
def pending_stays_stable(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    with d.reaching("a member id that was handed out"):
        d.expect(d.member("b").join("", within=PROMPTLY), error="MEMBER_ID_REQUIRED")
    d.expect(a.heartbeat(), error="NONE")


@case(
    "join.replaced-request",
    "When a waiting member joins once more, the later request is answered and the earlier one never.",
    "ClassicGroupMember.setAwaitingJoinFuture",
    level=Level.SHOULD,
    seconds=2.0,
)
def replaced_request(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    stable(d, a, b)
    earlier = a.send_join(protocols=[("range", subscription("changed"))])
    earlier.silent(A_WHILE / 2)
    later = a.elsewhere().send_join()
    later.silent(A_WHILE / 2)
    d.expect(b.send_join().answer(), error="NONE")
    d.expect(later.answer(), error="NONE")
    earlier.silent()
