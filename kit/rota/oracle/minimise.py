"""Shorter and plainer inputs that end in the same divergence: the dialogue that a person reads.

Inputs are left out in blocks, then requests are made plainer field by field, as long as the same rule of the
spec is broken. Deterministic, and fast: no input is drawn, only repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rota import coordinator as core
from rota.oracle.lockstep import About, Ask, Due, Input, Lockstep, Logged, Moved, replay
from rota.oracle.report import Divergence
from rota.oracle.shadow import Make
from rota.oracle.translate import CoreRequest

TRIES = 3_000
"""Replays after which the shortest so far has to do."""

FEW = 10
"""Blocks of so many inputs, and smaller, are left out in every size."""

OLD = 3
"""The newest JoinGroup version without handshake."""

NEWEST = {core.JoinGroup: 9, core.SyncGroup: 5, core.Heartbeat: 4, core.LeaveGroup: 5}
TIMEOUT_MS = 10_000


class _Shrinker:
    def __init__(
        self,
        inputs: Sequence[Input],
        found: Divergence,
        make: Make,
        mends: core.Mends,
        kind: type[Lockstep],
    ) -> None:
        self.inputs = list(inputs)
        self.found = found
        self.tries = 0
        self._make = make
        self._mends = mends
        self._kind = kind

    def keep(self, candidate: Sequence[Input]) -> bool:
        """Whether the candidate breaks the same rule; if so it is the shortest from now on."""
        if self.tries >= TRIES:
            return False
        self.tries += 1
        found, done = replay(candidate, self._make, self._mends, self._kind)
        if found is None or found.rule != self.found.rule:
            return False
        self.inputs, self.found = done, found
        return True


def minimised(
    inputs: Sequence[Input],
    found: Divergence,
    make: Make = core.GroupCoordinator,
    mends: core.Mends = core.UNMENDED,
    kind: type[Lockstep] = Lockstep,
) -> tuple[list[Input], Divergence]:
    """Inputs as few and as plain as can be had that break the same rule, and how they end.

    Parameters: inputs, which end in `found`; make, builds the core, which has these mends; kind, of the
    lockstep.
    """
    shrinker = _Shrinker(inputs, found, make, mends, kind)
    shrinker.keep(inputs)
    before: list[Input] = []
    while before != shrinker.inputs:
        before = list(shrinker.inputs)
        for way in (_fewer, _handshakes, _earlier_members, _plainer):
            way(shrinker)
    _renumbered(shrinker)
    return shrinker.inputs, shrinker.found


def _fewer(shrinker: _Shrinker) -> None:
    """Leave out blocks of inputs, from halves down to single ones, then pairs; the latest first."""
    size = len(shrinker.inputs) // 2
    while size:
        for begin in range(len(shrinker.inputs) - size, -1, -1):
            shrinker.keep(shrinker.inputs[:begin] + shrinker.inputs[begin + size :])
        size = size // 2 if size > FEW else size - 1
    if len(shrinker.inputs) <= 2 * FEW:
        _without_pairs(shrinker)


def _without_pairs(shrinker: _Shrinker) -> None:
    for later in range(len(shrinker.inputs) - 1, 0, -1):
        for earlier in range(later - 1, -1, -1):
            if later < len(shrinker.inputs):
                one = shrinker.inputs
                shrinker.keep(one[:earlier] + one[earlier + 1 : later] + one[later + 1 :])


def _handshakes(shrinker: _Shrinker) -> None:
    """A newcomer of an old version, who needs one request, for one who asks for an id and comes back."""
    for first in [one for one in shrinker.inputs if isinstance(one, Ask)]:
        left = [one for one in shrinker.inputs if one is not first]
        for place, one in enumerate(left):
            if isinstance(one, Ask) and _comes_back(one.request, first):
                request = replace(one.request, member_id="")
                left[place] = replace(one, request=request, version=OLD, serial=first.serial)
                shrinker.keep(left)
                break


def _comes_back(request: CoreRequest, first: Ask) -> bool:
    return isinstance(request, core.JoinGroup) and request.member_id == f"m{first.serial}"


def _earlier_members(shrinker: _Shrinker) -> None:
    """An earlier member in the place of a later one."""
    for place in range(len(shrinker.inputs)):
        for one in [one for one in shrinker.inputs[:place] if isinstance(one, Ask)]:
            if place < len(shrinker.inputs):
                names = {_member_id(shrinker.inputs[place]): f"m{one.serial}"}
                changed = _with_names(shrinker.inputs[place], names)
                if changed != shrinker.inputs[place]:
                    shrinker.keep([*shrinker.inputs[:place], changed, *shrinker.inputs[place + 1 :]])


def _member_id(one: Input) -> str:
    if isinstance(one, Ask):
        return one.request.member_id
    return one.timer_id.member_id if isinstance(one, Due) else ""


def _plainer(shrinker: _Shrinker) -> None:
    """Make each input plainer, one change at a time."""
    place = 0
    while place < len(shrinker.inputs):
        for change in _CHANGES:
            one = shrinker.inputs[place]
            plain = change(one)
            if plain is not None and plain != one:
                shrinker.keep([*shrinker.inputs[:place], plain, *shrinker.inputs[place + 1 :]])
        place += 1


def _asked(kind: type, **fields: Any) -> Callable[[Input], Input | None]:
    def change(one: Input) -> Input | None:
        if not isinstance(one, Ask) or not isinstance(one.request, kind):
            return None
        return replace(one, request=replace(one.request, **fields))

    return change


def _newest(one: Input) -> Input | None:
    return replace(one, version=NEWEST[type(one.request)]) if isinstance(one, Ask) else None


def _first_protocol(one: Input) -> Input | None:
    if not isinstance(one, Ask) or not isinstance(one.request, core.JoinGroup):
        return None
    return replace(one, request=replace(one.request, protocols=one.request.protocols[:1]))


def _phase_ends(kind: core.TimerKind) -> Callable[[Input], Input | None]:
    """Rather the end of a join phase than some other timer."""

    def change(one: Input) -> Input | None:
        return (
            replace(one, timer_id=core.TimerId(kind, one.timer_id.group_id)) if isinstance(one, Due) else None
        )

    return change


def _without_metadata(one: Input) -> Input | None:
    if not isinstance(one, Ask) or not isinstance(one.request, core.JoinGroup):
        return None
    protocols = tuple(core.JoinGroupProtocol(entry.name) for entry in one.request.protocols)
    return replace(one, request=replace(one.request, protocols=protocols))


_CHANGES: tuple[Callable[[Input], Input | None], ...] = (
    _phase_ends("join"),
    _phase_ends("initial_join"),
    lambda one: replace(one, picks=()),
    _newest,
    _asked(core.JoinGroup, session_timeout_ms=TIMEOUT_MS),
    _asked(core.JoinGroup, rebalance_timeout_ms=TIMEOUT_MS),
    _asked(core.JoinGroup, protocol_type="consumer"),
    _first_protocol,
    _without_metadata,
    _asked(core.JoinGroup, group_instance_id=None),
    _asked(core.SyncGroup, assignments=()),
    _asked(core.SyncGroup, group_instance_id=None),
    _asked(core.Heartbeat, group_instance_id=None),
    lambda one: replace(one, place=0, error=None) if isinstance(one, Logged) else None,
    lambda one: replace(one, group_max_size=1) if isinstance(one, Moved) else None,
)
"""Each makes an input plainer, or answers None where it has nothing to say."""


def _renumbered(shrinker: _Shrinker) -> None:
    """Members named by the numbers that their requests have now, if the same comes of it."""
    asks = [one for one in shrinker.inputs if isinstance(one, Ask)]
    serials = {one.serial: place for place, one in enumerate(asks, 1)}
    names = {f"m{old}": f"m{new}" for old, new in serials.items()}
    renamed: list[Input] = []
    for one in shrinker.inputs:
        if isinstance(one, Ask):
            one = replace(one, serial=serials[one.serial])
        renamed.append(_with_names(one, names))
    shrinker.keep(renamed)


def _with_names(one: Input, names: Mapping[str, str]) -> Input:
    """An input with all its member ids exchanged."""
    if isinstance(one, Ask):
        return replace(one, request=_renamed(one.request, names))
    if isinstance(one, Due):
        old = one.timer_id
        member_id = names.get(old.member_id, old.member_id)
        return replace(one, timer_id=core.TimerId(old.kind, old.group_id, member_id))
    if isinstance(one, About) and isinstance(one.request, core.OffsetCommit | core.TxnOffsetCommit):
        member_id = names.get(one.request.member_id, one.request.member_id)
        return replace(one, request=replace(one.request, member_id=member_id))
    return one


def _renamed(request: CoreRequest, names: Mapping[str, str]) -> CoreRequest:
    """A request with all its member ids exchanged."""
    own = names.get(request.member_id, request.member_id)
    if isinstance(request, core.LeaveGroup):
        members = tuple(replace(m, member_id=names.get(m.member_id, m.member_id)) for m in request.members)
        return replace(request, member_id=own, members=members)
    if isinstance(request, core.SyncGroup):
        parts = tuple(a._replace(member_id=names.get(a.member_id, a.member_id)) for a in request.assignments)
        return replace(request, member_id=own, assignments=parts)
    return replace(request, member_id=own)
