"""What a picture of a run consists of, whoever draws it and wherever the run comes from.

A trace becomes one (`rota.trace.telling`), and so does a dialogue with a coordinator. All of it is text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from rota.kernel import Arrow, Lane
from rota.trace.model import Component
from rota.trace.render import Difference


class Light(Enum):
    """What a property says of a moment. SILENT: its premise is false everywhere, so it claims nothing."""

    HOLDS = "holds"
    SILENT = "silent"
    VIOLATED = "violated"


@dataclass(frozen=True)
class Claim:
    """A property that has a light. kind: as in `rota.kernel.Kind`, by its value."""

    name: str
    kind: str
    meaning: str


@dataclass(frozen=True)
class Event:
    """What happens between two moments.

    index: from 1; label: one line; machine: who began it, empty where nobody is known; at: when, as text,
    empty where a run has no clock; arrows: from whom to whom something goes, in order; differences: what
    changed in each machine; rules: slugs, in order; detail: further lines, such as a decoded message.
    """

    index: int
    label: str
    machine: str = ""
    at: str = ""
    arrows: tuple[Arrow, ...] = ()
    differences: tuple[Difference, ...] = ()
    rules: tuple[str, ...] = ()
    detail: tuple[str, ...] = ()


@dataclass(frozen=True)
class Moment:
    """A state of the run, as far as it is known.

    values: of every machine; captions, bands, owners: as in `rota.kernel.Depiction`; lights: by the name of
    the property.
    """

    values: tuple[Component, ...] = ()
    captions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    bands: Mapping[str, str] = field(default_factory=dict)
    owners: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    lights: Mapping[str, Light] = field(default_factory=dict)


@dataclass(frozen=True)
class Story:
    """A run, ready to be drawn.

    title: the property, the case; verdict: a few words, such as `violated after 13 steps`; facts: (name,
    text) pairs about it, such as its meaning and source, in order; lanes: from left to right; events;
    moments: none, or one more than events, that before the first one first; claims: those that have lights;
    why: numbered sentences that lead to the contradiction, which is the last; cycle: that many of the last
    events repeat for ever, None where the run ends; copies: name of a form -> the run in it, to be copied;
    notice: what could not be found out, and why; empty where nothing is missing; outcome: what the verdict
    comes to (SILENT: undecided); marked: indexes of the events at which that shows; none given: of the last
    one, where the outcome is VIOLATED and the run ends.
    """

    title: str
    verdict: str
    facts: tuple[tuple[str, str], ...] = ()
    lanes: tuple[Lane, ...] = ()
    events: tuple[Event, ...] = ()
    moments: tuple[Moment, ...] = ()
    claims: tuple[Claim, ...] = ()
    why: tuple[str, ...] = ()
    cycle: int | None = None
    copies: Mapping[str, str] = field(default_factory=dict)
    notice: str = ""
    outcome: Light = Light.VIOLATED
    marked: tuple[int, ...] = ()

    @property
    def marks(self) -> frozenset[int]:
        """The indexes of the events that are marked."""
        if not self.marked and self.outcome is Light.VIOLATED and self.cycle is None and self.events:
            return frozenset({self.events[-1].index})
        return frozenset(self.marked)
