"""DescribeGroups, ListGroups, DeleteGroups and cleaning, of many groups: a few at a time.

The coordinator is asked for a few groups in one step of its. Each group is looked at as it is then: a broker
gives no more, whose groups are in several partitions.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

from rota.coordinator import Effects, GroupCoordinator, GroupState, ListGroups
from rota.coordinator.consumer.group import ConsumerGroupState
from rota.server.answers import Gathered, LongAnswer, as_body, slices
from rota.server.context import RequestContext
from rota.server.errors import ErrorCode
from rota.server.offset_bodies import subscribed_topics

log = logging.getLogger(__name__)

ALL_OPERATIONS = sum(1 << operation for operation in (3, 6, 8, 10, 11))
"""Read, delete, describe, describe and alter configs: what one may do with a group where all is allowed."""

DELETED_AT_ONCE = 100
"""How many groups are deleted or cleaned in one step."""

LISTED_AT_ONCE = 200
"""How many groups are listed in one step, which is shorter than a turn: so many who list take turns."""

_STATES = tuple(dict.fromkeys(str(state) for kind in (GroupState, ConsumerGroupState) for state in kind))

_NO_ROOM = {
    "error_code": ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    "error_message": "the answer has no room for more groups",
}

Body = Mapping[str, Any]


class GroupAdmin:
    """Handlers, each of which may take several steps; `do` carries out what a step of the core asks for."""

    def __init__(self, core: GroupCoordinator, do: Callable[[Effects], None]) -> None:
        self._core = core
        self._do = do

    def describe(self, body: Body, context: RequestContext) -> Iterator[None]:
        """DescribeGroups. A group for which the answer has no room gets an error, to be asked again."""
        operations = body.get("include_authorized_operations", False)
        answer = LongAnswer(context, "groups", {})
        known: dict[str, bytes] = {}
        for group_id in body["groups"]:
            data = known.get(group_id)
            if data is None:
                described = self._described(group_id, context.version, operations)
                yield
                data = yield from answer.encoded_in_steps([described])
                if answer.has_room(len(data)):
                    known[group_id] = data
            if not answer.has_room(len(data)):
                data = answer.encoded([{"group_id": group_id, **_NO_ROOM}])
            answer.add(data)
            yield
        answer.send()

    def _described(self, group_id: str, version: int, operations: bool) -> dict[str, Any]:
        ((_, reply),) = self._core.describe_groups([group_id], version, None).replies
        (described,) = as_body(reply)["groups"]
        if operations and not described["error_code"]:
            described["authorized_operations"] = ALL_OPERATIONS
        return cast(dict[str, Any], described)

    def list(self, body: Body, context: RequestContext) -> Iterator[None]:
        """ListGroups; what is too much for an answer is left out, with a line in the log."""
        states = _possible(body.get("states_filter", ()), _STATES)
        types = _possible(body.get("types_filter", ()), ("classic", "consumer"))
        answer = LongAnswer(context, "groups", {"error_code": ErrorCode.NONE})
        for group_ids in slices(self._core.group_ids, LISTED_AT_ONCE):
            request = ListGroups(states, types)
            ((_, reply),) = self._core.list_groups(request, context.version, None, group_ids).replies
            listed = as_body(reply)["groups"]
            data = answer.encoded(listed)
            if not answer.has_room(len(data)):
                log.warning("ListGroups of %s: not all groups fit into the answer", context.client_host)
                break
            answer.add(data, len(listed))
            yield
        answer.send()

    def delete(self, body: Body, context: RequestContext) -> Iterator[None]:
        """DeleteGroups, each group once."""

        def done(bodies: Sequence[Body]) -> None:
            context.reply({"results": [each for body in bodies for each in body["results"]]})

        parts = [*slices(dict.fromkeys(body["groups_names"]), DELETED_AT_ONCE)] or [()]
        gathered = Gathered(len(parts), done)
        for number, group_ids in enumerate(parts):
            self._do(self._core.delete_groups(group_ids, context.version, gathered.part(number)))
            yield

    def clean(self, now_ms: int) -> Iterator[None]:
        """Removes offsets that have expired, and groups of no use."""
        for group_ids in slices(self._core.group_ids, DELETED_AT_ONCE):
            self._do(self._core.clean(now_ms, subscribed_topics, group_ids))
            yield


def _possible(names: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """What of a filter can match: those of the known names that it has, or one that is none; or no filter."""
    asked = {name.strip().lower() for name in names}
    return tuple(name for name in known if name.lower() in asked) or ("none",) * bool(names)
