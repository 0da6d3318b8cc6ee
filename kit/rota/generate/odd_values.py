"""Values that a request can carry and that few send: listed twice, none at all, extreme, no text."""

from __future__ import annotations

from random import Random
from typing import Any

from rota.kernel import replace
from rota.spec.classic.messages import JoinGroupRequest, LeaveGroupRequest
from rota.spec.offset_messages import (
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TopicPartitions,
)

EPOCHS = (1, 2**31 - 1)
"""Epochs of leaders that no log has had."""

RETENTIONS = (-1, -1, 0, 500, 1500, 3000)
"""Milliseconds for which a commit asks its offsets to be kept, if its version can; -1: as long as others."""

OFFSETS = (0, 1, 2**31, 2**53 + 1, 2**63 - 1)
"""Offsets at which something may end."""

NO_TEXT = (b"\xff\xfe\xfd", b"\x00" * 3, b"\xc3\x28", b"\xed\xa0\x80")
"""Bytes that are no UTF-8, or end a text of C."""


def no_text(rng: Random, request: JoinGroupRequest) -> JoinGroupRequest:
    """Metadata that nobody can read as text."""
    return replace(
        request, protocols=tuple(replace(one, metadata=rng.choice(NO_TEXT)) for one in request.protocols)
    )


def leavers_twice(rng: Random, request: LeaveGroupRequest) -> LeaveGroupRequest:
    """Everybody who leaves once more."""
    return replace(request, members=request.members * 2)


def odd_offset(rng: Random, request: OffsetCommitRequest) -> OffsetCommitRequest:
    """The least or the greatest offset, with metadata that is empty, missing, or beyond ASCII."""
    first, *rest = request.topics
    (partition,) = first.partitions
    offset, metadata = rng.choice((0, 2**63 - 1)), rng.choice(("", None, "\u00e9\u4e2d"))
    odd = replace(partition, committed_offset=offset, committed_metadata=metadata)
    return replace(request, topics=(replace(first, partitions=(odd,)), *rest))


def long_metadata(rng: Random, limit: int, request: OffsetCommitRequest) -> OffsetCommitRequest:
    """Metadata as long as they may be (`limit`), or longer, of the first partition."""
    text = rng.choice(("m" * limit, "m" * (limit + 1), "m" * (limit + 7), "\U0001f600" * (limit // 2 + 1)))
    first, *rest = request.topics
    (partition,) = first.partitions
    longer = replace(partition, committed_metadata=text)
    return replace(request, topics=(replace(first, partitions=(longer,)), *rest))


def odd_commit(rng: Random, request: OffsetCommitRequest) -> OffsetCommitRequest:
    """An epoch, an offset or a retention at an edge, a partition listed twice, or no topics."""
    kind = rng.randrange(4)
    if kind == 0:
        return replace(request, topics=())
    first, *rest = request.topics
    (one,) = first.partitions
    if kind == 1:
        odd = replace(one, committed_leader_epoch=rng.choice(EPOCHS), committed_offset=rng.choice(OFFSETS))
        return replace(request, topics=(replace(first, partitions=(odd,)), *rest))
    if kind == 2:
        later = replace(one, committed_offset=max(one.committed_offset - 1, 0))
        return replace(request, topics=(replace(first, partitions=(one, later)), *rest))
    return replace(request, retention_time_ms=rng.choice((-1, 600_000, 2**53)))


def odd_names(rng: Random, request: Any) -> Any:
    """No topics, or each of them twice. For OffsetFetch and OffsetDelete."""
    assert isinstance(request, OffsetFetchRequest | OffsetDeleteRequest)
    topics: tuple[TopicPartitions, ...] = request.topics or ()
    return replace(request, topics=rng.choice(((), topics * 2)))
