"""Offsets in transactions: who may commit them, when they count, and what is unstable meanwhile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.dialogue import Dialogue
from rota.conformance.dialogues.registry import KILLED, after, case, otherwise
from rota.conformance.dialogues.script import Level
from rota.conformance.steps.group_formation import all_leave, awaiting_assignments
from rota.conformance.steps.membership import static
from rota.conformance.steps.offsets import (
    SIMPLE,
    TWO_PARTITIONS,
    commit,
    expect_each,
    expect_fetched,
    fetch,
    in_topic,
    settled,
    topic,
    topic_of_two,
)
from rota.conformance.steps.restarts import restart
from rota.conformance.steps.transactions import NEEDS, begun
from rota.conformance.steps.version_ranges import STATIC

_VALIDATE = "OffsetMetadataManager.validateTransactionalOffsetCommit; KIP-447"
_STORED = "OffsetMetadataManager.commitTransactionalOffset"
_END = "OffsetMetadataManager.replayEndTransactionMarker"
_STABLE = "KIP-447; OffsetMetadataManager.fetchOffsets"
_REPLAY = "GroupCoordinatorShard.replay; CoordinatorLoaderImpl"
_STRANGER: Mapping[str, Any] = {"member_id": "stranger"}


def _expect_stable(d: Dialogue, wanted: str) -> None:
    """Hold what is said of the offset to whoever wants a stable one against the rule."""
    group = fetch(d, require_stable=True)["groups"].only()
    found = group["topics"][0]["partitions"][0]
    error = error_name(found["error_code"])
    actual = str(found["committed_offset"]) if error == "NONE" else error
    d.require(actual == wanted, f"{wanted} for whoever wants stable offsets", actual)


@case(
    "offsets.unstable.open-transaction",
    "An offset that an open transaction may change is unstable to whoever wants a stable one.",
    _STABLE,
    needs=NEEDS,
)
def unstable(d: Dialogue) -> None:
    a = settled(d)
    with d.reaching("an offset"):
        expect_each(d, commit(a, 3), "NONE")
    opened = begun(d)
    _expect_stable(d, "3")
    with d.reaching("an offset in a transaction", rule="transactions.commit"):
        expect_each(d, opened.commit(7, a), "NONE")
    _expect_stable(d, "UNSTABLE_OFFSET_COMMIT")
    expect_fetched(d, 3)
    opened.end(d, committed=True)
    _expect_stable(d, "7")


@case(
    "offsets.unstable.each-partition",
    "An open transaction makes the offsets unstable of those partitions to which it has committed.",
    _STABLE,
    needs={**NEEDS, "CreateTopics": (2, 7)},
)
def of_each_partition(d: Dialogue) -> None:
    topic_of_two(d)
    with d.reaching("an offset"):
        expect_each(d, commit(d.member("a"), **SIMPLE, topics=[in_topic(TWO_PARTITIONS, 3)]), "NONE")
    opened = begun(d)
    second = {"partition_index": 1, "committed_offset": 7, "committed_metadata": ""}
    with d.reaching("an offset in a transaction", rule="transactions.commit-without-membership"):
        expect_each(d, opened.commit(topics=[{"name": TWO_PARTITIONS, "partitions": [second]}]), "NONE")
    asked = [{"name": TWO_PARTITIONS, "partition_indexes": [0, 1]}]
    _expect_errors(d, asked, {0: "NONE", 1: "UNSTABLE_OFFSET_COMMIT"})


def _expect_errors(d: Dialogue, topics: Any, wanted: Mapping[int, str]) -> None:
    """Hold what a fetch of stable offsets says of the partitions of one topic against the rule."""
    asked = {"groups": [{"group_id": d.group_id, "topics": topics}], "require_stable": True}
    group = d.member("reader").send_whole("OffsetFetch", asked).answer()["groups"].only()
    told = [each for found in group["topics"] for each in found["partitions"]]
    actual = {each["partition_index"]: error_name(each["error_code"]) for each in told}
    right, got = (
        ", ".join(f"partition {index}: {one[index]}" for index in sorted(one)) for one in (wanted, actual)
    )
    d.require(actual == wanted, right, got or "nothing")


@case(
    "offsets.unstable.all-there-are",
    "Whoever asks for all stable offsets of a group is told which an open transaction may change.",
    _STABLE,
    needs=NEEDS,
)
def of_all_there_are(d: Dialogue) -> None:
    a = settled(d)
    with d.reaching("an offset"):
        expect_each(d, commit(a, 3), "NONE")
    opened = begun(d)
    _expect_errors(d, None, {0: "NONE"})
    with d.reaching("an offset in a transaction", rule="transactions.commit"):
        expect_each(d, opened.commit(7, a), "NONE")
    _expect_errors(d, None, {0: "UNSTABLE_OFFSET_COMMIT"})


@case(
    "transactions.commit-invalid-group-id.empty",
    "A commit in a transaction to the empty group id is INVALID_GROUP_ID.",
    "GroupCoordinatorService.commitTransactionalOffsets",
    needs=NEEDS,
)
def invalid_group_id(d: Dialogue) -> None:
    topic(d)
    expect_each(d, begun(d).commit(group_id=""), "INVALID_GROUP_ID")


@case(
    "transactions.commit-unknown-group.generation",
    "A commit in a transaction with a generation to a group that does not exist is ILLEGAL_GENERATION.",
    _VALIDATE,
    level=Level.SHOULD,
    needs=NEEDS,
)
def unknown_group(d: Dialogue) -> None:
    topic(d)
    reply = begun(d).commit(generation_id_or_member_epoch=1, **_STRANGER)
    expect_each(d, reply, "ILLEGAL_GENERATION")


@otherwise(
    "transactions.commit-unknown-group.generation",
    "absent_group_transaction_creates",
    "A commit in a transaction with a generation to a group that does not exist is UNKNOWN_MEMBER_ID.",
)
def unknown_group_made(d: Dialogue) -> None:
    topic(d)
    reply = begun(d).commit(generation_id_or_member_epoch=1, **_STRANGER)
    expect_each(d, reply, "UNKNOWN_MEMBER_ID")


@case(
    "transactions.commit-without-membership.no-group",
    "Who names neither generation nor member commits in a transaction to a group that does not exist.",
    _VALIDATE,
    needs=NEEDS,
)
def without_group(d: Dialogue) -> None:
    topic(d)
    opened = begun(d)
    expect_each(d, opened.commit(7), "NONE")
    opened.end(d, committed=True)
    expect_fetched(d, 7)


@case(
    "transactions.commit-without-membership.stable",
    "Who names neither generation nor member commits in a transaction to a Stable group, as in old versions.",
    _VALIDATE,
    needs=NEEDS,
)
def without_membership(d: Dialogue) -> None:
    settled(d)
    expect_each(d, begun(d).commit(), "NONE")


@case(
    "transactions.commit-without-membership.empty",
    "To an Empty group anybody without a generation commits in a transaction, whatever id is given.",
    _VALIDATE,
    needs=NEEDS,
)
def to_an_empty_group(d: Dialogue) -> None:
    a = settled(d)
    all_leave(d, a)
    expect_each(d, begun(d).commit(**_STRANGER), "NONE")


@case(
    "transactions.commit-unknown-member.stranger",
    "A commit in a transaction of somebody who is no member of a Stable group is UNKNOWN_MEMBER_ID.",
    _VALIDATE,
    needs=NEEDS,
)
def stranger(d: Dialogue) -> None:
    a = settled(d)
    expect_each(d, begun(d).commit(7, a, **_STRANGER), "UNKNOWN_MEMBER_ID")


@case(
    "transactions.commit-unknown-member.no-generation",
    "An id is enough to be asked for membership in a transaction, without a generation too.",
    _VALIDATE,
    needs=NEEDS,
)
def stranger_without_generation(d: Dialogue) -> None:
    settled(d)
    expect_each(d, begun(d).commit(**_STRANGER), "UNKNOWN_MEMBER_ID")


@case(
    "transactions.commit-fenced-instance-id.other-member",
    "A commit in a transaction with an instance id that another member id holds is FENCED_INSTANCE_ID.",
    _VALIDATE,
    needs={**NEEDS, **STATIC},
)
def fenced(d: Dialogue) -> None:
    a = settled(d, static(d, "a", "one"))
    expect_each(d, begun(d).commit(7, a, **_STRANGER), "FENCED_INSTANCE_ID")


@case(
    "transactions.commit-illegal-generation.before-and-after",
    "A member commits in a transaction for its current generation alone: none before it, none after it.",
    _VALIDATE,
    needs=NEEDS,
)
def illegal_generation(d: Dialogue) -> None:
    a = settled(d)
    opened = begun(d)
    for generation_id in (a.generation_id - 1, a.generation_id + 1):
        reply = opened.commit(7, a, generation_id_or_member_epoch=generation_id)
        expect_each(d, reply, "ILLEGAL_GENERATION")


@case(
    "transactions.commit.member",
    "What a member commits in a transaction does not count before the transaction is committed.",
    _STORED,
    needs=NEEDS,
)
def member(d: Dialogue) -> None:
    a = settled(d)
    opened = begun(d)
    expect_each(d, opened.commit(7, a), "NONE")
    expect_fetched(d, -1)


@case(
    "transactions.commit.completing",
    "In CompletingRebalance, too, a member commits in a transaction.",
    _VALIDATE,
    needs=NEEDS,
)
def while_completing(d: Dialogue) -> None:
    topic(d)
    a = d.member("a")
    awaiting_assignments(d, a)
    expect_each(d, begun(d).commit(7, a), "NONE")


@case(
    "transactions.aborted.forgotten",
    "What was committed in a transaction that is aborted is forgotten, and the offset before it stays.",
    _END,
    needs=NEEDS,
)
def aborted(d: Dialogue) -> None:
    a = settled(d)
    with d.reaching("an offset"):
        expect_each(d, commit(a, 3), "NONE")
    opened = begun(d)
    with d.reaching("an offset in a transaction", rule="transactions.commit"):
        expect_each(d, opened.commit(7, a), "NONE")
    opened.end(d, committed=False)
    expect_fetched(d, 3)
    _expect_stable(d, "3")


@case(
    "transactions.ended.counts",
    "What was committed in a transaction counts when the transaction is committed.",
    _END,
    needs=NEEDS,
)
def counts(d: Dialogue) -> None:
    a = settled(d)
    opened = begun(d)
    with d.reaching("an offset in a transaction", rule="transactions.commit"):
        expect_each(d, opened.commit(7, a), "NONE")
    opened.end(d, committed=True)
    expect_fetched(d, 7)


@case(
    "transactions.ended.overtaken",
    "An offset that was committed after that of a transaction stays when the transaction is committed.",
    _END,
    needs=NEEDS,
)
def overtaken(d: Dialogue) -> None:
    a = settled(d)
    opened = begun(d)
    with d.reaching("an offset in a transaction", rule="transactions.commit"):
        expect_each(d, opened.commit(7, a), "NONE")
    with d.reaching("a later offset"):
        expect_each(d, commit(a, 9), "NONE")
    opened.end(d, committed=True)
    expect_fetched(d, 9)


@case(
    "transactions.ended.own-producer",
    "The end of a transaction is about what its own producer has committed: that of another stays open.",
    _END,
    needs=NEEDS,
)
def of_its_producer(d: Dialogue) -> None:
    topic(d)
    first, second = begun(d, "first"), begun(d, "second")
    with d.reaching("an offset in a transaction", rule="transactions.commit"):
        expect_each(d, first.commit(7, **SIMPLE), "NONE")
    second.end(d, committed=True)
    expect_fetched(d, -1)
    first.end(d, committed=True)
    expect_fetched(d, 7)


@case(
    "transactions.ended.of-two-open",
    "Of two open transactions with an offset for one partition each has its own, whichever began first.",
    _END,
    needs=NEEDS,
)
def of_two_open(d: Dialogue) -> None:
    topic(d)
    first, second = begun(d, "first"), begun(d, "second")
    with d.reaching("offsets in two transactions", rule="transactions.commit-without-membership"):
        expect_each(d, second.commit(5, **SIMPLE), "NONE")
        expect_each(d, first.commit(7, **SIMPLE), "NONE")
    second.end(d, committed=False)
    expect_fetched(d, -1)
    first.end(d, committed=True)
    expect_fetched(d, 7)


@after(
    "transactions.commit.open",
    "what was committed in a transaction that had not ended does not count.",
    _REPLAY,
    KILLED,
    needs=NEEDS,
)
def open_then(d: Dialogue) -> None:
    a = settled(d)
    opened = begun(d)
    with d.reaching("an offset in a transaction", rule="transactions.commit"):
        expect_each(d, opened.commit(7, a), "NONE")
    restart(d)
    expect_fetched(d, -1)


@after(
    "transactions.ended.kept",
    "what was committed in a transaction that was committed counts, and what was in an aborted one does not.",
    _REPLAY,
    needs=NEEDS,
)
def ended_before(d: Dialogue) -> None:
    topic(d)
    committed, aborted = begun(d, "first"), begun(d, "second")
    with d.reaching("transactions that have ended", rule="transactions.commit-without-membership"):
        expect_each(d, committed.commit(7, **SIMPLE), "NONE")
        committed.end(d, committed=True)
        expect_each(d, aborted.commit(9, **SIMPLE), "NONE")
        aborted.end(d, committed=False)
    restart(d)
    expect_fetched(d, 7)
