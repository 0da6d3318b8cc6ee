"""A group by the consumer protocol in which every request is taken at once: what a plan leads to, if nothing
comes between. It goes by the judge's own steps, and of several outcomes takes the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace as with_fields
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from rota.kernel import replace
from rota.linearise.consumer.oracle import PREFIX
from rota.linearise.consumer.requests import CREATED, ChangeTopic, ConsumerTerms
from rota.linearise.consumer.steps import ConsumerSteps, Taken
from rota.linearise.times import Span
from rota.spec import Call
from rota.spec.consumer.group import ConsumerGroup
from rota.spec.consumer.messages import Call as ConsumerCall
from rota.spec.effects import Reply

Pair = tuple[str, str]


class ConsumerSimulated:
    """One group with its timers, topics and offsets. now: milliseconds; pairs: as of `Simulated`."""

    def __init__(self, terms: ConsumerTerms) -> None:
        self._steps = ConsumerSteps(at_once(terms))
        self.now = 0
        self.state = self._steps.empty()
        self.pairs: list[Pair] = []
        self._been = False
        self._requests: dict[int, Any] = {}

    def copy(self) -> ConsumerSimulated:
        """Another one that goes on from here."""
        other = object.__new__(ConsumerSimulated)
        other.__dict__.update(self.__dict__)
        other.pairs = []
        other._requests = dict(self._requests)
        return other

    @property
    def group(self) -> ConsumerGroup | None:
        """The group, if there is one of this protocol."""
        found = self.state.group
        return found if isinstance(found, ConsumerGroup) else None

    @property
    def holds(self) -> str:
        """What there is beside the group's members, in words."""
        if self.state.group is None and self._been:
            return "a group that has been"
        return "offsets" if self.state.now.offsets else "nothing else"

    def handle(self, call: Call) -> None:
        """A request arrives."""
        self._take(next(self._outcomes(call), None))

    def outcomes(self, call: Call) -> Iterator[ConsumerSimulated]:
        """A group for each outcome of a request that arrives; this one stays as it is."""
        for taken in self._outcomes(call):
            other = self.copy()
            other._take(taken)
            yield other

    def _outcomes(self, call: Call) -> Iterator[Taken]:
        request: Any = call.request
        number = int(call.to)
        if isinstance(request, ChangeTopic) and request.api == CREATED:
            request = replace(request, topic_id=str(uuid5(NAMESPACE_URL, f"{request.name} {number}")))
        fresh = call.fresh_id if self._steps.asks_for_an_id(call) else ""
        call = replace(call, request=request, fresh_id=fresh)
        return self._steps.take(self.state, number, call, self._moment, 0.0)

    def contested(self, call: Call) -> list[Pair]:
        """Which rule would decide a request, before which others that would fit too."""
        spec, request = self._steps.spec, call.request
        found: list[str] = []
        asked = ConsumerCall(request, call.version, "", call.fresh_id, topics=self.state.topics)  # type: ignore[arg-type]
        slugs = spec.handlers.get(type(request).__name__, ("",))
        for slug in slugs[:-1]:
            with suppress(Exception):  # a rule may rest on those that are tried before it
                if spec.rules[slug].function(spec, self.state.group, asked):
                    found.append(PREFIX + slug)
        found.append(PREFIX + slugs[-1])  # the last one fits whatever comes to it
        return [(f"{found[0]} before {other}", self.state.name) for other in found[1:]]

    @property
    def _moment(self) -> Span:
        return Span(self.now / 1000, self.now / 1000)

    def next_due(self) -> int | None:
        """When time alone will next bring something about."""
        return min((round(span.earliest * 1000) for span in self.state.armed.values()), default=None)

    def wait(self, milliseconds: int) -> None:
        """Time passes; what is due on the way fires."""
        end = self.now + milliseconds
        while (due := self.next_due()) is not None and due <= end:
            self.now = max(self.now, due)
            first = min(self.state.armed, key=lambda one: (self.state.armed[one].earliest, one))
            taken = next(self._steps.fire(self.state, first, self._moment), None)
            if taken is None:
                break
            self._take(taken)
        self.now = end

    def restart(self, config: object = None) -> None:
        """Another coordinator reads the log. config: of the classic protocol, which has no part in it."""
        self._take(next(self._steps.restart(self.state, self._moment), None))

    def taken(self) -> list[Reply]:
        """The answers since the last time."""
        found = [Reply(str(number), owed.message) for number, owed in self.state.owed.items()]
        for number in self.state.owed:
            self.state = self._steps.acknowledged(self.state, number)
        self.state = replace(self.state, owed=self.state.owed.without(*self.state.owed))
        return found

    def _take(self, taken: Taken | None) -> None:
        if taken is None:
            return
        self.pairs += [(slug, self.state.name) for slug in taken.rules]
        self.state = taken.state
        self._been = self._been or self.group is not None


def at_once(terms: ConsumerTerms) -> ConsumerTerms:
    """The same, with topics that are seen at once."""
    return with_fields(terms, sees_within=0.0)
