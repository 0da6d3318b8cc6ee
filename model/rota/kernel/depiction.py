"""Depictions: what a picture of a run shows beside machines, messages and differences.

A system has one (`System.depiction`), written beside its machines by whoever knows what their values mean.
The kernel, the engines and the digests never ask it anything; only those do who draw. Its functions are pure
and get a state as a mapping from machine name to value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rota.kernel.transition import LocalStep, Transition

Values = Mapping[str, Any]
"""A state: the value of each machine by its name."""


@dataclass(frozen=True)
class Lane:
    """A machine that has a line of its own in a sequence chart.

    machine: its name; title: what stands above the line; kind: one word for what sort of machine it is
    (`member`, `coordinator`, `log`, …), by which a style sheet may tell lines apart.
    """

    machine: str
    title: str
    kind: str = "machine"


@dataclass(frozen=True)
class Arrow:
    """Something that goes from one machine to another within a step.

    source and target: names of machines; text: a few words on the line; lost: it does not arrive.
    """

    source: str
    target: str
    text: str
    lost: bool = False


def every_machine(machines: Sequence[Any]) -> Sequence[Lane]:
    """A lane for each machine, under its own name."""
    return [Lane(one.name, one.name) for one in machines]


def every_message(before: Values, transition: Transition) -> Sequence[Arrow]:
    """An arrow for each message that a machine took in the transition."""
    return [_arrow(one) for one in transition.local_steps if one.sender is not None]


def _arrow(local_step: LocalStep) -> Arrow:
    message = local_step.message
    text = message if isinstance(message, str) else type(message).__name__
    return Arrow(local_step.sender or "", local_step.machine, text)


def nothing(values: Values) -> Mapping[str, Any]:
    """Of no machine there is anything to say."""
    return {}


@dataclass(frozen=True, kw_only=True)
class Depiction:
    """How a system is drawn; without any of these it is drawn by its machines and messages.

    lanes: of the machines, in the order from left to right; a machine without a lane is not drawn. arrows:
    of a transition, from the state before it. bands: machine -> the generation (term, epoch, …) in which it
    is, as a short text; equal texts are drawn in one colour. owners: what can be owned -> the machines that
    hold it now; two holders of one thing are an overlap. captions: machine -> a few words about how it
    stands.
    """

    lanes: Callable[[Sequence[Any]], Sequence[Lane]] = every_machine
    arrows: Callable[[Values, Transition], Sequence[Arrow]] = every_message
    bands: Callable[[Values], Mapping[str, str]] = nothing
    owners: Callable[[Values], Mapping[str, tuple[str, ...]]] = nothing
    captions: Callable[[Values], Mapping[str, tuple[str, ...]]] = nothing


PLAIN = Depiction()
"""Machines, messages and differences."""
