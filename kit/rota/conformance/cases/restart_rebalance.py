"""Rebalances before, at and after the target's end: the last generation that has assignments goes on."""

from __future__ import annotations

from rota.conformance.cases.restart_groups import LOAD, lasting
from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.registry import KILLED, after
from rota.conformance.dialogues.script import Level
from rota.conformance.families.scene import rebalances
from rota.conformance.steps.administration import described
from rota.conformance.steps.group_formation import (
    FormedGroup,
    awaiting_assignments,
    join_together,
    lead_stable,
)
from rota.conformance.steps.restarts import restart
from rota.conformance.steps.version_ranges import DESCRIBE


@after(
    "loading.load.leader",
    "the group rebalances as before: the leader leads, and the next generation has the next number.",
    LOAD,
    KILLED,
)
def leader_goes_on(d: Dialogue) -> None:
    formed = lead_stable(d, *lasting(d, "a", "b"))
    last = formed.leader.generation_id
    restart(d)
    expect_next_generation(d, formed, last + 1)


def expect_next_generation(d: Dialogue, formed: FormedGroup, generation: int) -> None:
    """Two members join again, and are in a generation of this number with the leader that they had."""
    (follower,) = formed.followers
    joining = formed.leader.send_join()
    rebalances(d, follower)
    d.expect(follower.join(), error="NONE", generation_id=generation, leader=formed.leader.member_id)
    reply = joining.answer()
    d.expect(reply, error="NONE", generation_id=generation, leader=formed.leader.member_id)
    ids = {member.member_id for member in formed.everyone}
    d.require(reply.member_ids == ids, "both in the leader's list", f"{len(reply.member_ids)} members")


@after(
    "loading.load.rebalance-begun",
    "a rebalance for which a member was missing is forgotten: the last generation goes on and can rebalance.",
    LOAD,
    KILLED,
    level=Level.SHOULD,
    needs=DESCRIBE,
)
def preparing_forgotten(d: Dialogue) -> None:
    formed = lead_stable(d, *lasting(d, "a", "b"))
    last = formed.leader.generation_id
    with d.reaching("a rebalance for which a member is missing"):
        formed.leader.send_join().silent(0.2)
        d.expect(formed.followers[0].heartbeat(), error="REBALANCE_IN_PROGRESS")
    restart(d)
    state = described(d)["group_state"]
    d.require(state == "Stable", "the state Stable", str(state))
    for member in formed.everyone:
        d.expect(member.heartbeat(), error="NONE")
    expect_next_generation(d, formed, last + 1)


@after(
    "loading.load.rebalance-unassigned",
    "a generation that waited for its assignments is forgotten, its number is given out again, and who is in "
    "the generation before it goes on.",
    LOAD,
    KILLED,
    level=Level.SHOULD,
    needs=DESCRIBE,
)
def completing_forgotten(d: Dialogue) -> None:
    formed = lead_stable(d, *lasting(d, "a", "b"))
    lost = formed.leader.generation_id + 1
    with d.reaching("a generation that waits for its assignments"):
        joining = formed.leader.send_join()
        joining.silent(0.2)
        d.expect(formed.followers[0].join(), error="NONE", generation_id=lost)
        d.expect(joining.answer(), error="NONE", generation_id=lost)
    restart(d)
    for member in formed.everyone:
        d.expect(member.heartbeat(), error="ILLEGAL_GENERATION")
        member.generation_id = lost - 1
        d.expect(member.heartbeat(), error="NONE")
    expect_next_generation(d, formed, lost)


@after(
    "loading.load.sync-unanswered",
    "who waited for an assignment in SyncGroup has to join again: that generation is not known, the "
    "one before it goes on with its assignments.",
    LOAD,
    KILLED,
    level=Level.SHOULD,
    needs=DESCRIBE,
)
def waiting_for_assignment(d: Dialogue) -> None:
    formed = lead_stable(d, *lasting(d, "a", "b"))
    leader, (follower,) = formed.leader, formed.followers
    last = leader.generation_id
    with d.reaching("a follower that waits in SyncGroup"):
        joining = leader.send_join()
        joining.silent(0.2)
        d.expect(follower.join(), error="NONE", generation_id=last + 1)
        d.expect(joining.answer(), error="NONE", generation_id=last + 1)
        follower.send_sync().silent(0.2)
    restart(d)
    other = dict.fromkeys(formed.assignments, b"never stored")
    d.expect(follower.sync(), error="ILLEGAL_GENERATION")
    d.expect(leader.sync(other), error="ILLEGAL_GENERATION")
    state = described(d)["group_state"]
    d.require(state == "Stable", "the state Stable", str(state))
    for member in formed.everyone:
        member.generation_id = last
        d.expect(member.sync(), error="NONE", assignment=formed.assignments[member.member_id])
    expect_next_generation(d, formed, last + 1)


@after(
    "loading.load.first-generation-unassigned",
    "a first generation that waited for its assignments is forgotten with its members.",
    LOAD,
    KILLED,
    level=Level.SHOULD,
)
def first_forgotten(d: Dialogue) -> None:
    formed = awaiting_assignments(d, *lasting(d, "a", "b"))
    restart(d)
    for member in formed.everyone:
        d.expect(member.heartbeat(), error="UNKNOWN_MEMBER_ID")
    formed = join_together(d, d.member("c"))
    d.expect(formed.replies["c"], error="NONE", generation_id=1)
