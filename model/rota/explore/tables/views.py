"""What views see, numbered, and how a property was judged on it: each question is asked once.

The numbers of a view are those of all machines of its role together, so that the same combination is judged
once, whichever machines show it, and counted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from rota.explore.purity import Line, twice
from rota.explore.tables.arrays import Flags, Ints, Longs
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
        self._by_id: dict[int, int] = {}
        """The numbers of results by their identity: they are kept, so nothing else can have it."""
        self._shown: list[Pair] = []
        self._read = True
        """False while what an earlier run has numbered was not looked at again."""

    @property
    def shown(self) -> Longs:
        """By number a machine's position and the number of a value of it that shows it, shape [n, 2]."""
        return np.array(self._shown, np.int64).reshape(len(self._shown), 2)

    def code(self, position: int, value: int) -> int:
        """The number of what is seen in a machine's value; the view is called."""
        if not self._read:
            self._look_again()
        return self._intern(position, value)

    def result(self, code: int) -> Any:
        """What has this number."""
        if not self._read:
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
        self._read = True
        shown, self._shown = self._shown, []
        for code, (position, value) in enumerate(shown):
            if self._intern(position, value) != code:
                raise KeptError("a property does not see what it saw in an earlier run; is its view impure?")

    def _intern(self, position: int, value: int) -> int:
        shown = self._learned.machines[position].interned.values[value]
        result = self._of(shown)
        self._line.note((shown,), result)
        known = self._by_id.get(id(result))
        if known is not None:
            return known
        twins = self._known.setdefault(result, [])
        for code in twins:
            if same(self._results[code], result):
                return code
        self._by_id[id(result)] = len(self._results)
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

    def codes_of(self, values: Sequence[int]) -> list[int]:
        """The numbers of the views of distinct values; the view is called once per value."""
        if self._kept is not None:
            self._codes = {value: code for value, code in enumerate(self._kept.tolist()) if code >= 0}
            self._kept = None
        known, seen, position = self._codes, self.seen, self._position
        for value in values:
            if value not in known:
                known[value] = seen.code(position, value)
        return [known[value] for value in values]

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
        self.prop, self.seen, self._one = prop, seen, len(seen) == 1
        # what is put again must not hold these answers: they would be garbage that only a collector finds
        self._line = seen[0].again.line(Line(f"property {prop.name}", partial(_in_words, prop), twice))
        self._known: dict[int, int] = {}
        """By the key of a pair."""
        self._kept: tuple[Longs, Ints] | None = None
        """Those of an earlier run; None once they are in the table."""

    def holds(self, first: Ints, second: Ints) -> Flags:
        """Of which pairs the property holds; premise and predicate are called once per combination."""
        if self._kept is not None:
            pairs, judged = self._kept
            self._known = dict(zip(_keys(pairs[:, 0], pairs[:, 1]), judged.tolist(), strict=True))
            self._kept = None
        known, keys = self._known, _keys(first, second)
        answers = list(map(known.get, keys))
        if None in answers:
            for key in keys:
                if key not in known:
                    known[key] = self._judged(key >> 32, key & 0xFFFFFFFF)
            answers = [known[key] for key in keys]
        holds: Flags = np.array(answers, np.int8) != FALSE
        return holds

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
        count = len(self._known) - start
        # from the end, so that it takes no time to pass by what is older
        keys, answers = (
            np.fromiter(islice(reversed(some), count), np.int64, count)[::-1]
            for some in (self._known.keys(), self._known.values())
        )
        return np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1), answers.astype(np.int32)

    def shown(self, start: int = 0) -> Longs:
        """Combinations by machines' positions and numbers of values that show them, shape [n, 4]."""
        pairs, _ = self.pairs(start)
        first, second = self.seen[0].shown, self.seen[-1].shown
        return np.hstack([first[pairs[:, 0]], second[pairs[:, 1]]])

    def meet(self, shown: Longs) -> None:
        """Judge combinations that `shown` has told of in another process, where values had these numbers."""
        first, second = self.seen[0], self.seen[-1]
        pairs = [(first.code(a, value), second.code(b, other)) for a, value, b, other in shown.tolist()]
        if pairs:
            self.holds(*np.array(pairs, np.int64).T)

    def recall(self, pairs: Longs, answers: Ints) -> None:
        """Begin with how an earlier run judged, which is given as `pairs` gave it."""
        self._kept = pairs, answers

    def judged_again(self, pair: Pair) -> int:
        """How a combination is judged by views, premise and predicate, whatever was said before."""
        return _judged(
            self.prop, *[seen.looked_at(code) for seen, code in zip(self.seen, pair, strict=False)]
        )

    def _judged(self, first: int, second: int) -> int:
        if self._one:
            combination: tuple[Any, ...] = (self.seen[0].result(first),)
        else:
            combination = self.seen[0].result(first), self.seen[1].result(second)
        answer = _judged(self.prop, *combination)
        self._line.note(combination, WORDS[answer])
        return answer


def _judged(prop: Property, *seen: Any) -> int:
    if prop.given is not None and not prop.given(*seen):
        return VACUOUS
    return TRUE if prop.test(*seen) else FALSE


def _in_words(prop: Property, *seen: Any) -> str:
    return WORDS[_judged(prop, *seen)]


def _keys(first: Any, second: Any) -> list[int]:
    """A number for each pair of codes."""
    return list((first.astype(np.int64) << 32 | second).tolist())
