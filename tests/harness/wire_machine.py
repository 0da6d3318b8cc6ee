"""Clients that send bytes on connections, in virtual time; the spec is behind the server's coordinator."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from rota.oracle import Shadow
from rota.server.broker import Server
from rota.server.settings import Settings
from rota.spec import Group, GroupState
from rota.virtual import VirtualLoop
from rota.wire import decode_request, decode_response, encode_request, frame

GROUPS = ("g", "h")
CONFIG = {"connections.max.idle.ms": -1, "num.partitions": 1}
LISTS = (("range", "sticky"), ("sticky", "range"), ("range",))
LATE_MS = 3
"""How late a timer of the server may be."""


FIELDS = {
    "JoinGroup": (
        *("group_id", "member_id", "protocol_type", "protocols"),
        *("session_timeout_ms", "rebalance_timeout_ms"),
    ),
    "SyncGroup": ("group_id", "generation_id", "member_id", "protocol_type", "protocol_name"),
    "Heartbeat": ("group_id", "generation_id", "member_id"),
    "LeaveGroup": ("group_id", "members"),
}
WRONG = {
    "a join without group": ("JoinGroup", 9, {"group_id": ""}),
    "a join under an instance id": ("JoinGroup", 9, {"group_instance_id": "i"}),
    "a short session": ("JoinGroup", 9, {"session_timeout_ms": 1}),
    "a join of another type": ("JoinGroup", 9, {"protocol_type": "connect", "member_id": ""}),
    "a sync without group": ("SyncGroup", 5, {"group_id": ""}),
    "a sync under an instance id": ("SyncGroup", 5, {"group_instance_id": "i"}),
    "a sync without protocol": ("SyncGroup", 5, {"protocol_name": None}),
    "a sync of another protocol": ("SyncGroup", 5, {"protocol_name": "other"}),
    "a sync of another generation": ("SyncGroup", 5, {"generation_id": 99}),
    "a heartbeat without group": ("Heartbeat", 4, {"group_id": ""}),
    "a heartbeat under an instance id": ("Heartbeat", 4, {"group_instance_id": "i"}),
    "a leave without group": ("LeaveGroup", 5, {"group_id": ""}),
    "a leave under an instance id": (
        "LeaveGroup",
        5,
        {"members": [{"member_id": "m1", "group_instance_id": "i"}]},
    ),
}
"""What is wrong → the request, its version, and the field that is so."""


class Picks:
    """The coordinator's choices, the same in every run."""

    def __init__(self):
        self.ids = 0

    def new_member_id(self, client_id):
        self.ids += 1
        return f"m{self.ids}"

    def now_ms(self):
        return -1

    def protocol(self, tied):
        return tied[-1]

    def leader(self, candidates):
        return candidates[-1]


class Tap:
    """The shadow, and what goes through it: requests and replies by the client id of their header."""

    def __init__(self, shadow):
        self.shadow = shadow
        self.heard = []
        self.replies = {}

    def __getattr__(self, name):
        value = getattr(self.shadow, name)
        return self._tapped(value) if callable(value) else value

    def _tapped(self, method):
        def call(*inputs):
            token = inputs[-1] if inputs else None
            if hasattr(token, "client_id"):
                self.heard.append((token.client_id, inputs[0]))
            effects = method(*inputs)
            for token, reply in () if effects is None else effects.replies:
                self.replies[getattr(token, "client_id", None)] = reply
            return effects

        return call


@dataclass
class Sent:
    """A request of a client: its client id in the header, and where it ends in the stream of bytes."""

    api: str
    version: int
    name: str
    payload: bytes
    end: int


@dataclass
class Client:
    """A client and its connection. stream, arrived: bytes sent, and how many of them the server has got."""

    number: int
    transport: object
    stream: bytearray = field(default_factory=bytearray)
    arrived: int = 0
    sent: list[Sent] = field(default_factory=list)
    answered: int = 0
    slow: bool = False
    spoilt_at: int | None = None

    @property
    def open(self):
        return not self.transport.lost

    def frames(self):
        """The payloads of all responses."""
        data, payloads = bytes(self.transport.written), []
        while data:
            size = int.from_bytes(data[:4], "big")
            assert len(data) >= 4 + size, "half a frame was written"
            payloads.append(data[4 : 4 + size])
            data = data[4 + size :]
        return payloads


cuts = st.sampled_from((0, 0, 0, 0, 1, 2, 3))
who = st.integers(0, 3)
versions = st.sampled_from((0, 1, 2, 0, 0))
"""How far below the newest version."""


