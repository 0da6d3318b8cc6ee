"""The words that the rows of the checklist are written in: what somebody does, and what is expected then.

Clients are named A, B, ... and come to be when they are first named: session 5,000 ms, rebalance 10,000 ms,
protocol range. X only asks. L and F are static, the leader and a follower; whoever takes their place has a
name of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rota.spec import PROFILES, BrokerConfig, Hosting
from rota.spec.vocabulary import AppendError
from rota.stage import Asked, Client, Stage, naming

Do = Callable[[Stage], object]

DEFAULTS: Mapping[str, Any] = {"session": 5_000, "rebalance": 10_000}
INSTANCES = {"L": "leader", "F": "follower"}
PAIR = ("range", "roundrobin")
"""The protocols of L and F."""

BOUNDS = {"group_min_session_timeout_ms": 10, "group_max_session_timeout_ms": 600_000}
SCALA, JAVA = "kafka-3.x", "kafka-4.x"
"""The profiles of the two coordinators."""


def S(name: str) -> str:
    """A test of the Scala coordinator, which upstream had until 4.0."""
    return f"GroupCoordinatorTest#{name}"


def J(name: str) -> str:
    """A test of the Java coordinator."""
    return f"GroupMetadataManagerTest#{name}"


@dataclass(frozen=True)
class Then:
    """What is expected after something was done; what is left out (None) is not looked at.

    answers: every answer that was given meanwhile, "A NONE, B REBALANCE_IN_PROGRESS", the errors of a batch
    of leavers with slashes; state: with the generation; members, pending: names; timers: "kind client" →
    milliseconds left, None where it must not be armed; records: how many were written; said: fields of a
    client's last answer, member ids as their owners' names; lists: names of protocols that a member has;
    timeouts: the session and rebalance timeouts that a member has; offsets: what a client's last OffsetFetch
    told, "topic-partition" → offset, or offset and error; described: fields of the members in the last
    DescribeGroups; written: fields of each record that was written, as `rota.stage.Written` has them.
    """

    answers: str = ""
    state: str | None = None
    members: str | None = None
    pending: str | None = None
    leader: str | None = None
    protocol: str | None = None
    timers: Mapping[str, int | None] = field(default_factory=dict)
    records: int | None = None
    said: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    timeouts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    offsets: Mapping[str, Mapping[str, int | tuple[int, str]]] = field(default_factory=dict)
    described: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    written: tuple[Mapping[str, Any], ...] | None = None

    def check(self, stage: Stage, since: int) -> None:
        """Errors: AssertionError naming what differs. since: happenings before what was done."""
        done = stage.happenings[since:]
        given = [pair for one in done for pair in one.answers]
        told = ", ".join(sorted(f"{asked.client.name} {_errors(asked)}" for asked, _ in given))
        assert told == self.answers
        looks = {
            "state": stage.state,
            "members": None if stage.group is None else stage.members,
            "pending": None if stage.group is None else stage.pending,
            "leader": None if stage.group is None else stage.leader,
            "protocol": None if stage.group is None else stage.group.protocol_name,
            "records": sum(len(one.step.records) for one in done),
        }
        wanted = {name: getattr(self, name) for name in looks if getattr(self, name) is not None}
        assert {name: looks[name] for name in wanted} == wanted
        if self.written is not None:
            records = [stage.in_names(record) for one in done for record in one.step.records]
            found = [
                {key: getattr(record, key) for key in fields}
                for record, fields in zip(records, self.written, strict=True)
            ]
            assert found == [dict(fields) for fields in self.written]
        left = {name: _left(stage, name) for name in self.timers}
        assert left == dict(self.timers)
        for name, fields in self.said.items():
            reply = [reply for asked, reply in given if asked.client.name == name][-1]
            assert {key: _told(stage, key, getattr(reply, key)) for key in fields} == dict(fields)
        for name, protocols in self.lists.items():
            assert stage.live.members[stage.clients[name].member_id].names == protocols
        for name, timeouts in self.timeouts.items():
            member = stage.live.members[stage.clients[name].member_id]
            assert (member.session_timeout_ms, member.rebalance_timeout_ms) == timeouts
        for name, offsets in self.offsets.items():
            asked = [asked for asked, _ in given if asked.client.name == name][-1]
            wanted = {key: one if isinstance(one, tuple) else (one, "NONE") for key, one in offsets.items()}
            assert asked.offsets == wanted
        if self.described:
            shown = {stage.owners[one.member_id].name: one for one in given[-1][1].members}
            assert shown.keys() == self.described.keys()
            for name, fields in self.described.items():
                assert {key: getattr(shown[name], key) for key in fields} == dict(fields)


def _told(stage: Stage, key: str, value: Any) -> Any:
    """A field of an answer; member ids, and the members of a leader's list, as their owners' names."""
    if key == "members":
        return " ".join(sorted(_told(stage, "member_id", one.member_id) for one in value))
    return stage.owners[value].name if isinstance(value, str) and value in stage.owners else value


def _errors(asked: Asked) -> str:
    return "/".join(asked.errors) or asked.error


def _left(stage: Stage, name: str) -> int | None:
    kind, _, client = name.partition(" ")
    return stage.left(kind, stage.clients[client] if client else None)


@dataclass(frozen=True)
class Row:
    """A line of the checklist, or two that tell the same of both coordinators.

    mirrors: upstream's tests, class#method; given: what leads to the start; steps: what is done, what is
    expected; lacks: what of the tests is left out, and why; settings: of the broker; alone: whether the
    coordinator is not played beside the spec, as it must be where a row asks the broker what the coordinator
    is not told (`rota.stage.NotBesideCore` says so).
    """

    mirrors: tuple[str, ...]
    given: Do
    steps: tuple[tuple[Do, Then], ...]
    lacks: str = ""
    alone: bool = False
    settings: Mapping[str, int] = field(default_factory=dict)

    @property
    def profiles(self) -> list[str]:
        """The coordinators whose tests are mirrored, without repeats."""
        return sorted({SCALA if name.startswith(S("")) else JAVA for name in self.mirrors})

    def play(self, profile: str, *, beside: bool = True) -> None:
        """Errors: AssertionError where something is not as expected; Divergence of the coordinator."""
        config = BrokerConfig(**{**BOUNDS, **self.settings})
        core = beside and profile == JAVA and not self.alone
        stage = Stage(config, PROFILES[profile], beside=core)
        name = f"{self.mirrors[0]}, {profile}"
        with naming(lambda: f"{name}, given"):
            self.given(stage)
        for number, (do, then) in enumerate(self.steps, 1):
            since = len(stage.happenings)
            with naming(lambda number=number: f"{name}, step {number}"):
                do(stage)
                then.check(stage, since)


def row(
    *mirrors: str,
    given: Do,
    steps: list[tuple[Do, Then]],
    lacks: str = "",
    alone: bool = False,
    delay: int = 3_000,
    size: int = BrokerConfig.group_max_size,
) -> Row:
    """A row of the table. delay: the initial rebalance delay; size: group.max.size."""
    settings = {"group_initial_rebalance_delay_ms": delay, "group_max_size": size}
    return Row(mirrors, given, tuple(steps), lacks, alone, settings)


# -- what somebody does -----------------------------------------------------------------------------------
def who(stage: Stage, name: str) -> Client:
    """The client of a name."""
    if name not in stage.clients:
        client(name)(stage)
    return stage.clients[name]


def nothing(stage: Stage) -> None:
    """No group."""


def both(*things: Do) -> Do:
    """One after the other."""
    return lambda stage: [do(stage) for do in things]


def client(name: str, *protocols: str, **fields: Any) -> Do:
    """A client with other timeouts or protocols than usual, or with a group instance id."""
    if name in INSTANCES:
        protocols, fields = protocols or PAIR, {"instance": INSTANCES[name], **fields}
    return lambda stage: stage.client(name, *protocols, **{**DEFAULTS, **fields})


def id_of(name: str) -> Callable[[Stage], str]:
    """As a field of a request: the member id that a client knows."""
    return lambda stage: stage.clients[name].member_id


def _now(stage: Stage, changes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value(stage) if callable(value) else value for key, value in changes.items()}


def joined(*names: str) -> Do:
    """A group in CompletingRebalance, generation 1; the first leads."""
    return lambda stage: stage.generation(*(who(stage, name) for name in names))


def stable(*names: str) -> Do:
    """A Stable group, generation 1; the first leads."""
    return lambda stage: stage.stable(*(who(stage, name) for name in names))


def enter(*names: str, version: int | None = None) -> Do:
    """Newcomers join: each the handshake, unless it is static or old, then the JoinGroup that is parked."""
    return lambda stage: [who(stage, name).enter(version) for name in names]


def join(name: str, **changes: Any) -> Do:
    """A JoinGroup; without a member id it is the handshake, of a static client the real thing."""
    return lambda stage: who(stage, name).join(**_now(stage, changes))


def instead_of(name: str, other: str, *protocols: str, version: int = 9, **fields: Any) -> Do:
    """Another process with the instance id of `other` joins: its restart, or a double."""

    def do(stage: Stage) -> None:
        old = who(stage, other)
        same = {"session": old.session, "rebalance": old.rebalance, "instance": old.instance}
        stage.client(name, *(protocols or old.protocols), **{**same, **fields}).join(version=version)

    return do


def relist(name: str, *protocols: str) -> Do:
    """A JoinGroup with another list of protocols."""

    def do(stage: Stage) -> None:
        who(stage, name).protocols = protocols
        who(stage, name).join()

    return do


def sync(name: str, parts: Mapping[str, str] | None = None, **changes: Any) -> Do:
    """A SyncGroup; parts: assignments by name."""
    return lambda stage: who(stage, name).sync(
        {who(stage, other): part for other, part in (parts or {}).items()}, **_now(stage, changes)
    )


def heartbeat(*names: str, ahead: int = 0, **changes: Any) -> Do:
    """A Heartbeat of each; ahead: of the client's generation."""

    def do(stage: Stage) -> None:
        for name in names:
            sender = who(stage, name)
            sender.heartbeat(**{"generation_id": sender.generation + ahead, **_now(stage, changes)})

    return do


