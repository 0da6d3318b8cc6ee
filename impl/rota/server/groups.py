"""The coordinator core with a clock and a log: carries out what its steps ask for.

Timers are in one wheel. The log answers an append in a later iteration of the event loop, so that a reply
that depends on it never comes before the step has been carried out whole.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from rota.coordinator import (
    Arm,
    Cancel,
    Choices,
    CoordinatorConfig,
    Effects,
    GroupCoordinator,
    Heartbeat,
    JoinGroup,
    JoinGroupProtocol,
    LeaveGroup,
    MemberIdentity,
    Notice,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    Reply,
    SyncGroup,
    SyncGroupAssignment,
    TimerId,
    Token,
    TxnOffsetCommit,
)
from rota.log.group_replay import StoredGroup
from rota.server.answers import AT_ONCE, Later, LongReply, Part, as_body, lists, slices
from rota.server.beginning import Ids
from rota.server.consumer_groups import ConsumerGroups
from rota.server.context import RequestContext
from rota.server.group_admin import GroupAdmin
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
    txn_commit_request,
)
from rota.server.offset_parts import InParts, Room, parts_of, parts_of_fetch, whole, whole_fetch
from rota.server.snapshots import LoadedGroup
from rota.server.stored_consumers import entries_of_group
from rota.server.stored_records import group_record, offset_record
from rota.server.timers import LoopTimers, wall_clock_ms
from rota.server.turns import Turns

log = logging.getLogger(__name__)

GROUPS_AT_ONCE = 100
"""Groups that are loaded in one iteration of the event loop."""

ANSWERED_AT_ONCE = 64
"""How many of the answers of one step of the coordinator leave in one step of the server."""

ARMED_ONE_BY_ONE = 4
"""Timers of one step of the coordinator that are armed one by one; of more, those that are due together."""

PREFIX_MAX = 1_000
"""Characters of a client or instance id that begin a member id: a broker's may be too long to be sent."""

CROWDED_SECONDS = 10
"""How often is cleaned while groups take more than half of the memory that they may."""

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Ended:
    """Who has ended a transaction: the token that the coordinator gets."""

    ended: Callable[[int], None]

    def reply(self, body: Body) -> None:
        """Tells it that the end is in the log, or why not."""
        self.ended(body["error_code"])


Addressee = RequestContext | Amended | Part | Ended
"""What the coordinator has as the token of a request."""


class FirstByName:
    """Decisions that Kafka leaves open: a tied vote and a leader's succession go to the first in order.

    Member ids are made as a broker makes them: client id or instance id, hyphen, random UUID.
    """

    def __init__(self, wall_clock: Callable[[], int] = wall_clock_ms, ids: Ids | None = None) -> None:
        self._wall_clock = wall_clock
        self._ids = ids or Ids()

    def now_ms(self) -> int:
        return self._wall_clock()

    def new_member_id(self, prefix: str) -> str:
        return f"{prefix[:PREFIX_MAX]}-{self._ids.next('member', prefix)}"

    def protocol(self, tied: tuple[str, ...]) -> str:
        return min(tied)

    def leader(self, candidates: tuple[str, ...]) -> str:
        return min(candidates)


