"""The coordinator core with a clock and a log: carries out what its steps ask for.

Timers are in one wheel. The log answers an append in a later iteration of the event loop, so that a reply
that depends on it never comes before the step has been carried out whole.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from types import NoneType
from typing import Any, NamedTuple, cast, get_args, get_type_hints
from uuid import uuid4

from rota.coordinator import (
    Arm,
    Choices,
    CoordinatorConfig,
    Effects,
    GroupCoordinator,
    Heartbeat,
    JoinGroup,
    JoinGroupProtocol,
    LeaveGroup,
    ListGroups,
    MemberIdentity,
    SyncGroup,
    SyncGroupAssignment,
    TimerId,
)
from rota.log.group_replay import StoredGroup
from rota.server.connection import RequestContext
from rota.server.group_log import Answered, GroupLog, MemoryLog
from rota.server.log_lines import line
from rota.server.offset_bodies import (
    Amended,
    AnyTopics,
    TopicResolver,
    commit_request,
    delete_request,
    fetch_request,
    subscribed_topics,
)
from rota.server.stored_records import group_record, offset_record
from rota.server.timers import LoopTimers

log = logging.getLogger(__name__)

GROUPS_AT_ONCE = 100
"""Groups that are loaded in one iteration of the event loop."""

ALL_OPERATIONS = sum(1 << operation for operation in (3, 6, 8, 10, 11))
"""Read, delete, describe, describe and alter configs: what one may do with a group where all is allowed."""


class FirstByName:
    """Decisions that Kafka leaves open: a tied vote and a leader's succession go to the first in order.

    Member ids are made as a broker makes them: client id or instance id, hyphen, random UUID.
    """

    def now_ms(self) -> int:
        return _wall_clock_ms()

    def new_member_id(self, prefix: str) -> str:
        return f"{prefix}-{uuid4()}"

    def protocol(self, tied: tuple[str, ...]) -> str:
        return min(tied)

    def leader(self, candidates: tuple[str, ...]) -> str:
        return min(candidates)


class GroupService:
    """One coordinator on the running event loop; `coordinator` makes it, from its settings and choices.

    `clean_every_ms`: how often offsets that have expired, and groups of no use, are removed. `log` makes the
    log, from the loop and what it is to answer.
    """

    def __init__(
        self,
        config: CoordinatorConfig,
        loop: asyncio.AbstractEventLoop,
        coordinator: Callable[[CoordinatorConfig, Choices], GroupCoordinator] = GroupCoordinator,
        topics: TopicResolver = AnyTopics(),  # noqa: B008  # has no state
        clean_every_ms: int = 600_000,
        log: Callable[[asyncio.AbstractEventLoop, Answered], GroupLog] = MemoryLog,
    ) -> None:
        self.core = coordinator(config, FirstByName())
        self._loop = loop
        self._topics = topics
        self._timers: LoopTimers[TimerId] = LoopTimers(loop, self._fire)
        self.log = log(loop, self._appended)
        self._stopped = False
        self._clean_every = clean_every_ms / 1000
        self._cleaning = loop.call_at(loop.time() + self._clean_every, self._clean)
        self.handlers: Mapping[str, Callable[[Mapping[str, Any], RequestContext], None]] = {
            "JoinGroup": self._join_group,
            "SyncGroup": self._sync_group,
            "Heartbeat": self._heartbeat,
            "LeaveGroup": self._leave_group,
            "OffsetCommit": self._offset_commit,
            "OffsetFetch": self._offset_fetch,
            "OffsetDelete": self._offset_delete,
            "DescribeGroups": self._describe_groups,
            "ListGroups": self._list_groups,
            "DeleteGroups": self._delete_groups,
        }

    async def load(self, groups: Iterable[StoredGroup]) -> None:
        """Takes over what the log has; nobody is served before."""
        for count, group in enumerate(groups, 1):
            record = None if group.value is None else group_record(group.value)
            offsets = (offset_record(*each) for each in group.offsets)
            pending = ((producer_id, offset_record(key, value)) for producer_id, key, value in group.pending)
            self._do(self.core.load(group.group_id, record, offsets, pending))
            if count % GROUPS_AT_ONCE == 0:
                await asyncio.sleep(0)

    def resign(self) -> None:
        """The coordinator unloads its groups, which answers what is parked; from now on it does nothing more.

        Appends that the log has not answered by then are not answered to the coordinator any more.
        """
        self._cleaning.cancel()
        try:
            self._do(self.core.unload())
        finally:
            self._stopped = True
            self._timers.clear()

    def _join_group(self, body: Mapping[str, Any], context: RequestContext) -> None:
        request = JoinGroup(
            body["group_id"],
            body["session_timeout_ms"],
            body.get("rebalance_timeout_ms", -1),
            body["member_id"],
            body.get("group_instance_id"),
            body["protocol_type"],
            tuple([JoinGroupProtocol(entry["name"], entry["metadata"]) for entry in body["protocols"]]),
            body.get("reason"),
        )
        self._do(
            self.core.join_group(request, context.version, context.client_id, context.client_host, context)
        )

    def _sync_group(self, body: Mapping[str, Any], context: RequestContext) -> None:
        request = SyncGroup(
            body["group_id"],
            body["generation_id"],
            body["member_id"],
            body.get("group_instance_id"),
            body.get("protocol_type"),
            body.get("protocol_name"),
            tuple(
                [SyncGroupAssignment(item["member_id"], item["assignment"]) for item in body["assignments"]]
            ),
        )
        self._do(self.core.sync_group(request, context.version, context))

    def _heartbeat(self, body: Mapping[str, Any], context: RequestContext) -> None:
        request = Heartbeat(
            body["group_id"], body["generation_id"], body["member_id"], body.get("group_instance_id")
        )
        self._do(self.core.heartbeat(request, context.version, context))

    def _leave_group(self, body: Mapping[str, Any], context: RequestContext) -> None:
        members = tuple(MemberIdentity(**_known(MemberIdentity, item)) for item in body.get("members", ()))
        request = LeaveGroup(**_known(LeaveGroup, body) | {"members": members})
        self._do(self.core.leave_group(request, context.version, context))

    def _offset_commit(self, body: Mapping[str, Any], context: RequestContext) -> None:
        request, response = commit_request(body, context.version, self._topics)
        token = Amended(context, response)
        if request.topics:
            self._do(self.core.offset_commit(request, context.version, token, _wall_clock_ms()))
        else:
            token.reply({"topics": []})

    def _offset_fetch(self, body: Mapping[str, Any], context: RequestContext) -> None:
        request, response = fetch_request(body, context.version, self._topics)
        self._do(self.core.offset_fetch(request, context.version, Amended(context, response)))

    def _offset_delete(self, body: Mapping[str, Any], context: RequestContext) -> None:
        request, response = delete_request(body, self._topics)
        token = Amended(context, response)
        self._do(self.core.offset_delete(request, context.version, token, subscribed_topics))

    def _describe_groups(self, body: Mapping[str, Any], context: RequestContext) -> None:
        allowed = body.get("include_authorized_operations", False)
        token = Amended(context, _with_operations) if allowed else context
        self._do(self.core.describe_groups(body["groups"], context.version, token))

    def _list_groups(self, body: Mapping[str, Any], context: RequestContext) -> None:
        request = ListGroups(tuple(body.get("states_filter", ())), tuple(body.get("types_filter", ())))
        self._do(self.core.list_groups(request, context.version, context))

    def _delete_groups(self, body: Mapping[str, Any], context: RequestContext) -> None:
        self._do(self.core.delete_groups(body["groups_names"], context.version, context))

    def _do(self, effects: Effects) -> None:
        if self._stopped:
            return
        for notice in effects.notices:
            if log.isEnabledFor(logging.INFO):
                log.info(line(notice))
        for timer in effects.timers:
            if isinstance(timer, Arm):
                self._timers.arm(timer.timer_id, timer.delay_ms)
            else:
                self._timers.cancel(timer.timer_id)
        for append in effects.appends:
            self.log.append(append)
        for token, reply in effects.replies:
            cast(RequestContext | Amended, token).reply(_body(reply))

    def _clean(self) -> None:
        self._cleaning = self._loop.call_at(self._loop.time() + self._clean_every, self._clean)
        self._do(self.core.clean(_wall_clock_ms(), subscribed_topics))

    def _fire(self, timer_id: TimerId) -> None:
        self._do(self.core.fire(timer_id))

    def _appended(self, append_id: int, error_code: int) -> None:
        if not self._stopped:
            self._do(self.core.appended(append_id, error_code))


def _wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


def _with_operations(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """A response to DescribeGroups that says what may be done with each group that was found."""
    operations = {"authorized_operations": ALL_OPERATIONS}
    return {"groups": [group if group["error_code"] else group | operations for group in body["groups"]]}


def _known(kind: type, body: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a body that a request of the coordinator has too; tagged fields are left out."""
    return {name: body[name] for name in _shape(kind).names if name in body}


def _body(reply: Any) -> dict[str, Any]:
    """A reply, or a part of it, as a response's body."""
    shape = _shape(reply.__class__)
    body = dict(zip(shape.names, shape.values(reply), strict=True))
    for name in shape.nested:
        body[name] = _part(body[name])
    return body


def _part(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_part(item) for item in value]
    return _body(value) if is_dataclass(value) else value


class _Shape(NamedTuple):
    """The fields of a dataclass, all their values at once, and the names of those that are not plain."""

    names: tuple[str, ...]
    values: Callable[[Any], tuple[Any, ...]]
    nested: tuple[str, ...]


@cache
def _shape(kind: type) -> _Shape:
    hints = get_type_hints(kind)
    names = tuple(item.name for item in fields(kind))
    nested = tuple(name for name in names if not set(get_args(hints[name]) or (hints[name],)) <= _PLAIN)
    # With two names or more it gives a tuple.
    values = attrgetter(*names) if len(names) > 1 else lambda reply: (getattr(reply, names[0]),)
    return _Shape(names, values, nested)


_PLAIN = {int, str, bytes, bool, NoneType}
