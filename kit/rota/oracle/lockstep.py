"""A coordinator core and the spec, driven side by side in virtual time: inputs that can be kept and repeated.

Whoever drives says what happens; `rota.oracle.shadow` compares. What was done is kept as values (`Ask`,
`Due`, `Logged`, `Moved`, `Resigned`), which `replay` does again, all of them or some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from rota import coordinator as core
from rota.oracle.follow import Followed
from rota.oracle.offsets_translate import Question
from rota.oracle.report import Divergence
from rota.oracle.shadow import Make, Shadow
from rota.oracle.translate import CoreRequest
from rota.spec import Group, RecordKind
from rota.spec.vocabulary import AppendError

GROUP_ID = "g"
"""The group that is meant where none is named."""


@dataclass(frozen=True)
class Ask:
    """A request arrives.

    serial: makes the new member's id, if it needs one; ahead: how far the generation that the request gives
    is ahead of the group's, so that it means the same after other inputs were left out; picks: see `Picks`.
    """

    request: CoreRequest
    version: int
    serial: int
    ahead: int = 0
    picks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Due:
    """An armed timer is due, the first or any; the clock moves to its deadline if that is ahead."""

    timer_id: core.TimerId
    picks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Logged:
    """The log answers an append: the one at this place among those without an answer, the oldest is 0."""

    place: int
    error: AppendError | None = None
    picks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Moved:
    """The coordinator gives its groups up; another, with this size limit, reads them from the log."""

    group_max_size: int
    picks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Resigned:
    """The coordinator gives its groups up, and nobody reads them from the log for now."""

    picks: tuple[int, ...] = ()


@dataclass(frozen=True)
class About:
    """A request about offsets or of the administration; ahead and picks: as of `Ask`."""

    request: Question
    version: int
    ahead: int = 0
    picks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Ended:
    """A producer's transaction ends."""

    producer_id: int
    committed: bool
    picks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Cleaned:
    """So many milliseconds later it is time to look what has expired."""

    after_ms: int
    picks: tuple[int, ...] = ()


Input = Ask | Due | Logged | Moved | Resigned | About | Ended | Cleaned
"""The last three are for `rota.oracle.offsets_lockstep`; where offsets are left alone they do nothing."""


@dataclass
class Picks:
    """The core's choices: numbers given with each input, taken modulo the number of candidates; then 0."""

    now_ms: Callable[[], int]
    left: list[int] = field(default_factory=list)
    fresh: str = ""

    def new_member_id(self, prefix: str) -> str:
        """The id that goes with the input."""
        return self.fresh

    def protocol(self, tied: tuple[str, ...]) -> str:
        """One of the tied protocols."""
        return tied[self._next() % len(tied)]

    def leader(self, candidates: tuple[str, ...]) -> str:
        """One of the candidates."""
        return candidates[self._next() % len(candidates)]

    def _next(self) -> int:
        return self.left.pop(0) if self.left else 0


