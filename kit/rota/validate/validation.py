"""Whatever sources tell, each judged by what it can be held to."""

from __future__ import annotations

from rota.history import Event, Kind, Source
from rota.validate.account import Account
from rota.validate.audited_logs import Logs
from rota.validate.audited_offsets import Topic
from rota.validate.crossing import Crossing
from rota.validate.recordings import NOT_ASKED_FOR, Recordings
from rota.validate.terms import Terms

CLIENTS = "clients' own words, which no other source contradicts here"
DESCRIBED = "descriptions of a group at one moment"


class Validation:
    """Takes events in the order of their time. Attributes: account; crossing, of several sources."""

    def __init__(self, terms: Terms) -> None:
        self.account = Account()
        self._terms = terms
        self._frames = Recordings(terms, self.account)
        self._logs, self._topic = Logs(self.account), Topic(self.account)
        self.crossing = Crossing(self.account)

    def take(self, event: Event) -> None:
        """The next event."""
        if event.source is Source.FRAMES:
            self._frames.take(event)
        elif not self._is_asked_for(event):
            self.account.leave(NOT_ASKED_FOR, event.source.value, 1)
            return
        elif event.source is Source.BROKER_LOG:
            self._logs.take(event)
        elif event.source is Source.OFFSETS:
            self._topic.take(event)
            if event.kind in (Kind.GROUP_STORED, Kind.GROUP_REMOVED):
                self._frames.stored(event)
        else:
            told = CLIENTS if event.source is Source.CLIENT_LOG else DESCRIBED
            self.account.leave(told, event.source.value, 1)
        if event.kind in _OF_GENERATIONS:
            self.crossing.take(event)

    def _is_asked_for(self, event: Event) -> bool:
        since, group = self._terms.since, self._terms.group
        return (since is None or event.at is None or event.at >= since) and (
            not group or event.group in ("", group)
        )

    def end(self) -> Account:
        """The sources have ended."""
        self._frames.end()
        return self.account


_OF_GENERATIONS = (Kind.STABILIZED, Kind.ASSIGNMENT, Kind.GROUP_STORED, Kind.RESPONSE)