class GroupService:
    """One coordinator on the running event loop; `coordinator` makes it, from its settings and choices.

    `clean_every_ms`: how often offsets that have expired, and groups of no use, are removed. `log` makes the
    log, from the loop and what it is to answer. `turns`: whose turn it is on the loop. `wall_clock`: what
    times of commits and retention are told by. `ids` are what members get, by default others each time.
    """

    def __init__(
        self,
        config: CoordinatorConfig,
        loop: asyncio.AbstractEventLoop,
        coordinator: Callable[[CoordinatorConfig, Choices], GroupCoordinator] = GroupCoordinator,
        topics: TopicResolver = AnyTopics(),  # noqa: B008  # has no state
        clean_every_ms: int = 600_000,
        log: Callable[[asyncio.AbstractEventLoop, Answered], GroupLog] = MemoryLog,
        turns: Turns | None = None,
        wall_clock: Callable[[], int] = wall_clock_ms,
        ids: Ids | None = None,
    ) -> None:
        self.core = coordinator(config, FirstByName(wall_clock, ids))
        self._loop = loop
        self._wall_clock = wall_clock
        self._last_append = self._forgotten = 0
        self._topics = topics
        self._timers: LoopTimers[TimerId] = LoopTimers(loop, self._fire)
        self.log = log(loop, self._appended)
        self._stopped = False
        self._answers = Later(turns or Turns(loop))
        self._cleaner = Later(turns or Turns(loop))
        self.may_commit: Callable[[TxnOffsetCommit, int], int] = lambda request, version: 0
        self._in_parts = InParts(self._do, self._answers)
        self._admin = GroupAdmin(self.core, self._do)
        self._consumers = ConsumerGroups(self.core, self._do)
        self._clean_every = clean_every_ms / 1000
        self._cleaned_at = loop.time()
        self._cleaning = loop.call_at(loop.time() + self._clean_every, self._clean)
        self.handlers: Mapping[str, Callable[[Mapping[str, Any], RequestContext], Iterator[None] | None]] = {
            "JoinGroup": self._join_group,
            "SyncGroup": self._sync_group,
            "Heartbeat": self._heartbeat,
            "LeaveGroup": self._leave_group,
            "OffsetCommit": self._offset_commit,
            "OffsetFetch": self._offset_fetch,
            "OffsetDelete": self._offset_delete,
            "TxnOffsetCommit": self._txn_offset_commit,
            "DescribeGroups": self._admin.describe,
            "ListGroups": self._admin.list,
            "DeleteGroups": self._admin.delete,
            "ConsumerGroupHeartbeat": self._consumers.heartbeat,
            "ConsumerGroupDescribe": self._consumers.describe,
        }

    async def load(self, groups: Iterable[StoredGroup]) -> None:
        """Takes over what the log has; nobody is served before. Transactions that were open are aborted."""
        open_producers: dict[int, None] = {}
        for count, group in enumerate(groups, 1):
            record = None if group.value is None else group_record(group.value)
            offsets = (offset_record(*each) for each in group.offsets)
            pending = ((producer_id, offset_record(key, value)) for producer_id, key, value in group.pending)
            open_producers |= dict.fromkeys(producer_id for producer_id, _, _ in group.pending)
            entries = entries_of_group(group.consumer) if group.consumer else None
            self._do(self.core.load(group.group_id, record, offsets, pending, entries))
            if count % GROUPS_AT_ONCE == 0:
                await asyncio.sleep(0)
        for producer_id in open_producers:
            self._do(self.core.end_transaction(producer_id, is_commit=False))

    def end_offsets(self, producer_id: int, is_commit: bool, ended: Callable[[int], None]) -> None:
        """The end of a producer's transaction goes to the log; `ended` gets the log's answer."""
        self._do(self.core.end_transaction(producer_id, is_commit, Ended(ended)))

    def unload(self) -> None:
        """The coordinator forgets its groups: another broker has them, or nobody does.

        What is parked is answered NOT_COORDINATOR. What the log has not answered is not answered any more.
        """
        self._do(self.core.unload())
        self._forgotten = self._last_append

    def take_over(self, groups: Iterable[LoadedGroup]) -> None:
        """The coordinator that has just been unloaded, or another one, has what the log has."""
        for group in groups:
            self._do(self.core.load(*group))

    def left_ms(self, timer_id: TimerId) -> int | None:
        """Milliseconds until a timer is due, None if it is not armed."""
        return self._timers.left_ms(timer_id)

    def topic_gone(self, topic: str) -> None:
        """A topic has been deleted."""
        self._do(self.core.topic_gone(topic))

    def fire(self, timer_id: TimerId) -> None:
        """What a timer leads to happens now; it is not armed any more."""
        self._timers.cancel(timer_id)
        self._fire(timer_id)

    def resign(self) -> None:
        """The coordinator unloads its groups, which answers what is parked; from now on it does nothing more.

        Appends that the log has not answered by then are not answered to the coordinator any more.
        """
        self._cleaning.cancel()
        self._timers.clear()
        self._answers.finish()
        try:
            effects = self.core.unload()
            self._tell(effects.notices)
            self._answer(effects.replies)
        finally:
            self._stopped = True

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
        self._clean_if_crowded()

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

    def _leave_group(self, body: Mapping[str, Any], context: RequestContext) -> Iterator[None] | None:
        if len(body.get("members", ())) > AT_ONCE:
            return self._many_leave(body, context)
        self._do(self.core.leave_group(_leaving(body), context.version, context))
        return None

    def _many_leave(self, body: Mapping[str, Any], context: RequestContext) -> Iterator[None]:
        request = _leaving(body)
        yield
        token = LongReply(context, "members", self._answers)
        self._do(self.core.leave_group(request, context.version, token))

    def _offset_commit(self, body: Body, context: RequestContext) -> Iterator[None] | None:
        now_ms = self._wall_clock()

        def ask(part: OffsetCommit, token: Token) -> Effects:
            return self.core.offset_commit(part, context.version, token, now_ms)

        self._clean_if_crowded()
        prepare = commit_request(body, context.version, self._topics)
        return self._in_parts(body, context, prepare, parts_of, ask, whole)

    def _txn_offset_commit(self, body: Body, context: RequestContext) -> Iterator[None] | None:
        now_ms, version = self._wall_clock(), context.version

        def ask(part: TxnOffsetCommit, token: Token) -> Effects:
            if part.group_id and (error := self.may_commit(part, version)):
                return Effects(((token, part.refused(error)),))
            return self.core.txn_offset_commit(part, version, token, now_ms)

        self._clean_if_crowded()
        prepare = txn_commit_request(body, version, self._topics)
        return self._in_parts(body, context, prepare, parts_of, ask, whole)

    def _offset_fetch(self, body: Body, context: RequestContext) -> Iterator[None] | None:
        room = Room()

        def fetch(part: OffsetFetch, token: Token) -> Effects:
            return self.core.offset_fetch(part, context.version, token)

        def ask(part: OffsetFetch, token: Token) -> Effects:
            return room.ask(part, token, fetch)

        prepare = fetch_request(body, context.version, self._topics)
        return self._in_parts(body, context, prepare, parts_of_fetch, ask, whole_fetch)

    def _offset_delete(self, body: Body, context: RequestContext) -> Iterator[None] | None:
        def ask(part: OffsetDelete, token: Token) -> Effects:
            return self.core.offset_delete(part, context.version, token, subscribed_topics)

        prepare = delete_request(body, self._topics)
        return self._in_parts(body, context, prepare, parts_of, ask, whole)

    def _do(self, effects: Effects) -> None:
        if self._stopped:
            return
        if effects.notices:
            self._tell(effects.notices)
        if effects.timers:
            self._set(effects.timers)
        for append in effects.appends:
            self._last_append = append.append_id
            self.log.append(append)
        for token in effects.dropped:
            cast(RequestContext, token).dropped()
        if len(effects.replies) <= ANSWERED_AT_ONCE:
            self._answer(effects.replies)
        else:
            self._answers.add(self._answered(effects.replies), at_once=False)

    def _set(self, timers: tuple[Arm | Cancel, ...]) -> None:
        now = self._timers.now()
        together: dict[int, list[TimerId]] | None = {} if len(timers) > ARMED_ONE_BY_ONE else None
        for timer in timers:
            if isinstance(timer, Cancel):
                self._timers.cancel(timer.timer_id)
            elif together is None:
                self._timers.arm(*timer, now)
            else:
                together.setdefault(timer.delay_ms, []).append(timer.timer_id)
        for delay_ms, timer_ids in (together or {}).items():
            self._timers.arm_all(timer_ids, delay_ms, now)

    def _tell(self, notices: tuple[Notice, ...]) -> None:
        if log.isEnabledFor(logging.INFO):
            for notice in notices:
                log.info(line(notice))

    def _answer(self, replies: Iterable[tuple[Token, Reply]]) -> None:
        for token, reply in replies:
            if token.__class__ is LongReply or (token.__class__ is RequestContext and not lists(reply)):
                token.tell(reply)
            else:
                cast(Addressee, token).reply(as_body(reply))

    def _answered(self, replies: Iterable[tuple[Token, Reply]]) -> Iterator[None]:
        for part in slices(replies, ANSWERED_AT_ONCE):
            self._answer(part)
            yield

    def _clean(self) -> None:
        self._cleaned_at = self._loop.time()
        self._cleaning = self._loop.call_at(self._cleaned_at + self._clean_every, self._clean)
        self._cleaner.add(self._admin.clean(self._wall_clock()))

    def _clean_if_crowded(self) -> None:
        if self.core.crowded and self._loop.time() - self._cleaned_at >= CROWDED_SECONDS:
            self._cleaning.cancel()
            self._clean()

    def _fire(self, timer_id: TimerId) -> None:
        self._do(self.core.fire(timer_id))

    def _appended(self, append_id: int, error_code: int) -> None:
        if not self._stopped and append_id > self._forgotten:
            self._do(self.core.appended(append_id, error_code))


def _leaving(body: Body) -> LeaveGroup:
    members = tuple(
        MemberIdentity(item["member_id"], item["group_instance_id"], item.get("reason"))
        for item in body.get("members", ())
    )
    return LeaveGroup(body["group_id"], members, body.get("member_id", ""))
