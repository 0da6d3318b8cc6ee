"""How the world is drawn: clients from the left, then the coordinator, the log and the offsets.

A request has an arrow where a broker takes it, an answer where it is sent; that it is on its way is among the
captions of its client. What machines of the model tell each other and no broker sends (charges, news of
evicted ids, which ids are taken) has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from rota.environment.broker.coordinator import Coordinator
from rota.environment.broker.log import Records
from rota.environment.broker.offsets import OffsetsKept
from rota.environment.clients.assignment import TOPIC, Assignment
from rota.environment.clients.retry_rules import error_of
from rota.environment.clients.state import Client
from rota.environment.messages import (
    NOBODY,
    Append,
    Appended,
    Deliver,
    Disconnected,
    GaveUp,
    Loaded,
    Moved,
    OffsetsThere,
    Read,
    RetentionDue,
    Reverted,
    Unused,
)
from rota.kernel import Arrow, Depiction, Lane, LocalStep, Message, Transition, Values
from rota.spec import Call, ErrorCode, FindCoordinatorReply, JoinGroupReply, SyncGroupReply
from rota.spec.effects import Record
from rota.spec.kind import GroupKind
from rota.spec.messages import ReplyMessage
from rota.spec.offset_messages import OffsetCommitReply, OffsetFetchReply, TxnOffsetCommitReply
from rota.spec.offset_state import (
    Expire,
    GroupForgotten,
    GroupForgottenAnswer,
    OffsetBatch,
    OffsetRead,
    OffsetTombstone,
    TransactionEnd,
)

CLIENT = "client/"
BROKERS = ("coordinator", "log", "offsets")
"""The machines to the right of the clients, in order."""

BROKEN = "connection broken"


def depiction(groups: GroupKind, partitions: int) -> Depiction:
    """The world's. groups: what records mean; partitions: how many the topic has at first."""
    return Depiction(
        lanes=_lanes,
        arrows=partial(_arrows, _Words(groups)),
        bands=_bands,
        owners=partial(_owners, partitions),
        captions=_captions,
    )


def _lanes(machines: Sequence[Any]) -> Sequence[Lane]:
    there = {one.name for one in machines}
    clients = [Lane(name, name.removeprefix(CLIENT), "member") for name in _clients(machines)]
    return [*clients, *(Lane(name, name, name) for name in BROKERS if name in there)]


def _clients(machines: Sequence[Any]) -> list[str]:
    return [one.name for one in machines if one.name.startswith(CLIENT)]


def _arrows(words: _Words, before: Values, transition: Transition) -> Sequence[Arrow]:
    return [
        *_lost(before, transition),
        *(arrow for one in transition.local_steps for arrow in words.arrow(one)),
    ]


def _lost(before: Values, transition: Transition) -> Iterator[Arrow]:
    """What does not arrive: an answer whose connection breaks, a request left behind that no broker takes."""
    name = transition.local_steps[0].machine
    client, after = before[name], transition.local_steps[0].value
    if not isinstance(client, Client) or not isinstance(after, Client):
        return
    broken = any(isinstance(one.message, Disconnected) for one in transition.local_steps)
    if broken and client.inbox is not None:
        yield Arrow("coordinator", name, answer(client.inbox), lost=True)
    if client.orphan is not None and after.orphan is None and len(transition.local_steps) == 1:
        yield Arrow(name, "coordinator", request(client.orphan), lost=True)


class _Words:
    """What stands on arrows. groups: what records mean."""

    def __init__(self, groups: GroupKind) -> None:
        self._groups = groups
        self._texts: Mapping[type, Callable[[Any], str]] = {
            Append: lambda one: f"append {self._record(one.record)}",
            Appended: self._appended,
            Moved: lambda one: "another broker leads the log",
            Read: lambda one: "read",
            Loaded: self._loaded,
            OffsetBatch: lambda one: f"append {_batch(one)}",
            Expire: lambda one: "expire offsets",
            GroupForgotten: lambda one: "append that the group is gone",
            GroupForgottenAnswer: lambda one: "stored" if one.stored else "not stored",
            OffsetRead: lambda one: "read offsets",
            TransactionEnd: lambda one: f"producer {one.producer_id} ends its transaction",
            RetentionDue: lambda one: "the retention time is over",
            Reverted: lambda one: "the group's creation failed",
            OffsetsThere: lambda one: "offsets are stored",
            Unused: lambda one: "no offsets are left",
        }

    def arrow(self, local_step: LocalStep) -> Iterator[Arrow]:
        """The arrow of a message, none where it is only the model's."""
        sender, message = local_step.sender, local_step.message
        if sender is None:
            return
        if isinstance(message, Disconnected | GaveUp):
            yield Arrow(sender, local_step.machine, BROKEN, lost=True)
        else:
            text = self._text(message)
            if text:
                yield Arrow(sender, local_step.machine, text)

    def _text(self, message: Message) -> str:
        if isinstance(message, Deliver):
            return request(message.call)
        if isinstance(message, ReplyMessage):
            return answer(message)
        words = self._texts.get(type(message))
        return words(message) if words else ""

    def _record(self, record: Record) -> str:
        return self._groups.record_text(record)

    def _appended(self, message: Appended) -> str:
        if message.error is None:
            return f"stored {self._record(message.record)}"
        return f"{message.error.name}: {self._record(message.record)} is not stored"

    def _loaded(self, message: Loaded) -> str:
        return "nothing is stored" if message.record is None else self._record(message.record)


