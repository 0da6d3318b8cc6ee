"""Mistakes about committed offsets: who may commit, what is stored, what is told."""

from __future__ import annotations

from dataclasses import replace

from rota.mutants.mutant import bug
from rota.spec import Call, Group, Spec, Step
from rota.spec import expiry as expiry_rules
from rota.spec import offset_fetch as fetch_rules
from rota.spec import offset_log as log_rules
from rota.spec import offsets as offset_rules
from rota.spec import transactions as transaction_rules
from rota.spec.classic.step import Steps
from rota.spec.context import only, request_of
from rota.spec.offset_messages import OffsetCommitRequest
from rota.spec.offset_state import (
    NO_PRODUCER,
    Expire,
    OffsetBatch,
    OffsetRead,
    Offsets,
    OffsetSteps,
    RetentionCheck,
)
from rota.spec.vocabulary import AppendError


def _accepted(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The commit is accepted, whoever sends it; no timer is touched."""
    request = request_of(call, OffsetCommitRequest)
    return only(offset_rules.committed(spec, Step(group or Group()), call, request))


@bug("offsets.unknown-group", dies_in="raw-offsets", by="offsets.commit-by-current-member")
def commit_makes_the_group(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A commit with a generation makes the group that is not there."""
    return _accepted(spec, group, call) if offset_rules.unknown_group(spec, group, call) else ()


@bug("offsets.commit-without-membership", dies_in="raw-offsets", by="offsets.commit-by-current-member")
def anybody_commits(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Who names no generation may commit even while the group has members."""
    request = request_of(call, OffsetCommitRequest)
    return _accepted(spec, group, call) if request.generation_id_or_member_epoch < 0 else ()


@bug("offsets.unknown-member", dies_in="raw-offsets", by="offsets.commit-by-current-member")
def stranger_commits(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Whether the sender is a member is not asked: who was taken for dead goes on committing."""
    return _accepted(spec, group, call) if offset_rules.unknown_member(spec, group, call) else ()


@bug(
    "offsets.fenced-instance-id",
    dies_in="raw-offsets-static",
    by="offsets.commit-by-current-member",
    seen_in="KAFKA-8225",
)
def fenced_member_commits(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A process whose place another one has taken goes on committing."""
    return _accepted(spec, group, call) if offset_rules.fenced_instance_id(spec, group, call) else ()


@bug(
    "offsets.illegal-generation",
    dies_in="raw-offsets",
    by="offsets.commit-by-current-member",
    seen_in="a broker's commit fence",
)
def older_generations_commit(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Only later generations are refused: commits of any older one are accepted."""
    refused = offset_rules.illegal_generation(spec, group, call)
    later = (
        group is None
        or request_of(call, OffsetCommitRequest).generation_id_or_member_epoch > group.generation_id
    )
    return refused if later or not refused else _accepted(spec, group, call)


@bug("offsets.rebalance-in-progress", dies_in="raw-offsets", by="offsets.commit-by-current-member")
def commit_before_the_assignment(spec: Spec, group: Group | None, call: Call) -> Steps:
    """In CompletingRebalance a member may commit for what it does not have yet."""
    return ()


@bug("offsets.rebalance-before-membership", dies_in="raw-offsets", by="offsets.commit-by-current-member")
def anybody_commits_while_completing(spec: Spec, group: Group | None, call: Call) -> Steps:
    """In CompletingRebalance any commit is accepted, as nobody is asked who it is."""
    return _accepted(spec, group, call) if offset_rules.rebalance_in_progress(spec, group, call) else ()


@bug("offsets.stored", dies_in="commit", by="owners.revoked-before-joining")
def commit_never_answered(
    spec: Spec, offsets: Offsets, batch: OffsetBatch, error: AppendError | None
) -> OffsetSteps:
    """A commit is stored and not answered."""
    return log_rules.stored(spec, offsets, replace(batch, answer=None), error)


@bug("offsets.fetch", dies_in="commit", by="offsets.acknowledged-is-told")
def reads_nothing(spec: Spec, offsets: Offsets, read: OffsetRead) -> OffsetSteps:
    """Who fetches is told that nothing was committed."""
    return fetch_rules.fetch(spec, Offsets(), read)


@bug("offsets.fetch-asked", dies_in="raw-offsets", by="offsets.acknowledged-is-told")
def only_members_read(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A group that is at rest has no offsets for those who ask."""
    return only(Step(group).tell_offsets(OffsetRead(call, known=False)))


def _transacted(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The commit is accepted, whoever sends it."""
    return transaction_rules.commit(spec, group or Group(), call)


@bug("transactions.commit-unknown-group", dies_in="raw-offsets", by="offsets.commit-by-current-member")
def transaction_makes_the_group(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A commit with a generation makes the group that is not there."""
    return _transacted(spec, group, call) if transaction_rules.unknown_group(spec, group, call) else ()


@bug("transactions.commit-unknown-member", dies_in="raw-offsets", by="offsets.commit-by-current-member")
def stranger_transacts(spec: Spec, group: Group | None, call: Call) -> Steps:
    """Whether the sender is a member is not asked in a transaction."""
    return _transacted(spec, group, call) if transaction_rules.unknown_member(spec, group, call) else ()


@bug(
    "transactions.commit-fenced-instance-id",
    dies_in="raw-offsets-static",
    by="offsets.commit-by-current-member",
)
def fenced_member_transacts(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A process whose place another one has taken goes on committing in transactions."""
    return _transacted(spec, group, call) if transaction_rules.fenced_instance_id(spec, group, call) else ()


@bug("transactions.commit-illegal-generation", dies_in="raw-offsets", by="offsets.commit-by-current-member")
def any_generation_transacts(spec: Spec, group: Group | None, call: Call) -> Steps:
    """In a transaction the generation is not looked at."""
    return ()


@bug("expiry.empty-group", dies_in="raw-retention", by="timers.match-state")
def retention_counts_from_the_commit(spec: Spec, group: Group, check: RetentionCheck) -> Steps:
    """In an Empty group the retention counts from each commit, as if nobody had used the group since."""
    return only(Step(group).tell_offsets(Expire(check.now_ms, None, removable=True)))


@bug("expiry.subscribed-group", dies_in="retention", by="offsets.acknowledged-is-told", seen_in="KAFKA-13636")
def subscribed_offsets_expire(spec: Spec, group: Group, check: RetentionCheck) -> Steps:
    """In a stable group the offsets of topics that are read expire with the others."""
    return only(Step(group).tell_offsets(Expire(check.now_ms, None)))


@bug("expiry.nothing-expires", dies_in="retention", by="offsets.acknowledged-is-told")
def expires_while_rebalancing(spec: Spec, group: Group, check: RetentionCheck) -> Steps:
    """Offsets expire while the group rebalances, though its members will read them."""
    return only(Step(group).tell_offsets(Expire(check.now_ms, None)))


@bug("expiry.group-unused", dies_in="raw-retention", by="offsets.acknowledged-is-told")
def commits_under_way_unseen(spec: Spec, offsets: Offsets, expire: Expire) -> OffsetSteps:
    """A group without offsets is removed though its first commit is under way."""
    plain = [key for key in offsets.appended if key[2] == NO_PRODUCER]
    unseen = replace(offsets, appended=offsets.appended.without(*plain))
    return tuple(replace(step, offsets=offsets) for step in expiry_rules.group_unused(spec, unseen, expire))


@bug("expiry.group-removed", dies_in="retention", by="deadlock")
def removed_group_is_back(spec: Spec, group: Group) -> Steps:
    """A group of no use goes without a tombstone: after a move it is there again."""
    return tuple(replace(step, records=()) for step in expiry_rules.group_removed(spec, group))
