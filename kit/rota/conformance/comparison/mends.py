"""What rota mends, switch by switch, and what was weighed and left as Kafka has it, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Mend:
    """A mend. switch: of `Profile`; kafka, mended: what each does; ends: known weaknesses that are gone."""

    switch: str
    kafka: str
    mended: str
    ends: tuple[str, ...] = ()


MENDED: Sequence[Mend] = (
    Mend(
        "answers_replaced",
        "A parked request whose place a later one of its member takes is never answered: its client waits "
        "until its own request timeout.",
        "A JoinGroup is told COORDINATOR_LOAD_IN_PROGRESS, a SyncGroup REBALANCE_IN_PROGRESS: upon these "
        "clients of every age join again with their id.",
        ("weakness.replaced-request-unanswered", "weakness.replaced-request-waits"),
    ),
    Mend(
        "answers_removed",
        "The SyncGroup in which a member waits that a LeaveGroup removes is never answered, and nothing else "
        "is read from its connection.",
        "It is told UNKNOWN_MEMBER_ID, as its JoinGroup would be.",
        ("weakness.removed-request-unanswered",),
    ),
    Mend(
        "refusal_completes_phase",
        "When the last member that is missing is refused for the group's size, the others wait for the "
        "rebalance timeout.",
        "The join phase ends at once, as with Kafka 3.",
        ("join.open-barrier-completes",),
    ),
    Mend(
        "pending_leave_rebalances",
        "An id that was handed out and is given back unused makes a group at rest rebalance.",
        "Nobody hears of it, as with Kafka 3.",
    ),
    Mend(
        "replaced_owes_sync",
        "The former id of a restarted static member goes on owing a SyncGroup: a settled group rebalances.",
        "The debt goes with the id.",
        ("weakness.stale-sync-debt",),
    ),
    Mend(
        "late_failure_undoes",
        "When the record of a static member's restart fails after a generation has answered its JoinGroup, "
        "the former id is put back and the living process is fenced for good.",
        "The member stays; the next record has its new id.",
        ("weakness.fenced-by-a-failed-restart",),
    ),
    Mend(
        "newcomer_mark_stays",
        "Who joins in the last window of one initial delay lengthens the group's next one.",
        "It is forgotten with the delay.",
        ("weakness.newcomer-remembered",),
    ),
)
"""Every mend: the switches in `rota.spec.mends`."""

CODE = "a polite client branches on the code that would change"

NOT_MENDED: Sequence[tuple[str, str]] = (
    ("`weakness.static-restart-refused`", f"{CODE}: GROUP_MAX_SIZE_REACHED"),
    ("`weakness.absent-members-not-counted`", f"{CODE}: others would be refused"),
    ("`weakness.sync-while-loading-is-fatal`", f"{CODE}: COORDINATOR_LOAD_IN_PROGRESS"),
    (
        "`weakness.leader-does-not-know`",
        "a client takes itself for the leader by that field, and below v9 it would assign to an empty list",
    ),
    (
        "`weakness.refused-after-a-move`",
        "it takes more than Kafka's record can say, and Kafka is to read the same log",
    ),
    (
        "`weakness.left-and-still-a-member`",
        "it takes a record for every LeaveGroup; the end of a session mends it",
    ),
    (
        "`weakness.fenced-by-its-own-past`",
        "a late JoinGroup of a dead process cannot be told from one of a living one",
    ),
    (
        "`weakness.lost-generation-assigns`",
        "a SyncGroup says member and generation only: it takes another protocol",
    ),
    (
        "`weakness.unused-id-holds-up`",
        "whoever comes with its id a moment later would cost everybody a second rebalance; the wait ends",
    ),
    ("`weakness.taken-for-dead-and-consuming`", "by design: partitions are not leased"),
    ("`weakness.busy-client-taken-for-dead`", "the client's own, and gone since 0.10.1"),
    ("An id that was handed out, used with an instance id: UNKNOWN_SERVER_ERROR", CODE),
    (
        "Offsets deleted under a member that restarted with another subscription",
        f"{CODE}: that of OffsetDelete",
    ),
    (
        "A replacement that is stored while a rebalance is prepared is answered with the old generation",
        "it joins again with its next heartbeat, and nobody else is harmed",
    ),
    (
        "A protocol that a member lists twice (see *Kafka bug* below)",
        "no switch yet: under every profile it counts once, for to copy Kafka would be to hang",
    ),
)
"""What was weighed and left as Kafka has it: what harms, and why it is no mend."""
