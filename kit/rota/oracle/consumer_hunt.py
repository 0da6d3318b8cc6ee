"""Walks of the machine of the consumer protocol, and bugs that they find, made shorter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import MISSING, fields, replace

from rota.coordinator import GroupCoordinator
from rota.mutants.core import CoreBug, planted
from rota.oracle.consumer_inputs import Input
from rota.oracle.consumer_lockstep import ConsumerLockstep
from rota.oracle.consumer_machine import ConsumerFollowsSpec
from rota.oracle.report import Divergence
from rota.oracle.shadow import Make
from rota.oracle.walk import Walk, run

OUT_OF_REACH = {
    "membership.inactive": "the core is not asked before it runs",
    "membership.loading": "the core is not asked while it loads",
    "membership.elsewhere": "the core is asked for its own groups only",
}
"""Rules that the machine does not reach, and why."""

TRIES = 300
"""Replays after which the shortest so far has to do."""


def replay(
    inputs: Iterable[Input], make: Make = GroupCoordinator
) -> tuple[Divergence | None, list[Input], ConsumerLockstep]:
    """Do these inputs with a new core, leaving out those that are not possible.

    Returns the first divergence, None where there is none, the inputs up to there, and the lockstep.
    """
    lockstep = ConsumerLockstep(make)
    try:
        for one in inputs:
            lockstep.do(one)
    except Divergence as found:
        return found, lockstep.inputs, lockstep
    return None, lockstep.inputs, lockstep


def played(examples: Iterable[Sequence[Input]]) -> Walk:
    """The walk that makes these examples, up to the first divergence."""
    walk = Walk()
    for inputs in examples:
        found, done, lockstep = replay(inputs)
        walk.examples.append(done)
        walk.visited |= lockstep.spec.visited
        walk.found = found
        if found is not None:
            break
    return walk


def walked(examples: int, steps: int, make: Make = GroupCoordinator) -> Walk:
    """Run the machine, derandomized. Stops at the first divergence, shortened."""
    result = Walk()

    class Recorded(ConsumerFollowsSpec):
        def teardown(self) -> None:
            result.examples.append(self.lockstep.inputs)
            result.visited |= self.lockstep.spec.visited

    Recorded.make = staticmethod(make)
    try:
        run(Recorded, examples, steps)
    except Divergence as found:
        result.examples[-1], result.found = minimised(result.examples[-1], found, make)
    return result


def hunted(bug: CoreBug, examples: Iterable[Sequence[Input]]) -> tuple[list[Input], Divergence] | None:
    """Play examples to a core with this bug until it diverges, shortened; None if it never does.

    Short ones are played first, which are soon played and soon shortened.
    """
    with planted(bug):
        for inputs in sorted(examples, key=len):
            found, done, _ = replay(inputs)
            if found is not None:
                return minimised(done, found)
    return None


class _Shrinker:
    def __init__(self, inputs: Sequence[Input], found: Divergence, make: Make) -> None:
        self.inputs = list(inputs)
        self.found = found
        self._make = make
        self._tries = 0

    def keep(self, candidate: Sequence[Input]) -> bool:
        """Whether the candidate breaks the same rule; if so it is the shortest from now on."""
        self._tries += 1
        if self._tries > TRIES:
            return False
        found, done, _ = replay(candidate, self._make)
        if found is None or found.rule != self.found.rule:
            return False
        self.inputs, self.found = done, found
        return True


def minimised(
    inputs: Sequence[Input], found: Divergence, make: Make = GroupCoordinator
) -> tuple[list[Input], Divergence]:
    """Inputs as few and as plain as can be had that break the same rule, and how they end."""
    shrinker = _Shrinker(inputs, found, make)
    before: list[Input] = []
    while before != shrinker.inputs:
        before = list(shrinker.inputs)
        _fewer(shrinker)
        for place in range(len(shrinker.inputs)):
            for plain in _plainer(shrinker.inputs, place):
                shrinker.keep([*shrinker.inputs[:place], plain, *shrinker.inputs[place + 1 :]])
    return shrinker.inputs, shrinker.found


def _fewer(shrinker: _Shrinker) -> None:
    """Leave out blocks of inputs, from halves down to single ones; the latest first."""
    size = max(1, len(shrinker.inputs) // 2)
    while size:
        for begin in range(len(shrinker.inputs) - size, -1, -size):
            shrinker.keep(shrinker.inputs[:begin] + shrinker.inputs[begin + size :])
        size //= 2


def _plainer(inputs: Sequence[Input], place: int) -> Iterator[Input]:
    """An input with one field as it usually is."""
    if place >= len(inputs):
        return
    for each in fields(inputs[place]):
        one = inputs[place]
        if each.default is not MISSING and getattr(one, each.name) != each.default:
            yield replace(one, **{each.name: each.default})
