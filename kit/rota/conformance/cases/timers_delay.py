"""Timers: the initial rebalance delay in detail, rebalance time-outs of zero, sessions of those who wait."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue, PendingRequest
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.group_formation import stable
from rota.conformance.steps.membership import SHORT_SESSIONS, pending_member, sent_in_time, static
from rota.conformance.steps.version_ranges import HANDSHAKE, STATIC

_INITIAL = "KIP-134; GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule"
_SYNC = "KAFKA-12890; GroupMetadataManager.expirePendingSync"
_SESSION = "KAFKA-7610; GroupMetadataManager.addMemberThenRebalanceOrCompleteJoin"

_BEFORE = 0.2
"""Part of the initial delay that is left when a silence has been observed for long enough."""


@case(
    "timers.initial-delay-extended.three-joins",
    "A newcomer adds a window of the initial delay D to the one it is in: joins at 0, D/2, 8D/5 end at 3D.",
    _INITIAL,
    level=Level.SHOULD,
    initial_delay_ms=1000,
    least_delay_ms=1000,
    seconds=4.0,
)
def three_joins(d: Dialogue) -> None:
    waiting, end = _three_joins(d, rebalance_timeout_ms=60_000, windows=3)
    waiting[0].silent(end - _BEFORE * d.initial_delay - d.transcript.elapsed())
    for join in waiting:
        d.expect(join.answer(max(end - d.transcript.elapsed(), 0.0) + PROMPTLY / 2), error="NONE")


@case(
    "timers.initial-delay-extended.capped",
    "The rebalance timeout caps the extended initial delay D: with 2D the first one is answered after 2D.",
    _INITIAL,
    initial_delay_ms=1000,
    least_delay_ms=1000,
    seconds=3.0,
)
def capped(d: Dialogue) -> None:
    waiting, end = _three_joins(d, rebalance_timeout_ms=int(d.initial_delay * 2000), windows=2)
    d.expect(waiting[0].answer(max(end - d.transcript.elapsed(), 0.0) + PROMPTLY / 2), error="NONE")


def _three_joins(d: Dialogue, rebalance_timeout_ms: int, windows: int) -> tuple[list[PendingRequest], float]:
    """Three newcomers, and when so many windows are over since the first of them joined."""
    members = [d.member(name, rebalance_timeout_ms=rebalance_timeout_ms) for name in "abc"]
    began = d.transcript.elapsed()
    waiting = []
    for member, at in zip(members, (0.0, 0.5, 1.6), strict=True):
        d.wait(began + at * d.initial_delay - d.transcript.elapsed())
        waiting.append(member.enter())
        sent_in_time(waiting[-1], began + at * d.initial_delay)
    return waiting, began + windows * d.initial_delay


@case(
    "timers.initial-delay-over.not-shortened",
    "A rebalance timeout below the initial delay does not shorten its first window.",
    _INITIAL,
    level=Level.SHOULD,
    initial_delay_ms=1000,
    least_delay_ms=1000,
    seconds=2.0,
)
def not_shortened(d: Dialogue) -> None:
    joining = d.member("a", rebalance_timeout_ms=300).enter()
    joining.silent(joining.since + d.initial_delay * (1 - 2 * _BEFORE) - d.transcript.elapsed())
    d.expect(joining.answer(), error="NONE")


@case(
    "timers.initial-delay-over.after-empty",
    "The initial delay is kept again when a group has become empty.",
    _INITIAL,
    level=Level.SHOULD,
    initial_delay_ms=1000,
    least_delay_ms=1000,
    seconds=3.0,
)
def after_empty(d: Dialogue) -> None:
    _emptied(d)
    joining = d.member("b").enter()
    joining.silent(joining.since + d.initial_delay * (1 - 2 * _BEFORE) - d.transcript.elapsed())
    d.expect(joining.answer(), error="NONE")


def _emptied(d: Dialogue) -> None:
    """A group that one member has been in and left."""
    a = d.member("a")
    stable(d, a)
    with d.reaching("an empty group"):
        d.expect(a.leave(), error="NONE")


@case(
    "join.prepare-rebalance.no-initial-delay",
    "A rebalance of a group that has members keeps no initial delay.",
    _INITIAL,
    initial_delay_ms=3000,
    least_delay_ms=3000,
    seconds=2.0,
)
def only_from_empty(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    joining = d.member("b").enter()
    joining.silent(0.2)
    d.expect(a.join(within=d.initial_delay / 2), error="NONE")
    d.expect(joining.answer(PROMPTLY), error="NONE")


@case(
    "timers.initial-delay-over.only-member-leaves",
    "The only one leaves during the delay: its JoinGroup is refused with an empty id, and the delay runs on.",
    "GroupMetadataManager.classicGroupLeaveToClassicGroup; ClassicGroup.remove",
    level=Level.INFO,
    needs=HANDSHAKE,
    initial_delay_ms=1000,
    least_delay_ms=1000,
    seconds=2.0,
)
def only_member_leaves(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    began = d.transcript.elapsed()
    joining = a.enter()
    joining.silent(0.3 * d.initial_delay)
    d.expect(a.second_connection().leave(), error="NONE")
    d.in_time(began, d.initial_delay * (1 - _BEFORE))
    d.expect(joining.answer(PROMPTLY), error="UNKNOWN_MEMBER_ID", member_id="")
    newcomer = b.enter()
    newcomer.silent(began + d.initial_delay * (1 - _BEFORE) - d.transcript.elapsed())
    d.expect(newcomer.answer(), error="NONE")


@case(
    "timers.sync-timeout.zero",
    "A rebalance timeout of 0: admitted, and removed at once for not having synced.",
    _SYNC,
    level=Level.INFO,
)
def rebalance_timeout_zero(d: Dialogue) -> None:
    _no_time_to_sync(d, 0)


@case(
    "timers.sync-timeout.negative",
    "A rebalance timeout of -1: admitted, and removed at once for not having synced.",
    _SYNC,
    level=Level.INFO,
)
def rebalance_timeout_negative(d: Dialogue) -> None:
    _no_time_to_sync(d, -1)


def _no_time_to_sync(d: Dialogue, rebalance_timeout_ms: int) -> None:
    a = d.member("a", rebalance_timeout_ms=rebalance_timeout_ms)
    d.expect(a.enter().answer(), error="NONE")
    d.wait(A_WHILE)
    d.expect(a.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "timers.join-timeout.session-stands-in",
    "In version 0 of JoinGroup the session timeout stands in for the rebalance timeout.",
    "KIP-62; GroupMetadataManager.classicGroupJoinNewMember",
    needs={"JoinGroup": (0, 0)},
    settings=SHORT_SESSIONS,
    seconds=4.0,
)
def session_stands_in(d: Dialogue) -> None:
    a, b = (d.member(name, session_timeout_ms=2000) for name in "ab")
    stable(d, a)
    joining = b.enter()
    since = d.transcript.elapsed()
    for _ in range(3):
        d.in_time(since, 1.3)
        joining.silent(0.5)
        d.expect(a.heartbeat(), error="REBALANCE_IN_PROGRESS")
    d.expect(joining.answer(0.5 + PROMPTLY), error="NONE", leader=b.member_id)


@case(
    "timers.session-ignored.connection-cut",
    "A newcomer whose connection is cut stays for longer than its session and is in the next generation.",
    _SESSION,
    level=Level.INFO,
    settings=SHORT_SESSIONS,
    seconds=4.0,
)
def connection_cut(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b", session_timeout_ms=1000)
    stable(d, a)
    b.enter().silent(0.3)
    b.connection.close()
    d.wait(2.5)
    d.expect(a.heartbeat(), error="REBALANCE_IN_PROGRESS")
    reply = a.join(within=PROMPTLY)
    d.expect(reply, error="NONE")
    d.require(len(reply["members"]) == 2, "both members in the list", f"{len(reply['members'])}")


@case(
    "timers.initial-delay-extended.after-empty",
    "A newcomer extends the initial delay of a group that became empty, too, not only of a new group.",
    _INITIAL,
    level=Level.INFO,
    initial_delay_ms=1000,
    least_delay_ms=1000,
    seconds=4.0,
)
def extended_after_empty(d: Dialogue) -> None:
    began, first, second = two_join_after_empty(d)
    first.silent(began + d.initial_delay * 1.6 - d.transcript.elapsed())
    d.expect(first.answer(), error="NONE")
    d.expect(second.answer(), error="NONE")


def two_join_after_empty(d: Dialogue) -> tuple[float, PendingRequest, PendingRequest]:
    """Two newcomers in the first window of a delay after the group was empty: when it began, and their
    requests.
    """
    _emptied(d)
    b, c = d.member("b"), d.member("c")
    first = b.enter()
    began = d.transcript.elapsed()
    second = c.enter()
    d.in_time(began, d.initial_delay * 0.9)
    return began, first, second


@case(
    "timers.pending-expired.ends-initial-delay",
    "When an id expires that was handed out, the initial delay ends if everyone else waits.",
    "KIP-394; GroupMetadataManager.expireClassicGroupMemberHeartbeat",
    level=Level.INFO,
    needs=HANDSHAKE,
    initial_delay_ms=3000,
    least_delay_ms=3000,
    settings=SHORT_SESSIONS,
)
@case(
    "join.complete-if-all-joined.initial-delay",
    "An expiry that leaves nobody to wait for ends the join phase, the initial delay or not.",
    "GroupMetadataManager.removePendingMemberAndUpdateClassicGroup",
    level=Level.INFO,
    needs=HANDSHAKE,
    initial_delay_ms=3000,
    least_delay_ms=3000,
    settings=SHORT_SESSIONS,
)
def expiry_ends_delay(d: Dialogue) -> None:
    joining, late = joins_beside_pending(d)
    d.expect(joining.answer(late - d.transcript.elapsed()), error="NONE")


def joins_beside_pending(d: Dialogue) -> tuple[PendingRequest, float]:
    """The request of the only one who joins beside an id that runs out; when most of the delay is over."""
    a = d.member("a")
    began = d.transcript.elapsed()
    pending_member(d, "b", session_timeout_ms=1000)
    return a.enter(), began + 0.8 * d.initial_delay


@case(
    "timers.session-ignored.restarted-newcomer",
    "A static newcomer that restarts while it waits for the first generation is not expired by its session.",
    "ClassicGroup.replaceStaticMember; ClassicGroupMember.hasSatisfiedHeartbeat",
    level=Level.INFO,
    needs=STATIC,
    initial_delay_ms=3000,
    least_delay_ms=3000,
    settings=SHORT_SESSIONS,
)
def restarted_newcomer(d: Dialogue) -> None:
    d.expect(newcomer_restarts(d).answer(), error="NONE")


def newcomer_restarts(d: Dialogue) -> PendingRequest:
    """The second request of a static newcomer that restarts while its first one is parked."""
    a, again = (static(d, name, "one", session_timeout_ms=1000) for name in ("a", "again"))
    first = a.send_join("")
    first.silent(0.3)
    second = again.send_join("")
    d.expect(first.answer(PROMPTLY), error="FENCED_INSTANCE_ID")
    return second


@case(
    "timers.join-timeout.not-prolonged",
    "How long a join phase may last is fixed when it begins: who comes later does not prolong it.",
    "ClassicGroup.rebalanceTimeoutMs; GroupMetadataManager.prepareRebalance",
    seconds=5.0,
)
def not_prolonged(d: Dialogue) -> None:
    a, b = (d.member(name, rebalance_timeout_ms=3000) for name in "ab")
    stable(d, a)
    joining = b.enter()
    joining.silent(0.3)
    later = d.member("c", rebalance_timeout_ms=60_000).enter()
    later.silent(0.3)
    d.expect(joining.answer(2.4 + PROMPTLY), error="NONE")
    d.expect(later.answer(PROMPTLY), error="NONE")


@case(
    "timers.join-timeout.pending-survives",
    "The end of a join phase does not wait for ids that were handed out, nor does it forget them.",
    "KIP-394; GroupMetadataManager.completeClassicGroupJoin",
    needs=HANDSHAKE,
    seconds=3.0,
)
def pending_survives(d: Dialogue) -> None:
    a = d.member("a", rebalance_timeout_ms=1500)
    stable(d, a)
    b = pending_member(d, "b")
    again = a.send_join()
    again.silent(1.0)
    d.expect(again.answer(0.5 + PROMPTLY), error="NONE")
    joining = b.send_join()
    joining.silent(0.3)
    d.expect(a.join(within=PROMPTLY), error="NONE")
    d.expect(joining.answer(PROMPTLY), error="NONE", member_id=b.member_id)


@case(
    "timers.initial-delay-extended.by-one-long-gone",
    "A newcomer in the last window of one initial delay extends the group's next one, in which nobody comes.",
    f"{_INITIAL}, which forgets the newcomer only when it extends",
    level=Level.INFO,
    initial_delay_ms=1000,
    least_delay_ms=1000,
    seconds=4.0,
)
def by_one_long_gone(d: Dialogue) -> None:
    alone = after_a_newcomer_long_gone(d)
    alone.silent(alone.since + d.initial_delay * 1.6 - d.transcript.elapsed())
    d.expect(alone.answer(), error="NONE")


def after_a_newcomer_long_gone(d: Dialogue) -> PendingRequest:
    """The only JoinGroup of an initial delay that follows one which ended with a newcomer."""
    a, b = (d.member(name, rebalance_timeout_ms=int(d.initial_delay * 1000)) for name in "ab")
    with d.reaching("an empty group whose initial delay ended with a newcomer in its only window"):
        began = d.transcript.elapsed()
        first, second = a.enter(), b.enter()
        d.in_time(began, d.initial_delay * 0.9)
        d.expect(first.answer(), error="NONE")
        d.expect(second.answer(), error="NONE")
        d.expect(a.leave(), error="NONE")
        d.expect(b.leave(), error="NONE")
    return d.member("c").enter()


@case(
    "leave.pending-member.delay-goes-on",
    "An id that was handed out and leaves does not end the initial delay, though everyone else waits.",
    "GroupMetadataManager.classicGroupLeaveToClassicGroup",
    level=Level.SHOULD,
    needs=HANDSHAKE,
    initial_delay_ms=1000,
    least_delay_ms=1000,
    seconds=2.0,
)
def delay_goes_on(d: Dialogue) -> None:
    late, a = pending_member(d, "b"), d.member("a")
    began = d.transcript.elapsed()
    joining = a.enter()
    joining.silent(0.2)
    d.expect(late.leave(), error="NONE")
    joining.silent(began + d.initial_delay * 0.8 - d.transcript.elapsed())
    d.expect(joining.answer(), error="NONE")
