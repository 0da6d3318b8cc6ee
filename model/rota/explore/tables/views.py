"""What views see, numbered, and how a property was judged on it: each question is asked once.

The numbers of a view are those of all machines of its role together, so that the same combination is judged
once, whichever machines show it, and counted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from rota.explore.purity import Line, twice
from rota.explore.tables.arrays import Ints, Longs
from rota.explore.tables.kept import KeptError
from rota.explore.tables.machines import Learned
from rota.kernel import Property, View
from rota.kernel.twins import same

VACUOUS, TRUE, FALSE = 0, 1, 2
"""How a property is judged: its premise is False; it holds; it does not."""

WORDS = ("that its premise is False", "True", "False")
"""The same for a person."""

Pair = tuple[int, int]
"""What the views of a property see, by number; twice the same number where there is one view."""


class Seen:
    """What one view sees in the machines of its role, interned; types matter as in states."""

    def __init__(self, learned: Learned, view: View) -> None:
        self._learned = learned
        self._of, what = view.of, f"a view of role {view.role}"
        self._line = learned.again.line(Line(what, view.of, twice))
        self.again = learned.again
        self._known: dict[Any, list[int]] = {}
        self._results: list[Any] = []
        self._shown: list[Pair] = []
        self._read = True
        """False while what an earlier run has numbered was not looked at again."""

    @property
    def shown(self) -> Longs:
        """By number a machine's position and the number of a value of it that shows it, shape [n, 2]."""
        return np.array(self._shown, np.int64).reshape(len(self._shown), 2)

    def code(self, position: int, value: int) -> int:
        """The number of what is seen in a machine's value; the view is called."""
        self._look_again()
        return self._intern(position, value)

    def result(self, code: int) -> Any:
        """What has this number."""
        self._look_again()
        return self._results[code]

    def looked_at(self, code: int) -> Any:
        """As `result`, but the view is called."""
        position, value = self._shown[code]
        return self._of(self._learned.machines[position].interned.values[value])

    def recall(self, shown: Longs) -> None:
        """Begin with the numbers of an earlier run, which are given as `shown` gave them."""
        self._shown = list(map(tuple, shown.tolist()))
        self._read = False

    def _look_again(self) -> None:
        """What an earlier run numbered is seen again, once there is more to be numbered or judged."""
        if self._read:
            return
        self._read = True
        shown, self._shown = self._shown, []
        for code, (position, value) in enumerate(shown):
            if self._intern(position, value) != code:
                raise KeptError("a property does not see what it saw in an earlier run; is its view impure?")

    def _intern(self, position: int, value: int) -> int:
        shown = self._learned.machines[position].interned.values[value]
        result = self._of(shown)
        self._line.note((shown,), result)
        twins = self._known.setdefault(result, [])
        for code in twins:
            if same(self._results[code], result):
                return code
        twins.append(len(self._results))
        self._results.append(result)
        self._shown.append((position, value))
        return twins[-1]


class ViewTable:
    """The number of what a view sees in each value of one machine."""

    def __init__(self, seen: Seen, position: int) -> None:
        self.seen = seen
        self._position = position
        self._codes: dict[int, int] = {}
        self._kept: Ints | None = None
        """Those of an earlier run by value; None once they are in the table."""

    def code(self, value: int) -> int:
        """The number of the view of a value; the view is called once per value."""
        if self._kept is not None:
            self._codes = {value: code for value, code in enumerate(self._kept.tolist()) if code >= 0}
            self._kept = None
        known = self._codes.get(value)
        if known is None:
            known = self._codes[value] = self.seen.code(self._position, value)
        return known

    def codes(self) -> Ints:
        """The number by value, as far as is known; -1 where it is not."""
        if self._kept is not None:
            return self._kept
        codes = np.full(1 + max(self._codes, default=-1), -1, np.int32)
        codes[list(self._codes)] = list(self._codes.values())
        return codes

    def recall(self, codes: Ints) -> None:
        """Begin with the numbers that an earlier run gave to the views of its values."""
        self._kept = codes


class Answers:
    """How one property was judged, by what its views see together.

    Parameters: prop; seen, what each of its views sees, one or two.
    """

    def __init__(self, prop: Property, seen: Sequence[Seen]) -> None:
        self.prop, self.seen = prop, seen
        self._line = seen[0].again.line(Line(f"property {prop.name}", self._in_words, twice))
        self._known: dict[Pair, int] = {}
        self._kept: tuple[Longs, Ints] | None = None
        """Those of an earlier run; None once they are in the table."""

    def holds(self, pair: Pair) -> bool:
        """Whether the property holds; premise and predicate are called once per combination."""
        known = self._known.get(pair)
        return (self._asked(pair) if known is None else known) != FALSE

    def __len__(self) -> int:
        return len(self._known) if self._kept is None else len(self._kept[1])

    @property
    def given(self) -> int:
        """Of how many combinations the premise was True."""
        return int(np.count_nonzero(self.pairs()[1] != VACUOUS))

    def pairs(self, start: int = 0) -> tuple[Longs, Ints]:
        """Combinations, shape [n, 2], and how they are judged, in the order in which they came."""
        if self._kept is not None:
            return self._kept[0][start:], self._kept[1][start:]
        # from the end, so that it takes no time to pass by what is older
        known = list(islice(reversed(self._known.items()), len(self._known) - start))[::-1]
        pairs = np.array([pair for pair, _ in known], np.int64).reshape(len(known), 2)
        return pairs, np.array([answer for _, answer in known], np.int32)

    def combination(self, pair: Pair) -> tuple[Any, ...]:
        """What the views see."""
        return tuple([seen.result(code) for seen, code in zip(self.seen, pair, strict=False)])

    def shown(self, start: int = 0) -> Longs:
        """Combinations by machines' positions and numbers of values that show them, shape [n, 4]."""
        pairs, _ = self.pairs(start)
        first, second = self.seen[0].shown, self.seen[-1].shown
        return np.hstack([first[pairs[:, 0]], second[pairs[:, 1]]])

    def meet(self, shown: Longs) -> None:
        """Judge combinations that `shown` has told of in another process, where values had these numbers."""
        first, second = self.seen[0], self.seen[-1]
        for place, value, other, its_value in shown.tolist():
            self.holds((first.code(place, value), second.code(other, its_value)))

    def recall(self, pairs: Longs, answers: Ints) -> None:
        """Begin with how an earlier run judged, which is given as `pairs` gave it."""
        self._kept = pairs, answers

    def _asked(self, pair: Pair) -> int:
        if self._kept is not None:
            pairs, answers = self._kept
            self._known = dict(zip(map(tuple, pairs.tolist()), answers.tolist(), strict=True))
            self._kept = None
        if pair not in self._known:
            self._known[pair] = self._judged(pair)
        return self._known[pair]

    def judged_again(self, pair: Pair) -> int:
        """How a combination is judged by views, premise and predicate, whatever was said before."""
        return self._says(*[seen.looked_at(code) for seen, code in zip(self.seen, pair, strict=False)])

    def _judged(self, pair: Pair) -> int:
        combination = self.combination(pair)
        answer = self._says(*combination)
        self._line.note(combination, WORDS[answer])
        return answer

    def _in_words(self, *seen: Any) -> str:
        return WORDS[self._says(*seen)]

    def _says(self, *seen: Any) -> int:
        if not self.prop.premise(*seen):
            return VACUOUS
        return TRUE if self.prop.test(*seen) else FALSE
