"""Timers: initial delay, sessions, limits of the phases, handed-out ids. These cases wait for real time."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue, Member, PendingRequest, Reply
from rota.conformance.dialogues.failures import Deviation
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.steps.group_formation import awaiting_assignments, stable
from rota.conformance.steps.version_ranges import HANDSHAKE

_LATE = 2.5
"""Seconds that a timer may be late; coordinators look at their clocks now and then."""

_INITIAL = "KIP-134; GroupMetadataManager.maybeCompleteJoinElseSchedule"
_SESSION = "GroupMetadataManager.expireClassicGroupMemberHeartbeat"
_JOIN = "GroupMetadataManager.completeClassicGroupJoin"
_SYNC = "KAFKA-12890; GroupMetadataManager.expirePendingSync"


@case(
    "timers.initial-delay-over.not-earlier",
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
    "timers.initial-delay-over.together",
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
    "timers.initial-delay-over.pending-ignored",
    "A member id that was handed out and not used yet does not hold up a group's very first generation.",
    f"KIP-394; {_INITIAL}",
    needs=HANDSHAKE,
)
def pending_does_not_block_first(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    with d.reaching("a member id that was handed out"):
        d.expect(b.join("", within=PROMPTLY), error="MEMBER_ID_REQUIRED")
    d.expect(a.enter().answer(within=d.initial_delay + PROMPTLY), error="NONE")


@case(
    "timers.initial-delay-extended.newcomer",
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
    "timers.initial-delay-extended.capped-within-a-window",
    "The rebalance timeout cuts the last window of the initial delay D: with 3D/2 it ends after 3D/2.",
    _INITIAL,
    level=Level.SHOULD,
    initial_delay_ms=2000,
    least_delay_ms=2000,
    seconds=4.0,
)
def capped_within_a_window(d: Dialogue) -> None:
    a, b = (d.member(name, rebalance_timeout_ms=int(d.initial_delay * 1500)) for name in "ab")
    began = d.transcript.elapsed()
    first = a.enter()
    d.wait(began + 0.5 * d.initial_delay - d.transcript.elapsed())
    second = b.enter()
    d.in_time(began + 0.5 * d.initial_delay, 0.4 * d.initial_delay)
    for join in (first, second):
        d.expect(join.answer(began + 1.8 * d.initial_delay - d.transcript.elapsed()), error="NONE")


@case(
    "timers.session-expired.silent-member",
    "A member that is silent for its session timeout is removed and the others rebalance.",
    _SESSION,
    seconds=7.0,
)
def session_expired(d: Dialogue) -> None:
    formed = stable(d, d.member("a"), d.member("b"))
    leader, (silent_one,) = formed.leader, formed.followers
    since = d.transcript.elapsed()
    while d.transcript.elapsed() - since < 4.5:
        d.expect(leader.heartbeat(), error="NONE")
        d.wait(0.9)
    error = "NONE"
    while error == "NONE" and d.transcript.elapsed() - since < 6.0 + _LATE:
        d.wait(0.4)
        error = leader.heartbeat().error
    expected = "REBALANCE_IN_PROGRESS for the member that stayed, six seconds after the other fell silent"
    d.require(error == "REBALANCE_IN_PROGRESS", expected, error)
    d.expect(silent_one.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "join.complete-if-all-joined.session-expired",
    "When the member that a join phase waits for falls silent, the phase ends with its session.",
    _SESSION,
    seconds=7.0,
)
def expiry_completes(d: Dialogue) -> None:
    formed = stable(d, d.member("a"), d.member("b"))
    d.wait(0.3)  # so that the one that stays would be expired later, were it not spared for waiting
    d.expect(formed.leader.heartbeat(), error="NONE")
    again = formed.leader.send_join()
    again.silent(4.2)
    reply = again.answer(within=1.5 + _LATE)
    d.expect(reply, error="NONE", leader=formed.leader.member_id)
    alone = reply.member_ids == {formed.leader.member_id}
    d.require(alone, "the member that stayed alone", f"{len(reply.member_ids)} members")


@case(
    "timers.join-timeout.ends-phase",
    "A join phase ends at the rebalance timeout if somebody does not join again, not earlier and not later.",
    _JOIN,
    seconds=3.0,
)
def join_timeout(d: Dialogue) -> None:
    absent, newcomer = (d.member(name, rebalance_timeout_ms=2000) for name in "ab")
    d.expect(_without(d, absent, newcomer), error="NONE", member_id=newcomer.member_id)


@case(
    "join.complete-phase.absent-removed",
    "Members that have not joined again when the join phase ends are out, though they sent heartbeats.",
    _JOIN,
    seconds=3.0,
)
def absent_removed(d: Dialogue) -> None:
    absent, newcomer = (d.member(name, rebalance_timeout_ms=2000) for name in "ab")
    with d.reaching("a join phase that ends at its timeout"):
        reply = _without(d, absent, newcomer)
        d.expect(reply, error="NONE")
    d.require(absent.member_id not in reply.member_ids, "the newcomer alone", "the absent member in the list")
    d.expect(absent.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "join.leader.absent-replaced",
    "A leader that has not joined again when the join phase ends is replaced by a member that has.",
    "ClassicGroup.maybeElectNewJoinedLeader",
    seconds=3.0,
)
def absent_leader_replaced(d: Dialogue) -> None:
    absent, newcomer = (d.member(name, rebalance_timeout_ms=2000) for name in "ab")
    with d.reaching("a join phase that ends at its timeout"):
        reply = _without(d, absent, newcomer)
        d.expect(reply, error="NONE")
    d.expect(reply, leader=newcomer.member_id)


def _without(d: Dialogue, absent: Member, newcomer: Member) -> Reply:
    """The newcomer's answer at the end of a join phase in which the only member sends just a heartbeat."""
    stable(d, absent)
    joining = newcomer.enter()
    began = d.transcript.elapsed()
    joining.silent()
    beat = absent.heartbeat()
    d.in_time(began, 1.9)
    d.expect(beat, error="REBALANCE_IN_PROGRESS")
    joining.silent(began + 1.3 - d.transcript.elapsed())
    return joining.answer(within=0.7 + _LATE)


