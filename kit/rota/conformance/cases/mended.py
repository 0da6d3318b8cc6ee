"""What is right in cases for rota's own server, where it mends what Kafka does."""

from __future__ import annotations

from rota.conformance.cases.join_phase import joined_twice
from rota.conformance.cases.leave import left_while_syncing
from rota.conformance.cases.static_restart import restarted_before_it_synced
from rota.conformance.cases.sync import expect_assigned, synced_twice
from rota.conformance.cases.timers_delay import after_a_newcomer_long_gone
from rota.conformance.dialogues.dialogue import PROMPTLY, Dialogue
from rota.conformance.dialogues.registry import otherwise
from rota.conformance.steps.membership import heartbeat_until_error


@otherwise(
    "join.while-preparing.replaced-request",
    "answers_replaced",
    "When a waiting member joins once more, the earlier request is told to try again, the later one waits.",
)
def earlier_join_answered(d: Dialogue) -> None:
    earlier, later, b = joined_twice(d)
    d.expect(earlier.answer(PROMPTLY), error="COORDINATOR_LOAD_IN_PROGRESS")
    d.expect(b.send_join().answer(), error="NONE")
    d.expect(later.answer(), error="NONE")


@otherwise(
    "sync.follower-waits.replaced-request",
    "answers_replaced",
    "When a waiting member syncs once more, the earlier request is told to join again, the later one waits.",
)
def earlier_sync_answered(d: Dialogue) -> None:
    formed, earlier, later = synced_twice(d)
    d.expect(earlier.answer(PROMPTLY), error="REBALANCE_IN_PROGRESS")
    expect_assigned(d, formed, later)


@otherwise(
    "leave.remove-member.waiting-sync",
    "answers_removed",
    "The SyncGroup in which a leaving member waits is UNKNOWN_MEMBER_ID.",
)
def waiting_sync_answered(d: Dialogue) -> None:
    d.expect(left_while_syncing(d).answer(PROMPTLY), error="UNKNOWN_MEMBER_ID")


@otherwise(
    "static.replaced.haunted",
    "replaced_owes_sync",
    "After a restart of a member that had not synced nobody owes a SyncGroup, and nothing rebalances.",
)
def not_haunted(d: Dialogue) -> None:
    error = heartbeat_until_error(d, restarted_before_it_synced(d), 5.0)
    d.require(error == "NONE", "NONE for five seconds", error)


@otherwise(
    "timers.initial-delay-extended.by-one-long-gone",
    "newcomer_mark_stays",
    "A newcomer in the last window of one initial delay does not extend the group's next one.",
)
def forgotten_when_gone(d: Dialogue) -> None:
    d.expect(after_a_newcomer_long_gone(d).answer(d.initial_delay * 1.6), error="NONE")
