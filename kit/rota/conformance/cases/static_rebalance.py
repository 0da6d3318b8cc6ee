"""Static members in a rebalance: restarts that begin one, restarts in one, and who may be absent."""

from __future__ import annotations

from rota.conformance.cases.timers_delay import newcomer_restarts
from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.steps.group_formation import lead_stable, stable
from rota.conformance.steps.membership import SHORT_SESSIONS, heartbeat_until_error, static
from rota.conformance.steps.version_ranges import STATIC

_REPLACE = "KIP-345; GroupMetadataManager.updateStaticMemberThenRebalanceOrCompleteJoin"
_TIMEOUT = "KIP-345; GroupMetadataManager.completeClassicGroupJoin"
_LATE = 2.5
_RANGE = [("range", subscription()), ("roundrobin", subscription())]
_ROUNDROBIN = _RANGE[::-1]


@case(
    "static.replaced-changed-vote.alone",
    "A restart after which another protocol is elected starts a rebalance.",
    _REPLACE,
    needs=STATIC,
)
def changed_vote(d: Dialogue) -> None:
    a = static(d, "a", "one", protocols=_RANGE)
    before = stable(d, a).leader.generation_id
    reply = static(d, "again", "one", protocols=_ROUNDROBIN).join("")
    d.expect(reply, error="NONE", generation_id=before + 1, protocol_name="roundrobin")
    d.expect(a.heartbeat(), error="FENCED_INSTANCE_ID")


@case(
    "static.replaced-changed-vote.others-told",
    "Where a restart elects another protocol, the others learn of the rebalance by heartbeat.",
    _REPLACE,
    needs=STATIC,
)
def changed_vote_told(d: Dialogue) -> None:
    a = static(d, "a", "one", protocols=_ROUNDROBIN)
    b, c = (static(d, name, f"{name}'s", protocols=_RANGE) for name in "bc")
    formed = lead_stable(d, a, b, c)
    with d.reaching("a generation that uses range, by two votes of three"):
        d.expect(formed.replies["a"], protocol_name="range")
    again = static(d, "again", "c's", protocols=_ROUNDROBIN).send_join("")
    again.silent(A_WHILE / 2)
    d.expect(a.heartbeat(), error="REBALANCE_IN_PROGRESS")
    d.expect(b.heartbeat(), error="REBALANCE_IN_PROGRESS")
    waiting = [a.send_join(), b.send_join()]
    for join in (*waiting, again):
        d.expect(join.answer(), error="NONE", protocol_name="roundrobin", leader=a.member_id)


@case(
    "voting.supports.static-restart",
    "A static member cannot restart with protocols that it did not list before: INCONSISTENT_GROUP_PROTOCOL.",
    "ClassicGroup.supportsProtocols",
    level=Level.INFO,
    needs=STATIC,
)
def restart_switches(d: Dialogue) -> None:
    a = static(d, "a", "one", protocols=[("range", subscription())])
    stable(d, a)
    again = static(d, "again", "one", protocols=[("roundrobin", subscription())])
    d.expect(again.join("", within=PROMPTLY), error="INCONSISTENT_GROUP_PROTOCOL")
    d.expect(a.heartbeat(), error="NONE")


@case(
    "static.replaced-while-preparing.fences-waiting",
    "A restart while the members join takes the place of the one that waits, which is fenced.",
    _REPLACE,
    needs=STATIC,
)
def while_preparing(d: Dialogue) -> None:
    a, b = static(d, "a", "one"), static(d, "b", "two")
    lead_stable(d, a, b)
    with d.reaching("a rebalance in which b waits"):
        newcomer = d.member("c").enter()
        newcomer.silent(A_WHILE / 4)
        waiting = b.send_join()
        waiting.silent(A_WHILE / 4)
    again = static(d, "again", "two")
    second = again.send_join("")
    d.expect(waiting.answer(PROMPTLY), error="FENCED_INSTANCE_ID", member_id=b.member_id)
    d.expect(a.join(), error="NONE", leader=a.member_id)
    d.expect(second.answer(PROMPTLY), error="NONE", leader=a.member_id)
    d.expect(newcomer.answer(PROMPTLY), error="NONE")


@case(
    "static.replaced-while-preparing.not-new",
    "A newcomer that restarts in the initial delay is no newcomer any more: it may wait beyond its session.",
    _REPLACE,
    level=Level.INFO,
    needs=STATIC,
    initial_delay_ms=3000,
    least_delay_ms=3000,
    settings=SHORT_SESSIONS,
)
def not_new(d: Dialogue) -> None:
    d.expect(newcomer_restarts(d).answer(), error="NONE")


