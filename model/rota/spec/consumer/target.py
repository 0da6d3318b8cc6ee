"""The target: what each member shall have. An assignor names it, a heartbeat that finds it too old asks."""

from __future__ import annotations

from collections import Counter

from rota.kernel import FrozenMap
from rota.kernel.rules import rule
from rota.spec.consumer.context import GCS, GMM, Asked, Assignment, ConsumerSpec, beat, refused
from rota.spec.consumer.group import AnyGroup, ConsumerGroup
from rota.spec.consumer.messages import Call, Topics
from rota.spec.consumer.records import members_target, target_epoch
from rota.spec.consumer.step import Step, Steps
from rota.spec.consumer.vocabulary import ErrorCode

BUILDER = "upstream TargetAssignmentBuilder#build"


@rule("target.unknown-assignor", source=GCS + "throwIfConsumerGroupHeartbeatRequestIsInvalid")
def unknown_assignor(spec: ConsumerSpec, group: AnyGroup | None, call: Call) -> Steps:
    """A wish for an assignor that the broker does not have is refused, also of who leaves."""
    wish = beat(call).server_assignor
    if wish is None or wish in spec.config.assignors:
        return ()
    return refused(group, call, ErrorCode.UNSUPPORTED_ASSIGNOR)


@rule("target.preferred-assignor", source="upstream ConsumerGroup#preferredServerAssignor", decides=True)
def preferred_assignor(spec: ConsumerSpec, group: ConsumerGroup) -> str:
    """The assignor that most members wish for; who has no wish does not count, without any it is the first.

    Left out: how upstream decides between two with as many wishes, by the order of a hash table. For the
    two assignors of Kafka's own that is `uniform`, the first here too.
    """
    wishes = Counter(one.server_assignor for one in group.members.values() if one.server_assignor is not None)
    return max(spec.config.assignors, key=lambda name: wishes[name])


@rule("target.due", source=GMM + "canComputeNextTargetAssignment", decides=True)
def due(spec: ConsumerSpec, group: ConsumerGroup) -> tuple[bool, ...]:
    """A target that is older than the group is computed anew, but within the assignment interval.

    Whether the interval since the last time is over is a choice here. It does not count for a group that has
    computed none since it was empty.
    """
    if group.target_epoch >= group.epoch:
        return (False,)
    if not spec.config.assignment_interval_ms or not group.computed:
        return (True,)
    return (True, False)


@rule("target.asked", source=BUILDER, decides=True)
def asked(spec: ConsumerSpec, group: ConsumerGroup, topics: Topics) -> Asked:
    """An assignor sees who subscribes to which existing topic, and the present target, not what is owned."""
    members = group.members.items()
    each = FrozenMap((name, spec.ask("topics.subscribed", one, topics)) for name, one in members)
    names = [one.subscribed_topic_names for _, one in members]
    sizes = {one.topic_id: one.partitions for one in topics.values()}
    wanted = frozenset(topic for some in each.values() for topic in some)
    return Asked(
        each,
        FrozenMap((topic, sizes[topic]) for topic in sorted(wanted)),
        FrozenMap((name, group.targets.get(name, frozenset())) for name in group.members),
        len(set(names)) <= 1,
    )


@rule("target.written", source=BUILDER, decides=True)
def written(spec: ConsumerSpec, step: Step, given: Assignment) -> Step:
    """Each member whose target is another one, or who had none, is written, and then the epoch."""
    group = step.live
    for name in group.members:
        target = given.get(name, frozenset())
        if group.targets.get(name) != target:
            step = step.write(members_target(name, target))
    return step.write(target_epoch(group.epoch, computed=True))


@rule("target.computed", source=GMM + "maybeUpdateTargetAssignment", decides=True)
def computed(spec: ConsumerSpec, step: Step, topics: Topics) -> Steps:
    """A step for each target that the assignor may name, with one that waits where that may be.

    None, if the assignor fails.
    """
    steps: list[Step] = []
    for now in spec.ask("target.due", step.live):
        if not now:
            steps.append(step)
            continue
        assignor = spec.assignors[spec.ask("target.preferred-assignor", step.live)]
        given = assignor(spec.ask("target.asked", step.live, topics))
        steps += [spec.ask("target.written", step, one) for one in given]
    return tuple(dict.fromkeys(steps))