@case(
    "timers.join-timeout.largest",
    "The join phase lasts as long as the largest rebalance timeout of the members.",
    "ClassicGroup.rebalanceTimeoutMs",
    seconds=5.0,
)
def largest_rebalance_timeout(d: Dialogue) -> None:
    a, b = d.member("a", rebalance_timeout_ms=3500), d.member("b", rebalance_timeout_ms=1000)
    stable(d, a, b)
    joining = d.member("c", rebalance_timeout_ms=1000).enter()
    joining.silent(2.4)
    d.expect(joining.answer(within=1.1 + _LATE), error="NONE")


@case(
    "timers.sync-timeout.only-heartbeats",
    "A member that does not sync within the rebalance timeout is removed although it sends heartbeats.",
    _SYNC,
    seconds=3.0,
)
def sync_timeout(d: Dialogue) -> None:
    formed = awaiting_assignments(d, *(d.member(name, rebalance_timeout_ms=2000) for name in "ab"))
    waiting = formed.followers[0].send_sync()
    waiting.silent(1.2)
    formed.leader.heartbeat()
    d.expect(waiting.answer(within=0.8 + _LATE), error="REBALANCE_IN_PROGRESS")
    d.expect(formed.leader.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "timers.pending-expired.forgotten",
    "An id that was handed out is good for the session timeout of the request that got it, then unknown.",
    f"KIP-394; {_SESSION}",
    needs=HANDSHAKE,
    seconds=8.0,
)
def pending_expired(d: Dialogue) -> None:
    a = d.member("a")
    with d.reaching("a member id that was handed out"):
        d.expect(a.join("", within=PROMPTLY), error="MEMBER_ID_REQUIRED")
    d.wait(6.0 + _LATE / 2)
    d.expect(a.join(within=PROMPTLY), error="UNKNOWN_MEMBER_ID")


@case(
    "timers.pending-expired.unblocks",
    "When an id expires that was handed out and holds up a join phase, the phase ends.",
    f"KIP-394; {_SESSION}",
    needs=HANDSHAKE,
    seconds=7.0,
)
def pending_expired_unblocks(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    stable(d, a)
    with d.reaching("a join phase that waits for an id that was handed out"):
        d.expect(b.join("", within=PROMPTLY), error="MEMBER_ID_REQUIRED")
        again = a.send_join()
        again.silent(4.5)
    d.expect(again.answer(within=1.5 + _LATE), error="NONE")


@case(
    "timers.session-ignored.waiting-in-join",
    "Members that wait in JoinGroup are not expired by their sessions, be they old or new.",
    f"{_SESSION}; KAFKA-7610",
    seconds=9.0,
)
def session_ignored(d: Dialogue) -> None:
    a, b = (d.member(name, rebalance_timeout_ms=30_000) for name in "ab")
    formed = stable(d, a, b)
    leader, (follower,) = formed.leader, formed.followers
    began = d.transcript.elapsed()
    changed = follower.send_join(protocols=[("range", subscription("changed"))])
    newcomer = d.member("c").enter()
    while d.transcript.elapsed() - began < 7.5:
        leader.heartbeat()
        _still_waiting(d, changed, newcomer)
        d.wait(0.9)
    d.expect(leader.join(), error="NONE")
    d.expect(changed.answer(), error="NONE")
    d.expect(newcomer.answer(), error="NONE")


def _still_waiting(d: Dialogue, *requests: PendingRequest) -> None:
    """An error breaks the rule; a generation means that the phase ended early, which is another rule."""
    for request in requests:
        reply = request.poll()
        if reply is not None:
            d.expect(reply, error="NONE")
            with d.reaching("a join phase that waits for the leader", rule="join.barrier"):
                raise Deviation("no end of the join phase before everyone joined", "it ended")


@case(
    "timers.new-member-expired.five-minutes",
    "A newcomer that waits in JoinGroup for five minutes is given up: UNKNOWN_MEMBER_ID.",
    "KAFKA-7610; GroupMetadataManager.addMemberThenRebalanceOrCompleteJoin",
    seconds=303.0,
)
def new_member_expired(d: Dialogue) -> None:
    a: Member = d.member("a", rebalance_timeout_ms=600_000, session_timeout_ms=30_000)
    stable(d, a)
    newcomer = d.member("b", rebalance_timeout_ms=600_000).enter()
    since = d.transcript.elapsed()
    while d.transcript.elapsed() - since < 295:
        with d.reaching("a rebalance that waits for a"):
            d.expect(a.heartbeat(), error="REBALANCE_IN_PROGRESS")
        newcomer.silent(5.0)
    d.expect(newcomer.answer(within=5.0 + _LATE + 5.0), error="UNKNOWN_MEMBER_ID")
