"""The words that the rows of the checklist are written in: what somebody does, and what is expected then.

Clients are named A, B, ... and come to be when they are first named: session 5,000 ms, rebalance 10,000 ms,
protocol range. X only asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stage import Asked, Client, Stage

from rota import coordinator as core
from rota.spec.vocabulary import AppendError

Do = Callable[[Stage], object]

DEFAULTS: Mapping[str, Any] = {"session": 5_000, "rebalance": 10_000}


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
    client's last answer; lists: names of protocols that a member has.
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
        left = {name: _left(stage, name) for name in self.timers}
        assert left == dict(self.timers)
        for name, fields in self.said.items():
            reply = [reply for asked, reply in given if asked.client.name == name][-1]
            assert {key: getattr(reply, key) for key in fields} == dict(fields)
        for name, protocols in self.lists.items():
            assert stage.live.members[stage.clients[name].member_id].names == protocols


def _errors(asked: Asked) -> str:
    return "/".join(asked.errors) or asked.error


def _left(stage: Stage, name: str) -> int | None:
    kind, _, client = name.partition(" ")
    return stage.left(kind, stage.clients[client] if client else None)


@dataclass(frozen=True)
class Row:
    """A line of the checklist.

    mirrors: upstream's tests, class#method; given: what leads to the start; steps: what is done, what is
    expected; lacks: what of the tests is left out, for want of which feature; delay: the broker's initial
    rebalance delay.
    """

    mirrors: tuple[str, ...]
    given: Do
    steps: tuple[tuple[Do, Then], ...]
    lacks: str = ""
    delay: int = 3_000

    def play(self, *, beside: bool = True) -> None:
        """Errors: AssertionError where something is not as expected; Divergence of the coordinator."""
        config = core.CoordinatorConfig(
            group_min_session_timeout_ms=10,
            group_max_session_timeout_ms=600_000,
            group_initial_rebalance_delay_ms=self.delay,
        )
        stage = Stage(config, beside=beside)
        self.given(stage)
        for number, (do, then) in enumerate(self.steps, 1):
            since = len(stage.happenings)
            do(stage)
            try:
                then.check(stage, since)
            except AssertionError as failure:
                raise AssertionError(f"{self.mirrors[0]}, step {number}: {failure}") from None


def row(*mirrors: str, given: Do, steps: list[tuple[Do, Then]], lacks: str = "", delay: int = 3_000) -> Row:
    """A row of the table."""
    return Row(mirrors, given, tuple(steps), lacks, delay)


# -- what somebody does -----------------------------------------------------------------------------------
def who(stage: Stage, name: str) -> Client:
    """The client of a name."""
    return stage.clients[name] if name in stage.clients else stage.client(name, **DEFAULTS)


def nothing(stage: Stage) -> None:
    """No group."""


def both(*things: Do) -> Do:
    """One after the other."""
    return lambda stage: [do(stage) for do in things]


def client(name: str, *protocols: str, **fields: Any) -> Do:
    """A client with other timeouts or protocols than usual."""
    return lambda stage: stage.client(name, *protocols, **{**DEFAULTS, **fields})


def joined(*names: str) -> Do:
    """A group in CompletingRebalance, generation 1; the first leads."""
    return lambda stage: stage.generation(*(who(stage, name) for name in names))


def stable(*names: str) -> Do:
    """A Stable group, generation 1; the first leads."""
    return lambda stage: stage.stable(*(who(stage, name) for name in names))


def enter(*names: str) -> Do:
    """Newcomers join: each the handshake, then the JoinGroup that is parked."""
    return lambda stage: [who(stage, name).enter() for name in names]


def join(name: str, **changes: Any) -> Do:
    """A JoinGroup; without a member id it is the handshake."""
    return lambda stage: who(stage, name).join(**changes)


def relist(name: str, *protocols: str) -> Do:
    """A JoinGroup with another list of protocols."""

    def do(stage: Stage) -> None:
        who(stage, name).protocols = protocols
        who(stage, name).join()

    return do


def sync(name: str, parts: Mapping[str, str] | None = None, **changes: Any) -> Do:
    """A SyncGroup; parts: assignments by name."""
    return lambda stage: who(stage, name).sync(
        {who(stage, other): part for other, part in (parts or {}).items()}, **changes
    )


def heartbeat(*names: str, ahead: int = 0, **changes: Any) -> Do:
    """A Heartbeat of each; ahead: of the client's generation."""

    def do(stage: Stage) -> None:
        for name in names:
            sender = who(stage, name)
            sender.heartbeat(**{"generation_id": sender.generation + ahead, **changes})

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


def held(stage: Stage) -> None:
    """The log keeps its answers back."""
    stage.log_answers = False


def log(error: AppendError | None = None) -> Do:
    """The log answers."""
    return lambda stage: stage.log(error)
