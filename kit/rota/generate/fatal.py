"""What has ended the target is left out of the walks that follow, so that they come to what is behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from rota.generate.plan import Ask, Plan
from rota.generate.player import Played
from rota.generate.requests import body_of
from rota.linearise import Answered

GREATEST = 2**31 - 1

Oddities = frozenset[str]
"""Where in a request there is something that few send."""


class Fatal:
    """Requests that have ended a target, as far as others that it has answered were not like them.

    Attribute: known, the API of each and what is odd in it.
    """

    def __init__(self) -> None:
        self.known: list[tuple[str, Oddities]] = []

    def learn(self, shortest: Plan, others: Iterable[Played]) -> None:
        """This plan ends the target by its last request; it has lived through what others had answered."""
        asks = [step for step in shortest.steps if isinstance(step, Ask)]
        if not asks:
            return
        api, found = asks[-1].api, oddities(asks[-1])
        usual = [oddities(ask) for played in others for ask in _answered(played) if ask.api == api]
        alone = found - frozenset().union(*usual)
        self.known.append((api, alone or found))

    def without(self, plan: Plan) -> Plan:
        """The plan without requests that are like them."""
        kept = tuple(step for step in plan.steps if not (isinstance(step, Ask) and self._ends(step)))
        return plan if len(kept) == len(plan.steps) else replace(plan, steps=kept, left_out=plan.left_out + 1)

    def _ends(self, ask: Ask) -> bool:
        return any(ask.api == api and odd <= oddities(ask) for api, odd in self.known)


def oddities(ask: Ask) -> Oddities:
    """Where a request has nothing, or a number at the end of its range."""
    return frozenset(_odd("", body_of(ask.request, ask.version)))


def _odd(where: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _odd(f"{where}.{name}", each)
    elif isinstance(value, list) and value:
        for each in value:
            yield from _odd(where, each)
    elif value is None or (not isinstance(value, bool | int) and not value):
        yield f"{where} is {value!r}"
    elif isinstance(value, int) and (value < 0 or value >= GREATEST):
        yield f"{where} is {'negative' if value < 0 else 'the greatest'}"


def _answered(played: Played) -> Iterator[Ask]:
    """The requests of a plan that were answered."""
    asks = {step.number: step for step in played.plan.steps if isinstance(step, Ask)}
    for event in played.history.events:
        if isinstance(event, Answered) and played.asked[event.number] in asks:
            yield asks[played.asked[event.number]]
