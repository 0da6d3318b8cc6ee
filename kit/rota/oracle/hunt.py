"""Planted bugs of the coordinator core, found by the machine: how soon, where, and the shortened dialogue."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rota.coordinator import MENDED, UNMENDED
from rota.mutants.core import CoreBug, planted
from rota.oracle.lockstep import Input, Lockstep, replay
from rota.oracle.minimise import minimised
from rota.oracle.report import Divergence


@dataclass(frozen=True)
class Finding:
    """A bug that was found. examples: tried until then, this one included; inputs: of the shortened one."""

    bug: CoreBug
    examples: int
    inputs: tuple[Input, ...]
    divergence: Divergence

    @property
    def steps(self) -> int:
        """Steps of the shortened dialogue."""
        return len(self.inputs)


def hunt(bug: CoreBug, examples: Iterable[list[Input]], kind: type[Lockstep] = Lockstep) -> Finding | None:
    """Play examples of the machine to a core with this bug until it diverges; None if it never does.

    Parameters: examples, of a walk with the core as it is (`Walk.examples`), in a lockstep of this kind;
    mended, if the bug breaks a mend. Up to the first divergence the machine sees nothing of a bug, so it
    would have made the very same inputs.
    """
    mends = MENDED if bug.mended else UNMENDED
    with planted(bug):
        for number, inputs in enumerate(examples, 1):
            found, done = replay(inputs, mends=mends, kind=kind)
            if found is not None:
                shortest, divergence = minimised(done, found, mends=mends, kind=kind)
                return Finding(bug, number, tuple(shortest), divergence)
    return None