class ClientsOnTheWire(RuleBasedStateMachine):
    """What arrives on connections, in what pieces and when, is arbitrary; what must come of it is not."""

    def __init__(self):
        super().__init__()
        self.loop = VirtualLoop()
        self.server = Server(Settings.of(CONFIG), self._coordinator)
        self.loop.complete(self.server.start())
        self.server.topics.create("t", 1)
        self.clients = []
        self.closed = []
        self.heard = 0
        self.connect()

    def _coordinator(self, config, choices):
        shadow = Shadow(config, Picks(), clock=lambda: round(self.loop.time() * 1000))
        self.tap = Tap(shadow)
        return self.tap

    def group(self, which):
        """A group as the spec sees it; an empty one where there is none."""
        return self.tap.shadow.follow(GROUPS[which]).group or Group()

    def member(self, which, index):
        """A member's or handed-out id, or a foreign one."""
        group = self.group(which)
        ids = [*group.members, *sorted(group.pending), "stranger"]
        return ids[index % len(ids)]

    @rule()
    @precondition(lambda self: len(self.clients) < 3)
    def another_client(self):
        """Most come by themselves when no connection is free."""
        self.connect()

    def connect(self):
        """A client connects."""
        number = len(self.clients) + len(self.closed)
        self.clients.append(Client(number, self.loop.connect(number)))

    def send(self, index, api, version, body, cut):
        """A client sends a request; some of the bytes that are not there yet arrive."""
        if not self.clients:
            self.connect()
        client = self.clients[index % len(self.clients)]
        name = f"{client.number}.{len(client.sent)}"
        payload = encode_request(api, version, body, len(client.sent), name)
        client.stream += frame(payload)
        client.sent.append(Sent(api, version, name, payload, len(client.stream)))
        waiting = len(client.stream) - client.arrived
        self.deliver(client, {0: waiting, 1: 0, 2: waiting // 2, 3: waiting - 1}[cut])

    def deliver(self, client, size):
        """Bytes arrive; then everything must be as it should."""
        if size and client.open:
            data = client.stream[client.arrived : client.arrived + size]
            client.arrived += len(data)
            client.transport.arrives(data)
        self.check()

    @rule(which=st.integers(0, 1), index=who, times=st.integers(1, 4))
    def as_it_should_be(self, which, index, times):
        """The next things that a group of well-behaved clients does, on connections that are free."""
        for _ in range(times):
            self._next_thing(which, index)

    def _next_thing(self, which, index):
        group, free = self.group(which), self.free()
        idle = [i for i, m in group.members.items() if m.awaiting_join is None and m.awaiting_sync is None]
        owing = [member_id for member_id in idle if member_id in group.pending_sync]
        if group.pending:
            self._join(free, which, min(group.pending), LISTS[0], 9, 0)
        elif group.state is GroupState.EMPTY or not idle:
            self._join(free, which, "", LISTS[index % 2], (9, 9, 3, 0)[index], 0)
        elif group.state is GroupState.PREPARING_REBALANCE:
            self._join(free, which, idle[index % len(idle)], LISTS[0], 9, 0)
        elif owing:
            self._sync(free, which, owing[index % len(owing)], 5, 0)
        else:
            self._heartbeat(free, which, idle[index % len(idle)], 0, 4, 0)

    def free(self):
        """A connection on which the next request is taken up at once; a new one if there is none."""
        for index, client in enumerate(self.clients):
            done = client.answered == len(client.sent) and client.arrived == len(client.stream)
            if done and not client.slow:
                return index
        self.connect()
        return len(self.clients) - 1

    @rule(index=who, which=st.integers(0, 1), below=st.sampled_from((0, 0, 0, 4, 6, 9)), cut=cuts,
          names=st.sampled_from(LISTS))  # fmt: skip
    def newcomer(self, index, which, below, cut, names):
        """A JoinGroup without a member id."""
        self._join(index, which, "", names, 9 - below, cut)

    @rule(index=who, which=st.integers(0, 1), member=who, cut=cuts, below=versions,
          names=st.sampled_from(LISTS))  # fmt: skip
    def join(self, index, which, member, cut, below, names):
        """A JoinGroup with a member id: handed out, in use, or foreign."""
        self._join(index, which, self.member(which, member), names, 9 - below, cut)

    @rule(index=who, which=st.integers(0, 1), below=st.integers(0, 4), cut=cuts,
          names=st.sampled_from(LISTS))  # fmt: skip
    def static_newcomer(self, index, which, below, cut, names):
        """A static member's JoinGroup: its first, or after a restart."""
        self._join(index, which, "", names, 9 - below, cut, group_instance_id="i")

    def _join(self, index, which, member_id, names, version, cut, **more):
        body = {
            "group_id": GROUPS[which],
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 10_000,
            "member_id": member_id,
            "protocol_type": "consumer",
            "protocols": [{"name": name, "metadata": name.encode()} for name in names],
        }
        self.send(index, "JoinGroup", version, body | more, cut)

    @rule(index=who, which=st.integers(0, 1), member=who, cut=cuts, below=versions, leads=st.booleans())
    def sync(self, index, which, member, cut, below, leads):
        """A SyncGroup of the current generation, often the leader's."""
        group = self.group(which)
        member_id = group.leader if leads and group.leader else self.member(which, member)
        self._sync(index, which, member_id, 5 - below, cut)

    def _sync(self, index, which, member_id, version, cut):
        group = self.group(which)
        shares = [{"member_id": each, "assignment": each.encode()} for each in group.members]
        body = {
            "group_id": GROUPS[which],
            "generation_id": group.generation_id,
            "member_id": member_id,
            "protocol_type": group.protocol_type,
            "protocol_name": group.protocol_name,
            "assignments": shares if member_id == group.leader else [],
        }
        self.send(index, "SyncGroup", version, body, cut)

    @rule(index=who, which=st.integers(0, 1), member=who, cut=cuts, below=versions, ahead=st.integers(-1, 1))
    def heartbeat(self, index, which, member, cut, below, ahead):
        """A Heartbeat of some generation."""
        self._heartbeat(index, which, self.member(which, member), ahead, 4 - below, cut)

    def _heartbeat(self, index, which, member_id, ahead, version, cut):
        generation_id = self.group(which).generation_id + ahead
        body = {"group_id": GROUPS[which], "generation_id": generation_id, "member_id": member_id}
        self.send(index, "Heartbeat", version, body, cut)

    @rule(index=who, which=st.integers(0, 1), member=who, cut=cuts, below=st.sampled_from((0, 1, 3, 5)))
    def leave(self, index, which, member, cut, below):
        """A LeaveGroup of one, in both forms."""
        member_id = self.member(which, member)
        body = {"group_id": GROUPS[which], "member_id": member_id, "members": [{"member_id": member_id}]}
        if 5 - below >= 3:
            del body["member_id"]
        else:
            del body["members"]
        self.send(index, "LeaveGroup", 5 - below, body, cut)

    @rule(index=who, which=st.integers(0, 1), member=who, cut=cuts, wrong=st.sampled_from(sorted(WRONG)))
    def wrong_field(self, index, which, member, cut, wrong):
        """A request of the newest version with a field that cannot be."""
        group = self.group(which)
        api, version, change = WRONG[wrong]
        body = {
            "group_id": GROUPS[which],
            "generation_id": group.generation_id,
            "member_id": self.member(which, member),
            "protocol_type": group.protocol_type or "consumer",
            "protocol_name": group.protocol_name or "range",
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 10_000,
            "protocols": [{"name": "range"}, {"name": "sticky"}],
            "members": [{"member_id": self.member(which, member)}],
        }
        kept = {key: value for key, value in (body | change).items() if key in FIELDS[api] or key in change}
        self.send(index, api, version, kept, cut)

    @rule(index=who, which=st.integers(0, 1), member=who, cut=cuts)
    def commit(self, index, which, member, cut):
        """An OffsetCommit: outside of the spec, but it restarts the session."""
        partition = {"partition_index": 0, "committed_offset": 7}
        body = {
            "group_id": GROUPS[which],
            "generation_id_or_member_epoch": self.group(which).generation_id,
            "member_id": self.member(which, member),
            "topics": [{"name": "t", "partitions": [partition]}],
        }
        self.send(index, "OffsetCommit", 8, body, cut)

    @rule(index=who, cut=cuts)
    def ask_versions(self, index, cut):
        """A request that the coordinator never sees, answered in its turn."""
        self.send(index, "ApiVersions", 3, {"client_software_name": "x", "client_software_version": "1"}, cut)

    @rule(index=who, size=st.integers(1, 400))
    @precondition(lambda self: any(c.arrived < len(c.stream) for c in self.clients))
    def bytes_arrive(self, index, size):
        """More of what was sent arrives."""
        late = [client for client in self.clients if client.arrived < len(client.stream)]
        self.deliver(late[index % len(late)], size)

    @rule(index=who, what=st.sampled_from(("breaks", "breaks", "slow", "slow", "negative", "huge")))
    @precondition(lambda self: self.clients)
    def trouble(self, index, what):
        """A connection breaks, its client reads nothing for a while, or sends an impossible length."""
        client = self.clients[index % len(self.clients)]
        if what == "breaks":
            self.breaks(client)
        elif what == "slow":
            client.slow = not client.slow
            client.transport.slow(client.slow)
            self.check()
        else:
            self.garbage(client, b"\xff" * 8 if what == "negative" else b"\x7f" * 8)

    def breaks(self, client):
        """What is queued on a connection is lost, and so are replies; what was parked stays parked."""
        self.clients.remove(client)
        client.transport.breaks()
        self.closed.append(client)
        self.check()

    def garbage(self, client, length):
        """The server closes this connection, when it gets there."""
        client.spoilt_at = len(client.stream) if client.spoilt_at is None else client.spoilt_at
        client.stream += length
        self.deliver(client, len(client.stream) - client.arrived)

    @rule(ms=st.sampled_from((0, 1, 500, 3_000, 3_000, 10_000)))
    def time_passes(self, ms):
        """Nobody sends anything for a while."""
        self.loop.advance(ms / 1000)
        self.check()

    @rule()
    @precondition(lambda self: self.deadlines())
    def something_is_due(self):
        """Until the coordinator's next timer is due, or a little later."""
        shadow = self.tap.shadow
        self.loop.advance(max(min(self.deadlines()) - shadow.now, 0) / 1000 + LATE_MS / 1000)
        self.check()

    def deadlines(self):
        """When the armed timers of all groups are due."""
        return [due for followed in self.tap.shadow.followed.values() for due in followed.armed.values()]

    def check(self):
        """What must hold whenever nothing is left to do at this instant."""
        self.loop.settle()
        for found in self.tap.shadow.divergences:
            raise found
        assert self.loop.failures == [], self.loop.failures
        self.check_timers()
        taken = self.check_requests()
        for client in self.clients:
            self.check_replies(client)
            self.check_turns(client, taken)
        for client in [client for client in self.clients if not client.open]:
            assert client.spoilt_at is not None, "the server closes a connection without a reason"
            self.clients.remove(client)
            self.closed.append(client)

    def check_timers(self):
        """The server fires what is due."""
        for followed in self.tap.shadow.followed.values():
            for timer, due in followed.armed.items():
                assert due + LATE_MS >= self.tap.shadow.now, f"{timer} of {followed.group_id} is overdue"

    def check_requests(self):
        """What the coordinator hears is what was sent, in order on each connection, nothing after its end."""
        sent = {item.name: (client, item) for client in (*self.clients, *self.closed) for item in client.sent}
        for name, request in self.tap.heard[self.heard :]:
            client, item = sent[name]
            assert client in self.clients, f"{name} was on a connection that is gone"
            body = decode_request(item.payload).body
            assert same(request, body), f"{name} is heard otherwise than it was sent: {request}, not {body}"
        self.heard = len(self.tap.heard)
        taken = [name for name, _ in self.tap.heard]
        assert len(set(taken)) == len(taken), "a request is heard twice"
        return set(taken)

    def check_replies(self, client):
        """Responses come in the order of the requests, and say what the coordinator said."""
        payloads = client.frames()
        for item, payload in zip(client.sent[client.answered :], payloads[client.answered :], strict=False):
            number = int.from_bytes(payload[:4], "big")
            assert number == client.sent.index(item), "a response out of order"
            body = decode_response(item.api, item.version, payload).body
            reply = self.tap.replies.get(item.name)
            assert reply is None or same(reply, body), f"the response to {item.name} is {body}, not {reply}"
        assert len(payloads) <= len(client.sent), "a response without a request"
        client.answered = len(payloads)

    def check_turns(self, client, taken):
        """One request at a time: the next is taken up at once, those behind it are not."""
        if not client.open:
            return
        rest = client.sent[client.answered :]
        assert not [item.name for item in rest[1:] if item.name in taken], "two requests are under way"
        whole = rest and rest[0].end <= client.arrived
        spoilt = client.spoilt_at is not None and (not rest or rest[0].end > client.spoilt_at)
        if client.slow:
            return
        if spoilt:
            assert client.arrived < client.spoilt_at + 4, "a frame of an impossible length goes unnoticed"
        elif whole:
            assert rest[0].name in taken, f"{rest[0].api} {rest[0].name} is held up by nothing"


def same(value, body):
    """Whether a value of the coordinator has what a decoded body has."""
    if isinstance(body, list):
        return len(value) == len(body) and all(map(same, value, body))
    if isinstance(body, dict):
        return all(same(getattr(value, key), body[key]) for key in body if hasattr(value, key))
    return value == body
