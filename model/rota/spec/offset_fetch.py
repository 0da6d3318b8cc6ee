"""OffsetFetch: what readers of offsets are told, at once or when the log has answered what came before."""

from __future__ import annotations

from rota.kernel import FrozenMap
from rota.kernel.rules import rule
from rota.spec.classic.state import Group
from rota.spec.classic.step import Step, Steps
from rota.spec.context import Spec, only, request_of
from rota.spec.effects import Reply
from rota.spec.messages import Call
from rota.spec.offset_messages import (
    FetchedPartition,
    FetchedTopic,
    OffsetFetchReply,
    OffsetFetchRequest,
    TopicPartitions,
)
from rota.spec.offset_state import Committed, OffsetRead, Offsets, OffsetStep, OffsetSteps
from rota.spec.offsets import OMM
from rota.spec.vocabulary import ErrorCode

FETCH_HANDLER = (
    "hosting.inactive",
    "hosting.loading",
    "hosting.elsewhere",
    "offsets.stable-fetch-waits",
    "offsets.fetch-asked",
)
READ_HANDLER = ("offsets.fetch",)

FETCH = "upstream GroupCoordinatorService#fetchOffsets"


def _read(group: Group | None, call: Call, *, waits: bool) -> Steps:
    return only(Step(group).tell_offsets(OffsetRead(call, known=group is not None, waits=waits)))


@rule("offsets.stable-fetch-waits", source="KIP-447; " + FETCH, since="OffsetFetch v7")
def stable_fetch_waits(spec: Spec, group: Group | None, call: Call) -> Steps:
    """The Java coordinator answers a fetch of stable offsets when all appends before it are answered.

    Left out: what it waits for beside this group's appends, those of the other groups of its partition.
    They make the wait longer, which a run of the model shows as a log that takes its time.
    """
    if not request_of(call, OffsetFetchRequest).require_stable or spec.profile.unstable_while_appending:
        return ()
    return _read(group, call, waits=True)


@rule("offsets.fetch-asked", source=FETCH)
def fetch_asked(spec: Spec, group: Group | None, call: Call) -> Steps:
    """A fetch reads the offsets: of the group nothing matters but whether it is there.

    Left out: the member id and epoch of version 9 and later, and that one request may name several
    groups. Brokers check the former for groups of the consumer protocol only, and several groups are as
    many requests here (`OffsetFetchRequest`).
    """
    return _read(group, call, waits=False)


@rule(
    "offsets.unstable",
    source="KIP-447; " + OMM + "hasPendingTransactionalOffsets",
    since="OffsetFetch v7",
    decides=True,
)
def unstable(offsets: Offsets, topic: str, partition_index: int, while_appending: bool) -> bool:
    """Whether a partition's offset may yet change by what was begun before: an open transaction.

    while_appending: the profile counts commits in flight, too.

    Left out: what is pending in a transaction, the offset itself and its producer. A reader that wants
    stable offsets is told UNSTABLE_OFFSET_COMMIT and no more, whichever it is.
    """
    in_flight = while_appending and offsets.is_appended(topic, partition_index)
    return in_flight or offsets.is_pending(topic, partition_index)


@rule("offsets.fetch", source=OMM + "fetchOffsets, fetchAllOffsets; GroupMetadataManager#getOffsets (3.x)")
def fetch(spec: Spec, offsets: Offsets, read: OffsetRead) -> OffsetSteps:
    """Each partition's stored offset, or that there is none; all there are if none is named.

    Unstable partitions are told so if the reader requires stable ones. Where there is no group there are
    no offsets, though some may be stored: a transaction may commit to a group that was removed (the Java
    coordinator looks for open transactions even then). A group whose tombstone is in flight is still
    there for a reader that does not wait.

    Left out: authorisation by topic, by which KafkaApis takes topics out of the answer. What the
    coordinator answers does not depend on the reader.
    """
    request = request_of(read.call, OffsetFetchRequest)
    known = read.known or (offsets.leaving > 0 and not read.waits)
    committed = offsets.committed if known else FrozenMap[tuple[str, int], Committed]()

    def told_of(topic: str, index: int) -> FetchedPartition:
        unstable = spec.ask("offsets.unstable", offsets, topic, index, spec.profile.unstable_while_appending)
        if request.require_stable and unstable:
            return FetchedPartition(index, error_code=ErrorCode.UNSTABLE_OFFSET_COMMIT)
        return _fetched(index, committed.get((topic, index)))

    topics = request.topics
    if topics is None:
        names = sorted({topic for topic, _ in committed})
        topics = tuple(TopicPartitions(n, tuple(i for t, i in committed if t == n)) for n in names)
    answer = tuple(
        FetchedTopic(topic.name, tuple(told_of(topic.name, i) for i in topic.partition_indexes))
        for topic in topics
    )
    return (OffsetStep(offsets).answer(Reply(read.call.to, OffsetFetchReply(ErrorCode.NONE, answer))),)


def _fetched(index: int, value: Committed | None) -> FetchedPartition:
    if value is None:
        return FetchedPartition(index)
    return FetchedPartition(index, value.committed_offset, value.committed_leader_epoch, value.metadata)
