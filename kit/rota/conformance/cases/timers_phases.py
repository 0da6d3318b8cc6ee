"""The limits of the phases and of ids that were handed out: whose time-out counts, what prolongs nothing."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue, Member
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.group_formation import lead, lead_stable, stable
from rota.conformance.steps.membership import SHORT_SESSIONS, pending_member
from rota.conformance.steps.version_ranges import HANDSHAKE

_LATE = 2.5
"""Seconds that a timer may be late; coordinators look at their clocks now and then."""

_SHORT = 2000
"""A rebalance timeout in milliseconds of which the end is waited for."""

_JOIN = "GroupMetadataManager.completeClassicGroupJoin; ClassicGroup.rebalanceTimeoutMs"
_PENDING = "GroupMetadataManager.expireClassicGroupMemberHeartbeat"
_SYNC = "KAFKA-12890; GroupMetadataManager.expirePendingSync"


def _timed(d: Dialogue, name: str, rebalance_timeout_ms: int) -> Member:
    """A member whose session does not end in the case."""
    return d.member(name, session_timeout_ms=30_000, rebalance_timeout_ms=rebalance_timeout_ms)


@case(
    "timers.join-timeout.largest-of-follower",
    "The join phase lasts as long as the largest rebalance timeout, also where it is a follower's.",
    _JOIN,
    seconds=5.0,
)
def largest_of_follower(d: Dialogue) -> None:
    a, b, c = _timed(d, "a", 1000), _timed(d, "b", 3500), _timed(d, "c", 1000)
    lead_stable(d, a, b, c)
    joining = a.send_join()
    joining.silent(2.4)
    d.expect(joining.answer(within=1.1 + _LATE), error="NONE")


@case(
    "timers.join-timeout.newest",
    "The rebalance timeout of a member's newest JoinGroup counts: after a shorter one the phase ends sooner.",
    f"{_JOIN}; ClassicGroup.updateMember",
    seconds=4.0,
)
def newest(d: Dialogue) -> None:
    a, b = _timed(d, "a", 60_000), _timed(d, "b", 1000)
    stable(d, a)
    with d.reaching("a generation in which a has a shorter rebalance timeout"):
        d.expect(a.join(rebalance_timeout_ms=_SHORT), error="NONE")
        d.expect(a.sync({}), error="NONE")
    d.expect(b.enter().answer(within=_SHORT / 1000 + _LATE), error="NONE", leader=b.member_id)


@case(
    "timers.join-timeout.heartbeats-prolong-nothing",
    "Heartbeats of a member that does not join again do not prolong the join phase.",
    _JOIN,
    seconds=4.0,
)
def heartbeats_prolong_nothing(d: Dialogue) -> None:
    absent, newcomer = _timed(d, "a", _SHORT), _timed(d, "b", _SHORT)
    stable(d, absent)
    joining = newcomer.enter()
    began = d.transcript.elapsed()
    while (reply := joining.poll(0.4)) is None and d.transcript.elapsed() - began < _SHORT / 1000 + _LATE:
        absent.heartbeat()
    d.expect(reply or joining.answer(0.1), error="NONE", leader=newcomer.member_id)


@case(
    "timers.sync-timeout.largest",
    "SyncGroups are awaited for as long as the largest rebalance timeout of the members.",
    f"{_SYNC}; ClassicGroup.rebalanceTimeoutMs",
    seconds=5.0,
)
def sync_largest(d: Dialogue) -> None:
    a, b = _timed(d, "a", 3500), _timed(d, "b", 1000)
    lead(d, a, b)
    waiting = b.send_sync()
    waiting.silent(2.4)
    d.expect(waiting.answer(within=1.1 + _LATE), error="REBALANCE_IN_PROGRESS")


@case(
    "timers.sync-timeout.follower",
    "A follower that does not sync in time is removed, too, though the leader has assigned.",
    _SYNC,
    seconds=4.0,
)
def sync_follower(d: Dialogue) -> None:
    a, b = _timed(d, "a", _SHORT), _timed(d, "b", _SHORT)
    began = d.transcript.elapsed()
    formed = lead(d, a, b)
    d.expect(a.sync(formed.assignments), error="NONE")
    error = "NONE"
    while error == "NONE" and d.transcript.elapsed() - began < _SHORT / 1000 + 2 * _LATE:
        d.wait(0.4)
        b.heartbeat()
        error = a.heartbeat().error
    wanted = "REBALANCE_IN_PROGRESS for the leader two seconds after the generation began"
    d.require(error == "REBALANCE_IN_PROGRESS", wanted, error)
    d.expect(b.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "timers.sync-timeout.all-synced",
    "When everyone has synced the time to sync has no end: nobody rebalances at the rebalance timeout.",
    _SYNC,
    seconds=4.0,
)
def all_synced(d: Dialogue) -> None:
    formed = lead_stable(d, _timed(d, "a", 1000), _timed(d, "b", 1000))
    since = d.transcript.elapsed()
    while d.transcript.elapsed() - since < 1.0 + _LATE:
        for member in formed.everyone:
            d.expect(member.heartbeat(), error="NONE")
        d.wait(0.5)


@case(
    "timers.pending-expired.not-earlier",
    "An id that was handed out is good for all of the session timeout of the request that got it.",
    f"KIP-394; {_PENDING}",
    needs=HANDSHAKE,
    seconds=5.0,
)
def pending_not_earlier(d: Dialogue) -> None:
    a = pending_member(d, "a", session_timeout_ms=6000)
    since = d.transcript.elapsed()
    d.wait(4.0)
    d.in_time(since, 5.5)
    d.expect(a.join(), error="NONE")


@case(
    "timers.pending-expired.while-stable",
    "An id that was handed out and runs out in a Stable group is forgotten and disturbs nobody.",
    f"KIP-394; {_PENDING}",
    needs=HANDSHAKE,
    settings=SHORT_SESSIONS,
    seconds=4.0,
)
def pending_while_stable(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    b = pending_member(d, "b", session_timeout_ms=1000)
    since = d.transcript.elapsed()
    while d.transcript.elapsed() - since < 1.0 + _LATE:
        d.expect(a.heartbeat(), error="NONE")
        d.wait(0.5)
    d.expect(b.join(within=PROMPTLY), error="UNKNOWN_MEMBER_ID")
    d.expect(a.join(within=PROMPTLY), error="NONE")


@case(
    "timers.pending-expired.each-for-itself",
    "Of two ids that were handed out each runs out in its own time: the other one is still good.",
    f"KIP-394; {_PENDING}",
    needs=HANDSHAKE,
    settings=SHORT_SESSIONS,
    seconds=4.0,
)
def pending_each_for_itself(d: Dialogue) -> None:
    sooner = pending_member(d, "b", session_timeout_ms=1000)
    later = pending_member(d, "c", session_timeout_ms=30_000)
    d.wait(1.0 + _LATE)
    d.expect(sooner.join(within=PROMPTLY), error="UNKNOWN_MEMBER_ID")
    d.expect(later.join(), error="NONE", member_id=later.member_id)


@case(
    "sync.stable.no-sign-of-life",
    "A SyncGroup that a Stable group answers does not begin its sender's session anew.",
    "GroupMetadataManager.classicGroupSyncToClassicGroup",
    level=Level.INFO,
    seconds=8.0,
)
@case(
    "timers.session-expired.sync-is-no-heartbeat",
    "SyncGroup in a Stable group gives a member no more time: without heartbeats its session ends.",
    "GroupMetadataManager.classicGroupSyncToClassicGroup",
    level=Level.INFO,
    seconds=8.0,
)
def sync_is_no_heartbeat(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    since, error = d.transcript.elapsed(), "NONE"
    while error == "NONE" and d.transcript.elapsed() - since < 8.5:
        d.wait(1.0)
        error = a.sync().error
    d.require(error == "UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID after six seconds", error)
