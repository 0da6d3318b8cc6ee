"""Takes states of one history apart, under the names that they have there, and puts them together again."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from rota.kernel import FrozenMap
from rota.linearise.learned import Learned
from rota.linearise.names import Names
from rota.linearise.parts import Core, Due, Line, Outcome, Packed, Shared, spans_of
from rota.linearise.states import InLog, Owed, State
from rota.linearise.times import FOREVER, NEVER, Span
from rota.spec import Timer


class Packing:
    """The parts of one history's states. Parameters: learned, what is known of all; names, of the history."""

    def __init__(self, learned: Learned, names: Names) -> None:
        self.learned, self.names = learned, names
        self._shared: dict[Hashable, Shared] = {}
        self._due: dict[tuple[float, ...], Due] = {}
        self._lines: dict[Hashable, Line] = {}
        self._next: dict[tuple[Due, Outcome, Span], Due] = {}
        self._left: dict[tuple[Shared, int], Shared] = {}
        self._whole: dict[Core, State] = {}

    def __len__(self) -> int:
        """How many things are kept."""
        tables = (self._shared, self._due, self._lines, self._next, self._left, self._whole)
        return sum(len(table) for table in tables) + len(self.names)

    def copied(self) -> Packing:
        """The same of a run that goes on by itself."""
        return Packing(self.learned, self.names.copied())

    def shared(self, value: Hashable) -> Shared:
        """The one value like this."""
        found = self._shared.get((type(value), value))
        if found is None:
            found = self._shared[type(value), value] = Shared(value)
        return found

    def due(self, value: tuple[float, ...]) -> Due:
        """When timers are due; the one like this."""
        found = self._due.get(value)
        if found is None:
            found = self._due[value] = Due(value)
        return found

    def line(self, items: tuple[Any, ...], since: tuple[float, ...]) -> Line:
        """What waits for the log; the one like this."""
        value = (items, since)
        found = self._lines.get(value)
        if found is None:
            offsets = any(item is not None for item, _ in items[:2])
            first = self.learned.shared(items[0]) if items and not offsets else None
            found = self._lines[value] = Line(value, first)
        return found

    def packed(self, state: State, like: tuple[Core, State] | None = None) -> Packed:
        """A state taken apart. like: a core, and a state of it."""
        more = state.dead, state.look, state.ends or None
        assert more == (None, None, None), "states of a run that can be quick have none of these"
        names, said = self.names, self.learned.shared
        owed = tuple((number, said(names.into(one.message)), one.by) for number, one in state.owed.items())
        items = ((one.item, names.into(one.record) if one.item is None else one.record) for one in state.line)
        return (
            like[0] if like is not None and _same_core(like[1], state) else self._core(state),
            self.shared(state.offsets),
            self.line(tuple(items), _numbers(one.since for one in state.line)),
            self.due(_numbers(state.armed.values())),
            self.shared(tuple(sorted(state.pending))),
            self.shared(owed),
            state.low,
            state.veiled,
        )

    def _core(self, state: State) -> Core:
        names = self.names
        for one in state.ids:
            names.member(one)
        here = State(
            names.into(state.group),
            ids=names.into(state.ids),
            stored=names.into(state.stored),
            looked=state.looked,
        )
        return self.learned.core(here, tuple(names.into(timer) for timer in state.armed))

    def unpacked(self, packed: Packed) -> State:
        """A state as it was before it was taken apart."""
        core, offsets, line, armed, pending, owed, low, veiled = packed
        whole, back = self._whole_core(core), self.names.back
        items, since = line.value
        waiting = zip(items, spans_of(since), strict=True)
        return State(
            whole.group,
            offsets.value,
            FrozenMap(zip(whole.armed, spans_of(armed.value), strict=True)),
            frozenset(pending.value),
            FrozenMap((number, Owed(back(message.value), by)) for number, message, by in owed.value),
            tuple(
                InLog(item, back(record) if item is None else record, span)
                for (item, record), span in waiting
            ),
            whole.ids,
            low,
            veiled,
            looked=core.looked,
            stored=whole.stored,
        )

    def _whole_core(self, core: Core) -> State:
        """What a core is in this history. Kept where nobody waits, whose number may be another's later."""
        found = self._whole.get(core)
        if found is None:
            back = self.names.back
            found = State(
                back(core.group),
                armed=FrozenMap((back(timer), _NEVER) for timer in core.timers),
                ids=back(core.ids),
                stored=back(core.stored),
            )
            if not core.waits:
                self._whole[core] = found
        return found

    def timer(self, core: Core, place: int) -> Timer:
        """A timer of a core as the history has it."""
        return self.names.back(core.timers[place])

    def armed_after(self, before: Due, one: Outcome, moment: Span) -> Due:
        """When timers are due after a step at a moment."""
        key = (before, one, moment)
        found = self._next.get(key)
        if found is None:
            found = self._next[key] = self.due(_armed(before.value, one.armed, moment))
        return found

    def without(self, pending: Shared, number: int) -> Shared:
        """What is pending without one request."""
        found = self._left.get((pending, number))
        if found is None:
            left = self.shared(tuple(one for one in pending.value if one != number))
            found = self._left[pending, number] = left
        return found

    def line_after(self, before: Line, one: Outcome, moment: Span, stored: bool = False) -> Line:
        """What waits after a step at a moment. stored: whether the log has what was first."""
        items, since = before.value
        if stored:
            items, since = items[1:], since[2:]
        waiting = tuple((None, record) for record in one.appended)
        return self.line((*items, *waiting), (*since, *(moment.earliest, moment.latest) * len(waiting)))

    def line_with(self, before: Line, more: Iterable[Any], moment: Span) -> Line:
        """What waits with more of the offsets behind it, since a moment."""
        (items, since), waiting = before.value, tuple((item, None) for item in more)
        return self.line((*items, *waiting), (*since, *(moment.earliest, moment.latest) * len(waiting)))


_NEVER = Span(FOREVER, FOREVER)


def _same_core(one: State, other: State) -> bool:
    same = one.group is other.group and one.ids is other.ids and one.stored is other.stored
    return same and one.looked == other.looked and [*one.armed] == [*other.armed]


def _numbers(spans: Iterable[Span]) -> tuple[float, ...]:
    return tuple(number for span in spans for number in (span.earliest, span.latest))


def _armed(before: tuple[float, ...], told: Sequence[int | float | None], moment: Span) -> tuple[float, ...]:
    """When timers are due after a step. told: as of `Outcome.armed`."""
    found: list[float] = []
    for one in told:
        if one is None:
            found += (NEVER, FOREVER)
        elif type(one) is int:
            found += before[2 * one : 2 * one + 2]
        else:
            found += (moment.earliest + one, moment.latest + one)
    return tuple(found)
