"""A toy about endless runs: a light that changes for ever, and a car that may or may not get across.

A car goes while the light is green. The light changes whenever it likes, so a fair run need not let it: it is
again and again impossible to go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rota.kernel import (
    PER_MACHINE,
    Kind,
    Liveness,
    LivenessKind,
    Outcome,
    Property,
    Send,
    System,
    SystemRef,
    View,
)


@dataclass(frozen=True)
class Light:
    """steady: green for good once it is."""

    steady: bool
    name: str = "light"
    role: str = "light"

    def initial(self) -> Sequence[str]:
        return ("red",)

    def actions(self, value: str) -> Sequence[Outcome]:
        if value == "green":
            return () if self.steady else (Outcome("red", label="the light turns red"),)
        return (Outcome("green", label="the light turns green"),)

    def receive(self, value: str, sender: str, message: Any) -> Sequence[Outcome]:
        return (Outcome(value),) if value == "green" else ()


@dataclass(frozen=True)
class Car:
    name: str = "car"
    role: str = "car"

    def initial(self) -> Sequence[str]:
        return ("far",)

    def actions(self, value: str) -> Sequence[Outcome]:
        if value == "far":
            return (Outcome("waiting", label="the car comes", rules=("car.comes",)),)
        across = Outcome("across", (Send("light", "may I"),), "the car goes", ("car.goes",))
        return (across,) if value == "waiting" else ()

    def receive(self, value: str, sender: str, message: Any) -> Sequence[Outcome]:
        return ()


def _same(value: str) -> str:
    return value


CROSSES = Liveness(
    "car.crosses",
    LivenessKind.LEADS_TO,
    "A car that waits gets across.",
    (View("car", _same),),
    lambda value: value == "across",
    fairness=(PER_MACHINE,),
    given=lambda value: value == "waiting",
    source="the highway code",
    rules=("car.goes",),
)
COMES = Liveness(
    "car.comes",
    LivenessKind.EVENTUALLY_ALWAYS,
    "In the end a car is there.",
    (View("car", _same),),
    lambda value: value != "far",
    fairness=(PER_MACHINE,),
)
COLOURED = Property(
    "light.coloured",
    Kind.SAFETY,
    "The light is red or green.",
    (View("light", _same),),
    lambda value: value in ("red", "green"),
)


def crossing(steady: bool = False) -> System:
    """The system. steady: the light stays green, so the car gets across."""
    return System(
        "crossing",
        (Light(steady), Car()),
        (COLOURED,),
        SystemRef("traffic_light:crossing", (("steady", steady),)),
        liveness=(CROSSES, COMES),
    )