def request(call: Call) -> str:
    """A request: what it is, who sends it, for which generation."""
    one = call.request
    members = [*getattr(one, "members", ()), one]
    ids = [getattr(who, "member_id", "") or getattr(who, "group_instance_id", None) or "" for who in members]
    generation = getattr(one, "generation_id", getattr(one, "generation_id_or_member_epoch", -1))
    parts = [
        " ".join([_name(one, "Request"), *filter(None, ids)]),
        f"generation {generation}" if generation >= 0 else "",
        "left behind" if call.to == NOBODY else "",
    ]
    return ", ".join(filter(None, parts))


def answer(reply: ReplyMessage) -> str:
    """An answer: to what, its error, and what it gives."""
    error = _error(reply)
    parts = [f"{_name(reply, 'Reply')} ← {error.name}" if error else _name(reply, "Reply")]
    if isinstance(reply, JoinGroupReply):
        if error is ErrorCode.NONE:
            parts += [f"generation {reply.generation_id}", f"leader {reply.leader}"]
        elif reply.member_id:
            parts.append(reply.member_id)
    elif isinstance(reply, SyncGroupReply) and error is ErrorCode.NONE:
        parts.append(_part(reply.assignment))
    elif isinstance(reply, FindCoordinatorReply):
        parts += [f"broker {one.node.node_id}" for one in reply.coordinators]
    return ", ".join(parts)


def _error(reply: Any) -> ErrorCode | None:
    """The error of an answer: the one for the whole, else the first of a partition."""
    if isinstance(reply, OffsetCommitReply | OffsetFetchReply):
        return error_of(reply)
    if isinstance(reply, TxnOffsetCommitReply):
        return error_of(OffsetCommitReply(reply.topics))
    return getattr(reply, "error_code", None)


def _part(assignment: bytes) -> str:
    """What a member gets, where its leader has written that."""
    try:
        partitions = Assignment.decode(assignment).partitions
    except ValueError:
        return f"{len(assignment)} bytes"
    return ", ".join(_partition(number) for number in partitions) or "no partition"


def _name(message: object, suffix: str) -> str:
    return type(message).__name__.removesuffix(suffix)


def _partition(number: int, topic: str = TOPIC) -> str:
    return f"{topic}-{number}"


def _batch(batch: OffsetBatch) -> str:
    """What is written to the log of offsets."""
    return ", ".join(
        f"no {_partition(one.partition_index, one.topic)}"
        if isinstance(one, OffsetTombstone)
        else f"{_partition(one.partition_index, one.topic)} = {one.value.committed_offset}"
        for one in batch.records
    )


def _bands(values: Values) -> Mapping[str, str]:
    """The generation in which each client believes to be, and that of the group."""
    numbers = {name: one.generation_id for name, one in values.items() if isinstance(one, Client)}
    coordinator = values["coordinator"]
    if isinstance(coordinator, Coordinator) and coordinator.group is not None:
        numbers["coordinator"] = coordinator.group.generation_id
    return {name: f"generation {number}" for name, number in numbers.items() if number >= 0}


def _owners(partitions: int, values: Values) -> Mapping[str, tuple[str, ...]]:
    """Who consumes each partition, whatever the coordinator believes: two of them are an overlap."""
    holders: dict[int, list[str]] = {number: [] for number in range(partitions)}
    for name, one in values.items():
        if isinstance(one, Client):
            for number in one.partitions:
                holders.setdefault(number, []).append(name)
    return {_partition(number): tuple(names) for number, names in sorted(holders.items())}


def _captions(values: Values) -> Mapping[str, tuple[str, ...]]:
    """How each machine stands; nothing where there is nothing to say."""
    said = {name: tuple(_said(one)) for name, one in values.items()}
    return {name: words for name, words in said.items() if words}


def _said(value: object) -> Iterator[str]:
    if isinstance(value, Client):
        yield from _of_client(value)
    elif isinstance(value, Coordinator):
        yield from _of_coordinator(value)
    elif isinstance(value, Records) and value.appends:
        yield f"in flight: {len(value.appends)}"
    elif isinstance(value, OffsetsKept):
        for (topic, number), one in value.offsets.committed.items():
            yield f"{_partition(number, topic)} = {one.committed_offset}"


def _of_client(client: Client) -> Iterator[str]:
    yield client.phase.value
    if client.member_id:
        yield f"{client.member_id}{', leader' if client.leads else ''}"
    if client.group_instance_id:
        yield f"instance {client.group_instance_id}"
    if client.outbox is not None:
        yield f"sent: {request(client.outbox)}"
    if client.inbox is not None:
        yield f"to read: {answer(client.inbox)}"
    if client.orphan is not None:
        yield f"left behind: {request(client.orphan)}"


def _of_coordinator(coordinator: Coordinator) -> Iterator[str]:
    group = coordinator.group
    if coordinator.loading:
        yield "loading"
    elif group is None:
        yield "no group"
    else:
        yield group.state.value
        if group.members:
            yield f"members: {', '.join(_member(group, one) for one in group.members)}"
        if group.pending:
            yield f"ids handed out: {', '.join(sorted(group.pending))}"
    if coordinator.armed:
        timers = (f"{one.name} {one.member_id}".strip() for one in sorted(coordinator.armed))
        yield f"timers: {', '.join(timers)}"


def _member(group: Any, member_id: str) -> str:
    return f"{member_id} (leader)" if member_id == group.leader else member_id
