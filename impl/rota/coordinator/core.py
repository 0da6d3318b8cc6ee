"""The coordinator as its caller sees it: requests, timers and the log's answers in, effects out."""

from collections.abc import Iterable
from functools import partial

from rota.coordinator import (
    admin,
    expiry,
    heartbeat,
    join,
    leave,
    loading,
    offsets,
    persistence,
    sync,
    timers,
    transactions,
)
from rota.coordinator.admin_messages import ListGroups
from rota.coordinator.consumer import admin as consumer_admin
from rota.coordinator.consumer import loading as consumer_loading
from rota.coordinator.consumer import membership
from rota.coordinator.consumer import offsets as consumer_offsets
from rota.coordinator.consumer import persistence as consumer_persistence
from rota.coordinator.consumer.core import ConsumerGroupCoordinator
from rota.coordinator.consumer.records import Entry
from rota.coordinator.consumer.writing import Writing
from rota.coordinator.effects import Effects, GroupRecord, TimerId
from rota.coordinator.group import Group
from rota.coordinator.ledger import DeferredEvent, Outstanding
from rota.coordinator.memory import Memory
from rota.coordinator.messages import (
    ErrorCode,
    Heartbeat,
    JoinGroup,
    JoinGroupReply,
    LeaveGroup,
    LeaveGroupReply,
    SyncGroup,
    SyncGroupReply,
)
from rota.coordinator.offset_messages import (
    OffsetCommit,
    OffsetCommitReply,
    OffsetDelete,
    OffsetDeleteReply,
    OffsetFetch,
    OffsetRecord,
    TxnOffsetCommit,
)
from rota.coordinator.offset_store import OffsetStore
from rota.coordinator.purgatory import ParkedRequest, Token


