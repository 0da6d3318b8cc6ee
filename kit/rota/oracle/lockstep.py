"""A sans-IO coordinator and the spec, driven side by side in virtual time.

Every input goes to both. What the core does must be one of the outcomes that the spec allows; the spec then
follows that one. Answers, timers, records and the visible state are compared after every step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, is_dataclass
from enum import Enum
from itertools import count
from typing import Any

from rota import coordinator as core
from rota.spec import Arm, BrokerConfig, Call, Group, GroupRecord, Spec, Step, Timer, classic
from rota.spec.messages import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    Request,
    SyncGroupRequest,
)
from rota.spec.versions import as_sent
from rota.spec.vocabulary import AppendError

GROUP_ID = "g"
"""The group that the lockstep follows; a request names it, or none and is refused."""


class Divergence(AssertionError):
    """The core did what the spec does not allow. The message is the dialogue so far and the difference."""


@dataclass(frozen=True)
class Seen:
    """One step as it can be observed: answers by address, armed timers with deadlines, records, state."""

    answers: tuple[tuple[str, Any], ...]
    deadlines: tuple[tuple[Timer, int], ...]
    records: tuple[Any, ...]
    state: Any

    def difference(self, other: Seen) -> str:
        """What the other has instead, field by field."""
        names = ("answers", "deadlines", "records", "state")
        rows = [(name, getattr(self, name), getattr(other, name)) for name in names]
        return "\n".join(
            f"  {name}:\n    {mine!r}\n  not {theirs!r}" for name, mine, theirs in rows if mine != theirs
        )


@dataclass
class Picks:
    """The core's choices: whoever drives decides, by index into the sorted candidates."""

    fresh: str = ""
    choose: Callable[[int], int] = lambda count: 0

    def new_member_id(self, client_id: str) -> str:
        """The id that was announced with the request."""
        return self.fresh

    def protocol(self, tied: tuple[str, ...]) -> str:
        """One of the tied protocols."""
        return tied[self.choose(len(tied))]

    def leader(self, candidates: tuple[str, ...]) -> str:
        """One of the candidates."""
        return candidates[self.choose(len(candidates))]


@dataclass
class Lockstep:
    """Core and spec, and a clock. choose: how the core's choices fall; make: builds the core."""

    config: BrokerConfig = field(default_factory=BrokerConfig)
    choose: Callable[[int], int] = lambda count: 0
    make: Callable[[core.CoordinatorConfig, Any], core.GroupCoordinator] = core.GroupCoordinator

    def __post_init__(self) -> None:
        self.picks = Picks(choose=lambda count: self.choose(count))
        self.core = self.make(core.CoordinatorConfig(**asdict(self.config)), self.picks)
        self.spec: Spec = classic(self.config)
        self.group: Group | None = None
        self.now = 0
        self.deadlines: dict[Timer, int] = {}
        self.appends: dict[int, GroupRecord] = {}
        self.versions: dict[str, int] = {}
        self.dialogue: list[str] = []
        self.rules: set[str] = set()
        self.visited: set[tuple[str, str]] = set()
        self._addresses = count(1)

    def call(self, request: Request, version: int, client_id: str = "c") -> dict[str, Any]:
        """A request arrives. Returns the answers given in this step by address (as the spec words them)."""
        address = f"r{next(self._addresses)}"
        self.versions[address] = version
        self.picks.fresh = f"{client_id}-{address}"
        self.dialogue.append(f"{self.now:>7} ms  {address}: {_brief(request)} v{version}")
        effects = self._of_core(lambda: _send(self.core, request, version, client_id, address))
        steps = self.spec.handle(self.group, Call(request, address, version, self.picks.fresh))
        return self._compare(effects, steps)

    def fire(self, timer: Timer) -> dict[str, Any]:
        """An armed timer is due: the clock moves to its deadline if that is ahead."""
        if self.group is None:
            raise ValueError("no timer can be armed before the group exists")
        self.now = max(self.now, self.deadlines.pop(timer))
        self.dialogue.append(f"{self.now:>7} ms  timer {timer.name} {timer.member_id}".rstrip())
        timer_id = core.TimerId(timer.kind.value, GROUP_ID, timer.member_id)
        effects = self._of_core(lambda: self.core.fire(timer_id))
        return self._compare(effects, self.spec.fire(self.group, timer))

    def answer_append(self, append_id: int, error: AppendError | None) -> dict[str, Any]:
        """The log answers an append."""
        if self.group is None:
            raise ValueError("nothing can be in flight before the group exists")
        record = self.appends.pop(append_id)
        self.dialogue.append(f"{self.now:>7} ms  log: {'stored' if error is None else error.name}")
        code = 0 if error is None else error.value
        effects = self._of_core(lambda: self.core.appended(append_id, code))
        return self._compare(effects, self.spec.appended(self.group, record, error))

    def _of_core(self, step: Callable[[], core.Effects]) -> core.Effects:
        try:
            return step()
        except Exception as failure:
            raise Divergence("\n".join([f"the core raised {failure!r}", *self._told()])) from failure

    def _told(self) -> list[str]:
        return ["dialogue:", *(f"  {line}" for line in self.dialogue)]

    def _compare(self, effects: core.Effects, steps: tuple[Step, ...]) -> dict[str, Any]:
        done = self._core_seen(effects)
        allowed = [(step, self._spec_seen(step)) for step in steps]
        for step, seen in allowed:
            if seen == done:
                self._follow(step, effects)
                return dict(done.answers)
        raise Divergence(self._report(done, allowed))

    def _follow(self, step: Step, effects: core.Effects) -> None:
        state = "absent" if self.group is None else self.group.state.value
        self.rules.update(step.rules)
        self.visited.update((slug, state) for slug in step.rules)
        self.deadlines = self._rearmed(step)
        self.group = step.group
        self.appends |= dict(zip((a.append_id for a in effects.appends), step.records, strict=True))

    def _core_seen(self, effects: core.Effects) -> Seen:
        deadlines = dict(self.deadlines)
        for wish in effects.timers:
            timer = Timer(wish.timer_id.kind, wish.timer_id.member_id)
            if isinstance(wish, core.Arm):
                deadlines[timer] = self.now + wish.delay_ms
            else:
                deadlines.pop(timer, None)
        answers = {str(token): _plain(reply) for token, reply in effects.replies}
        written = (append.record for append in effects.appends)
        records = tuple(_core_record(record) for record in written if isinstance(record, core.GroupRecord))
        return Seen(
            _sorted(answers), _sorted(deadlines), records, _core_state(self.core.groups.get(GROUP_ID))
        )

    def _spec_seen(self, step: Step) -> Seen:
        answers = {
            reply.to: _plain(as_sent(reply.message, self.versions[reply.to])) for reply in step.replies
        }
        records = tuple(map(_spec_record, step.records))
        return Seen(_sorted(answers), _sorted(self._rearmed(step)), records, _spec_state(step.group))

    def _rearmed(self, step: Step) -> dict[Timer, int]:
        deadlines = dict(self.deadlines)
        for effect in step.timers:
            if isinstance(effect, Arm):
                deadlines[effect.timer] = self.now + effect.delay_ms
            else:
                deadlines.pop(effect.timer, None)
        return deadlines

    def _report(self, done: Seen, allowed: list[tuple[Step, Seen]]) -> str:
        nearest, seen = min(allowed, key=lambda pair: len(done.difference(pair[1])))
        lines = ["the core does what the spec does not allow", *self._told()]
        lines += [f"the spec ({', '.join(nearest.rules)}) differs from the core in:", done.difference(seen)]
        return "\n".join(lines)


