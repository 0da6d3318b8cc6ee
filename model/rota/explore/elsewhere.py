"""The same system in another process: what depends on where it is asked is no function.

Within a process sets keep their order and objects their addresses, so asking twice shows nothing of them.
Another process, in which texts have other hashes, builds the system from its `ref` and walks through its
first states, breadth first in the order of canonical hashes; both must see the same.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from hashlib import blake2b
from itertools import zip_longest
from types import TracebackType
from typing import Any, Self

from rota.explore.purity import Impure, shown
from rota.kernel import State, System, Transition, encode

STATES = 200
"""States that are walked through."""

PATIENCE = 30.0
"""Seconds to wait for the other process when this one has done its work."""

SEEDS = ("1", "2")
"""Of hashes: the first one that is not this process's."""

Step = list[str]
"""What a machine did: its name, what it was asked about, what it answered."""

Seen = tuple[str, list[list[Step]]]
"""A state, and the transitions out of it, each with a step per machine that took part."""


class Elsewhere:
    """Another process that walks through a system. A context manager: it does not outlive it.

    why: nothing was compared, for this reason; states: how many were.
    """

    def __init__(self, system: System, states: int = STATES) -> None:
        self.why, self.states = "", 0
        self._system, self._most = system, states
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        seed = next(one for one in SEEDS if one != os.environ.get("PYTHONHASHSEED"))
        path = os.pathsep.join(one for one in sys.path if one)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"from {__name__} import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
                start_new_session=True,  # Ctrl-C is for the process that waits
            )
        except OSError as error:
            self.why = f"no process can be started ({error})"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()

    def compare(self) -> None:
        """Hold what the other process saw against what this one sees. Errors: Impure."""
        if self._process is None:
            return
        try:
            told, _ = self._process.communicate(pickle.dumps((self._system.ref, self._most)), PATIENCE)
        except (subprocess.TimeoutExpired, OSError) as error:
            self.why = f"the other process did not answer ({error})"
            return
        theirs: list[Seen] = [tuple(json.loads(line)) for line in told.splitlines()]
        if self._process.returncode or not theirs:
            self.why = "the other process could not build the system"
            return
        for ours, other in zip_longest(walk(self._system, self._most), theirs):
            if ours is not None and other is not None and ours[0] != other[0]:
                raise Impure(f"{self._system.name} does not begin alike in every process")
            _same(*(([] if seen is None else seen[1]) for seen in (ours, other)))
            self.states += 1


def _same(ours: list[list[Step]], theirs: list[list[Step]]) -> None:
    here, there = ([step for steps in side for step in steps] for side in (ours, theirs))
    if sorted(ours) == sorted(theirs):
        return
    only = next((step for step in here if step not in there), None)
    other = next((step for step in there if step not in here), None)
    machine, about, _ = only or other or ("", "", "")
    first, then = (one[2] if one else "nothing" for one in (only, other))
    raise Impure(
        f"machine {machine} is no function of what it is given: asked about {about} it answered {first}, and "
        f"in another process {then}; let it depend on nothing else, no id(), order of a set or environment"
    )


def walk(system: System, most: int) -> Iterator[Seen]:
    """The first states of a system with the transitions out of each, the same wherever it is a function."""
    level = sorted(system.initial_states(), key=system.hash_state)
    met = set(map(system.hash_state, level))
    left = most
    while level and left:
        found: list[State] = []
        for state in level[:left]:
            transitions = list(system.successors(state))
            yield _name(state), [_steps(system, state, one) for one in transitions]
            found += [one.target for one in transitions]
        left -= len(level[:left])
        new = {system.hash_state(state): state for state in found}
        level = [new[code] for code in sorted(new.keys() - met)]
        met |= new.keys()


def _name(state: State) -> str:
    return blake2b(b"".join(map(encode, state)), digest_size=16).hexdigest()


def _steps(system: System, state: State, transition: Transition) -> list[Step]:
    values = list(state)
    steps = []
    for one in transition.local_steps:
        place = system.index[one.machine]
        given = f" and {_text(one.message)} from {one.sender}" if one.sender else ""
        label = f" ({one.label})" if one.label else ""
        steps.append([one.machine, f"{_text(values[place])}{given}", f"{_text(one.value)}{label}"])
        values[place] = one.value
    return steps


def _text(value: Any) -> str:
    """A value for a person, with what tells it from any other: the order of sets must not show."""
    code = blake2b(encode(value), digest_size=4).hexdigest()
    text = repr(value)
    ordered = "frozenset" not in text
    return text if ordered and shown(value) == text else f"{shown(value) if ordered else ''}#{code}"


def main() -> None:
    """The other process: what it walks through, a line each."""
    ref, most = pickle.load(sys.stdin.buffer)
    for seen in walk(ref.build(), most):
        print(json.dumps(seen))
