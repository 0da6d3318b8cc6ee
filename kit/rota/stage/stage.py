"""A stage: one group of the spec in virtual time, clients with a memory, and the coordinator core beside it.

A script says who asks what and how much time passes. The spec answers; what it did is kept, step by step, for
`text`. The core gets the same inputs through the oracle's lockstep: it must do the same, and stand
where the spec stands after every step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rota import coordinator as core
from rota.kernel import RuleTable
from rota.oracle import Ask, Due, Logged
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
    Node,
    Profile,
    RecordKind,
    Spec,
    Step,
    Timer,
)
from rota.spec.classic.vocabulary import kind_of
from rota.spec.offset_state import (
    GroupForgotten,
    OffsetBatch,
    OffsetRead,
    OffsetStep,
    RetentionCheck,
    TransactionEnd,
)
from rota.spec.versions import as_sent
from rota.spec.vocabulary import AppendError
from rota.stage.beside import CoreBeside, NotBesideCore
from rota.stage.clients import Asked, Client
from rota.stage.happenings import (
    Answered,
    Found,
    GivenUp,
    Happening,
    Loaded,
    LookForExpired,
    Unused,
    Waiting,
)
from rota.stage.ledger import Ledger
from rota.stage.looks import Looks


def _names(clients: Iterable[Client]) -> str:
    return " and ".join(client.name for client in clients)


@dataclass(eq=False, repr=False)
class Stage(Looks):
    """The spec, a clock and clients.

    Parameters: config, of the broker; profile, which line of brokers it is; beside, whether the core, which
    is like kafka-4.x, is held to the same dialogue; log_answers, whether appends are stored at once; else
    `log` says when; hosting, what the broker is to the group, and led_by, who leads its partition;
    group_id, of the group; stored, the group's last record that the log has; since, when the group came
    into its state; given, how many happenings are the way to what a script is about; marks, headings of a
    dialogue: before which happening; table: of rules, if some are not the spec's.
    """

    config: BrokerConfig = field(default_factory=BrokerConfig)
    profile: Profile = KAFKA_4
    beside: bool = True
    log_answers: bool = True
    hosting: Hosting = Hosting.ACTIVE
    led_by: Node | None = None
    group_id: str = "g"
    now: int = 0
    group: Group | None = None
    clients: dict[str, Client] = field(default_factory=dict)
    armed: dict[Timer, int] = field(default_factory=dict)
    happenings: list[Happening] = field(default_factory=list)
    owners: dict[str, Client] = field(default_factory=dict)
    appends: list[Waiting] = field(default_factory=list)
    stored: GroupRecord | None = None
    since: int = 0
    given: int = 0
    marks: dict[int, str] = field(default_factory=dict)
    table: RuleTable | None = None

    def __post_init__(self) -> None:
        self.oracle = Oracle(self.config, self.profile, self.table)
        self.core = CoreBeside(self.config) if self.beside else None
        self._chosen: dict[str, str | None] = {}
        self.ledger = Ledger(lambda: self.oracle.spec)
        self._asked: dict[str, Asked] = {}

    # -- what a script says -------------------------------------------------------------------------------
    def client(self, name: str, *protocols: str, **fields: Any) -> Client:
        """A client outside of the group."""
        made = self.clients[name] = Client(self, name, protocols or ("range",), **fields)
        if made.member_id:
            self.owners[made.member_id] = made
        return made

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

    def ask(self, client: Client, request: Any, version: int | None = None, fresh: str = "") -> Asked:
        """A request arrives. fresh: the id of a new member that it makes, if it is to be this one. Errors:
        NotBesideCore."""
        if self.core is not None:
            self.core.check_request(request, self.hosting)
        version = self.version(type(request).__name__.removesuffix("Request"), version)
        address = f"r{len(self._asked) + 1}"
        asked = Asked(client, address, request, version, hosting=self.hosting, led_by=self.led_by)
        self._asked[asked.address] = asked
        serial = len(self.owners) + 1
        in_spec = to_spec(request, version) if isinstance(request, CoreRequest) else request
        call = Call(
            in_spec, asked.address, version, fresh or f"m{serial}", self.hosting, self.led_by, self.now
        )
        group = self.group if self._ours(request) else None
        ahead = 0
        if isinstance(request, core.SyncGroup | core.Heartbeat):
            ahead = request.generation_id - (group.generation_id if group else 0)
        self._play(asked, lambda spec: spec.handle(group, call), Ask(request, version, serial, ahead))
        return asked

    def chooses(self, *, leader: Client | str | None = None, protocol: str | None = None) -> None:
        """The next step leaves open who leads or which protocol wins: it is this one."""
        leads = leader.member_id if isinstance(leader, Client) else leader
        self._chosen = {"protocol_name": protocol, "leader": leads}

    def fire(self, timer: Timer) -> None:
        """An armed timer is due; the clock moves to its deadline."""
        self.now = max(self.now, self.armed.pop(timer))
        twin = Due(core.TimerId(kind_of(timer).value, self.group_id, timer.member_id))
        self._play(timer, lambda spec: spec.fire(self.live, timer), twin)

    def log(self, error: AppendError | None = None) -> None:
        """The log answers the oldest append, and reads that wait behind it."""
        first = self.appends.pop(0)
        if isinstance(first, GroupRecord):
            if error is None:
                self.stored = None if first.kind is RecordKind.DELETION else first
            self._play((first, error), lambda spec: spec.appended(self.group, first, error), Logged(0, error))
        elif not isinstance(first, GroupForgotten):  # which does not wait
            self._settle((first, error), self.ledger.answered(first, error))

    def end_transaction(self, producer_id: int, *, committed: bool) -> None:
        """The marker that ends a producer's transaction is on its way to the log. Errors: NotBesideCore."""
        self._without_core("a transaction ends")
        self.appends.append(TransactionEnd(producer_id, committed))
        self._drain()

    def look_for_expired(self) -> None:
        """The broker looks what has expired, as it does every ten minutes. Errors: NotBesideCore."""
        self._without_core("offsets expire")
        check = RetentionCheck(self.now, self.since)
        self._play(LookForExpired(self.since), lambda spec: spec.retention(self.live, check))

    def give_up(self, found: int = 0) -> None:
        """Another broker leads the group's partition. found: how many appends in flight that one has."""
        if self.core is not None:
            self.core.give_up(found, self.now)
        unanswered = tuple(one for one in self.appends if isinstance(one, GroupRecord))
        for record in unanswered[:found]:
            self.stored = record
        self.appends.clear()
        self._play(GivenUp(unanswered), lambda spec: spec.unload(self.group, unanswered))
        self.hosting = Hosting.ELSEWHERE

    def load(self) -> None:
        """A coordinator has read the log: the next one, which is played from now on."""
        self.hosting = Hosting.ACTIVE
        if self.core is not None:
            self.core.load(self.config.group_max_size, self.now)
        self._play(Loaded(self.stored), lambda spec: spec.load(self.stored))
        self._find_group()

    def configure(self, **settings: int) -> None:
        """Another broker takes over in silence: the same group, other settings. Errors: NotBesideCore."""
        if self.core is not None:
            self.core.check_settings(settings, self.hosting)
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
            assert fired is not None  # one is armed
            self.fire(fired)

    def _given(self, begin: int, told: str) -> None:
        """Marks the way to the situation that a script is about, and where that begins."""
        if begin == 0:
            self.given = len(self.happenings)
            self.marks = {0: f"given: {told}", self.given: "then"}

    # -- one step -----------------------------------------------------------------------------------------
    def _play(
        self, what: Any, ask: Callable[[Spec], tuple[Step, ...]], twin: Ask | Due | Logged | None = None
    ) -> None:
        steps = self.oracle.outcomes(ask)
        pick = self._pick(steps)
        step = steps[pick]
        used = tuple(rule.slug for rule in self.oracle.used(step))
        told = [self.ledger.tell(word, queue=bool(self.appends)) for word in step.offsets]
        self._happened(what, step, steps, used, told)
        self._compare(replace(twin, picks=(pick,)) if twin is not None and pick else twin)
        self._drain()

    def _pick(self, steps: tuple[Step, ...]) -> int:
        """Which outcome: the first, unless it was said what is chosen."""
        wanted: dict[str, Any] = {name: value for name, value in self._chosen.items() if value is not None}
        self._chosen = {}
        open_to = [{name: getattr(step.group, name, None) for name in wanted} for step in steps]
        assert wanted in open_to, f"{wanted} is not left open: {open_to}"
        return open_to.index(wanted)

    def _settle(self, what: Answered, outcome: OffsetStep) -> None:
        """The log has answered something about offsets."""
        step = Step(self.group)
        self._happened(what, step, (step,), (), [outcome])
        if isinstance(what[0], OffsetBatch):
            self._find_group()
        self._drain()

    def _find_group(self) -> None:
        """Offsets that are stored have a group."""
        if self.group is None and self.ledger.offsets.committed:
            self._play(Found(), lambda spec: spec.offsets_found(self.group))

    def _happened(
        self,
        what: Any,
        step: Step,
        allowed: tuple[Step, ...],
        used: tuple[str, ...],
        told: list[OffsetStep],
    ) -> None:
        replies = (*step.replies, *(reply for one in told for reply in one.replies))
        rules = (*used, *(slug for one in told for slug in one.rules))
        line = tuple(item for one in told for item in one.line if not isinstance(item, GroupForgotten))
        if not isinstance(what, Asked) or self._ours(what.request):
            self._become(step.group)
        if isinstance(what, Asked) and step.group is not None:
            for member_id in {*step.group.members, *step.group.pending} - self.owners.keys():
                self.owners[member_id] = what.client
        timers = self._timers(step)
        answers = tuple(self._answered(reply.to, reply.message) for reply in replies)
        self.appends += [*step.records, *line]
        offsets = self.ledger.offsets
        self.happenings.append(
            Happening(self.now, what, step, allowed, rules, answers, timers, dict(self.armed), line, offsets)
        )
        if any(one.removes_group for one in told):
            self._play(Unused(), lambda spec: spec.unused(self.live))

    def _ours(self, request: Any) -> bool:
        """Whether a request is about the group, or about none."""
        return bool(getattr(request, "group_id", self.group_id) == self.group_id)

    def _become(self, group: Group | None) -> None:
        state = None if self.group is None else self.group.state
        if group is not None and group.state is not state:
            self.since = self.now
        self.group = group

    def _drain(self) -> None:
        """What need not wait is answered: everything if the log answers at once, else reads at the front."""
        while self.appends and (self.log_answers or isinstance(self.appends[0], OffsetRead)):
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

    def _compare(self, twin: Ask | Due | Logged | None) -> None:
        if self.core is not None:
            if twin is not None:
                self.core.do(twin, self.now)
            self.core.compare(self.group, self.armed)

    def _without_core(self, what: str) -> None:
        if self.core is not None:
            raise NotBesideCore(what)

    def _next(self) -> Timer | None:
        return min(self.armed, key=lambda timer: (self.armed[timer], timer), default=None)