def _sorted(items: dict[Any, Any]) -> tuple[Any, ...]:
    return tuple(sorted(items.items(), key=lambda pair: pair[0]))


def _plain(value: Any) -> Any:
    """Dataclasses as plain data, fields by name, enums as values: the form in which both sides compare."""
    if is_dataclass(value) and not isinstance(value, type):
        return tuple(sorted((name, _plain(item)) for name, item in vars(value).items()))
    if isinstance(value, Enum):
        return value.value
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _send(
    target: core.GroupCoordinator, request: Request, version: int, client_id: str, token: str
) -> core.Effects:
    """The request in the core's own classes."""
    fields = vars(request)
    if isinstance(request, JoinGroupRequest):
        protocols = tuple(core.JoinGroupProtocol(p.name, p.metadata) for p in request.protocols)
        join = core.JoinGroup(**{**fields, "protocols": protocols})
        return target.join_group(join, version, client_id, "/127.0.0.1", token)
    if isinstance(request, SyncGroupRequest):
        parts = tuple(core.SyncGroupAssignment(a.member_id, a.assignment) for a in request.assignments)
        return target.sync_group(core.SyncGroup(**{**fields, "assignments": parts}), version, token)
    if isinstance(request, HeartbeatRequest):
        return target.heartbeat(core.Heartbeat(**fields), version, token)
    identities = tuple(core.MemberIdentity(m.member_id, m.group_instance_id) for m in request.members)
    single = identities[0].member_id if version < 3 else ""
    batch = identities if version >= 3 else ()
    return target.leave_group(core.LeaveGroup(request.group_id, batch, single), version, token)


def _core_record(record: core.GroupRecord) -> Any:
    parts = tuple((m.member_id, m.assignment) for m in record.members)
    return (record.generation_id, record.protocol_type, record.protocol_name, record.leader, parts)


def _spec_record(record: GroupRecord) -> Any:
    return (
        record.generation_id,
        record.protocol_type,
        record.protocol_name,
        record.leader,
        record.assignments,
    )


def _core_state(group: core.Group | None) -> Any:
    if group is None:
        return None
    return (str(group.state), group.generation_id, group.protocol_type, group.protocol_name, group.leader,
            tuple(sorted(group.members)), tuple(sorted(group.pending_members)))  # fmt: skip


def _spec_state(group: Group | None) -> Any:
    if group is None:
        return None
    return (group.state.value, group.generation_id, group.protocol_type, group.protocol_name, group.leader,
            tuple(group.members), tuple(sorted(group.pending)))  # fmt: skip


def _brief(request: Request) -> str:
    """A request in one line: its kind and what is set."""
    name = type(request).__name__.removesuffix("Request")
    if isinstance(request, LeaveGroupRequest):
        return f"{name} {', '.join(m.member_id for m in request.members)}"
    shown = {
        key: value
        for key, value in vars(request).items()
        if value and key not in ("group_id", "protocol_type")
    }
    return f"{name} " + ", ".join(f"{key}={_short(value)}" for key, value in shown.items())


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return (
            "["
            + " ".join(getattr(item, "name", "") or getattr(item, "member_id", "") for item in value)
            + "]"
        )
    return str(value)
