"""JoinGroup: when a join phase begins, whom it waits for, when it ends, what is left if nobody stays."""

from __future__ import annotations

from rota.conformance.dialogues.dialogue import A_WHILE, PROMPTLY, Dialogue, Member, PendingRequest
from rota.conformance.dialogues.registry import case
from rota.conformance.dialogues.script import Level
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.families.axes import MEMBERS, Role
from rota.conformance.families.family import family
from rota.conformance.families.rounds import all_join, told_to_rejoin
from rota.conformance.families.scene import Scene, enters, somebody_new
from rota.conformance.families.situations import PREPARING, STABLE, WITH_ASSIGNMENTS
from rota.conformance.steps.group_formation import awaiting_assignments, stable
from rota.conformance.steps.version_ranges import HANDSHAKE

_LEAVE = "GroupMetadataManager.classicGroupLeaveToClassicGroup"
_COMPLETE = "ClassicGroup.hasAllMembersJoined; GroupMetadataManager.maybeCompleteJoinPhase"


@family(
    "join.prepare-rebalance.newcomers",
    "A newcomer waits until the members have joined again, who learn of it by heartbeat, or in SyncGroup.",
    "GroupMetadataManager.addMemberThenRebalanceOrCompleteJoin; ClassicGroup.completeAllSyncFutures",
    situations=WITH_ASSIGNMENTS,
    asked_by=(Role.NEW,),
    apart=True,
    known_as={
        "stable-one-dynamic.new": "join.prepare-rebalance.new-member",
        "syncing-two-dynamic-again.new": "join.prepare-rebalance.newcomer-cancels-sync",
    },
)
def newcomer_rebalances(scene: Scene, newcomer: Member) -> None:
    """The leader, who joins again last, goes on leading, and is told of all."""
    joining = enters(scene.d, newcomer, scene.lead)
    told_to_rejoin(scene)
    joining.silent(A_WHILE / 4)
    last_leads = (*scene.followers, scene.lead)
    replies = all_join(scene, {newcomer.name: joining}, last_leads, scene.lead)
    everyone = {newcomer.member_id, *(member.member_id for member in scene.everyone)}
    told = replies[scene.lead.name].member_ids
    scene.d.require(told == everyone, f"a list of {len(everyone)} members", f"{len(told)} members")


@family(
    "join.leader.in-time",
    "The leader goes on leading while it joins again in time, be it the last one, whatever the others' ids.",
    "ClassicGroup.maybeElectNewJoinedLeader",
    situations=[situation for situation in STABLE if situation.number > 1],
    asked_by=(Role.LEADER,),
    apart=True,
    known_as={"stable-two-dynamic-again.leader": "join.leader.stays"},
)
def leader_stays(scene: Scene, leader: Member) -> None:
    """Newcomers with ids before and after all others, and the followers, all wait for the leader."""
    first, second = (somebody_new(scene.d, name, scene.kind) for name in ("aaa", "zzz"))
    with scene.d.reaching("a rebalance"):
        joining = {first.name: enters(scene.d, first, leader), second.name: second.enter()}
    joining |= {follower.name: follower.send_join() for follower in scene.followers}
    scene.d.wait(A_WHILE / 4)
    all_join(scene, joining, [leader], leader)