def leave(name: str, *others: str | tuple[str, str]) -> Do:
    """A LeaveGroup of this one or of others: clients, unknown ids, (member id, instance id)."""

    def do(stage: Stage) -> None:
        known = [stage.clients.get(other, other) if isinstance(other, str) else other for other in others]
        who(stage, name).leave(*known)

    return do


def wait(milliseconds: int) -> Do:
    """Time passes."""
    return lambda stage: stage.wait(milliseconds)


def by(name: str, request: str, *args: Any, **changes: Any) -> Do:
    """Any other request of a client, by the name of its method: commit, fetch, describe, ..."""
    return lambda stage: getattr(who(stage, name), request)(*args, **_now(stage, changes))


def end(producer_id: int, *, committed: bool) -> Do:
    """A transaction ends."""
    return lambda stage: stage.end_transaction(producer_id, committed=committed)


def looked_for_expired(stage: Stage) -> None:
    """The broker looks what has expired."""
    stage.look_for_expired()


def hosts(hosting: Hosting) -> Do:
    """What the broker is to the group from now on."""

    def do(stage: Stage) -> None:
        stage.hosting = hosting

    return do


def given_up(stage: Stage) -> None:
    """Another broker becomes the coordinator."""
    stage.give_up()


def loaded(stage: Stage) -> None:
    """A coordinator has read the log."""
    stage.load()


def configure(**settings: int) -> Do:
    """The broker has other settings from now on."""
    return lambda stage: stage.configure(**settings)


def held(stage: Stage) -> None:
    """The log keeps its answers back."""
    stage.log_answers = False


def log(error: AppendError | None = None) -> Do:
    """The log answers."""
    return lambda stage: stage.log(error)
