"""Mistakes about brokers that are not the coordinator, not yet, or not any more."""

from __future__ import annotations

from dataclasses import replace

from rota.kernel import FrozenMap
from rota.mutants.bugs.retell import retold, untold
from rota.mutants.mutant import bug
from rota.spec import (
    Call,
    Group,
    GroupRecord,
    Spec,
    Step,
)
from rota.spec import hosting as hosting_rules
from rota.spec.classic import loading as loading_rules
from rota.spec.classic.step import Steps


@bug("hosting.elsewhere", dies_in="move", by="parked.iff-waiting")
def wrong_broker_is_silent(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A broker that is not the coordinator does not answer."""
    return retold(hosting_rules.elsewhere(spec, group, call), untold)


@bug("hosting.loading", dies_in="move", by="timers.match-state", seen_in="redpanda-data/redpanda#2598")
def asked_before_it_has_read(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Requests are taken before the group is read from the log."""
    return ()


@bug("hosting.inactive", dies_in="move", by="parked.iff-waiting")
def stopping_broker_is_silent(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A broker whose coordinator does not run does not answer."""
    return retold(hosting_rules.inactive(spec, group, call), untold)


@bug("hosting.find-coordinator", dies_in="move-leave", by="deadlock")
def coordinator_is_never_found(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Nobody is told who the coordinator is."""
    return retold(hosting_rules.find_coordinator(spec, group, call), untold)


@bug("loading.load", dies_in="move", by="timers.match-state")
def loaded_without_sessions(spec: Spec, group: Group | None, record: GroupRecord | None) -> Steps:
    """The members of a loaded group have no sessions: if one is dead nobody notices."""
    return tuple(replace(step, timers=()) for step in loading_rules.load(spec, group, record))


@bug("loading.load", dies_in="move", by="join.leader-is-a-member")
def loaded_without_leader(spec: Spec, group: Group | None, record: GroupRecord | None) -> Steps:
    """A loaded group has lost its leader."""
    return tuple(
        step if step.group is None else step.to(replace(step.live, leader=None))
        for step in loading_rules.load(spec, group, record)
    )


@bug("loading.load", dies_in="move", by="sync.nothing-unowned")
def loaded_without_assignments(spec: Spec, group: Group | None, record: GroupRecord | None) -> Steps:
    """The members of a loaded group have lost their parts."""
    return tuple(
        step if step.group is None else step.to(_without_parts(step.group))
        for step in loading_rules.load(spec, group, record)
    )


def _without_parts(group: Group) -> Group:
    return group.with_each((i, replace(m, assignment=b"")) for i, m in group.members.items())


@bug("loading.load", dies_in="move-static", by="answers.unknown-is-no-member", seen_in="KAFKA-10284")
def loaded_without_instances(spec: Spec, group: Group | None, record: GroupRecord | None) -> Steps:
    """Who is static is not read: the next restart adds a member."""
    return tuple(
        step if step.group is None else step.to(_without_instances(step.group))
        for step in loading_rules.load(spec, group, record)
    )


def _without_instances(group: Group) -> Group:
    return group.with_each((i, replace(m, group_instance_id=None)) for i, m in group.members.items())


@bug("loading.load", dies_in="move", by="shape.fields-match-state")
def loaded_without_members(spec: Spec, group: Group | None, record: GroupRecord | None) -> Steps:
    """The group is loaded as Stable, and its members are not."""
    return tuple(
        Step(step.group and replace(step.group, members=FrozenMap()))
        for step in loading_rules.load(spec, group, record)
    )


@bug("loading.unload", dies_in="move", by="parked.iff-waiting")
def waiting_members_given_up(spec: Spec, group: Group | None, unanswered: tuple[GroupRecord, ...]) -> Steps:
    """Who waits when the coordinator moves is not told."""
    return retold(loading_rules.unload(spec, group, unanswered), untold)
