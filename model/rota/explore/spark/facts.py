"""What machines answered, as arrays of numbers: how learned entries look between processes.

A fact is a key (which machine was asked, in which value, by whom, with which message) and its outcomes (next
value, rules, what is sent). All of it are numbers of one version of the registry, or numbers behind those: of
the values that a piece of news brings itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rota.explore.tables.arrays import Flags, Ints, Longs

POSITION, VALUE, SENDER, MESSAGE, OUTCOMES = range(5)
"""Columns of a key. SENDER is 0 where a machine was asked what it offers, else 1 + the sender's position."""

NEXT, RULES, SENDS = range(3)
"""Columns of an outcome: numbers of the next value and of the rules, and how many messages it sends."""

Tables = Ints | int
"""Which table each of some numbers is of, or all of them."""

_VALUE_BITS, _MESSAGE_BITS, _MACHINE_BITS = 28, 21, 7
"""Bits of a key in one integer, 63 in all."""


@dataclass(frozen=True)
class Facts:
    """Facts end to end.

    keys: shape [n, 5]; outcomes: shape [sum of OUTCOMES, 3]; sends: shape [sum of SENDS, 2], (to, message).
    """

    keys: Ints
    outcomes: Ints
    sends: Ints

    @staticmethod
    def of(keys: Sequence[int], outcomes: Sequence[int], sends: Sequence[int]) -> Facts:
        """From flat lists of numbers."""
        return Facts(_table(keys, 5), _table(outcomes, 3), _table(sends, 2))

    @staticmethod
    def from_bytes(raw: bytes) -> Facts:
        """What `to_bytes` gave. Errors: ValueError if it cannot be that."""
        numbers = np.frombuffer(raw, np.int32) if raw else np.zeros(3, np.int32)
        keys, outcomes, sends = (int(count) for count in numbers[:3])
        if len(numbers) != 3 + 5 * keys + 3 * outcomes + 2 * sends:
            raise ValueError("facts have another length than they say")
        first, second = 3 + 5 * keys, 3 + 5 * keys + 3 * outcomes
        return Facts(
            _table(numbers[3:first], 5), _table(numbers[first:second], 3), _table(numbers[second:], 2)
        )

    def to_bytes(self) -> bytes:
        """All of them; no bytes for no facts."""
        if not len(self.keys):
            return b""
        sizes = np.array([len(self.keys), len(self.outcomes), len(self.sends)], np.int32)
        return b"".join(part.tobytes() for part in (sizes, self.keys, self.outcomes, self.sends))

    def codes(self) -> Longs:
        """Each key as one integer, -1 where its numbers are too large for that: such a fact is not kept."""
        wide = self.keys.astype(np.int64)
        fits = (
            (wide[:, VALUE] < 1 << _VALUE_BITS)
            & (wide[:, MESSAGE] < 1 << _MESSAGE_BITS)
            & (wide[:, SENDER] < 1 << _MACHINE_BITS)
            & (wide[:, POSITION] < 1 << _MACHINE_BITS)
        )
        return np.where(fits, code(*(wide[:, column] for column in (POSITION, VALUE, SENDER, MESSAGE))), -1)

    def only(self, chosen: Flags) -> Facts:
        """Those that are chosen, in their order."""
        outcomes = np.repeat(chosen, self.keys[:, OUTCOMES])
        return Facts(
            self.keys[chosen],
            self.outcomes[outcomes],
            self.sends[np.repeat(outcomes, self.outcomes[:, SENDS])],
        )

    def mapped(self, machines: int, numbers: Callable[[Ints, Tables], Any]) -> Facts:
        """With other numbers: what a function says of numbers and their tables.

        Tables are the machines, messages, rules.
        """
        keys, outcomes, sends = self.keys.copy(), self.outcomes.copy(), self.sends.copy()
        positions, asked = keys[:, POSITION], keys[:, SENDER] > 0
        keys[:, VALUE] = numbers(keys[:, VALUE], positions)
        keys[asked, MESSAGE] = numbers(keys[asked, MESSAGE], machines)
        outcomes[:, NEXT] = numbers(outcomes[:, NEXT], np.repeat(positions, keys[:, OUTCOMES]))
        outcomes[:, RULES] = numbers(outcomes[:, RULES], machines + 1)
        sends[:, 1] = numbers(sends[:, 1], machines)
        return Facts(keys, outcomes, sends)

    def renumbered(self, bases: Sequence[int], fresh: Sequence[Longs]) -> Facts:
        """With the final numbers of what is new.

        Parameters: per table bases, the first number that is not final, and fresh, the final numbers of those
        from there on. Errors: ValueError for a number behind these.
        """
        sizes = np.array([len(numbers) for numbers in fresh], np.int64)
        begins = np.cumsum(sizes) - sizes
        finals = np.concatenate([*fresh, np.zeros(1, np.int64)])
        base = np.array(bases, np.int64)

        def final(numbers: Ints, tables: Tables) -> Longs:
            behind = numbers - base[tables]
            if (behind >= sizes[tables]).any():
                raise ValueError("facts name a value that did not come with them")
            at = np.where(behind < 0, len(finals) - 1, begins[tables] + behind)
            return np.where(behind < 0, numbers, finals[at])

        return self.mapped(len(bases) - 2, final)


def code(position: Any, value: Any, sender: Any, message: Any) -> Any:
    """A fact's key as one integer, not negative (or keys, for arrays of int64); see `Facts.codes`."""
    who = position << _MACHINE_BITS | sender
    return (who << _MESSAGE_BITS | message) << _VALUE_BITS | value


def together(parts: Sequence[Facts]) -> Facts:
    """Facts of several origins, one after the other."""
    parts = [Facts.of((), (), ()), *parts]
    keys, outcomes, sends = zip(*((part.keys, part.outcomes, part.sends) for part in parts), strict=True)
    return Facts(np.concatenate(keys), np.concatenate(outcomes), np.concatenate(sends))


def _table(numbers: Sequence[int] | Ints, columns: int) -> Ints:
    return np.asarray(numbers, np.int32).reshape(-1, columns)
