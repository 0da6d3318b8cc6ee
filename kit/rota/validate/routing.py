"""Which groups a frame is about: a request by what it names, an answer by what it answers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from msgspec import Struct

from rota.generate.requests import Body
from rota.history import Event, Kind
from rota.history.pairs import connection_of
from rota.record.dialogue import ANSWERED_AGAIN
from rota.spec.messages import Request
from rota.validate.account import Account
from rota.validate.frames import MALFORMED, OF_GROUPS, body_of, pieces_of
from rota.validate.terms import Terms
from rota.validate.transactions import OF_TRANSACTIONS, Word, asked_word, unheard

FRAMES = "frames"

MOST_WAITING = 1_000
"""Requests of a connection that wait for an answer; of more the oldest is given up."""

MOST_LISTED = 100
"""Groups of which an answer to ListGroups is judged; what tells of more is for people."""

NO_GROUP = "requests that change no group: FindCoordinator, ListGroups, Metadata, ApiVersions"
OTHERS = "groups of other protocols, and requests that are not of groups"
TRANSACTIONS = "how transactions begin and end, which no coordinator of groups answers"
UNASKED = "answers to requests that are not in the source"
MARKS = "beginnings and ends of connections, and gaps, which say when and not what"
NOT_ASKED_FOR = "groups and times that were not asked for"
UNREADABLE = "a frame could not be read"

LIST, CLASSIC = "ListGroups", "classic"

_ABOUT_NONE = ("FindCoordinator", LIST, "Metadata", "ApiVersions")
_MARKS = (Kind.OPENED, Kind.CLOSED, Kind.GAP)


class Part(StrEnum):
    """What an event is for a group."""

    ASKED = "asked"
    ANSWERED = "answered"
    ANSWERED_AGAIN = "answered-again"
    TRANSACTED = "transacted"
    """A producer asks the transactions' coordinator, or is answered: the cause is a `Word`; to all groups."""
    LISTED = "listed"
    """An answer to ListGroups has it."""
    ENDED = "ended"
    LOST = "lost"
    BESIDE = "beside"
    """It is no frame."""
    COMPARED = "compared"
    """It tells of a generation, as other sources may."""


class Told(Struct, frozen=True):
    """What an event means for one group.

    group: "" for all there are; weight: whether it counts as an event of this group, or as another one's;
    connection: its name; number: of the request on its connection; request: in the spec's words, and body: as
    the codec has it, None: they are to be read again; cause: why frames are missing; of a list the time
    (seconds since 1970) at which it was asked for.
    """

    part: Part
    group: str
    weight: int = 0
    connection: str = ""
    number: int = 0
    request: Request | None = None
    cause: str = ""
    body: Body | None = None


@dataclass
class _Connection:
    """groups: asked about on it; waiting: correlation → number, groups, and why it is not judged; lists: when
    lists were asked for, by correlation; words: what producers asked, by correlation;
    producers: who have asked on it."""

    next: int = 0
    groups: dict[str, None] = field(default_factory=dict)
    waiting: OrderedDict[int, tuple[int, tuple[str, ...], str]] = field(default_factory=OrderedDict)
    lists: dict[int, float] = field(default_factory=dict)
    words: dict[int, Word] = field(default_factory=dict)
    producers: dict[str, None] = field(default_factory=dict)

    def forget(self, correlation: int) -> None:
        """A request that is waited for no more."""
        self.lists.pop(correlation, None)
        self.words.pop(correlation, None)


