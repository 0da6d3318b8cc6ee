"""Time-outs and the initial rebalance delay: when things end, in whole seconds."""

from __future__ import annotations

from rota.conformance.dialogue import Dialogue
from rota.conformance.groups import stable
from rota.conformance.probes.talk import DESCRIBE, SHORT_SESSIONS, describe
from rota.conformance.registry import probe

_INITIAL = "KIP-134; GroupMetadataManager#tryCompleteInitialRebalanceElseSchedule"
_SYNC = "KAFKA-12890; GroupMetadataManager#expirePendingSync"


@probe(
    "timers.join-phase.session-stands-in",
    "In version 0 of JoinGroup the session timeout stands in for the rebalance timeout.",
    "KIP-62; GroupMetadataManager#classicGroupJoinNewMember",
    needs={"JoinGroup": (0, 0)},
    settings=SHORT_SESSIONS,
    seconds=4.0,
)
def session_stands_in(d: Dialogue) -> None:
    a, b = (d.member(name, session_timeout_ms=2000) for name in "ab")
    stable(d, a)
    joining = b.enter()
    for _ in range(3):
        d.wait(0.5)
        a.heartbeat()
    joining.timed()


@probe(
    "timers.rebalance-timeout.zero",
    "A rebalance timeout of 0: admitted, and removed at once for not having synced.",
    _SYNC,
    needs=DESCRIBE,
)
def rebalance_timeout_zero(d: Dialogue) -> None:
    _no_time_to_sync(d, 0)


@probe(
    "timers.rebalance-timeout.negative",
    "A rebalance timeout of -1: admitted, and removed at once for not having synced.",
    _SYNC,
    needs=DESCRIBE,
)
def rebalance_timeout_negative(d: Dialogue) -> None:
    _no_time_to_sync(d, -1)


def _no_time_to_sync(d: Dialogue, rebalance_timeout_ms: int) -> None:
    a = d.member("a", rebalance_timeout_ms=rebalance_timeout_ms)
    a.enter().answer()
    d.wait(0.8)
    a.heartbeat()
    describe(d)


@probe(
    "timers.new-member.connection-cut",
    "A newcomer whose connection is cut stays for longer than its session and is in the next generation.",
    "KAFKA-7610; GroupMetadataManager#addMemberThenRebalanceOrCompleteJoin",
    settings=SHORT_SESSIONS,
    seconds=4.0,
)
def connection_cut(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b", session_timeout_ms=1000)
    stable(d, a)
    b.enter().silent(0.3)
    b.connection.close()
    d.wait(2.5)
    a.heartbeat()
    a.join()


@probe(
    "timers.initial-delay.three-joins",
    "A newcomer in a window of the initial delay adds a whole one: joins at 0, 0.5 and 1.6 s end at 3 s.",
    _INITIAL,
    initial_delay_ms=1000,
    seconds=4.0,
)
def three_joins(d: Dialogue) -> None:
    _three_joins(d, 60_000)


@probe(
    "timers.initial-delay.capped",
    "The rebalance timeout caps the extended initial delay: the same joins with 2 s end at 2 s.",
    _INITIAL,
    initial_delay_ms=1000,
    seconds=3.0,
)
def capped(d: Dialogue) -> None:
    _three_joins(d, 2000)


def _three_joins(d: Dialogue, rebalance_timeout_ms: int) -> None:
    members = [d.member(name, rebalance_timeout_ms=rebalance_timeout_ms) for name in "abc"]
    began = d.transcript.elapsed()
    waiting = []
    for member, at in zip(members, (0.0, 0.5, 1.6), strict=True):
        d.wait(began + at - d.transcript.elapsed())
        waiting.append(member.enter())
        d.in_time(began + at, 0.3)
    waiting[0].timed()
    for join in waiting[1:]:
        join.answer()


@probe(
    "timers.initial-delay.not-shortened",
    "A rebalance timeout below the initial delay does not shorten its first window.",
    _INITIAL,
    initial_delay_ms=1000,
    seconds=2.0,
)
def not_shortened(d: Dialogue) -> None:
    d.member("a", rebalance_timeout_ms=300).enter().timed()


@probe(
    "timers.initial-delay.after-empty",
    "The initial delay is kept again when a group has become empty.",
    _INITIAL,
    initial_delay_ms=1000,
    seconds=3.0,
)
def after_empty(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    with d.reaching("an empty group"):
        d.expect(a.leave(), error="NONE")
    d.member("b").enter().timed()


@probe(
    "timers.initial-delay.only-from-empty",
    "A rebalance of a group that has members keeps no initial delay.",
    _INITIAL,
    initial_delay_ms=1000,
    seconds=2.0,
)
def only_from_empty(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    joining = d.member("b").enter()
    joining.silent(0.2)
    a.send_join().timed()
    joining.answer()


@probe(
    "timers.initial-delay.only-member-leaves",
    "The only member leaves during the delay: its JoinGroup is refused with an empty id, the delay goes on.",
    "GroupMetadataManager#classicGroupLeaveToClassicGroup; ClassicGroup#remove",
    needs=DESCRIBE,
    initial_delay_ms=1000,
    seconds=3.0,
)
def only_member_leaves(d: Dialogue) -> None:
    a = d.member("a")
    joining = a.enter()
    joining.silent(0.1)
    a.elsewhere().leave()
    joining.answer()
    describe(d)
    d.wait(1.0)
    describe(d)