class GroupCoordinator(ConsumerGroupCoordinator):
    """Kafka's group coordinator: membership by both protocols, offsets, groups' administration.

    Follows the Java coordinator of Kafka 4.x.

    Every method is one step and returns the Effects to carry out. `version` is the request's API version:
    replies come in the form that it can carry. `token` is an address that comes back with the reply, which
    may take many steps, and never comes for a parked request that a later one of the same member has
    replaced, nor for the parked SyncGroup of a member that was removed, unless `Mends` says so.
    """

    def join_group(
        self, request: JoinGroup, version: int, client_id: str | None, client_host: str, token: Token
    ) -> Effects:
        """JoinGroup; creates the group if it has no member id. No client id counts as an empty one.

        A group that is created is written to the log at once, also if the request is refused.
        """
        step, parked = self._step(), ParkedRequest(token, version)
        error = join.request_error(self._config, request)
        if error != ErrorCode.NONE:
            step.reply(parked, JoinGroupReply(error, member_id=request.member_id))
        elif self._is_consumer(request.group_id, with_members=True):
            step.reply(parked, JoinGroupReply(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        elif request.member_id and request.group_id not in self._groups:
            step.reply(parked, JoinGroupReply(ErrorCode.UNKNOWN_MEMBER_ID, member_id=request.member_id))
        elif error := self._memory_error(request, client_id or ""):
            step.reply(parked, JoinGroupReply(error, member_id=request.member_id))
        else:
            if self._is_consumer(request.group_id):
                consumer_admin.give_way(step, self._hosted, request.group_id)
            is_new = request.group_id not in self._groups
            group = self._created(request.group_id) if is_new else self._groups[request.group_id]
            join.join_group(step, group, request, join.Joiner(parked, client_id or "", client_host))
            if is_new:
                join.record_creation(step, group)
            self._weigh(request.group_id)
        return step.effects()

    def sync_group(self, request: SyncGroup, version: int, token: Token) -> Effects:
        """SyncGroup; from version 5 on the protocol's type and name have to be given."""
        step, parked = self._step(), ParkedRequest(token, version)
        nameless = request.protocol_type is None or request.protocol_name is None
        if version >= 5 and nameless:
            step.reply(parked, SyncGroupReply(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        elif not request.group_id:
            step.reply(parked, SyncGroupReply(ErrorCode.INVALID_GROUP_ID))
        else:
            sync.sync_group(step, self._groups.get(request.group_id), request, parked)
        return step.effects()

    def heartbeat(self, request: Heartbeat, version: int, token: Token) -> Effects:
        """Heartbeat."""
        step, parked = self._step(), ParkedRequest(token, version)
        group = self._groups.get(request.group_id)
        if not request.group_id:
            step.reply(parked, heartbeat.reply_of(ErrorCode.INVALID_GROUP_ID))
        elif group is None:
            step.reply(parked, heartbeat.reply_of(ErrorCode.UNKNOWN_MEMBER_ID))
        else:
            step.reply(parked, heartbeat.heartbeat(step, group, request))
        return step.effects()

    def leave_group(self, request: LeaveGroup, version: int, token: Token) -> Effects:
        """LeaveGroup; its own reply comes after those to the parked requests that it ends.

        If it leaves the group Empty, it is answered when the log has answered.
        """
        step, parked = self._step(), ParkedRequest(token, version)
        if not request.group_id:
            step.reply(parked, LeaveGroupReply(ErrorCode.INVALID_GROUP_ID))
        elif (hosted := self._hosted.by_id.get(request.group_id)) is not None:
            identities = leave.identities_of(request, version)
            membership.leave_group(step, self._hosted, hosted, identities, parked)
        else:
            identities = leave.identities_of(request, version)
            reply = leave.leave_group(step, self._groups.get(request.group_id), identities)
            step.reply_when_stored(parked, reply)
            self._weigh(request.group_id)
        return step.effects()

    def offset_commit(self, request: OffsetCommit, version: int, token: Token, timestamp_ms: int) -> Effects:
        """OffsetCommit; `timestamp_ms` is the wall clock's. Answered when the log has answered.

        One from outside of group management creates an empty group. The empty group id is as good as any.
        """
        step, parked = self._step(), ParkedRequest(token, version)
        hosted = self._hosted.by_id.get(request.group_id)
        if hosted is None:
            error = offsets.commit_error(self._groups.get(request.group_id), request, version)
        else:
            about = self._config, self._hosted.topics, hosted
            error = consumer_offsets.commit_error(*about, request, version)
        error = error or self._room_error(request)
        if error != ErrorCode.NONE:
            step.reply(parked, OffsetCommitReply.to(request, lambda _: error))
        elif hosted is not None:
            reply, records = offsets.checked(step, request, timestamp_ms)
            offsets.write(step, self._offsets, request.group_id, records, parked, reply)
        else:
            group = self._groups.get(request.group_id) or self._created(request.group_id)
            offsets.offset_commit(step, self._offsets, group, request, parked, timestamp_ms)
        return step.effects()

    def txn_offset_commit(
        self, request: TxnOffsetCommit, version: int, token: Token, timestamp_ms: int
    ) -> Effects:
        """TxnOffsetCommit; creates a group as OffsetCommit does. What it stores waits for `end_transaction`.

        The caller has asked the transaction coordinator whether the producer may.
        """
        step, parked = self._step(), ParkedRequest(token, version)
        hosted = self._hosted.by_id.get(request.group_id)
        if hosted is None:
            error = transactions.commit_error(self._groups.get(request.group_id), request)
        else:
            about = self._config, self._hosted.topics, hosted
            error = consumer_offsets.txn_commit_error(*about, request, version)
        error = error or self._room_error(request)
        if error != ErrorCode.NONE:
            step.reply(parked, request.refused(error))
        else:
            if hosted is None and request.group_id not in self._groups:
                self._created(request.group_id)
            transactions.txn_offset_commit(step, self._offsets, request, parked, timestamp_ms)
        return step.effects()

    def end_transaction(self, producer_id: int, is_commit: bool, token: Token | None = None) -> Effects:
        """A transaction has been committed or aborted: its marker is appended.

        Whoever gives a token is answered, `TransactionEnded`, when the log has answered.
        """
        step = self._step()
        parked = None if token is None else ParkedRequest(token, 0)
        transactions.end(step, self._offsets, producer_id, is_commit, parked)
        return step.effects()

    def offset_fetch(self, request: OffsetFetch, version: int, token: Token) -> Effects:
        """OffsetFetch; a group that does not exist has no offsets."""
        step, hosted = self._step(), self._hosted
        offsets.offset_fetch(
            step,
            self._offsets,
            request,
            ParkedRequest(token, version),
            lambda asked: consumer_offsets.fetch_error(hosted.read(asked.group_id), asked),
        )
        return step.effects()

    def offset_delete(
        self, request: OffsetDelete, version: int, token: Token, topics_of: offsets.TopicsOf
    ) -> Effects:
        """OffsetDelete; `topics_of` reads a consumer's metadata. Answered when the log has answered."""
        step, parked = self._step(), ParkedRequest(token, version)
        hosted = self._hosted.by_id.get(request.group_id)
        if hosted is not None:
            subscribers = hosted.subscribers
            waits = partial(consumer_persistence.write, step, self._hosted, Writing(hosted))
            offsets.delete(step, self._offsets, request, parked, lambda topic: topic in subscribers, waits)
            return step.effects()
        group = self._groups.get(request.group_id)
        error = offsets.delete_error(group, request)
        if group is None or error != ErrorCode.NONE:
            step.reply(parked, OffsetDeleteReply(error))
        else:
            offsets.offset_delete(step, self._offsets, group, request, parked, topics_of)
        return step.effects()

    def describe_groups(self, group_ids: Iterable[str], version: int, token: Token) -> Effects:
        """DescribeGroups."""
        step = self._step()
        step.reply(ParkedRequest(token, version), admin.describe_groups(self._groups, group_ids))
        return step.effects()

    def list_groups(
        self, request: ListGroups, version: int, token: Token, group_ids: Iterable[str] | None = None
    ) -> Effects:
        """ListGroups, in order of creation; or of these groups, as far as there are such."""
        step = self._step()
        reply = consumer_admin.list_groups(self._hosted, request, group_ids)
        step.reply(ParkedRequest(token, version), reply)
        return step.effects()

    def delete_groups(self, group_ids: Iterable[str], version: int, token: Token) -> Effects:
        """DeleteGroups. Answered when the log has answered for every group that goes."""
        step = self._step()
        consumer_admin.delete_groups(step, self._hosted, group_ids, ParkedRequest(token, version))
        return step.effects()

    def clean(
        self, now_ms: int, topics_of: offsets.TopicsOf, group_ids: Iterable[str] | None = None
    ) -> Effects:
        """Expire offsets and remove groups of no use, all or of these; a broker does it every ten minutes.

        `now_ms` is the wall clock's, `topics_of` reads a consumer's metadata.
        """
        step = self._step()
        expiry.clean(step, self._offsets, self._groups, now_ms, topics_of, group_ids)
        for group_id in tuple(self._hosted.by_id if group_ids is None else group_ids):
            hosted = self._hosted.by_id.get(group_id)
            if hosted is not None:
                consumer_admin.clean(step, self._hosted, hosted, now_ms)
        return step.effects()

    @property
    def crowded(self) -> bool:
        """Whether groups take more than half of the memory that they may: it is time to clean."""
        return 2 * self._memory.held > self._config.members_max_bytes

    def fire(self, timer_id: TimerId) -> Effects:
        """A timer that is armed is due; it is not armed any more. Nothing happens if its group is unknown.

        Nor if it is of the other protocol: what the log has refused leaves timers of members behind.
        """
        step = self._step()
        group = self._groups.get(timer_id.group_id)
        hosted = self._hosted.by_id.get(timer_id.group_id)
        if hosted is not None:
            membership.fire(step, self._hosted, hosted, timer_id)
        elif group is not None and not timer_id.kind.startswith("consumer_"):
            timers.fire(step, group, timer_id)
            self._weigh(timer_id.group_id)
        return step.effects()

    def appended(self, append_id: int, error_code: int = ErrorCode.NONE) -> Effects:
        """The log's answer to an append, with its own error code. Answers may come in any order.

        Raises persistence.UnknownAppendError if this append is not waiting for an answer.
        """
        entry = self._ledger.close(append_id)
        if entry is None:
            raise persistence.UnknownAppendError(f"append {append_id} is not waiting for an answer")
        step = self._step()
        if isinstance(entry, DeferredEvent):
            entry.error_code = persistence.response_error(error_code)
            entry.in_doubt = error_code == ErrorCode.REQUEST_TIMED_OUT
            offsets.complete_deferred(step, self._offsets)
            consumer_persistence.mend(step, self._hosted)
        else:
            persistence.appended(step, self._groups, entry, error_code)
            self._weigh(entry.group_id)
        return step.effects()

    def load(
        self,
        group_id: str,
        record: GroupRecord | None,
        offset_records: Iterable[OffsetRecord] = (),
        pending: Iterable[tuple[int, OffsetRecord]] = (),
        entries: Iterable[Entry] | None = None,
    ) -> Effects:
        """The log has a group: its last record, None if there are only offsets of it, and those.

        `pending`: offsets of transactions that have not ended, each with its producer's id. `entries`: the
        records of a group of the consumer protocol, which has none of the classic one.

        Raises ValueError if there is a group of that id.
        """
        if group_id in self._groups or group_id in self._hosted.by_id:
            raise ValueError(f"group {group_id!r} is loaded already")
        step = self._step_of(group_id)
        if entries is not None and record is None:
            consumer_loading.load(step, self._hosted, group_id, entries)
        else:
            self._groups[group_id] = loading.load(step, group_id, record)
            self._weigh(group_id)
        for offset_record in offset_records:
            self._offsets.apply(group_id, offset_record)
        for producer_id, offset_record in pending:
            self._offsets.apply(group_id, offset_record, self._offsets.next_position(), producer_id)
        return step.effects()

    def unload(self) -> Effects:
        """The coordinator resigns: all groups and offsets are forgotten, timers cancelled.

        Parked requests are answered NOT_COORDINATOR. `appended` must not be called for earlier appends.
        """
        step = self._step()
        for entry in self._ledger.close_all():
            if isinstance(entry, Outstanding):
                persistence.appended(step, self._groups, entry, ErrorCode.NOT_COORDINATOR)
        offsets.fail_deferred(step, self._offsets, ErrorCode.NOT_COORDINATOR)
        for group in self._groups.values():
            step.note("unloading", group)
            loading.close(step, group, ErrorCode.NOT_COORDINATOR, with_ids=True)
        for hosted in self._hosted.by_id.values():
            consumer_loading.close(step, hosted)
        self._groups.clear()
        self._memory = Memory()
        self._offsets = OffsetStore()
        self._hosted.unload(self._offsets)
        return step.effects()

    def _created(self, group_id: str) -> Group:
        group = self._groups[group_id] = Group(group_id)
        self._weigh(group_id)
        return group

    def _memory_error(self, request: JoinGroup, client_id: str) -> int:
        group = self._groups.get(request.group_id)
        return join.memory_error(self._config, self._memory, group, request, client_id)

    def _room_error(self, request: OffsetCommit | TxnOffsetCommit) -> int:
        is_new = request.group_id not in self._groups and not self._is_consumer(request.group_id)
        return offsets.room_error(self._config, self._memory, self._offsets, request, is_new)

    def _weigh(self, group_id: str) -> None:
        """What a group takes of memory is what it has now."""
        group = self._groups.get(group_id)
        self._memory.put(group_id, 0 if group is None else group.held)
