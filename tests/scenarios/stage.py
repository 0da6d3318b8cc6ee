"""A stage: one group of the spec in virtual time, clients with a memory, and the coordinator core beside it.

A script says who asks what and how much time passes. The spec answers; what it did is kept, step by step, for
`stage_text`. The core gets the same inputs through the oracle's lockstep: it must do the same, and stand
where the spec stands after every step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from stage_client import GROUP_ID, Asked, Client

from rota import coordinator as core
from rota.oracle import Ask, Due, Lockstep, Logged
from rota.oracle.follow import Oracle
from rota.oracle.translate import CoreRequest, to_spec
from rota.spec import (
    KAFKA_4,
    Arm,
    BrokerConfig,
    Call,
    Group,
    GroupRecord,
    Hosting,
    JoinGroupReply,
    Profile,
    Spec,
    Step,
    Timer,
)
from rota.spec.versions import as_sent
from rota.spec.vocabulary import AppendError

__all__ = ["GROUP_ID", "Asked", "Client", "Happening", "Stage"]


@dataclass(frozen=True)
class GivenUp:
    """The broker is the coordinator no more. unanswered: appends in flight."""

    unanswered: tuple[GroupRecord, ...]


@dataclass(frozen=True)
class Loaded:
    """The next coordinator has read the log. record: the group's last one."""

    record: GroupRecord | None


@dataclass(frozen=True)
class Happening:
    """One step. timers: delay in milliseconds, None where stopped; armed: when what is armed is due."""

    now: int
    what: Asked | Timer | tuple[GroupRecord, AppendError | None] | GivenUp | Loaded
    step: Step
    outcomes: int
    rules: tuple[str, ...]
    answers: tuple[tuple[Asked, Any], ...]
    timers: Mapping[Timer, int | None]
    armed: Mapping[Timer, int]


def _names(clients: Iterable[Client]) -> str:
    return " and ".join(client.name for client in clients)


def _core_config(config: BrokerConfig) -> core.CoordinatorConfig:
    """The settings that the core knows too."""
    known = core.CoordinatorConfig.__dataclass_fields__.keys() & config.__dataclass_fields__.keys()
    return core.CoordinatorConfig(**{name: getattr(config, name) for name in known})


