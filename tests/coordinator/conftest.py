"""A world for the coordinator: a virtual clock, armed timers, appends under way, clients with a memory."""

from collections import Counter
from dataclasses import dataclass, field

import pytest

from rota.coordinator import (
    Append,
    Arm,
    Cancel,
    CoordinatorConfig,
    Effects,
    ErrorCode,
    Group,
    GroupCoordinator,
    GroupRecord,
    GroupState,
    Heartbeat,
    JoinGroup,
    JoinGroupProtocol,
    JoinGroupReply,
    LeaveGroup,
    MemberIdentity,
    SyncGroup,
    SyncGroupAssignment,
    TimerId,
)
from rota.coordinator.memory import offset_bytes

MINUTE = 60_000
CREATION = GroupRecord(0, "", None, None)


class Picks:
    """Choices that are foreseeable: ids count up, of several candidates the first or the last is taken."""

    def __init__(self):
        self.ids = 0
        self.take = 0
        self.asked = []
        self.now = -1

    def now_ms(self):
        return self.now

    def new_member_id(self, client_id):
        self.ids += 1
        self.asked.append(("new_member_id", client_id))
        return f"{client_id}-{self.ids}"

    def protocol(self, tied):
        self.asked.append(("protocol", tied))
        return tied[self.take]

    def leader(self, candidates):
        self.asked.append(("leader", candidates))
        return candidates[self.take]


@dataclass(eq=False)
class Call:
    """One request and what was answered to it."""

    client: "Client"
    replies: list = field(default_factory=list)

    @property
    def parked(self):
        return not self.replies

    @property
    def reply(self):
        assert len(self.replies) == 1, f"answered {len(self.replies)} times"
        return self.replies[0]

    @property
    def error(self):
        return self.reply.error_code


@dataclass(eq=False)
class Client:
    """A consumer that knows its id and generation from the last join reply.

    protocols: its list, each as "name" or "name:metadata".
    """

    world: "World"
    name: str
    protocols: tuple = ("range",)
    session: int = 10_000
    rebalance: int = 60_000
    protocol_type: str = "consumer"
    instance: str | None = None
    group_id: str = "g"
    member_id: str = ""
    generation: int = -1

    def join(self, version=9, **changes):
        """JoinGroup as the client is; `changes` overwrite fields of the request."""
        entries = (entry.partition(":") for entry in self.protocols)
        fields = {
            "group_id": self.group_id,
            "session_timeout_ms": self.session,
            "rebalance_timeout_ms": self.rebalance,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
            "protocol_type": self.protocol_type,
            "protocols": tuple(JoinGroupProtocol(name, data.encode()) for name, _, data in entries),
        }
        call = Call(self)
        request, token = JoinGroup(**fields | changes), self.world.token(call)
        self.world.do(self.world.core.join_group(request, version, self.name, "/127.0.0.1", token))
        return call

    def enter(self):
        """The handshake and the second JoinGroup; returns the second call. A static member has only one."""
        self.member_id = ""
        if self.instance is not None:
            return self.join()
        assert self.join().error == ErrorCode.MEMBER_ID_REQUIRED
        return self.join()

    def sync(self, assignments=None, version=5, entries=None, **changes):
        """SyncGroup; `assignments` by client, for a leader, or `entries` as they are sent."""
        sent = {client.member_id: data for client, data in (assignments or {}).items()}
        group = self.world.core.groups.get(self.group_id)
        fields = {
            "group_id": self.group_id,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
            "protocol_type": self.protocol_type,
            "protocol_name": (group and group.protocol_name) or "range",
            "assignments": entries or tuple(SyncGroupAssignment(*pair) for pair in sent.items()),
        }
        call = Call(self)
        self.world.do(
            self.world.core.sync_group(SyncGroup(**fields | changes), version, self.world.token(call))
        )
        return call

    def heartbeat(self, **changes):
        """Heartbeat; returns the error code."""
        fields = {
            "group_id": self.group_id,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance,
        }
        call = Call(self)
        self.world.do(self.world.core.heartbeat(Heartbeat(**fields | changes), 4, self.world.token(call)))
        return call.error

    def leave(self):
        """LeaveGroup of this one; returns its error code, None if it waits for the log."""
        call = self.world.leaving(self.member_id, group_id=self.group_id)
        return None if call.parked else call.reply.members[0].error_code


