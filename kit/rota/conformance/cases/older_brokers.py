"""What is right in cases for older brokers, where their profiles have other switches than Kafka 4's."""

from __future__ import annotations

from rota.conformance.cases.admin_describe import completing, expect_assigned, preparing
from rota.conformance.cases.admin_list import expect_listed, settled
from rota.conformance.cases.leave import missing_and_waiting_left, pending_left
from rota.conformance.cases.offsets_commit import commit_of_nobody
from rota.conformance.cases.offsets_delete import last_deleted
from rota.conformance.cases.size import last_missing_refused, last_pending_refused, phase_ends
from rota.conformance.cases.timers_delay import joins_beside_pending, newcomer_restarts, two_join_after_empty
from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue
from rota.conformance.dialogues.registry import otherwise
from rota.conformance.steps.group_formation import stable
from rota.conformance.steps.offsets import expect_each


@otherwise(
    "join.group-max-size-reached.last-missing",
    "refusal_completes_phase",
    "When the last member that is missing is refused for size, the join phase ends at once.",
)
def last_missing(d: Dialogue) -> None:
    phase_ends(d, *last_missing_refused(d), within=PROMPTLY)


@otherwise(
    "join.group-max-size-reached.last-pending",
    "refusal_completes_phase",
    "A handed-out id that is refused for size is forgotten, and the join phase ends at once.",
)
def last_pending(d: Dialogue) -> None:
    phase_ends(d, *last_pending_refused(d), within=PROMPTLY)


@otherwise(
    "sync.rebalance-in-progress.first-generation",
    "unnamed_protocol_fits",
    "Before the first generation a SyncGroup that names a protocol is INCONSISTENT_GROUP_PROTOCOL.",
)
def before_first_generation(d: Dialogue) -> None:
    a = d.member("a")
    with d.reaching("a first join phase"):
        a.enter().silent(0.2)
    reply = a.second_connection().sync(generation_id=0, protocol_name="range")
    d.expect(reply, error="INCONSISTENT_GROUP_PROTOCOL")


@otherwise(
    "leave.pending-member.disturbs-the-group",
    "pending_leave_rebalances",
    "An id that was handed out and leaves does not disturb a Stable group that it was never in.",
)
def pending_does_not_disturb(d: Dialogue) -> None:
    d.expect(pending_left(d).heartbeat(), error="NONE")


@otherwise(
    "leave.batch.one-evaluation",
    "leaves_one_by_one",
    "In a batch the removal of the missing member ends the join phase; who goes next is in the generation.",
)
def several_evaluations(d: Dialogue) -> None:
    formed, waiting, staying = missing_and_waiting_left(d)
    d.expect(waiting.answer(PROMPTLY), error="NONE")
    joined = staying.answer(PROMPTLY)
    d.expect(joined, error="NONE")
    d.require(len(joined.member_ids) == 2, "two members", f"{len(joined.member_ids)}")
    d.expect(formed.leader.heartbeat(), error="REBALANCE_IN_PROGRESS")


@otherwise(
    "timers.initial-delay-extended.after-empty",
    "extends_first_generation_only",
    "A newcomer does not extend the initial delay of a group that became empty.",
)
def not_extended_after_empty(d: Dialogue) -> None:
    began, first, second = two_join_after_empty(d)
    d.expect(first.answer(began + d.initial_delay * 1.6 - d.transcript.elapsed()), error="NONE")
    d.expect(second.answer(PROMPTLY), error="NONE")


@otherwise(
    "timers.pending-expired.ends-initial-delay",
    "expiry_ends_initial_delay",
    "The initial delay runs to its end, also where an id expires that was handed out.",
)
@otherwise(
    "join.complete-if-all-joined.initial-delay",
    "expiry_ends_initial_delay",
    "No expiry ends the initial delay, also where it leaves nobody to wait for.",
)
def expiry_does_not_end_delay(d: Dialogue) -> None:
    joining, late = joins_beside_pending(d)
    joining.silent(late - d.transcript.elapsed())
    d.expect(joining.answer(), error="NONE")


@otherwise(
    "static.replaced-while-preparing.not-new",
    "replaced_member_stays_new",
    "A newcomer that restarts in the initial delay is new as before: it is out when its session is over.",
)
@otherwise(
    "timers.session-ignored.restarted-newcomer",
    "replaced_member_stays_new",
    "A static newcomer that restarts while it waits is UNKNOWN_MEMBER_ID when its session is over.",
)
def restarted_newcomer_expires(d: Dialogue) -> None:
    d.expect(newcomer_restarts(d).answer(), error="UNKNOWN_MEMBER_ID")


@otherwise(
    "sync.stable.no-sign-of-life",
    "sync_restarts_session",
    "A SyncGroup that a Stable group answers begins its sender's session anew.",
)
@otherwise(
    "timers.session-expired.sync-is-no-heartbeat",
    "sync_restarts_session",
    "SyncGroup in a Stable group begins a member's session anew, as a heartbeat does.",
)
def sync_is_a_heartbeat(d: Dialogue) -> None:
    a = d.member("a")
    stable(d, a)
    for _ in range(8):
        d.wait(1.0)
        d.expect(a.sync(), error="NONE")


@otherwise(
    "offsets.unknown-group.from-9",
    "absent_group_commit_error",
    "In version 9, too, a commit with a generation to a group that does not exist is ILLEGAL_GENERATION.",
)
def absent_group_as_before(d: Dialogue) -> None:
    expect_each(d, commit_of_nobody(d), "ILLEGAL_GENERATION")


@otherwise(
    "admin.describe.preparing",
    "describe_forgets_assignments",
    "While the members join, DescribeGroups shows empty assignments.",
)
def describe_preparing(d: Dialogue) -> None:
    formed = preparing(d)
    expect_assigned(d, "PreparingRebalance", dict.fromkeys(formed.assignments, b""))


@otherwise(
    "admin.describe.completing",
    "describe_forgets_assignments",
    "While assignments are awaited, DescribeGroups shows empty ones.",
)
def describe_completing(d: Dialogue) -> None:
    formed = completing(d)
    expect_assigned(d, "CompletingRebalance", dict.fromkeys(formed.assignments, b""))


@otherwise(
    "admin.list.state-filter-blanks",
    "state_filter_trimmed",
    "With blanks around the name of a state in the filter nothing is found.",
)
def state_filter_blanks(d: Dialogue) -> None:
    settled(d)
    expect_listed(d, False, states_filter=[" Stable "])


@otherwise(
    "offsets.delete.last-of-empty-group",
    "deletion_ends_unused",
    "An Empty group is removed with its last offset.",
)
def last_of_empty_group(d: Dialogue) -> None:
    last_deleted(d, "Dead")
