"""OffsetCommit, TxnOffsetCommit, OffsetFetch and OffsetDelete of many partitions: so many at a time.

The coordinator gets parts of the request, of the same topics in the same order, and the answer is put
together from the answers to these; others have their turns in between.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, cast

from rota.coordinator import (
    Effects,
    OffsetCommit,
    OffsetCommitTopic,
    OffsetDelete,
    OffsetDeleteTopic,
    OffsetFetch,
    OffsetFetchGroup,
    OffsetFetchReply,
    OffsetFetchReplyGroup,
    OffsetFetchTopic,
    Token,
    TxnOffsetCommit,
)
from rota.server.answers import AT_ONCE, MAX_BYTES, Gathered, Later, sent_in_steps, slices
from rota.server.context import RequestContext
from rota.server.errors import ErrorCode
from rota.server.offset_bodies import BATCHED_SINCE, TOPICS_AT_ONCE, Amended, Prepared

FIRST_BYTES = 24 << 20
"""What the first group of an answer may have, if it is more than MAX_BYTES: all that a group may store."""

ERROR_SINCE = 2
"""First OffsetFetch version whose answer has an error for the whole, behind its topics."""

NO_ROOM = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
"""What a group gets for which an answer has no room: clients ask for it again."""

PARTITION_BYTES = 64
"""What a partition of an OffsetFetch counts for in its answer beside its metadata."""

Body = Mapping[str, Any]
AnyTopic = OffsetCommitTopic | OffsetDeleteTopic | OffsetFetchTopic
Topic = TypeVar("Topic", bound=AnyTopic)
Request = TypeVar("Request", OffsetCommit, TxnOffsetCommit, OffsetDelete)
R = TypeVar("R", OffsetCommit, TxnOffsetCommit, OffsetDelete, OffsetFetch)


@dataclass(frozen=True, slots=True)
class InParts:
    """Asks the coordinator for requests in parts; `do` carries out its steps, `later` answers in steps."""

    do: Callable[[Effects], None]
    later: Later

    def __call__(
        self,
        body: Body,
        context: RequestContext,
        prepare: Prepared[R],
        divide: Callable[[R], Sequence[R]],
        ask: Callable[[R, Token], Effects],
        answer: Callable[[R, Amended, Sequence[Body]], Iterator[None]],
    ) -> Iterator[None] | None:
        """Asks the coordinator for all parts of a request; `answer` answers with what it said.

        At once, if it is a small one: it has one part. The body is not kept for longer than it is needed.
        """
        long = is_long(body)

        def steps() -> Iterator[None]:
            request, response = yield from prepare
            token = Amended(context, response)
            yield
            parts = divide(request)
            yield
            arrived = partial(answer, request, token)
            if not parts and long:
                self.later.add(arrived([{"topics": []}]))
            elif not parts:
                token.reply({"topics": []})
            elif len(parts) == 1 and not long:
                self.do(ask(parts[0], token))
            else:
                gathered = Gathered(len(parts), lambda bodies: self.later.add(arrived(bodies)))
                for number, part in enumerate(parts):
                    self.do(ask(part, gathered.part(number)))
                    yield

        if long:
            return steps()
        for _ in steps():
            pass
        return None


def is_long(body: Body) -> bool:
    """Whether a request, as it was sent, is better gone through in steps, as one for all of a group is."""
    groups = body.get("groups", [body])
    if any(group["topics"] is None for group in groups):
        return True
    topics = [topic for group in groups for topic in group["topics"]]
    parts = (topic.get("partitions", topic.get("partition_indexes")) for topic in topics)
    return len(topics) + sum(map(len, parts)) > AT_ONCE


def parts_of(request: Request) -> list[Request]:
    """The request in parts; itself if it is small. A commit of nothing has none."""
    if not isinstance(request, OffsetDelete) and not request.topics:
        return []
    divided = cast(Any, _divided(cast(tuple[AnyTopic, ...], request.topics)))
    return [replace(request, topics=topics) for topics in divided] if len(divided) > 1 else [request]


def whole(
    request: OffsetCommit | TxnOffsetCommit | OffsetDelete, token: Amended, bodies: Sequence[Body]
) -> Iterator[None]:
    """Answers a request from the answers to its parts, or with the first that is an error for the whole."""
    yield  # what the coordinator did for the last part took long enough
    body = next((body for body in bodies if body.get("error_code")), None)
    if body is None:
        body = {**bodies[0], "topics": (yield from _joined(request.topics, bodies))}
    yield
    amended = token.amend(body)
    yield
    yield from sent_in_steps(token.context, "topics", amended)


def parts_of_fetch(request: OffsetFetch) -> list[OffsetFetch]:
    """The same for an OffsetFetch: a part asks for one group, unless the request is small.

    A group that is asked for again in the same way is in one part only.
    """
    if sum(_size(group) for group in request.groups) <= AT_ONCE:
        return [request]
    asked = dict.fromkeys(request.groups)
    return [replace(request, groups=(part,)) for group in asked for part in _parts_of_group(group)]


def whole_fetch(request: OffsetFetch, token: Amended, bodies: Sequence[Body]) -> Iterator[None]:
    """Answers an OffsetFetch from the answers to its parts.

    A group for which the answer has no room gets an error, upon which a client asks again.
    """
    rest = iter(bodies)
    answers: dict[OffsetFetchGroup, tuple[Body, int]] = {}
    for group in dict.fromkeys(request.groups):
        yield
        answered = [each for _ in _parts_of_group(group) for each in next(rest)["groups"]]
        found = yield from _whole_group(group, answered)
        size = 0
        for some in slices(found["topics"], TOPICS_AT_ONCE):
            size += sum(_bytes_of(each["metadata"]) for topic in some for each in topic["partitions"])
            yield
        answers[group] = found, size
    taken = 0
    groups: list[Body] = []
    for group in request.groups:
        found, size = answers[group]
        if taken + size > (MAX_BYTES if groups else FIRST_BYTES):
            groups.append({"group_id": group.group_id, "topics": [], "error_code": NO_ROOM})
        else:
            groups.append(found)
            taken += size
    yield
    amended = token.amend({"groups": groups})
    yield
    if token.context.version >= BATCHED_SINCE:
        yield from sent_in_steps(token.context, "groups", amended, size=1)
    else:
        behind = 2 if token.context.version >= ERROR_SINCE else 0
        yield from sent_in_steps(token.context, "topics", amended, behind)


def _whole_group(group: OffsetFetchGroup, answered: Sequence[Body]) -> Generator[None, None, Body]:
    failed = next((each for each in answered if each["error_code"]), None)
    if failed is not None or group.topics is None:
        return failed or answered[0]
    return {**answered[0], "topics": (yield from _joined(group.topics, answered))}


def _bytes_of(metadata: str) -> int:
    return PARTITION_BYTES + len(metadata)


class Room:
    """What the parts of an OffsetFetch may bring: when it is used up, the coordinator is not asked."""

    def __init__(self) -> None:
        self._left = FIRST_BYTES

    def ask(self, part: OffsetFetch, token: Token, ask: Callable[[OffsetFetch, Token], Effects]) -> Effects:
        """The coordinator's answer to a part, or that there is no room for one."""
        if self._left <= 0:
            none = tuple(OffsetFetchReplyGroup(group.group_id, (), NO_ROOM) for group in part.groups)
            return Effects(((token, OffsetFetchReply(none)),))
        effects = ask(part, token)
        for _, reply in effects.replies:
            if isinstance(reply, OffsetFetchReply):
                self._left -= sum(
                    _bytes_of(partition.metadata)
                    for group in reply.groups
                    for topic in group.topics
                    for partition in topic.partitions
                )
        return effects