class World:
    """Carries out the effects of a core in virtual time, and checks the core's books after every step.

    hold_log: appends wait for `log` instead of being acknowledged at once; hold_creations: so do, and are
    among the records, those of groups that were just made, which otherwise are only counted.
    """

    def __init__(self, **config):
        self.picks = Picks()
        self.core = GroupCoordinator(CoordinatorConfig(**config), self.picks)
        self.now = 0
        self.due = {}
        self.calls = []
        self.appends: list[Append] = []
        self.records = []
        self.hold_log = False
        self.hold_creations = False
        self.creations = 0

    # -- what a test says ---------------------------------------------------------------------------------
    def client(self, name, *protocols, **fields):
        """A client outside the group yet."""
        return Client(self, name, protocols or ("range",), **fields)

    def generation(self, *clients):
        """New clients, all admitted in one generation after the initial delay; the first one leads."""
        calls = [client.enter() for client in clients]
        self.advance_to("initial_join")
        while any(call.parked for call in calls):  # once more if there are several: they extend the delay
            self.advance_to("initial_join")
        assert all(call.error == ErrorCode.NONE for call in calls)

    def stable(self, *clients, assignments=None):
        """New clients in a Stable group."""
        self.generation(*clients)
        leader = next(each for each in clients if each.member_id == self.group().leader)
        followers = [each.sync() for each in clients if each is not leader]
        assert (
            leader.sync(assignments or {each: each.name.encode() for each in clients}).error == ErrorCode.NONE
        )
        assert all(call.error == ErrorCode.NONE for call in followers)
        assert self.state() == "Stable"

    def leave(self, *members, group_id="g", version=5):
        """LeaveGroup of ids, or of (id, instance id); returns the reply."""
        return self.leaving(*members, group_id=group_id, version=version).reply

    def leaving(self, *members, group_id="g", version=5):
        """The same, but returns the call."""
        pairs = [each if isinstance(each, tuple) else (each, None) for each in members]
        call = Call(Client(self, "admin"))
        request = LeaveGroup(group_id, tuple(MemberIdentity(*pair) for pair in pairs))
        self.do(self.core.leave_group(request, version, self.token(call)))
        return call

    def group(self, group_id="g") -> Group:
        return self.core.groups[group_id]

    def state(self):
        return str(self.group().state)

    def log(self, error_code=ErrorCode.NONE):
        """The log answers the oldest append under way."""
        self.do(self.core.appended(self.appends.pop(0).append_id, error_code))

    def advance(self, ms):
        """Let time pass; timers fire at their deadline, those due together in order of kind and member."""
        until = self.now + ms
        while due := self._next(until):
            self._fire(due)
        self.now = until

    def advance_to(self, kind, member_id="", group_id="g"):
        """Let time pass until this timer has fired; others due before it fire too."""
        timer_id = TimerId(kind, group_id, member_id)
        assert timer_id in self.due, f"{timer_id} is not armed; armed are {sorted(map(str, self.due))}"
        fired = None
        while fired != timer_id:
            assert timer_id in self.due, f"{timer_id} was cancelled before it fired"
            fired = self._next(self.due[timer_id])
            self._fire(fired)

    def left(self, kind, member_id="", group_id="g"):
        """Milliseconds until this timer fires, None if it is not armed."""
        due = self.due.get(TimerId(kind, group_id, member_id))
        return None if due is None else due - self.now

    # -- carrying out -------------------------------------------------------------------------------------
    def token(self, call):
        """A token for the core; the call is found again under it."""
        self.calls.append(call)
        return len(self.calls) - 1

    def do(self, effects: Effects):
        timer_ids = [wish.timer_id for wish in effects.timers]
        assert len(set(timer_ids)) == len(timer_ids), "a timer is named twice"
        for wish in effects.timers:
            if isinstance(wish, Arm):
                assert wish.delay_ms >= 0
                self.due[wish.timer_id] = self.now + wish.delay_ms
            else:
                self.due.pop(wish.timer_id, None)  # it may have been armed in this very step
        for token, reply in effects.replies:
            call = self.calls[token]
            call.replies.append(reply)
            assert len(call.replies) == 1, "a request is answered twice"
            if isinstance(reply, JoinGroupReply) and reply.error_code in (0, ErrorCode.MEMBER_ID_REQUIRED):
                call.client.member_id, call.client.generation = reply.member_id, reply.generation_id
        self.check_books()
        for append in effects.appends:
            if append.record == CREATION and not self.hold_creations:
                self.creations += 1
                self.do(self.core.appended(append.append_id))
                continue
            self.records.append(append.record)
            self.appends.append(append)
            if not self.hold_log:
                self.log()

    def _next(self, until):
        due = [timer_id for timer_id, at in self.due.items() if at <= until]
        return min(due, key=lambda each: (self.due[each], each)) if due else None

    def _fire(self, timer_id):
        self.now = max(self.now, self.due.pop(timer_id))
        effects = self.core.fire(timer_id)
        assert Cancel(timer_id) not in effects.timers, "a timer that has fired is cancelled"
        self.do(effects)

    def check_books(self):
        """Counters say what a scan says, and exactly those timers are armed that the state speaks of."""
        armed = set()
        for name, group in self.core.groups.items():
            members = group.members.values()
            assert {*group.parked_joins, *group.parked_syncs} <= group.members.keys()
            instances = {each.group_instance_id: each.member_id for each in members}
            assert group.static_members == {key: instances[key] for key in instances if key is not None}
            if group.state is not GroupState.STABLE:
                assert group.pending_sync_members <= group.members.keys()
            if group.state is GroupState.STABLE:
                assert {*group.parked_joins} <= set(group.static_members.values())
            elif group.state not in (GroupState.PREPARING_REBALANCE, GroupState.DEAD):
                assert not len(group.parked_joins), "a JoinGroup waits outside the join phase"
            if group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.DEAD):
                assert not len(group.parked_syncs), "a SyncGroup waits outside its phase"
            listed = Counter(each for member in members for each in member.protocol_names)
            assert group.supporters == listed
            assert list(group.supporters) == [each for each in group.supporters if listed[each]]
            assert dict(group.ballots) == Counter(member.protocol_names for member in members)
            armed |= {TimerId(member.timer, name, member.member_id) for member in members if member.timer}
            armed |= {TimerId("pending", name, member_id) for member_id in group.pending_members}
            armed |= {TimerId(group.join_timer, name)} if group.join_timer else set()
            armed |= {TimerId("sync", name)} if group.sync_timer else set()
            if group.state is not GroupState.DEAD:
                assert (group.leader in group.members) if group.members else group.leader is None
            assert group.members_bytes == sum(each.held for each in members)
        assert armed == set(self.due)
        self.check_memory()

    def check_memory(self):
        """What groups and offsets are counted for is what is there."""
        memory, store = self.core._memory, self.core._offsets
        assert memory.by_group == {name: group.held for name, group in self.core.groups.items()}
        assert memory.held == sum(memory.by_group.values())
        committed = {
            name: sum(offset_bytes(one.metadata) for indexes in topics.values() for one in indexes.values())
            for name, topics in store.committed.items()
        }
        assert store.memory.by_group == committed
        assert store.memory.held == sum(committed.values())


@pytest.fixture
def world():
    return World()
