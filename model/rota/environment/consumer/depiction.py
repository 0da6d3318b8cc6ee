"""How the world of the consumer protocol is drawn: clients from the left, then the coordinator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rota.environment.consumer.coordinator import Coordinator
from rota.environment.consumer.messages import Answered, Committed, Take, listed
from rota.environment.consumer.state import Consumer
from rota.kernel import Arrow, Depiction, Lane, Transition, Values
from rota.spec.consumer.group import ConsumerGroup
from rota.spec.consumer.messages import (
    ConsumerGroupHeartbeatReply,
    ConsumerGroupHeartbeatRequest,
    OffsetCommitRequest,
)
from rota.spec.consumer.vocabulary import ErrorCode

CLIENT = "client/"


def _lanes(machines: Sequence[Any]) -> Sequence[Lane]:
    names = [one.name for one in machines if one.name.startswith(CLIENT)]
    clients = [Lane(name, name.removeprefix(CLIENT), "member") for name in names]
    return [*clients, Lane("coordinator", "coordinator", "coordinator")]


def _arrows(before: Values, transition: Transition) -> Sequence[Arrow]:
    found: list[Arrow] = []
    for one in transition.local_steps:
        if one.sender is not None and isinstance(one.message, Take):
            found.append(Arrow(one.sender, one.machine, request(one.message.request)))
        elif one.sender is not None and isinstance(one.message, Answered):
            found.append(Arrow(one.sender, one.machine, answer(one.message.reply)))
        elif one.sender is not None and isinstance(one.message, Committed):
            found.append(Arrow(one.sender, one.machine, f"OffsetCommit ← {one.message.error.name}"))
    return found


def request(one: ConsumerGroupHeartbeatRequest | OffsetCommitRequest) -> str:
    """A request: who, at which epoch, and what it says to own or commits."""
    if isinstance(one, OffsetCommitRequest):
        what = listed(frozenset(one.partitions))
        return f"OffsetCommit {one.member_id}, epoch {one.member_epoch}, {what}"
    owned = one.topic_partitions
    said = "" if owned is None else f", owns {listed(owned)}"
    return f"ConsumerGroupHeartbeat {one.member_id}, epoch {one.member_epoch}{said}"


def answer(one: ConsumerGroupHeartbeatReply) -> str:
    """An answer: its error, or the epoch and what is assigned."""
    if one.error_code is not ErrorCode.NONE:
        return f"ConsumerGroupHeartbeat ← {one.error_code.name}"
    told = "" if one.assignment is None else f", {listed(one.assignment)}"
    return f"ConsumerGroupHeartbeat ← epoch {one.member_epoch}{told}"


def _bands(values: Values) -> Mapping[str, str]:
    epochs = {name: one.epoch for name, one in values.items() if isinstance(one, Consumer)}
    group = values["coordinator"].shard.group
    if isinstance(group, ConsumerGroup):
        epochs["coordinator"] = group.target_epoch
    return {name: f"epoch {epoch}" for name, epoch in epochs.items() if epoch}


def _owners(values: Values) -> Mapping[str, tuple[str, ...]]:
    """Who uses each partition, whatever the coordinator believes."""
    using = {name: one.uses for name, one in values.items() if isinstance(one, Consumer)}
    places = sorted(values["coordinator"].places)
    return {
        f"{one.topic}-{one.index}": tuple(name for name, some in using.items() if one in some)
        for one in places
    }


def _captions(values: Values) -> Mapping[str, tuple[str, ...]]:
    return {name: words for name, one in values.items() if (words := tuple(_said(one)))}


def _said(one: Any) -> Iterator[str]:
    if isinstance(one, Consumer):
        yield one.phase.value
        if one.target is not None:
            yield f"told {listed(one.target)}"
        if one.applying is not None:
            yield f"applying {listed(one.applying)}"
        yield f"uses {listed(one.uses)}"
    elif isinstance(one, Coordinator):
        group = one.shard.group
        if isinstance(group, ConsumerGroup):
            yield f"{group.state.value}, epoch {group.epoch}, target of epoch {group.target_epoch}"
            yield from (
                f"{name}: {now.state.value} at epoch {now.epoch}, {listed(now.owned)}"
                for name, now in group.current.items()
            )


DEPICTION = Depiction(lanes=_lanes, arrows=_arrows, bands=_bands, owners=_owners, captions=_captions)