class Router:
    """Takes the frames of any number of connections; each connection's in their order.

    Parameters: terms; account: of what is about no group.
    """

    def __init__(self, terms: Terms, account: Account) -> None:
        self._terms, self._account = terms, account
        self._connections: dict[str, _Connection] = {}

    def take(self, event: Event, now: float) -> list[Told]:
        """What an event is for groups. now: the time of its moment."""
        if not self._terms.within(now):
            self._account.leave(NOT_ASKED_FOR, FRAMES, 1)
            return []
        try:
            if event.kind is Kind.REQUEST:
                return self._request(event, now)
            if event.kind is Kind.RESPONSE:
                return self._response(event)
        except MALFORMED:
            self._account.quarantine("")
            return self._lost(event, UNREADABLE)
        return self._mark(event)

    def size(self) -> int:
        """How many things are kept."""
        return sum(
            1 + len(one.waiting) + len(one.groups) + len(one.lists) + len(one.words) + len(one.producers)
            for one in self._connections.values()
        )

    def _request(self, event: Event, now: float) -> list[Told]:
        api, version, correlation = (event.data[key] for key in ("api", "version", "correlation"))
        what = _not_judged(api)
        name = connection_of(event)
        connection = self._connections.get(name)
        if connection is None:
            connection = self._connections[name] = _Connection()
        body = None if what else body_of(api, event.data["fields"])
        pieces = [] if body is None else pieces_of(api, version, body)
        wanted = {one.group: one.request for one in pieces if self._terms.group in ("", one.group)}
        what = what or ("" if wanted else NOT_ASKED_FOR)
        number = connection.next
        connection.waiting[correlation] = number, tuple(wanted), what
        connection.next = number + 1
        connection.groups.update(dict.fromkeys(wanted))
        if api == LIST:
            connection.lists[correlation] = now
        if len(connection.waiting) > MOST_WAITING:
            connection.forget(connection.waiting.popitem(last=False)[0])
        if what:
            self._account.leave(what, FRAMES, 1)
        if api in OF_TRANSACTIONS and (word := asked_word(api, event.data["fields"], now)).transactional_id:
            connection.words[correlation] = word
            connection.producers[word.transactional_id] = None
            return [_transacted(word, event, number)]
        return [
            Told(Part.ASKED, group, int(place == 0), name, number, request, body=body)
            for place, (group, request) in enumerate(wanted.items())
        ]

    def _response(self, event: Event) -> list[Told]:
        name = connection_of(event)
        connection, correlation = self._connections.get(name), event.data["correlation"]
        known = None if connection is None else connection.waiting.pop(correlation, None)
        if connection is None or known is None:
            self._account.leave(UNASKED, FRAMES, 1)
            return []
        asked_at, word = connection.lists.pop(correlation, None), connection.words.pop(correlation, None)
        number, groups, what = known
        listed = [] if asked_at is None else [*self._listed(event, asked_at)]
        if what:
            self._account.leave(what, FRAMES, 1)
        if word is not None:
            answer = replace(word, error=event.data["fields"]["error_code"])
            return [_transacted(answer, event, number)]
        return listed or [
            Told(Part.ANSWERED, group, int(place == 0), name, number) for place, group in enumerate(groups)
        ]

    def _listed(self, event: Event, asked_at: float) -> Iterator[Told]:
        """The groups that an answer to ListGroups has, unless there are many."""
        fields = event.data["fields"]
        is_whole = not fields.get("error_code") and len(fields["groups"]) <= MOST_LISTED
        for one in fields["groups"] if is_whole else ():
            group, kind = one["group_id"], one.get("group_type") or CLASSIC
            if group and kind.lower() == CLASSIC and self._terms.group in ("", group):
                yield Told(Part.LISTED, group, connection=connection_of(event), cause=repr(asked_at))

    def _mark(self, event: Event) -> list[Told]:
        """What is no request and no answer: its weight is with the source."""
        told: list[Told] = []
        if event.kind is Kind.CLOSED and "connection" in event.data:
            name = connection_of(event)
            if (ended := self._connections.pop(name, None)) is not None:
                told = [Told(Part.ENDED, group, connection=name) for group in ended.groups]
        elif event.kind is Kind.GAP:
            told = self._lost(event, f"frames are missing: {event.reason or 'a gap'}")
        elif event.reason == ANSWERED_AGAIN and event.group and self._terms.group in ("", event.group):
            return [Told(Part.ANSWERED_AGAIN, event.group, 1, connection_of(event))]
        elif event.kind is Kind.UNREAD and event.data.get("connection") is not None:
            self._account.quarantine("")
            return self._lost(event, UNREADABLE)
        self._account.leave(MARKS if event.kind in _MARKS else OTHERS, FRAMES, 1)
        return told

    def _lost(self, event: Event, cause: str) -> list[Told]:
        if "connection" not in event.data:
            return [Told(Part.LOST, "", cause=cause)]
        name = connection_of(event)
        known = self._connections.get(name, _Connection())
        groups = [Told(Part.LOST, group, connection=name, cause=cause) for group in known.groups]
        return groups + [_transacted(unheard(producer), event, 0) for producer in known.producers]


def _not_judged(api: str) -> str:
    if api in OF_GROUPS:
        return ""
    if api in _ABOUT_NONE:
        return NO_GROUP
    return TRANSACTIONS if api in OF_TRANSACTIONS else OTHERS


def _transacted(word: Word, event: Event, number: int) -> Told:
    return Told(Part.TRANSACTED, "", 0, connection_of(event), number, cause=word.as_text)


def request_about(group: str, api: str, version: int, body: Body) -> Request:
    """What a body asks about a group. Errors: MALFORMED."""
    return next(one.request for one in pieces_of(api, version, body) if one.group == group)
