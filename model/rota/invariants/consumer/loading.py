"""What a log says when it is read while it is compacted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from rota.environment.consumer.coordinator import Coordinator
from rota.kernel import Kind, Property, View
from rota.spec.consumer.group import AnyGroup
from rota.spec.consumer.records import NotLoaded, Written

Load = Callable[[Iterable[Written]], AnyGroup | None]
Log = tuple[tuple[Written, ...], ...]


def readings(log: Log) -> Iterator[list[Written]]:
    """What who loads the log may read.

    Up to any batch all that was written, for it was read before compaction came by; of the rest the last
    record of each key. And the last of each key alone, without what only takes away.
    """
    every = [(number, one) for number, batch in enumerate(log) for one in batch]
    last = {one.key: place for place, (_, one) in enumerate(every)}
    for cut in range(len(log) + 1):
        yield [one for place, (batch, one) in enumerate(every) if batch < cut or last[one.key] == place]
    yield [one for place, (_, one) in enumerate(every) if last[one.key] == place and one.value is not None]


def _is_what_the_log_says(load: Load, one: Coordinator) -> bool:
    try:
        return all(load(some) == one.shard.group for some in readings(one.log))
    except NotLoaded:
        return False


def _is_kept(one: Coordinator) -> bool:
    return bool(one.log)


def loads(load: Load) -> Property:
    """The sentence about loading. load: makes a group of records."""
    return Property(
        "consumer.log-loads",
        Kind.SHAPE,
        "The log can be loaded and has the same group, whatever compaction takes away while it is read.",
        (View("coordinator", lambda one: one),),
        partial(_is_what_the_log_says, load),
        given=_is_kept,
        source="upstream GroupMetadataManager#replay",
        rules=("membership.heartbeat", "leave.removal"),
    )
