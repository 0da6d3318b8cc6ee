"""Timers: sessions, the two phases' time limits, ids that were handed out. These cases wait for real time."""

from __future__ import annotations

from rota.conformance.cases.join_admission import HANDSHAKE
from rota.conformance.dialogue import PROMPTLY, Dialogue, Member, Waiting, subscription
from rota.conformance.groups import forming, stable
from rota.conformance.model import Deviation
from rota.conformance.registry import case

_LATE = 2.5
"""Seconds that a timer may be late; coordinators look at their clocks now and then."""

_SESSION = "GroupMetadataManager.expireClassicGroupMemberHeartbeat"
_JOIN = "GroupMetadataManager.completeClassicGroupJoin"
_SYNC = "KAFKA-12890; GroupMetadataManager.expirePendingSync"


@case(
    "timers.session-expiry",
    "A member that is silent for its session timeout is removed and the others rebalance.",
    _SESSION,
    seconds=7.0,
)
def session_expiry(d: Dialogue) -> None:
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
    "timers.rebalance-timeout",
    "A join phase ends at the rebalance timeout; members that did not join again are out, heartbeats or not.",
    _JOIN,
    seconds=3.0,
)
def rebalance_timeout(d: Dialogue) -> None:
    a, b = (d.member(name, rebalance_timeout_ms=2000) for name in "ab")
    stable(d, a)
    joining = b.enter()
    began = d.transcript.elapsed()
    d.wait(0.8)
    d.expect(a.heartbeat(), error="REBALANCE_IN_PROGRESS")
    joining.silent(began + 1.3 - d.transcript.elapsed())
    reply = joining.answer(within=0.7 + _LATE)
    d.expect(reply, error="NONE", leader=b.member_id)
    d.require(reply.member_ids == {b.member_id}, "the newcomer alone", f"{len(reply.member_ids)} members")
    d.expect(a.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "timers.rebalance-timeout.largest",
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
    "timers.sync-expiry",
    "A member that does not sync within the rebalance timeout is removed although it sends heartbeats.",
    _SYNC,
    seconds=3.0,
)
def sync_expiry(d: Dialogue) -> None:
    formed = forming(d, *(d.member(name, rebalance_timeout_ms=2000) for name in "ab"))
    waiting = formed.followers[0].send_sync()
    waiting.silent(1.2)
    formed.leader.heartbeat()
    d.expect(waiting.answer(within=0.8 + _LATE), error="REBALANCE_IN_PROGRESS")
    d.expect(formed.leader.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "timers.pending-expiry",
    "An id that was handed out is good for the session timeout of the request that got it, then unknown.",
    f"KIP-394; {_SESSION}",
    needs=HANDSHAKE,
    seconds=8.0,
)
def pending_expiry(d: Dialogue) -> None:
    a = d.member("a")
    with d.reaching("a member id that was handed out"):
        d.expect(a.join("", within=PROMPTLY), error="MEMBER_ID_REQUIRED")
    d.wait(6.0 + _LATE / 2)
    d.expect(a.join(within=PROMPTLY), error="UNKNOWN_MEMBER_ID")


@case(
    "timers.pending-expiry.unblocks",
    "When an id expires that was handed out and holds up a join phase, the phase ends.",
    f"KIP-394; {_SESSION}",
    needs=HANDSHAKE,
    seconds=7.0,
)
def pending_expiry_unblocks(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    stable(d, a)
    with d.reaching("a join phase that waits for an id that was handed out"):
        d.expect(b.join("", within=PROMPTLY), error="MEMBER_ID_REQUIRED")
        again = a.send_join()
        again.silent(4.5)
    d.expect(again.answer(within=1.5 + _LATE), error="NONE")


@case(
    "timers.waiting-not-expired",
    "Members that wait in JoinGroup are not expired by their sessions, be they old or new.",
    f"{_SESSION}; KAFKA-7610",
    seconds=9.0,
)
def waiting_not_expired(d: Dialogue) -> None:
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


def _still_waiting(d: Dialogue, *requests: Waiting) -> None:
    """An error ends the wait against the rule; a grant means that the phase ended early, another rule's."""
    for request in requests:
        reply = request.poll()
        if reply is not None:
            d.expect(reply, error="NONE")
            with d.reaching("a join phase that waits for the leader"):
                raise Deviation("no end of the join phase before everyone joined", "it ended")


@case(
    "timers.new-member-limit",
    "A newcomer that waits in JoinGroup for five minutes is given up: UNKNOWN_MEMBER_ID.",
    "KAFKA-7610; GroupMetadataManager.addMemberThenRebalanceOrCompleteJoin",
    seconds=303.0,
)
def new_member_limit(d: Dialogue) -> None:
    a: Member = d.member("a", rebalance_timeout_ms=600_000, session_timeout_ms=30_000)
    stable(d, a)
    newcomer = d.member("b", rebalance_timeout_ms=600_000).enter()
    since = d.transcript.elapsed()
    while d.transcript.elapsed() - since < 295:
        with d.reaching("a rebalance that waits for a"):
            d.expect(a.heartbeat(), error="REBALANCE_IN_PROGRESS")
        newcomer.silent(5.0)
    d.expect(newcomer.answer(within=5.0 + _LATE + 5.0), error="UNKNOWN_MEMBER_ID")