@dataclass(eq=False)
class Stage:
    """The spec, a clock and clients.

    Parameters: config, of the broker; profile, which line of brokers it is; beside, whether the core, which
    is like kafka-4.x, is held to the same dialogue; log_answers, whether appends are stored at once; else
    `log` says when; hosting, what the broker is to the group; stored, the group's last record that the log
    has; given, how many happenings are the way to what a script is about; marks, headings of a dialogue:
    before which happening.
    """

    config: BrokerConfig = field(default_factory=BrokerConfig)
    profile: Profile = KAFKA_4
    beside: bool = True
    log_answers: bool = True
    hosting: Hosting = Hosting.ACTIVE
    now: int = 0
    group: Group | None = None
    clients: dict[str, Client] = field(default_factory=dict)
    armed: dict[Timer, int] = field(default_factory=dict)
    happenings: list[Happening] = field(default_factory=list)
    owners: dict[str, Client] = field(default_factory=dict)
    appends: list[GroupRecord] = field(default_factory=list)
    stored: GroupRecord | None = None
    given: int = 0
    marks: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.oracle = Oracle(self.config, self.profile)
        self.lockstep = Lockstep(_core_config(self.config)) if self.beside else None
        self._asked: dict[str, Asked] = {}

    # -- what a script says -------------------------------------------------------------------------------
    def client(self, name: str, *protocols: str, **fields: Any) -> Client:
        """A client outside of the group."""
        self.clients[name] = Client(self, name, protocols or ("range",), **fields)
        return self.clients[name]

    def generation(self, *clients: Client) -> None:
        """New clients, all admitted in one generation after the initial delay; the first one leads."""
        begin = len(self.happenings)
        joined = [client.enter() for client in clients]
        while any(asked.waits for asked in joined):
            self.until("initial_join")
        assert {asked.error for asked in joined} == {"NONE"}
        self._given(begin, f"{_names(clients)} in generation {self.live.generation_id}")

    def stable(self, *clients: Client) -> None:
        """New clients in a Stable group; everybody's part is called after them."""
        begin = len(self.happenings)
        self.generation(*clients)
        self.settle(*clients)
        self._given(begin, f"{_names(clients)} in a Stable group")

    def settle(self, *clients: Client) -> None:
        """The followers sync, then the leader, with a part for everybody."""
        followers = [client.sync() for client in clients if client.member_id != self.live.leader]
        leader = next(client for client in clients if client.member_id == self.live.leader)
        last = leader.sync({client: f"part of {client.name}" for client in clients})
        assert {asked.error for asked in (*followers, last)} == {"NONE"}

    def version(self, api: str, wanted: int | None = None) -> int:
        """The newest version of a request that the broker has, unless another is wanted."""
        return dict(self.profile.versions)[api][1] if wanted is None else wanted

    def ask(
        self, client: Client, request: Any, version: int | None = None, picks: tuple[int, ...] = ()
    ) -> Asked:
        """A request arrives. picks: which of the outcomes, where Kafka leaves a choice."""
        version = self.version(type(request).__name__.removesuffix("Request"), version)
        asked = Asked(client, f"r{len(self._asked) + 1}", request, version)
        self._asked[asked.address] = asked
        serial = len(self.owners) + 1
        in_spec = to_spec(request, version) if isinstance(request, CoreRequest) else request
        call = Call(in_spec, asked.address, version, f"m{serial}", self.hosting)
        group = self.group if request.group_id == GROUP_ID else None
        ahead = 0
        if isinstance(request, core.SyncGroup | core.Heartbeat):
            ahead = request.generation_id - (group.generation_id if group else 0)
        twin = Ask(request, version, serial, ahead, picks)
        self._play(asked, lambda spec: spec.handle(group, call), twin, picks)
        return asked

    def fire(self, timer: Timer) -> None:
        """An armed timer is due; the clock moves to its deadline."""
        self.now = max(self.now, self.armed.pop(timer))
        twin = Due(core.TimerId(timer.name, GROUP_ID, timer.member_id))
        self._play(timer, lambda spec: spec.fire(self.live, timer), twin)

    def log(self, error: AppendError | None = None) -> None:
        """The log answers the oldest append."""
        record = self.appends.pop(0)
        self.stored = record if error is None else self.stored
        self._play((record, error), lambda spec: spec.appended(self.live, record, error), Logged(0, error))

    def give_up(self, found: int = 0) -> None:
        """Another broker leads the group's partition; found: how many appends in flight it has all the
        same."""
        unanswered = tuple(self.appends)
        for record in unanswered[:found]:
            self.stored = record
        self.appends.clear()
        self._play(GivenUp(unanswered), lambda spec: spec.unload(self.group, unanswered))
        self.hosting = Hosting.ELSEWHERE

    def load(self) -> None:
        """A coordinator has read the log: the next one, which is played from now on."""
        self.hosting = Hosting.ACTIVE
        self._play(Loaded(self.stored), lambda spec: spec.load(self.stored))

    def configure(self, **settings: int) -> None:
        """Another broker takes over in silence: the same group, other settings."""
        self.config = replace(self.config, **settings)
        self.oracle.spec = replace(self.oracle.spec, config=self.config)

    def wait(self, milliseconds: int) -> None:
        """Time passes; what is due on the way fires, those due together in order of name and member."""
        end = self.now + milliseconds
        while (timer := self._next()) is not None and self.armed[timer] <= end:
            self.fire(timer)
        self.now = end

    def until(self, kind: str, client: Client | None = None) -> None:
        """Time passes until this timer has fired."""
        wanted = Timer(kind, "" if client is None else client.member_id)
        assert wanted in self.armed, f"{wanted} is not armed"
        fired = None
        while fired != wanted:
            assert wanted in self.armed, f"{wanted} was stopped"
            fired = self._next()
            self.fire(fired)

    # -- what a script looks at ---------------------------------------------------------------------------
    @property
    def live(self) -> Group:
        """The group, which must exist."""
        assert self.group is not None, "there is no group"
        return self.group

    @property
    def state(self) -> str:
        """The group's state and generation, "absent" without a group."""
        return "absent" if self.group is None else f"{self.group.state.value} {self.group.generation_id}"

    @property
    def states(self) -> list[str]:
        """All states so far with their generations, without repeats in a row."""
        found: list[str] = []
        for one in self.happenings:
            group = one.step.group
            state = "absent" if group is None else f"{group.state.value} {group.generation_id}"
            found += [state] if found[-1:] != [state] else []
        return found

    @property
    def leader(self) -> str | None:
        """The name of the client that leads."""
        leader = self.live.leader
        return None if leader is None else self.owners[leader].name

    @property
    def members(self) -> str:
        """The names of the clients that are members."""
        return " ".join(sorted(self.owners[member_id].name for member_id in self.live.members))

    @property
    def pending(self) -> str:
        """The names of the clients whose handed-out ids are not used."""
        return " ".join(sorted(self.owners[member_id].name for member_id in self.live.pending))

    @property
    def last(self) -> Happening:
        """The last step."""
        return self.happenings[-1]

    def left(self, kind: str, client: Client | None = None) -> int | None:
        """Milliseconds until a timer is due, None where it is not armed."""
        due = self.armed.get(Timer(kind, "" if client is None else client.member_id))
        return None if due is None else due - self.now

    def _given(self, begin: int, told: str) -> None:
        """Marks the way to the situation that a script is about, and where that begins."""
        if begin == 0:
            self.given = len(self.happenings)
            self.marks = {0: f"given: {told}", self.given: "then"}

    # -- one step -----------------------------------------------------------------------------------------
    def _play(
        self,
        what: Any,
        ask: Callable[[Spec], tuple[Step, ...]],
        twin: Any = None,
        picks: tuple[int, ...] = (),
    ) -> None:
        steps = self.oracle.outcomes(ask)
        step = steps[picks[0] if picks else 0]
        used = tuple(rule.slug for rule in self.oracle.used(step))
        timers = self._timers(step)
        answers = tuple(self._answered(reply.to, reply.message) for reply in step.replies)
        if not isinstance(what, Asked) or what.request.group_id == GROUP_ID:
            self.group = step.group
        if isinstance(what, Asked) and step.group is not None:
            for member_id in {*step.group.members, *step.group.pending} - self.owners.keys():
                self.owners[member_id] = what.client
        self.appends += step.records
        done = Happening(self.now, what, step, len(steps), used, answers, timers, dict(self.armed))
        self.happenings.append(done)
        self._compare(twin)
        while self.appends and self.log_answers:
            self.log()

    def _timers(self, step: Step) -> Mapping[Timer, int | None]:
        """The last word on each timer; to stop what is not armed is no doing."""
        wishes: dict[Timer, int | None] = {}
        for effect in step.timers:
            wishes.pop(effect.timer, None)
            wishes[effect.timer] = effect.delay_ms if isinstance(effect, Arm) else None
        done = {timer: delay for timer, delay in wishes.items() if delay is not None or timer in self.armed}
        for timer, delay in done.items():
            if delay is None:
                del self.armed[timer]
            else:
                self.armed[timer] = self.now + delay
        return done

    def _answered(self, address: str, message: Any) -> tuple[Asked, Any]:
        asked = self._asked[address]
        assert asked.reply is None, f"{address} is answered twice"
        asked.reply = message = as_sent(message, asked.version)
        if isinstance(message, JoinGroupReply):
            asked.client.told(message)
        return asked, message

    def _compare(self, twin: Any) -> None:
        if self.lockstep is None:
            return
        self.lockstep.now = self.now
        assert self.lockstep.do(twin), f"not possible for the coordinator: {twin}"
        assert self.lockstep.group == self.group, "coordinator and spec chose differently"
        assert self.lockstep.followed.armed == self.armed, "coordinator and spec differ in timers"

    def _next(self) -> Timer | None:
        return min(self.armed, key=lambda timer: (self.armed[timer], timer), default=None)