class Lockstep:
    """Core and spec, and a clock. config: of the core; make: builds the core.

    Attributes: inputs, all so far; shadow, which compares; now, the virtual time in milliseconds.
    """

    def __init__(
        self, config: core.CoordinatorConfig | None = None, make: Make = core.GroupCoordinator
    ) -> None:
        self.now = 0
        self.inputs: list[Input] = []
        self._picks = Picks(lambda: self.now)
        self._appends: list[int] = []
        self.config = config or core.CoordinatorConfig()
        self.shadow = Shadow(self.config, self._picks, make, lambda: self.now)

    @property
    def followed(self) -> Followed:
        """The usual group with its timers and waiting requests."""
        return self.shadow.follow(GROUP_ID)

    @property
    def group(self) -> Group | None:
        """The usual group as the spec sees it."""
        return self.followed.group

    @property
    def appends(self) -> int:
        """How many appends the log has not answered."""
        return len(self._appends)

    def do(self, one: Input) -> bool:
        """One input. Returns whether it was possible: timer armed, append there. Errors: Divergence."""
        act = self._action(one)
        if act is None:
            return False
        self.inputs.append(one)
        self._picks.left = list(one.picks)
        effects = act()
        self._appends += [append.append_id for append in effects.appends]
        self._audit()
        return True

    def answer_creations(self) -> None:
        """The log stores every group that was just created."""
        for place in reversed(range(len(self._appends))):
            one = self.followed.appends.get(self._appends[place])
            if one is not None and one.spec.kind is RecordKind.CREATION:
                self.do(Logged(place))

    def ask(self, request: CoreRequest, version: int, picks: Iterable[int] = ()) -> None:
        """A request arrives; a new member that it makes is called m and the number of the request."""
        ahead = 0
        if isinstance(request, core.SyncGroup | core.Heartbeat):
            ahead = request.generation_id - self._generation(request)
        self.do(Ask(request, version, self.shadow.requests + 1, ahead, tuple(picks)))

    def _generation(self, request: CoreRequest) -> int:
        group = self.shadow.follow(request.group_id).group
        return 0 if group is None else group.generation_id

    def _action(self, one: Input) -> Callable[[], core.Effects] | None:
        if isinstance(one, About | Ended | Cleaned):
            return None
        if isinstance(one, Ask):
            return lambda: self._send(one)
        if isinstance(one, Moved):
            return lambda: self._move(one)
        if isinstance(one, Resigned):
            return self._resign
        if isinstance(one, Logged):
            if one.place >= len(self._appends):
                return None
            code = 0 if one.error is None else one.error.value
            return lambda: self.shadow.appended(self._appends.pop(one.place), code)
        armed = self.shadow.follow(one.timer_id.group_id).armed
        due = next((at for timer, at in armed.items() if _is(timer, one.timer_id)), None)
        if due is None:
            return None
        self.now = max(self.now, due)
        return lambda: self.shadow.fire(one.timer_id)

    def _move(self, one: Moved) -> core.Effects:
        self._appends.clear()
        self.config = replace(self.config, group_max_size=one.group_max_size)
        self.shadow.move(self.config)
        return core.Effects()

    def _resign(self) -> core.Effects:
        self._appends.clear()
        return self.shadow.unload()

    def _send(self, one: Ask) -> core.Effects:
        self._picks.fresh = f"m{one.serial}"
        token, request, version = object(), one.request, one.version
        if isinstance(request, core.JoinGroup):
            return self.shadow.join_group(request, version, "c", "/127.0.0.1", token)
        if isinstance(request, core.LeaveGroup):
            return self.shadow.leave_group(request, version, token)
        request = replace(request, generation_id=self._generation(request) + one.ahead)
        if isinstance(request, core.SyncGroup):
            return self.shadow.sync_group(request, version, token)
        return self.shadow.heartbeat(request, version, token)

    def _audit(self) -> None:
        """What the core counts, so that it need not scan, must be what a scan would count."""
        for group in self.shadow.groups.values():
            names = [name for member in group.members.values() for name in member.protocol_names]
            if dict(group.supporters) != {name: names.count(name) for name in names}:
                self._drifted(group, f"the counts of supporters are {dict(group.supporters)}")
            if not {*group.parked_joins, *group.parked_syncs} <= group.members.keys():
                self._drifted(group, "a request is parked of somebody who is not a member")

    def _drifted(self, group: core.Group, what: str) -> None:
        raise self.shadow.diverged(group.group_id, what)


def _is(timer: Any, timer_id: core.TimerId) -> bool:
    return bool((timer.name, timer.member_id) == (timer_id.kind, timer_id.member_id))


def replay(
    inputs: Iterable[Input],
    make: Make = core.GroupCoordinator,
    mends: core.Mends = core.UNMENDED,
    kind: type[Lockstep] = Lockstep,
) -> tuple[Divergence | None, list[Input]]:
    """Do these inputs with a new core that has these mends, leaving out those that are not possible.

    kind: of the lockstep. Returns the first divergence, None where there is none, and the inputs up to there.
    """
    lockstep = kind(core.CoordinatorConfig(mends=mends), make)
    try:
        for one in inputs:
            lockstep.do(one)
    except Divergence as found:
        return found, lockstep.inputs
    return None, lockstep.inputs