def _size(group: OffsetFetchGroup) -> int:
    """How much a group costs: all that it has is much."""
    if group.topics is None:
        return AT_ONCE + 1
    return sum(1 + len(each.partition_indexes) for each in group.topics)


def _parts_of_group(group: OffsetFetchGroup) -> list[OffsetFetchGroup]:
    if not group.topics:
        return [group]
    return [replace(group, topics=topics) for topics in _divided(group.topics)]


def _divided(topics: tuple[Topic, ...]) -> list[tuple[Topic, ...]]:
    """The topics in parts of AT_ONCE partitions; one may be in several."""
    parts: list[tuple[Topic, ...]] = []
    part: list[Topic] = []
    room = AT_ONCE
    for topic in topics:
        items = _items(topic)
        for start in range(0, max(len(items), 1), AT_ONCE):
            piece = items[start : start + AT_ONCE]
            if part and len(piece) > room:
                parts.append(tuple(part))
                part, room = [], AT_ONCE
            part.append(topic if len(piece) == len(items) else type(topic)(topic.name, piece))
            room -= max(len(piece), 1)
    return [*parts, tuple(part)]


def _joined(topics: Sequence[AnyTopic], bodies: Sequence[Body]) -> Generator[None, None, list[Body]]:
    """The topics of all parts' answers, each as often as it was asked for; in steps."""
    answered = (topic for body in bodies for topic in body["topics"])
    joined: list[Body] = []
    for topic in topics:
        first = next(answered)
        partitions: list[Body] = [*first["partitions"]]
        while len(partitions) < len(_items(topic)):
            partitions += next(answered)["partitions"]
        joined.append({**first, "partitions": partitions})
        if len(joined) % TOPICS_AT_ONCE == 0:
            yield
    return joined


def _items(topic: AnyTopic) -> tuple[Any, ...]:
    return topic.partitions if isinstance(topic, OffsetCommitTopic) else topic.partition_indexes
