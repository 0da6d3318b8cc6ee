"""Properties for rounds in plain Python: each view sees a value once, each question is asked once.

Standard library and kernel only.
"""

from __future__ import annotations

from typing import Any

from rota.explore.spark.combinations import Journal, Lanes, counted, key, lanes
from rota.explore.spark.worker.plain_tables import Key, Values
from rota.kernel import Kind, Property, System, View


class Judge:
    """The properties of a system. What is counted gets into the journal."""

    def __init__(self, system: System, values: Values, journal: Journal) -> None:
        self.system, self.values, self.journal = system, values, journal
        self.ranks = {prop: rank for rank, prop in enumerate(counted(system))}
        self._seen: dict[View, _Seen] = {}

    def checks(self, *kinds: Kind) -> list[Check]:
        """The checks of some kinds, ranked among themselves."""
        return [Check(self, rank, prop) for rank, prop in enumerate(self.system.select(*kinds))]

    def seen(self, view: View) -> _Seen:
        """What a view sees, for all properties that have it."""
        return self._seen.setdefault(view, _Seen(view, self.values))


class _Seen:
    """What a view sees in each value, and its hash."""

    def __init__(self, view: View, values: Values) -> None:
        self._view, self._values = view, values
        self._known: dict[int, tuple[Any, Lanes]] = {}

    def of(self, number: int) -> tuple[Any, Lanes]:
        known = self._known.get(number)
        if known is None:
            seen = self._view.of(self._values.all[number])
            known = self._known[number] = seen, lanes(seen)
        return known


class Check:
    """A property over keys; its predicates are called once per combination of what its views see."""

    def __init__(self, judge: Judge, rank: int, prop: Property) -> None:
        self.rank, self.prop = rank, prop
        self._choices = judge.system.positions(prop)
        self._views = [judge.seen(view) for view in prop.views * (2 if prop.kind is Kind.STEP else 1)]
        self._counted, self._journal = judge.ranks.get(prop), judge.journal
        self._known: dict[Key, bool] = {}
        self._judged: dict[tuple[Lanes, ...], bool] = {}

    def holds(self, key: Key) -> bool:
        """Whether a state property holds, as `System.holds`."""
        answers = (self._answer(tuple([key[i] for i in choice])) for choice in self._choices)
        return all(answers) if self.prop.universal else any(answers)

    def step_holds(self, before: Key, after: Key) -> bool:
        """Whether a step property holds, as `System.step_holds`."""
        return all(self._answer((before[i], after[i])) for (i,) in self._choices)

    def _answer(self, numbers: Key) -> bool:
        known = self._known.get(numbers)
        if known is None:
            seen, hashes = zip(*(v.of(n) for v, n in zip(self._views, numbers, strict=True)), strict=True)
            if hashes not in self._judged:
                self._judged[hashes] = self._judge(seen, hashes)
            known = self._known[numbers] = self._judged[hashes]
        return known

    def _judge(self, seen: tuple[Any, ...], hashes: tuple[Lanes, ...]) -> bool:
        given = self.prop.premise(*seen)
        holds = not given or bool(self.prop.test(*seen))
        if self._counted is not None:
            self._journal.note(key(hashes, self._counted, given))
        return holds
