"""All frames of a history, each given to the groups that it is about. Memory grows with live groups."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rota.history import Event, Kind
from rota.history.pairs import connection_of
from rota.record.dialogue import ended_by
from rota.validate.account import Account
from rota.validate.frames import OF_GROUPS, answer_for, pieces_of, values_of
from rota.validate.groups import FRAMES, Asked, Watched
from rota.validate.rosters import Roster, stored
from rota.validate.terms import Terms

MOST_GROUPS = 10_000
"""Groups that are watched at once; of more the one that was silent longest is ended."""

MOST_WAITING = 1_000
"""Requests of a connection that wait for an answer; of more the oldest is given up."""

NO_GROUP = "requests that change no group: FindCoordinator, ListGroups, Metadata, ApiVersions"
OTHERS = "groups of other protocols, and requests that are not of groups"
TRANSACTIONS = "commits of transactions"
UNASKED = "answers to requests that are not in the source"
MARKS = "beginnings and ends of connections, and gaps, which say when and not what"
NOT_ASKED_FOR = "groups and times that were not asked for"

_ABOUT_NONE = ("FindCoordinator", "ListGroups", "Metadata", "ApiVersions")
_MARKS = (Kind.OPENED, Kind.CLOSED, Kind.GAP)


@dataclass
class _Waiting:
    """A request that is not answered. numbers: group → number of the request for it."""

    api: str
    version: int
    numbers: Mapping[str, int]
    what: str


class Recordings:
    """Takes frames one after the other. Parameters: terms; account, what becomes of them."""

    def __init__(self, terms: Terms, account: Account) -> None:
        self._terms, self._account = terms, account
        self._groups: OrderedDict[str, Watched] = OrderedDict()
        self._rosters: OrderedDict[str, tuple[Roster, float]] = OrderedDict()
        self._waiting: dict[str, OrderedDict[int, _Waiting]] = {}
        self._numbers: dict[str, int] = {}
        self._next_connection = self._next_request = 0
        self._began: float | None = None
        self._now = 0.0

    def take(self, event: Event) -> None:
        """The next event of frames."""
        self._now = max(self._now, event.at or 0.0)
        if self._began is None:
            self._began = self._now
        if self._terms.since is not None and self._now < self._terms.since:
            self._account.leave(NOT_ASKED_FOR, FRAMES, 1)
        elif event.kind is Kind.REQUEST:
            self._read(self._request, event)
        elif event.kind is Kind.RESPONSE:
            self._read(self._response, event)
        else:
            self._mark(event)

    def stored(self, event: Event) -> None:
        """What the offsets topic has of a group, or that it has nothing any more."""
        self._rosters.pop(event.group, None)
        roster = stored(event) if event.kind is Kind.GROUP_STORED else None
        if roster is not None and event.at is not None:
            self._rosters[event.group] = roster, event.at
            if len(self._rosters) > MOST_GROUPS:
                self._rosters.popitem(last=False)
        if event.group in self._groups:
            self._groups[event.group].told(roster, event.at or self._now)

    def end(self) -> None:
        """The sources have ended."""
        while self._groups:
            self._groups.popitem(last=False)[1].close(self._now)

    def size(self) -> int:
        """How many things are kept."""
        own = sum(map(len, self._waiting.values())) + len(self._numbers) + len(self._rosters)
        return own + sum(one.size() for one in self._groups.values())

    def _read(self, reading: Any, event: Event) -> None:
        try:
            reading(event)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            self._account.quarantined += 1
            self._lost(event, "a frame could not be read")

    def _mark(self, event: Event) -> None:
        """What is no request and no answer: its weight is with the source."""
        if event.kind is Kind.CLOSED and "connection" in event.data:
            name = connection_of(event)
            number = self._numbers.pop(name, None)
            self._waiting.pop(name, None)
            if number is not None:
                for watched in self._groups.values():
                    watched.ended(number, self._now, ended_by(event.reason))
        elif event.kind is Kind.GAP:
            self._lost(event, f"frames are missing: {event.reason or 'a gap'}")
        elif event.kind is Kind.UNREAD and event.data.get("connection") is not None:
            self._lost(event, "a frame could not be read")
            self._account.quarantined += 1
            return
        self._account.leave(MARKS if event.kind in _MARKS else OTHERS, FRAMES, 1)

    def _lost(self, event: Event, cause: str) -> None:
        number = None
        if "connection" in event.data:
            number = self._numbers.get(connection_of(event))
            if number is None:
                return
        for watched in self._groups.values():
            watched.gap(number, cause)

    def _request(self, event: Event) -> None:
        api, version, correlation = (event.data[key] for key in ("api", "version", "correlation"))
        name = connection_of(event)
        what = _not_judged(api)
        waiting = self._waiting.setdefault(name, OrderedDict())
        pieces = [] if what else pieces_of(api, version, values_of(event.data["fields"]))
        asked_for = [one for one in pieces if self._terms.group in ("", one.group)]
        what = what or ("" if asked_for else NOT_ASKED_FOR)
        numbers = {one.group: self._next_request + place for place, one in enumerate(asked_for)}
        self._next_request += len(asked_for)
        waiting[correlation] = _Waiting(api, version, numbers, what)
        if len(waiting) > MOST_WAITING:
            waiting.popitem(last=False)
        if what:
            self._account.leave(what, FRAMES, 1)
        connection = self._connection(name)
        for place, piece in enumerate(asked_for):
            asked = Asked(
                numbers[piece.group],
                self._now,
                connection,
                event.client or f"connection {event.data['connection']}",
                api,
                version,
                piece.request,
                int(place == 0),
                event.origin,
            )
            self._watched(piece.group).asked(asked, values_of(event.data["fields"]))

    def _response(self, event: Event) -> None:
        known = self._waiting.get(connection_of(event), {}).pop(event.data["correlation"], None)
        if known is None:
            self._account.leave(UNASKED, FRAMES, 1)
            return
        if known.what:
            self._account.leave(known.what, FRAMES, 1)
            return
        body, weight = values_of(event.data["fields"]), 1
        for group, number in known.numbers.items():
            told = answer_for(known.api, known.version, body, group)
            if told is None:
                raise KeyError(group)
            self._watched(group).answered(number, self._now, told, weight, event.origin)
            weight = 0

    def _connection(self, name: str) -> int:
        if name not in self._numbers:
            self._numbers[name] = self._next_connection
            self._next_connection += 1
        return self._numbers[name]

    def _watched(self, group: str) -> Watched:
        watched = self._groups.get(group)
        if watched is None:
            self._account.groups.add(group)
            watched = self._groups[group] = Watched(
                group, self._terms, self._account, self._began if self._began is not None else self._now
            )
            if group in self._rosters:
                watched.told(*self._rosters[group])
            if len(self._groups) > MOST_GROUPS:
                self._groups.popitem(last=False)[1].close(self._now)
        self._groups.move_to_end(group)
        return watched


def _not_judged(api: str) -> str:
    if api in OF_GROUPS:
        return ""
    if api in _ABOUT_NONE:
        return NO_GROUP
    return TRANSACTIONS if api == "TxnOffsetCommit" else OTHERS