@case(
    "join.barrier.all-joined",
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
    "join.barrier.pending-blocks",
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


@family(
    "join.while-preparing.members",
    "A member that joins again during a rebalance waits until the others have too; all are answered then.",
    "GroupMetadataManager.classicGroupJoinExistingMember",
    situations=[situation for situation in PREPARING if situation.number > 1],
    asked_by=MEMBERS,
    apart=True,
    known_as={"called-two-static-again.follower": "join.while-preparing.parked"},
)
def parked(scene: Scene, member: Member) -> None:
    """Where it waits already, the later request replaces the earlier one."""
    joining = {**scene.waiting, member.name: member.send_join()}
    if any(each.name not in joining for each in scene.everyone):
        for waiting in joining.values():
            waiting.silent(A_WHILE / 4)
    all_join(scene, joining, scene.everyone, scene.lead)


@case(
    "join.while-preparing.replaced-request",
    "When a waiting member joins once more, the later request is answered and the earlier one never.",
    "ClassicGroupMember.setAwaitingJoinFuture",
    level=Level.SHOULD,
    seconds=2.0,
)
def replaced_request(d: Dialogue) -> None:
    earlier, later, b = joined_twice(d)
    d.expect(b.send_join().answer(), error="NONE")
    d.expect(later.answer(), error="NONE")
    earlier.silent()


def joined_twice(d: Dialogue) -> tuple[PendingRequest, PendingRequest, Member]:
    """Two JoinGroups of a member, the later from another connection, and the member that they wait for."""
    a, b = d.member("a"), d.member("b")
    stable(d, a, b)
    earlier = a.send_join(protocols=[("range", subscription("changed"))])
    earlier.silent(A_WHILE / 2)
    later = a.second_connection().send_join()
    later.silent(A_WHILE / 2)
    return earlier, later, b


@case(
    "join.rebalance-or-complete.leave-completes",
    "When the member that a join phase waits for leaves, the phase ends at once.",
    _LEAVE,
)
def leave_completes(d: Dialogue) -> None:
    formed = stable(d, d.member("a"), d.member("b"))
    again = formed.leader.send_join()
    with d.reaching("a join phase that waits for the follower"):
        again.silent()
    d.expect(formed.followers[0].leave(), error="NONE")
    d.expect(again.answer(PROMPTLY), error="NONE")


@case(
    "join.rebalance-or-complete.in-initial-delay",
    "While the initial delay runs no request ends the join phase, though everyone waits in it.",
    "GroupMetadataManager.maybePrepareRebalanceOrCompleteJoin",
    level=Level.SHOULD,
    initial_delay_ms=1000,
    least_delay_ms=1000,
    seconds=2.0,
)
def in_initial_delay(d: Dialogue) -> None:
    began = d.transcript.elapsed()
    first, second = (d.member(name).enter() for name in "ab")
    d.in_time(began, 0.6 * d.initial_delay)
    first.silent(began + 0.8 * d.initial_delay - d.transcript.elapsed())
    for join in (first, second):
        d.expect(join.answer(), error="NONE")


@case(
    "join.prepare-rebalance.leave-cancels-sync",
    "Members that wait in SyncGroup are answered REBALANCE_IN_PROGRESS when another one leaves.",
    _LEAVE,
)
def leave_cancels_sync(d: Dialogue) -> None:
    formed = awaiting_assignments(d, d.member("a"), d.member("b"))
    waiting = formed.followers[0].send_sync()
    with d.reaching("a follower that waits in SyncGroup"):
        waiting.silent(A_WHILE / 2)
    d.expect(formed.leader.leave(), error="NONE")
    d.expect(waiting.answer(PROMPTLY), error="REBALANCE_IN_PROGRESS")


@case(
    "join.empty.last-leaves",
    "When the last member leaves the group is empty at once: the next one may be of another protocol type.",
    f"{_LEAVE}; ClassicGroup.supportsProtocols",
)
def last_member(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    d.expect(a.leave(), error="NONE")
    joined = d.member("b", protocol_type="connect", protocols=[("default", b"")]).enter().answer()
    d.expect(joined, error="NONE", protocol_name="default")


@case(
    "join.empty.counts-as-generation",
    "Becoming empty counts as a generation: the next member gets the one after.",
    "GroupMetadataManager.completeClassicGroupJoin",
    level=Level.SHOULD,
)
def emptying_counts(d: Dialogue) -> None:
    a = d.member("a")
    before = stable(d, a).leader.generation_id
    d.expect(a.leave(), error="NONE")
    d.expect(d.member("b").enter().answer(), error="NONE", generation_id=before + 2)
