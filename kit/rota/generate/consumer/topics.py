"""The ids of topics that walks make, which only answers tell, and changes that a target has refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rota.kernel import replace
from rota.linearise import Answered, Event, Sent
from rota.linearise.consumer.requests import CREATED, ChangeTopic


class TopicIds:
    """What the answers to changes of topics have told."""

    def __init__(self) -> None:
        self._ids: dict[int, str] = {}
        self._refused: set[int] = set()
        self._done: set[int] = set()

    def hear(self, number: int, request: Any, body: Any) -> None:
        """A request of this number was answered so."""
        if not isinstance(request, ChangeTopic):
            return
        told = (body.get("topics") or body.get("results") or body.get("responses"))[0]
        if told["error_code"]:
            self._refused.add(number)
            return
        self._done.add(number)
        if request.api == CREATED:
            self._ids[number] = str(told["topic_id"])

    def known_in(self, events: Sequence[Event]) -> tuple[tuple[Event, ...], str]:
        """The events with the ids in their places, without what was refused; why nobody knows, if so."""
        kept, unsure = [], ""
        for one in events:
            if isinstance(one, Sent | Answered) and one.number in self._refused:
                continue
            request: Any = one.call.request if isinstance(one, Sent) else None
            if isinstance(one, Sent) and isinstance(request, ChangeTopic):
                if one.number not in self._done:
                    unsure = f"nobody knows what became of a topic ({request.api} was not answered)"
                told: Any = replace(request, topic_id=self._ids.get(one.number, ""))
                one = replace(one, call=replace(one.call, request=told))
            kept.append(one)
        return tuple(kept), unsure