@case(
    "static.replaced-while-preparing.delay-as-before",
    "A restart in the initial delay does not prolong it: nobody new has come.",
    _REPLACE,
    level=Level.SHOULD,
    needs=STATIC,
    initial_delay_ms=2000,
    least_delay_ms=2000,
    seconds=3.0,
)
def delay_as_before(d: Dialogue) -> None:
    a, again = static(d, "a", "one"), static(d, "again", "one")
    began = d.transcript.elapsed()
    first = a.send_join("")
    first.silent(0.3 * d.initial_delay)
    second = again.send_join("")
    d.expect(first.answer(PROMPTLY), error="FENCED_INSTANCE_ID")
    d.in_time(began, 0.8 * d.initial_delay)
    d.expect(second.answer(began + 1.8 * d.initial_delay - d.transcript.elapsed()), error="NONE")


@case(
    "static.replaced-while-preparing.first-generation",
    "A static newcomer that restarts before the first generation takes its own place; it is one member.",
    _REPLACE,
    needs=STATIC,
    initial_delay_ms=1000,
    least_delay_ms=1000,
    seconds=2.0,
)
def before_first_generation(d: Dialogue) -> None:
    a, again = static(d, "a", "one"), static(d, "again", "one")
    began = d.transcript.elapsed()
    waiting = a.send_join("")
    waiting.silent(0.3 * d.initial_delay)
    second = again.send_join("")
    d.in_time(began, 0.9 * d.initial_delay)
    d.expect(waiting.answer(PROMPTLY), error="FENCED_INSTANCE_ID")
    reply = second.answer()
    d.expect(reply, error="NONE", leader=again.member_id)
    d.require(reply.member_ids == {again.member_id}, "one member", f"{len(reply.member_ids)} members")


@case(
    "static.replaced-while-preparing.leader",
    "A leader that restarts while the members join goes on leading under its new id.",
    _REPLACE,
    needs=STATIC,
)
def leader_while_preparing(d: Dialogue) -> None:
    a, b = static(d, "a", "one"), static(d, "b", "two")
    lead_stable(d, a, b)
    with d.reaching("a rebalance in which b waits"):
        waiting = b.send_join(protocols=[("range", subscription("changed"))])
        waiting.silent(A_WHILE / 2)
    again = static(d, "again", "one")
    reply = again.join("", within=PROMPTLY)
    d.expect(reply, error="NONE", leader=again.member_id)
    d.expect(waiting.answer(PROMPTLY), error="NONE", leader=again.member_id)


@case(
    "join.complete-phase.static-kept",
    "A static member that does not join again in time stays: the new generation lists it.",
    _TIMEOUT,
    needs=STATIC,
    seconds=4.0,
)
def absent_is_kept(d: Dialogue) -> None:
    a, b, c = d.member("a"), static(d, "b", "two"), d.member("c")
    for member in (a, b, c):
        member.settings["rebalance_timeout_ms"] = 2000
    lead_stable(d, a, b)
    newcomer = c.enter()
    joining = a.send_join()
    joining.silent(1.2)
    reply = joining.answer(0.8 + _LATE)
    d.expect(reply, error="NONE")
    d.require(b.member_id in reply.member_ids, "the absent static member in the list", "it is not there")
    d.expect(newcomer.answer(PROMPTLY), error="NONE")
    d.expect(b.heartbeat(), error="ILLEGAL_GENERATION")


@case(
    "join.next-generation.absent-session-anew",
    "The session of a static member that has not joined again begins anew with the generation it is kept in.",
    f"{_TIMEOUT}; GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat",
    level=Level.SHOULD,
    needs=STATIC,
    seconds=9.0,
)
def absent_session_anew(d: Dialogue) -> None:
    """The join phase takes 5 s, so that a session of 6 s that went on would end 1 s after it."""
    a, b = d.member("a"), static(d, "b", "two")
    for member in (a, b):
        member.settings["rebalance_timeout_ms"] = 5000
    lead_stable(d, a, b)
    since = d.transcript.elapsed()
    d.expect(a.send_join().answer(5.0 + _LATE), error="NONE")
    d.expect(a.sync(), error="NONE")
    error = heartbeat_until_error(d, a, 8.0 - (d.transcript.elapsed() - since))
    d.in_time(since, 9.5)
    d.require(error == "NONE", "a generation that lasts three seconds and more", error)


