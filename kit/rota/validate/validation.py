"""Whatever sources tell, each judged by what it can be held to."""

from __future__ import annotations

from collections import Counter

from rota.history import Event, Kind, Source
from rota.validate.account import Account, history_of
from rota.validate.audited_logs import Logs
from rota.validate.audited_offsets import Topic
from rota.validate.crossing import Crossing, Generations, may_tell_of_a_generation
from rota.validate.recordings import Recordings
from rota.validate.routing import NOT_ASKED_FOR
from rota.validate.terms import Terms

CLIENTS = "clients' own words, which no other source contradicts here"
DESCRIBED = "descriptions of a group at one moment"


class Validation:
    """Takes events of a cluster in the order of their time.

    Attributes: account; crossing, of several sources.
    """

    def __init__(self, terms: Terms, cluster: str = "") -> None:
        self.account = Account(cluster=cluster)
        self._terms = terms
        self._frames = Recordings(terms, self.account)
        self._logs, self._topic = Logs(self.account), Topic(self.account)
        self._generations, self.crossing = Generations(), Crossing(self.account)

    def take(self, event: Event) -> None:
        """The next event."""
        self._frames.passes(event.at or 0.0)
        if event.source is Source.FRAMES:
            self._frames.take(event)
        elif not is_asked_for(event, self._terms):
            self.account.leave(NOT_ASKED_FOR, event.source.value, 1)
            return
        elif event.source is Source.BROKER_LOG:
            self._logs.take(event)
        elif event.source is Source.OFFSETS:
            self._topic.take(event)
            if event.kind in (Kind.GROUP_STORED, Kind.GROUP_REMOVED):
                self._frames.stored(event)
        else:
            self.account.leave(not_contradicted(event), event.source.value, 1)
        if may_tell_of_a_generation(event):
            for comparison in self._generations.take(event):
                self.crossing.take(comparison)

    def end(self) -> Account:
        """The sources have ended."""
        self._frames.end()
        return self.account


def is_asked_for(event: Event, terms: Terms) -> bool:
    """Whether an event that is no frame is of the groups and times that were asked for."""
    return (event.at is None or terms.within(event.at)) and (
        not terms.group or event.group in ("", terms.group)
    )


def not_contradicted(event: Event) -> str:
    """Why an event is not checked that no other could contradict."""
    return CLIENTS if event.source is Source.CLIENT_LOG else DESCRIBED


class Clusters:
    """Takes events of several clusters: groups of the same name in two of them are two histories."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._validations: dict[str, Validation] = {}
        self.compared: Counter[str] = Counter()
        self.skews: dict[str, float] = {}

    def take(self, cluster: str, event: Event) -> None:
        """The next event."""
        if cluster not in self._validations:
            self._validations[cluster] = Validation(self._terms, cluster)
        self._validations[cluster].take(event)

    def end(self) -> Account:
        """The sources have ended. Then compared and skews are those of all clusters."""
        account = Account()
        for cluster, validation in self._validations.items():
            account.add(validation.end())
            crossing = validation.crossing
            self.compared += crossing.compared
            self.skews |= {history_of(cluster, pair): skew for pair, skew in crossing.skews.items()}
        return account
