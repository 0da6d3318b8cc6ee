"""Draws plans of groups by the consumer protocol, as those of the classic one are drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any, ClassVar

from rota.generate.cast import Terms, reference
from rota.generate.consumer.cast import SHARED, ConsumerCast
from rota.generate.consumer.moves import ConsumerMoves
from rota.generate.consumer.planned import GROUP, Beat, Changing
from rota.generate.consumer.simulated import ConsumerSimulated
from rota.generate.plan import CONSUMER, Ask, Plan
from rota.generate.planner import Drawing
from rota.generate.simulated import Pair
from rota.kernel import FrozenMap
from rota.linearise.consumer.requests import ConsumerTerms
from rota.spec import Call
from rota.spec.consumer.messages import Topic

OWN_TOPICS = 0.5
"""The part of plans with topics of their own, where topics can be made."""

SETTLES = 0.3
"""Seconds of silence behind a change of a topic."""


class ConsumerPlanner:
    """Draws one plan after the other. Parameters and attributes: as of `rota.generate.planner.Planner`."""

    def __init__(self, seed: int, terms: Terms) -> None:
        self._seed, self._terms = seed, terms
        self.reached: Counter[Pair] = Counter()

    def plans(self) -> Iterator[Plan]:
        """All plans of this seed, without end."""
        return (self._drawing(number).plan() for number in count())

    def _drawing(self, number: int) -> ConsumerDrawing:
        rng = Random(f"{self._seed}/{CONSUMER}/{number}")
        versions = self._terms.versions
        can = {"CreateTopics", "DeleteTopics"} <= versions.keys() and versions["CreateTopics"][1] >= 7
        own = can and rng.random() < OWN_TOPICS
        consumer = self._terms.consumer
        assert consumer is not None  # nobody plans for who does not speak it
        cast = ConsumerCast(rng, own, consumer.ties)
        simulated = ConsumerSimulated(planned_for(consumer))
        moves = ConsumerMoves(rng, self._terms, cast, simulated, own)
        terms = replace(self._terms, restarts=self._terms.restarts and not own)
        plan = Plan(self._seed, number, (), protocol=CONSUMER)
        return ConsumerDrawing(rng, plan, terms, cast, simulated, moves, self.reached)


def planned_for(terms: ConsumerTerms) -> ConsumerTerms:
    """What plans are drawn for: the ids of topics have no part in them."""
    topics = FrozenMap((name, Topic(name, size)) for name, size in SHARED.items())
    return replace(terms, topics=topics, sees_within=0.0)


class ConsumerDrawing(Drawing):
    """One plan while it is drawn."""

    AFTER_RESTART: ClassVar[tuple[str, ...]] = ("describe", "fetch-all")
    AT_LAST: ClassVar[tuple[str, ...]] = ("describe", "fetch-all", "list")

    def _sign_of_life(self, client: Any) -> str:
        return "partial"

    def _comes_back(self, client: Any) -> str:
        return "acknowledges" if client.joined else "join"

    def _longest(self) -> float:
        consumer = self._terms.consumer
        assert consumer is not None
        return consumer.config.session_timeout_ms / 1000

    def _ask(self, ask: Ask, burst: bool = False) -> None:
        request: Any = ask.request
        client = self._client(ask)
        if isinstance(request, Beat):
            if client.name != "operator" and request.since == "zero" and request.ahead == 0:
                self._begins(client, request, ask.number)
            if request.member_id == client.member_id or request.member_id == "":
                client.by = (*client.by, ask.number)
            if request.names is not None and request.member_id == client.member_id:
                client.names = request.names or client.names
        if isinstance(request, Changing):
            super()._ask(ask)
            self._silence(SETTLES)
            return
        super()._ask(ask, burst)

    @staticmethod
    def _begins(client: Any, request: Beat, number: int) -> None:
        """Whoever joins under another id than before is somebody new."""
        if request.member_id != client.member_id and not request.by:
            client.begins(number, given=not request.member_id)

    def _call(self, ask: Ask) -> Call:
        request: Any = ask.request
        filled = request.filled(self._cast.answers, GROUP)
        # An id that is handed out is called as the reference to it.
        return Call(filled, str(ask.number), ask.version, reference(ask.number), now_ms=self._simulated.now)

    def _follow(self, number: int, client: Any, message: object) -> None:
        return None
