"""How each phase is reached: newcomers become a group, which is then led to where the rule applies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rota.conformance.dialogues.dialogue import Dialogue, Member, PendingRequest
from rota.conformance.dialogues.failures import Deviation
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.dialogues.ways import Way
from rota.conformance.families.axes import Kind, Phase
from rota.conformance.families.scene import Scene, enters, rebalances, somebody_new
from rota.conformance.steps.administration import delete, expect_deleted
from rota.conformance.steps.group_formation import (
    FormedGroup,
    awaiting_assignments,
    distribute_assignments,
    join_again,
    let_arrive,
    stable,
)
from rota.conformance.steps.membership import pending_member, static

LONG_SESSION_MS = 10_000
"""So long that no session ends in a dialogue; answers are awaited longer, for some targets wait for one."""

CAST = (("lena", "desk-5"), ("anna", "desk-9"), ("zoe", "desk-2"))
"""Names and instance ids, in the order of joining: the first has neither the smallest nor the greatest."""


@dataclass(frozen=True)
class Plan:
    """Whom to bring into which phase: `number` members, in the second generation if `again`.

    For that one more leaves, if `one_leaves`; else they all join a second time.
    """

    phase: Phase
    kind: Kind
    number: int
    again: bool
    words: str
    one_leaves: bool = True

    def by(self, way: Way) -> Plan:
        """The same, where the way is one of fewer members: first who only joins to leave is done without."""
        if not way.fewer:
            return self
        words = f"{self.words}, {way.name}"
        return replace(self, number=self.number + self.again - way.fewer, one_leaves=False, words=words)


def reach(d: Dialogue, plan: Plan) -> Scene:
    """The scene, once the group is where the plan wants it. Errors: SetupFailed."""
    plan = plan.by(d.way)
    scene = Scene(d, plan.phase, plan.kind, plan.words)
    with d.reaching(plan.words):
        _REACHED[plan.phase](scene, plan)
    return scene


def cast(d: Dialogue, kind: Kind, number: int) -> list[Member]:
    """So many members who have sent nothing yet, in the order in which they are to join."""
    members = []
    for place, (name, instance) in enumerate(CAST[:number]):
        settings = {"session_timeout_ms": LONG_SESSION_MS, "protocols": listed(name)}
        make = static(d, name, instance, **settings) if kind.has_static(place) else d.member(name, **settings)
        members.append(make)
    return members


def listed(tag: str) -> list[tuple[str, bytes]]:
    """Two protocols, each with metadata of its own; the first one is elected."""
    return [("range", subscription(f"{tag} in range")), ("roundrobin", subscription(f"{tag} in roundrobin"))]


def _completing(scene: Scene, plan: Plan) -> FormedGroup:
    members = cast(scene.d, plan.kind, plan.number)
    if plan.again and plan.one_leaves:
        members.append(scene.d.member("mia", session_timeout_ms=LONG_SESSION_MS, protocols=listed("mia")))
    formed = _second(scene, plan, members) if plan.again else awaiting_assignments(scene.d, *members)
    scene.leader, scene.followers = formed.leader, formed.followers
    scene.generation, scene.protocol = formed.leader.generation_id, formed.leader.protocol_name
    return formed


def _second(scene: Scene, plan: Plan, members: list[Member]) -> FormedGroup:
    """A follower leaves the Stable group, the others join again; without one the leader begins that.

    Who leaves is dynamic, for there are brokers that static members cannot leave.
    """
    d = scene.d
    everyone = stable(d, *members).everyone
    if not plan.one_leaves:
        return join_again(d, *everyone)
    *staying, leaving = everyone
    d.expect(leaving.leave(), error="NONE")
    scene.former = (leaving,)
    return join_again(d, *staying)


def _syncing(scene: Scene, plan: Plan) -> None:
    _completing(scene, plan)
    scene.waiting = {member.name: member.send_sync() for member in scene.followers}
    let_arrive(scene.d)


def _stable(scene: Scene, plan: Plan) -> None:
    distribute_assignments(scene.d, _completing(scene, plan))


def _called(scene: Scene, plan: Plan) -> None:
    _stable(scene, plan)
    scene.newcomer = somebody_new(scene.d, "newcomer", plan.kind)
    scene.waiting = {scene.newcomer.name: enters(scene.d, scene.newcomer, scene.lead)}


def _rejoining(scene: Scene, plan: Plan) -> None:
    _stable(scene, plan)
    scene.waiting = {scene.lead.name: scene.lead.send_join()}
    rebalances(scene.d, scene.followers[0], scene.d.patience)


def _first(scene: Scene, plan: Plan) -> None:
    """The members wait for the end of the initial delay; their ids are known, for they were handed out."""
    waiting: dict[str, PendingRequest] = {}
    scene.began = scene.d.transcript.elapsed()
    for member in cast(scene.d, plan.kind, plan.number):
        waiting[member.name] = member.enter()
        if not member.member_id or waiting[member.name].answered:
            raise Deviation("an id that is handed out at once", "no answer yet", "join.member-id-required")
        scene.newcomer = member
    let_arrive(scene.d)
    scene.waiting, scene.generation = waiting, 0


def _emptied(scene: Scene, plan: Plan) -> None:
    formed = _completing(scene, plan)
    distribute_assignments(scene.d, formed)
    for member in formed.everyone:
        scene.d.expect(member.leave(), error="NONE")
    scene.former = (*formed.everyone, *scene.former)
    scene.leader, scene.followers, scene.protocol = None, (), None


def _deleted(scene: Scene, plan: Plan) -> None:
    _emptied(scene, plan)
    expect_deleted(scene.d, delete(scene.d), "NONE")


def _handed_out(scene: Scene, plan: Plan) -> None:
    scene.pending, scene.generation = pending_member(scene.d, "pending"), 0


def _never(scene: Scene, plan: Plan) -> None:
    """Nothing is to be done."""


def _completed(scene: Scene, plan: Plan) -> None:
    _completing(scene, plan)


_REACHED: Mapping[Phase, Callable[[Scene, Plan], None]] = {
    Phase.NEVER: _never,
    Phase.DELETED: _deleted,
    Phase.HANDED_OUT: _handed_out,
    Phase.EMPTIED: _emptied,
    Phase.FIRST: _first,
    Phase.CALLED: _called,
    Phase.REJOINING: _rejoining,
    Phase.COMPLETING: _completed,
    Phase.SYNCING: _syncing,
    Phase.STABLE: _stable,
}