@case(
    "join.leader.absent-static-replaced",
    "A static leader that does not join again in time stays a member, but another one leads.",
    f"{_TIMEOUT}; ClassicGroup.maybeElectNewJoinedLeader",
    needs=STATIC,
    seconds=4.0,
)
def absent_leader(d: Dialogue) -> None:
    a, b = static(d, "a", "one", rebalance_timeout_ms=2000), d.member("b", rebalance_timeout_ms=2000)
    lead_stable(d, a, b)
    joining = b.send_join(protocols=[("range", subscription("changed"))])
    joining.silent(1.2)
    reply = joining.answer(0.8 + _LATE)
    d.expect(reply, error="NONE", leader=b.member_id)
    d.require(reply.member_ids == {a.member_id, b.member_id}, "both in the list", "other members")


@case(
    "static.nobody-joined.goes-on",
    "Where only absent static members are left at the end of a join phase, it begins anew; none is removed.",
    f"{_TIMEOUT}, which re-arms the timer",
    needs=STATIC,
    seconds=4.0,
)
def nobody_joined(d: Dialogue) -> None:
    a, b = static(d, "a", "one", rebalance_timeout_ms=1000), d.member("b", rebalance_timeout_ms=1000)
    before = stable(d, a).leader.generation_id
    with d.reaching("a rebalance in which nobody has joined again"):
        joining = b.enter()
        joining.silent(0.2)
        d.expect(b.second_connection().leave(), error="NONE")
        d.expect(joining.answer(PROMPTLY), error="UNKNOWN_MEMBER_ID", rule="leave.remove-member")
    for _ in range(3):
        d.wait(0.9)
        d.expect(a.heartbeat(), error="REBALANCE_IN_PROGRESS")
    d.expect(a.join(within=PROMPTLY), error="NONE", generation_id=before + 1)


@case(
    "static.nobody-joined.ends-for-one",
    "When it has begun anew since nobody joined, the join phase ends in its time for the one who joins.",
    f"{_TIMEOUT}, which re-arms the timer",
    needs=STATIC,
    seconds=4.0,
)
def ends_for_one(d: Dialogue) -> None:
    timeouts = {"rebalance_timeout_ms": 1500, "session_timeout_ms": 20_000}
    a, b = (static(d, name, f"{name}'s", **timeouts) for name in "ab")
    c = d.member("c", **timeouts)
    before = stable(d, a, b, c).leader.generation_id
    with d.reaching("a rebalance in which nobody has joined again"):
        d.expect(c.leave(), error="NONE")
    d.wait(2.0)
    joining = a.send_join()
    d.expect(joining.answer(1.5 + _LATE), error="NONE", generation_id=before + 1)


@case(
    "timers.session-expired.static-member",
    "A static member that is silent for its session timeout is removed, and its instance id is forgotten.",
    "KIP-345; GroupMetadataManager.expireClassicGroupMemberHeartbeat",
    needs=STATIC,
    seconds=7.0,
)
def session_expired(d: Dialogue) -> None:
    a, b = d.member("a"), static(d, "b", "two")
    lead_stable(d, a, b)
    since = d.transcript.elapsed()
    error = heartbeat_until_error(d, a, 6.0 + _LATE)
    took = d.transcript.elapsed() - since
    d.require(error == "REBALANCE_IN_PROGRESS" and took > 4.5, "a rebalance after six seconds", error)
    d.expect(b.heartbeat(), error="UNKNOWN_MEMBER_ID")


@case(
    "timers.sync-timeout.absent-static",
    "A static member that was absent and does not sync within the rebalance timeout is removed after all.",
    "KAFKA-12890; GroupMetadataManager.expirePendingSync",
    level=Level.SHOULD,
    needs=STATIC,
    seconds=6.0,
)
def absent_removed_by_sync(d: Dialogue) -> None:
    a, b = d.member("a", rebalance_timeout_ms=1500), static(d, "b", "two", rebalance_timeout_ms=1500)
    a.settings["session_timeout_ms"] = b.settings["session_timeout_ms"] = 30_000
    lead_stable(d, a, b)
    with d.reaching("a generation that lists the absent static member", "join.complete-phase"):
        reply = a.join(within=1.5 + _LATE)
        d.expect(reply, error="NONE")
        d.require(b.member_id in reply.member_ids, "the absent static member in the list", "it is not there")
        d.expect(a.sync({a.member_id: b"all"}), error="NONE")
    error = heartbeat_until_error(d, a, 1.5 + _LATE)
    d.require(error == "REBALANCE_IN_PROGRESS", "a rebalance without the absent member", error)
    d.expect(b.heartbeat(), error="UNKNOWN_MEMBER_ID")
