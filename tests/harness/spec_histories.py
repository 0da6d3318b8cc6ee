"""Histories that the spec itself makes: clients ask, the spec answers, in an order drawn from a seed.

Everything happens at instants of a grid. An id that no answer shows is `?N`, N the number of the request.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from rota.kernel import replace
from rota.linearise import Answered, Broken, History, Quiet, Sent
from rota.oracle.offsets_follow import Kept, completed, outcomes
from rota.spec import (
    ROTA,
    Arm,
    BrokerConfig,
    Call,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    LeavingMember,
    MemberAssignment,
    ProtocolMetadata,
    RecordKind,
    SyncGroupRequest,
    classic,
)
from rota.spec.admin_messages import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from rota.spec.offset_messages import (
    OffsetCommitPartition,
    OffsetCommitRequest,
    OffsetCommitTopic,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TopicPartitions,
)
from rota.spec.offset_state import GroupForgotten, OffsetBatch, OffsetRead
from rota.spec.versions import as_sent

GRID = 0.5
"""Seconds between two instants; also how late a coordinator may be."""

CONFIG = BrokerConfig(
    group_min_session_timeout_ms=1_000,
    group_initial_rebalance_delay_ms=1_000,
    new_member_join_timeout_ms=6_000,
)
GROUP = "g"


@dataclass
class Client:
    """Somebody who asks. waits: for the answer to which request; connection: the number of it."""

    name: str
    connection: int
    member_id: str = ""
    generation: int = -1
    leads: tuple[str, ...] = ()
    synced: bool = False
    waits: int | None = None


@dataclass
class Maker:
    """A history in the making. requests: how many; late: whether the coordinator takes its time."""

    random: Random
    requests: int
    profile: object = ROTA
    offsets: bool = False
    breaks: bool = True
    now: float = 0.0
    events: list = field(default_factory=list)

    def __post_init__(self):
        self.spec = classic(CONFIG, profile=self.profile)
        self.group, self.kept, self.armed = None, Kept(), {}
        self.records = []
        self.pending, self.given, self.calls, self.lost = [], [], {}, set()
        self.clients = [Client(f"c{i}", i) for i in range(self.random.choice((2, 3, 3)))]
        self.connections = len(self.clients)

    def history(self) -> History:
        """The history, whole."""
        while self.requests:
            self._instant()
        for _ in range(self.random.choice((2, 2, 8))):
            self._instant()
        while self.given or self.pending:
            self._instant()
        self.events.append(Quiet(self.now))
        return History(GROUP, tuple(self.events), self.profile, CONFIG, lateness=GRID)

    def _instant(self):
        for _ in range(self.random.choice((0, 0, 1, 1, 2))):
            self._send()
        for _ in range(6):
            self.random.choice((self._take, self._take, self._log, self._fire, self._answer, self._answer))()
        self._overdue()
        if not self.given and self.random.random() < 0.3:
            self.events.append(Quiet(self.now))
        self.now = round(self.now + GRID, 6)

    def _overdue(self):
        """What may not wait until the next instant."""
        while any(at < self.now for at, _ in self.pending):
            self._take(0)
        while self.records and self.records[0][2] < self.now:
            self._log()
        for timer in [timer for timer, due in self.armed.items() if due < self.now]:
            if timer in self.armed:
                self._fire(timer)
        while any(at < self.now for at, _, _ in self.given):
            self._answer(0)

    def _send(self):
        idle = [client for client in self.clients if client.waits is None]
        if not self.requests or (self.breaks and self.random.random() < 0.05):
            self._break()
        if not idle or not self.requests:
            return
        client = self.random.choice(idle)
        self.requests -= 1
        number = len(self.calls)
        request, version = self._request(client)
        call = Call(request, str(number), version)
        self.calls[number] = (call, client)
        client.waits = number
        self.pending.append((self.now, number))
        self.events.append(Sent(self.now, number, client.connection, client.name, call))

    def _break(self):
        busy = [client for client in self.clients if client.waits is not None]
        if busy and self.breaks and self.random.random() < 0.2:
            client = self.random.choice(busy)
            self.events.append(Broken(self.now, client.connection))
            self.lost.add(client.waits)
            self.given = [one for one in self.given if one[1] != client.waits]
            client.waits, client.connection = None, self.connections
            self.connections += 1

    def _request(self, client):
        """What a client asks: most often what it should, sometimes something else."""
        odd = self.random.random()
        if odd < 0.3:
            return self._question(client)
        if not client.member_id or client.generation < 0 or odd < 0.4:
            names = self.random.choice((("range",), ("range", "sticky"), ("sticky", "range")))
            lists = tuple(ProtocolMetadata(name, name.encode()) for name in names)
            session = self.random.choice((1_000, 2_000, 3_000))
            rebalance = self.random.choice((1_000, 2_000))
            instance = "i" if client.name == "c0" and self.random.random() < 0.2 else None
            join = JoinGroupRequest(GROUP, session, rebalance, client.member_id, "consumer", lists, instance)
            return join, self.random.choice((3, 9, 5))
        if not client.synced:
            shares = tuple(MemberAssignment(one, one.encode()) for one in client.leads)
            return SyncGroupRequest(GROUP, client.generation, client.member_id, shares), 4
        return HeartbeatRequest(GROUP, client.generation, client.member_id), 4

    def _question(self, client):
        kinds = [
            (LeaveGroupRequest(GROUP, (LeavingMember(client.member_id),)), self.random.choice((2, 4))),
            (HeartbeatRequest(GROUP, client.generation, client.member_id), 4),
            (DescribeGroupsRequest(GROUP), 5),
            (ListGroupsRequest(GROUP), 4),
        ]
        if self.offsets:
            offset = OffsetCommitPartition(0, self.random.randrange(9))
            topics = (OffsetCommitTopic("t", (offset,)),)
            named = (TopicPartitions("t", (0,)),)
            kinds += [
                (OffsetCommitRequest(GROUP, topics, client.generation, client.member_id), 8),
                (OffsetCommitRequest(GROUP, topics), 8),
                (OffsetFetchRequest(GROUP, self.random.choice((named, None)), self.random.random() < 0.5), 7),
                (OffsetDeleteRequest(GROUP, named), 0),
                (DeleteGroupsRequest(GROUP), 2),
            ]
        return self.random.choice(kinds)

    def _take(self, at=None):
        if self.pending:
            at = self.random.randrange(len(self.pending)) if at is None else at
            _, number = self.pending.pop(at)
            call, _ = self.calls[number]
            asks = isinstance(call.request, JoinGroupRequest) and not call.request.member_id
            self._step(self.spec.handle(self.group, replace(call, fresh_id=f"?{number}" if asks else "")))

    def _fire(self, timer=None):
        due = [one for one, at in self.armed.items() if at <= self.now]
        if due:
            timer = timer or self.random.choice(due)
            self.armed.pop(timer)
            if self.group is not None:
                self._step(self.spec.fire(self.group, timer))

    def _log(self):
        """The log answers what is first in line."""
        if not self.records:
            return
        kind, record, _ = self.records.pop(0)
        if kind == "record":
            self._step(self.spec.appended(self.group, record, None))
        else:
            self.kept.line[0].answered = True
        self._flush()

    def _flush(self):
        if self.kept.line and (self.kept.line[0].answered or self._may_read()):
            told, done = self.random.choice(completed(self.spec, self.kept, self.group))
            self.kept.line = self.kept.line[done:]
            self._told(told)

    def _may_read(self):
        """Whether only what waited behind a record of the group is first."""
        first = self.kept.line[0]
        return isinstance(first.item, OffsetRead) and (not self.records or self.records[0][0] != "record")

    def _step(self, steps):
        step = self.random.choice(steps)
        line = Kept(self.kept.offsets, [*self.kept.line])
        if any(kind == "record" for kind, _, _ in self.records):
            line.line.append(self._place())
        told = self.random.choice(outcomes(self.spec, line, self.group, (step,)))
        gone = any(isinstance(one.item, GroupForgotten) for one in told.queued)
        for record in step.records:
            if not (gone and record.kind is RecordKind.DELETION):
                self.records.append(("record", record, self.now))
        self._told(told)

    @staticmethod
    def _place():
        from rota.oracle.offsets_follow import Waiting

        return Waiting(OffsetBatch(()))

    def _told(self, told):
        self.group, self.kept.offsets = told.group, told.offsets
        self.kept.line += told.queued
        self.records += [
            ("item", one, self.now) for one in told.queued if not isinstance(one.item, OffsetRead)
        ]
        for one in told.timers:
            self.armed.pop(one.timer, None)
            if isinstance(one, Arm):
                self.armed[one.timer] = round(self.now + one.delay_ms / 1000, 6)
        for reply in told.replies:
            number = int(reply.to)
            if number not in self.lost:
                message = as_sent(reply.message, self.calls[number][0].version)
                self.given.append((self.now, number, message))

    def _answer(self, at=None):
        """An answer arrives."""
        if not self.given:
            return
        at = self.random.randrange(len(self.given)) if at is None else at
        _, number, message = self.given.pop(at)
        _, client = self.calls[number]
        client.waits = None
        self.events.append(Answered(self.now, number, message))
        self._learn(client, message)

    def _learn(self, client, message):
        kind, error = type(message).__name__, getattr(message, "error_code", None)
        code = error.name if error is not None else ""
        if kind == "JoinGroupReply":
            client.synced = False
            client.member_id = message.member_id or client.member_id
            if code == "NONE":
                client.generation = message.generation_id
                client.leads = tuple(one.member_id for one in message.members)
            elif code in ("UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"):
                client.member_id, client.generation = "", -1
        elif kind == "SyncGroupReply" and code == "NONE":
            client.synced = True
        elif code in ("UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"):
            client.member_id, client.generation = "", -1
        elif code in ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION"):
            client.generation = -1


__all__ = ["CONFIG", "GRID", "GroupState", "Maker"]
