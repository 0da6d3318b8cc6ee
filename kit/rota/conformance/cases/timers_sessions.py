"""Sessions: whose they are, how long they last, which lone sign of life keeps them, who is spared."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue, Member
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.steps.group_formation import awaiting_assignments, lead, lead_stable, stable
from rota.conformance.steps.membership import SHORT_SESSIONS
from rota.conformance.steps.offsets import commit, expect_each, topic
from rota.conformance.steps.version_ranges import COMMIT

_LATE = 2.5
"""Seconds that a timer may be late; coordinators look at their clocks now and then."""

_SESSION = "GroupMetadataManager.expireClassicGroupMemberHeartbeat"
_KEPT = "GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat"
_SPARED = "ClassicGroupMember.hasSatisfiedHeartbeat"

_IGNORED = "timers.session-ignored"
"""The rule that who waits is not expired."""

_SHORT = 2000
"""A session timeout in milliseconds of which the end is waited for."""

_LONG = 30_000
"""A session timeout in milliseconds that does not end in a case."""

_BEAT = 0.5
"""Seconds between two signs of life."""


def _until_rebalance(d: Dialogue, who: Member, since: float, seconds: float, *alive: Member) -> None:
    """Somebody else is expired `seconds` after `since`, or a little later: heartbeats tell who stays."""
    error = "NONE"
    while error == "NONE" and d.transcript.elapsed() - since < seconds + _LATE:
        d.wait(0.4)
        for member in alive:
            member.heartbeat()
        error = who.heartbeat().error
    wanted = f"REBALANCE_IN_PROGRESS for who stays, at most {seconds + _LATE:g} s after the other fell silent"
    d.require(error == "REBALANCE_IN_PROGRESS", wanted, error)


@case(
    "timers.session-expired.silent-leader",
    "A leader that is silent for its session timeout is removed, though its follower sends heartbeats.",
    _SESSION,
    seconds=7.0,
)
def silent_leader(d: Dialogue) -> None:
    a, b = d.member("a"), d.member("b")
    lead_stable(d, a, b)
    since = d.transcript.elapsed()
    while d.transcript.elapsed() - since < 4.5:
        d.expect(b.heartbeat(), error="NONE")
        d.wait(0.9)
    _until_rebalance(d, b, since, 6.0)
    d.expect(b.join(), error="NONE", leader=b.member_id)
    d.expect(a.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "timers.session-expired.alone",
    "The only member of a group is removed, too, when it is silent for its session timeout.",
    _SESSION,
    seconds=9.0,
)
def alone(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    d.wait(6.0 + _LATE)
    d.expect(a.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "timers.session-expired.one-after-the-other",
    "Of two silent members each is removed when its own session ends, the second one in a later generation.",
    _SESSION,
    settings=SHORT_SESSIONS,
    seconds=9.0,
)
def one_after_the_other(d: Dialogue) -> None:
    a, b, c = (
        d.member(name, session_timeout_ms=ms) for name, ms in (("a", _LONG), ("b", _SHORT), ("c", _SHORT))
    )
    lead_stable(d, a, b, c)
    since = d.transcript.elapsed()
    while d.transcript.elapsed() - since < 0.6 * _SHORT / 1000:
        d.expect(c.heartbeat(), error="NONE")
        d.wait(A_WHILE / 4)
    _until_rebalance(d, a, since, _SHORT / 1000)
    with d.reaching("a generation without the first one that fell silent"):
        joining = a.send_join()
        joining.silent(0.1)
        d.expect(c.join(), error="NONE")
        d.expect(joining.answer(PROMPTLY), error="NONE")
        d.expect(a.sync({}), error="NONE")
    _until_rebalance(d, a, d.transcript.elapsed(), _SHORT / 1000)
    d.expect(c.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "timers.session-expired.longer-comes-last",
    "Each member has its own session timeout: that of who came later does not keep the first one alive.",
    _SESSION,
    seconds=9.0,
)
def longer_comes_last(d: Dialogue) -> None:
    _own_timeout(d, 6000, _LONG)


@case(
    "timers.session-expired.shorter-comes-last",
    "Each member has its own session timeout: that of who came later does not end the first one's session.",
    _SESSION,
    seconds=9.0,
)
def shorter_comes_last(d: Dialogue) -> None:
    _own_timeout(d, _LONG, 6000)


def _own_timeout(d: Dialogue, first_ms: int, second_ms: int) -> None:
    """Both fall silent: who has the shorter session goes, the other one stays."""
    a, b = d.member("a", session_timeout_ms=first_ms), d.member("b", session_timeout_ms=second_ms)
    lead_stable(d, a, b)
    since = d.transcript.elapsed()
    stays, goes = (a, b) if first_ms > second_ms else (b, a)
    d.wait(7.2)
    _until_rebalance(d, stays, since, 6.0)
    d.expect(goes.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "timers.session-expired.shortened",
    "The session timeout of a member's newest JoinGroup counts: a shorter one ends sooner.",
    "ClassicGroup.updateMember",
    settings=SHORT_SESSIONS,
    seconds=5.0,
)
def shortened(d: Dialogue) -> None:
    a, b = d.member("a", session_timeout_ms=_LONG), d.member("b", session_timeout_ms=_LONG)
    lead(d, b, a)
    changed = a.send_join(session_timeout_ms=_SHORT, protocols=[("range", subscription("changed"))])
    with d.reaching("a generation in which a has a shorter session"):
        changed.silent(0.3)
        d.expect(b.join(), error="NONE")
        d.expect(changed.answer(PROMPTLY), error="NONE")
        syncing = a.send_sync()
        syncing.silent(0.2)
        d.expect(b.sync({}), error="NONE")
        d.expect(syncing.answer(PROMPTLY), error="NONE")
    _until_rebalance(d, b, d.transcript.elapsed(), _SHORT / 1000)
    d.expect(a.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "timers.session-expired.lengthened",
    "The session timeout of a member's newest JoinGroup counts: a longer one ends later.",
    "ClassicGroup.updateMember",
    settings=SHORT_SESSIONS,
    seconds=5.0,
)
def lengthened(d: Dialogue) -> None:
    a = d.member("a", session_timeout_ms=_SHORT)
    stable(d, a)
    with d.reaching("a generation in which a has a longer session"):
        d.expect(a.join(session_timeout_ms=_LONG), error="NONE")
        d.expect(a.sync({}), error="NONE")
    d.wait(_SHORT / 1000 + _LATE)
    d.expect(a.heartbeat(), error="NONE")


@case(
    "heartbeat.alive.keeps-session",
    "Heartbeats alone keep a member in a Stable group for longer than its session timeout.",
    _KEPT,
    settings=SHORT_SESSIONS,
    seconds=5.0,
)
def beats_in_stable(d: Dialogue) -> None:
    a = d.member("a", session_timeout_ms=_SHORT)
    stable(d, a)
    _beats(d, a, "NONE")


@case(
    "heartbeat.alive.keeps-session-while-completing",
    "While assignments are awaited heartbeats alone keep a member for longer than its session timeout.",
    _KEPT,
    settings=SHORT_SESSIONS,
    seconds=5.0,
)
def beats_while_completing(d: Dialogue) -> None:
    leader = awaiting_assignments(d, d.member("a", session_timeout_ms=_SHORT)).leader
    _beats(d, leader, "NONE")
    d.expect(leader.sync({}), error="NONE")


@case(
    "heartbeat.rebalance-in-progress.keeps-session",
    "While the others join heartbeats alone keep a member for longer than its session timeout.",
    _KEPT,
    settings=SHORT_SESSIONS,
    seconds=5.0,
)
def beats_while_preparing(d: Dialogue) -> None:
    a, b = d.member("a", session_timeout_ms=_SHORT), d.member("b")
    stable(d, a)
    with d.reaching("a join phase that waits for a"):
        joining = b.enter()
    _beats(d, a, "REBALANCE_IN_PROGRESS")
    d.expect(a.join(within=PROMPTLY), error="NONE", leader=a.member_id)
    d.expect(joining.answer(PROMPTLY), error="NONE")


def _beats(d: Dialogue, who: Member, error: str) -> None:
    """Heartbeats, all with the same answer, until every session without them would have ended."""
    since = last = d.transcript.elapsed()
    while d.transcript.elapsed() - since < _SHORT / 1000 + _LATE:
        d.wait(_BEAT)
        d.in_time(last, _SHORT / 2000)
        last = d.transcript.elapsed()
        d.expect(who.heartbeat(), error=error)


@case(
    "heartbeat.illegal-generation.keeps-no-session",
    "A heartbeat of a generation that is over is no sign of life: its sender's session ends.",
    "GroupMetadataManager.classicGroupHeartbeatToClassicGroup",
    settings=SHORT_SESSIONS,
    seconds=4.0,
)
def refused_beats(d: Dialogue) -> None:
    a, b = d.member("a", session_timeout_ms=_LONG), d.member("b", session_timeout_ms=_SHORT)
    before = lead_stable(d, a, b).leader.generation_id - 1
    since, error = d.transcript.elapsed(), "ILLEGAL_GENERATION"
    while error == "ILLEGAL_GENERATION" and d.transcript.elapsed() - since < _SHORT / 1000 + _LATE:
        d.wait(_BEAT)
        error = b.heartbeat(generation_id=before).error
    d.require(error == "UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID after two seconds", error)
    d.expect(a.heartbeat(), error="REBALANCE_IN_PROGRESS")


@case(
    "offsets.commit.keeps-session-while-preparing",
    "While the others join commits alone keep a member for longer than its session timeout.",
    _KEPT,
    needs=COMMIT,
    settings=SHORT_SESSIONS,
    seconds=5.0,
)
def commits_while_preparing(d: Dialogue) -> None:
    topic(d)
    a, b = d.member("a", session_timeout_ms=_SHORT), d.member("b")
    stable(d, a)
    with d.reaching("a join phase that waits for a"):
        joining = b.enter()
    since = last = d.transcript.elapsed()
    while d.transcript.elapsed() - since < _SHORT / 1000 + _LATE:
        d.wait(_BEAT)
        d.in_time(last, _SHORT / 2000)
        last = d.transcript.elapsed()
        expect_each(d, commit(a), "NONE")
    d.expect(a.join(within=PROMPTLY), error="NONE", leader=a.member_id)
    d.expect(joining.answer(PROMPTLY), error="NONE")


@case(
    "timers.session-ignored.waiting-in-sync",
    "Who waits in SyncGroup is not expired by its session, however long the leader takes.",
    _SPARED,
    settings=SHORT_SESSIONS,
    seconds=5.0,
)
def waiting_in_sync(d: Dialogue) -> None:
    _long_sync(d)


@case(
    "timers.session-expired.after-waiting-in-sync",
    "A session starts anew with the answer to SyncGroup: it is a whole one, and then it ends.",
    f"{_SPARED}; {_KEPT}",
    settings=SHORT_SESSIONS,
    seconds=9.0,
)
def after_waiting_in_sync(d: Dialogue) -> None:
    with d.reaching("a member that has waited in SyncGroup for longer than its session", _IGNORED):
        leader, follower = _long_sync(d)
    _whole_session(d, leader, follower)


def _long_sync(d: Dialogue) -> tuple[Member, Member]:
    """A follower waits in SyncGroup for longer than its session, then the leader assigns."""
    a, b = d.member("a", session_timeout_ms=_LONG), d.member("b", session_timeout_ms=_SHORT)
    formed = lead(d, a, b)
    waiting = b.send_sync()
    waiting.silent(_SHORT / 1000 + _LATE)
    d.expect(a.heartbeat(), error="NONE")
    d.expect(a.sync(formed.assignments), error="NONE")
    d.expect(waiting.answer(PROMPTLY), error="NONE", assignment=formed.assignments[b.member_id])
    return a, b


@case(
    "timers.session-expired.after-waiting-in-join",
    "A session starts anew with the answer to JoinGroup: it is a whole one, and then it ends.",
    f"KAFKA-9752; {_SPARED}; {_KEPT}",
    settings=SHORT_SESSIONS,
    seconds=9.0,
)
def after_waiting_in_join(d: Dialogue) -> None:
    a, b = d.member("a", session_timeout_ms=_LONG), d.member("b", session_timeout_ms=_SHORT)
    lead_stable(d, a, b)
    with d.reaching("a member that has waited in JoinGroup for longer than its session", _IGNORED):
        joining = b.send_join(protocols=[("range", subscription("changed"))])
        joining.silent(_SHORT / 1000 + _LATE)
        d.expect(a.join(), error="NONE")
        d.expect(joining.answer(PROMPTLY), error="NONE")
        d.expect(a.sync({}), error="NONE")
        d.expect(b.sync(), error="NONE")
    _whole_session(d, a, b)


def _whole_session(d: Dialogue, stays: Member, silent: Member) -> None:
    """From now on `silent` has all of its session, and no more."""
    since = d.transcript.elapsed()
    while d.transcript.elapsed() - since < _SHORT / 2000:
        d.expect(stays.heartbeat(), error="NONE")
        d.wait(A_WHILE / 4)
        d.in_time(since, 0.8 * _SHORT / 1000)
    _until_rebalance(d, stays, since, _SHORT / 1000)
    d.expect(silent.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "timers.session-expired.leader-owes-assignments",
    "A leader that falls silent before it assigns is removed; who waits in SyncGroup has to join again.",
    _SESSION,
    settings=SHORT_SESSIONS,
    seconds=4.0,
)
def leader_owes(d: Dialogue) -> None:
    a, b = d.member("a", session_timeout_ms=_SHORT), d.member("b", session_timeout_ms=_LONG)
    lead(d, a, b)
    waiting = b.send_sync()
    waiting.silent(_SHORT / 2000)
    d.expect(waiting.answer(_SHORT / 2000 + _LATE), error="REBALANCE_IN_PROGRESS")
    d.expect(b.join(), error="NONE", leader=b.member_id)
    d.expect(a.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "timers.session-expired.while-completing",
    "A follower that falls silent while assignments are awaited is removed; the leader has to join again.",
    _SESSION,
    settings=SHORT_SESSIONS,
    seconds=4.0,
)
def silent_while_completing(d: Dialogue) -> None:
    a, b = d.member("a", session_timeout_ms=_LONG), d.member("b", session_timeout_ms=_SHORT)
    lead(d, a, b)
    _until_rebalance(d, a, d.transcript.elapsed(), _SHORT / 1000)
    d.expect(b.heartbeat(), error="UNKNOWN_MEMBER_ID")
