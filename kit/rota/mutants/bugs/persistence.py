"""Mistakes in what the log's answers do."""

from __future__ import annotations

from dataclasses import replace

from rota.mutants.bugs.retell import retold, untold
from rota.mutants.mutant import bug
from rota.spec import Group, GroupRecord, Spec, Step
from rota.spec.classic import persistence as log_rules
from rota.spec.classic.step import Steps
from rota.spec.context import only
from rota.spec.vocabulary import AppendError


@bug("persistence.late-answer", dies_in="core", by="state.legal-transition")
def late_answer_believed(spec: Spec, group: Group, record: GroupRecord, error: AppendError | None) -> Steps:
    """The log's answer is taken for news, whatever happened since the append."""
    return ()


@bug("persistence.assignment-failed", dies_in="fault", by="parked.iff-waiting")
def failed_append_unanswered(
    spec: Spec, group: Group, record: GroupRecord, error: AppendError | None
) -> Steps:
    """When the assignment cannot be stored the waiting members are not told."""
    if error is None:
        return ()
    members = ((i, replace(m, awaiting_sync=None)) for i, m in group.members.items())
    return spec.apply("join.prepare-rebalance", Step(group.with_each(members)))


@bug("persistence.assignment-stored", dies_in="core", by="sync.own-assignment")
def shares_swapped(spec: Spec, group: Group, record: GroupRecord, error: AppendError | None) -> Steps:
    """The members' assignments are mixed up."""
    parts = [member.assignment for member in record.members]
    turned = zip(record.members, parts[1:] + parts[:1], strict=True)
    mixed = replace(record, members=tuple(replace(member, assignment=part) for member, part in turned))
    return log_rules.assignment_stored(spec, group, mixed, error)


@bug("persistence.assignment-stored", dies_in="core", by="parked.answered-once")
def syncs_answered_twice(spec: Spec, group: Group, record: GroupRecord, error: AppendError | None) -> Steps:
    """Every waiting member gets its assignment twice."""
    (done,) = log_rules.assignment_stored(spec, group, record, error)
    return only(replace(done, replies=(*done.replies, *done.replies)))


@bug("persistence.creation-failed", dies_in="fault", by="parked.iff-waiting")
def failed_creation_unanswered(
    spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None
) -> Steps:
    """When the creation of a group cannot be stored its members are not told."""
    return retold(log_rules.creation_failed(spec, group, record, error), untold)


@bug("persistence.creation-stored", dies_in="fault", by="timers.match-state")
def stored_group_begins_anew(
    spec: Spec, group: Group | None, record: GroupRecord, error: AppendError | None
) -> Steps:
    """When the creation of a group is stored, the group is what the record says, whoever came since."""
    steps = log_rules.creation_stored(spec, group, record, error)
    return tuple(replace(step, group=Group()) for step in steps)
