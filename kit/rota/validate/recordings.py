"""All frames of a history, each given to the groups that it is about. Memory grows with live groups."""

from __future__ import annotations

from collections import OrderedDict

from msgspec import Struct

from rota.generate.replies import NotInTheSpec
from rota.generate.requests import Body
from rota.history import Event, Kind
from rota.record.dialogue import ended_by
from rota.spec.admin_messages import ListGroupsRequest
from rota.spec.messages import Request
from rota.validate.account import Account
from rota.validate.asked import Asked
from rota.validate.frames import MALFORMED, Unreadable, answer_for, body_of, codes_of, reply_from
from rota.validate.groups import Watched
from rota.validate.rosters import Roster, stored
from rota.validate.routing import LIST, UNREADABLE, Part, Router, Told, request_about
from rota.validate.terms import Terms
from rota.validate.transactions import (
    ADDS,
    BEGINS,
    COMMITS,
    ENDS,
    IN_ONE_STEP_SINCE,
    UNHEARD,
    UNSEEN,
    Timeouts,
    Transactions,
    Word,
    word_of,
)

MOST_GROUPS = 10_000
"""Groups that are watched at once; of more the one that was silent longest is ended."""


class Frames:
    """The frames of one group, as a router has told them apart.

    Parameters: as of `Watched`; timeouts: of producers' transactions.
    """

    def __init__(
        self, group: str, terms: Terms, account: Account, since: float, timeouts: Timeouts | None = None
    ) -> None:
        self.watched = Watched(group, terms, account, since)
        self._account = account
        self._timeouts = Timeouts() if timeouts is None else timeouts
        self._transactions = Transactions(self._timeouts)
        self._unfollowed = False
        self._connections: dict[str, int] = {}
        self._open: dict[str, dict[int, tuple[int, str, int]]] = {}
        self._next_connection = self._next_request = 0
        self._commits: dict[tuple[str, int], tuple[str, float]] = {}

    def size(self) -> int:
        """How many things are kept."""
        return self.watched.size() + len(self._transactions) + len(self._commits)

    def take(self, told: Told, event: Event, now: float) -> None:
        """What an event means for the group. now: the time of its moment."""
        self._time_out(event, now)
        if told.part is Part.TRANSACTED:
            self._transacted(told, event, now)
        elif told.part is Part.LOST:
            self._lost(told.connection, told.cause)
        elif told.part is Part.ANSWERED_AGAIN:
            whose = f"{event.data['text']} of {event.client or told.connection}"
            self.watched.odd(f"{whose} is answered again", now, told.weight, (event.origin,))
        elif told.part is Part.LISTED:
            self._listed(told, event, now)
        elif told.part is Part.ENDED:
            self._open.pop(told.connection, None)
            number = self._connections.pop(told.connection, None)
            for key in [one for one in self._commits if one[0] == told.connection]:
                del self._commits[key]
            if number is not None:
                self.watched.ended(number, now, ended_by(event.reason), event.origin)
        else:
            try:
                self._frame(told, event, now)
            except Unreadable:
                self._account.quarantine(self.watched.group, told.weight)
                self.watched.gap(None, UNREADABLE)

    def _frame(self, told: Told, event: Event, now: float) -> None:
        """A request or an answer. Errors: Unreadable, and nothing else that is caught: what fails in judging
        it is a defect of ours."""
        try:
            read = self._request(told, event) if told.part is Part.ASKED else self._answer(told, event)
        except MALFORMED as odd:
            raise Unreadable(event.origin) from odd
        if isinstance(read, _Request):
            self._asked(read, told, event, now)
        else:
            self._answered(read, told, event, now)

    def _request(self, told: Told, event: Event) -> _Request:
        """Errors: MALFORMED."""
        data, body = event.data, told.body
        api, version = data["api"], data["version"]
        if body is None:
            body = body_of(api, data["fields"])
        if api == COMMITS:
            body["transactional_id"], body["producer_id"]  # a commit in a transaction names both
        client = event.client or f"connection {data['connection']}"
        request = told.request or request_about(self.watched.group, api, version, body)
        return _Request(api, version, client, request, body)

    def _answer(self, told: Told, event: Event) -> _Answer:
        """Errors: MALFORMED."""
        number, api, version = self._open[told.connection].pop(told.number)
        answer = answer_for(api, version, body_of(api, event.data["fields"]), self.watched.group)
        if answer is None:
            raise KeyError(self.watched.group)
        return _Answer(number, answer)

    def _lost(self, connection: str, cause: str) -> None:
        if not connection:
            self.watched.gap(None, cause)
        elif (number := self._connections.get(connection)) is not None:
            self.watched.gap(number, cause)

    def _asked(self, read: _Request, told: Told, event: Event, now: float) -> None:
        if told.connection not in self._connections:
            self._connections[told.connection] = self._next_connection
            self._next_connection += 1
        number, self._next_request = self._next_request, self._next_request + 1
        self._open.setdefault(told.connection, {})[told.number] = number, read.api, read.version
        asked = Asked(
            number,
            now,
            self._connections[told.connection],
            read.client,
            read.api,
            read.version,
            read.request,
            told.weight,
            event.origin,
            str(event.data.get("broker", "")),
        )
        if read.api == COMMITS:
            self._commits_in_transaction(read.body, now)
            if read.version >= IN_ONE_STEP_SINCE:
                self._commits[told.connection, told.number] = read.body["transactional_id"], now
        self.watched.asked(asked, read.body)

    def _transacted(self, told: Told, event: Event, now: float) -> None:
        """What a producer asks for, or is told, may end a transaction in which the group has offsets."""
        word, key = word_of(told.cause), (told.connection, told.number)
        if word.api == UNHEARD:
            if self._transactions.uses(word.transactional_id):
                self.watched.gap(None, UNHEARD)
            return
        if word.error is None:
            if word.api != ADDS:
                self._may_end(word, event, now, key)
            return
        number = self._transactions.answered(key)
        if number is not None and word.api == ENDS:
            self.watched.ends(number, word.granted)
        if word.granted and word.api != ADDS:
            self._transactions.ended(word)
        elif number is not None and word.api == ENDS:
            self._transactions.refused(word, number)
        if word.granted and word.api != ENDS:
            self._over(word.transactional_id, word.asked, now)

    def _may_end(self, word: Word, event: Event, at: float, key: tuple[str, int] | None = None) -> None:
        number = self._next_request
        request = self._transactions.may_end(self.watched.group, word, number, key)
        if request is None:
            return
        self._next_request += 1
        client, version = event.client or "a producer", event.data.get("version", 0) if key else 0
        ends = Asked(number, at, -1 - number, client, word.api, version, request, 0, event.origin)
        self.watched.may_end(ends, {"transactional_id": word.transactional_id, "committed": word.committed})

    def _commits_in_transaction(self, body: Body, now: float) -> None:
        if body["transactional_id"] not in self._timeouts and not self._unfollowed:
            self._unfollowed = True
            self.watched.gap(None, UNSEEN)
        self._transactions.commits(body, now)

    def _time_out(self, event: Event, now: float) -> None:
        """Transactions that were open for too long may have been aborted, which nobody tells."""
        for at, name in self._transactions.timed_out(now):
            self._may_end(Word(BEGINS, name, -1, False, at, None), event, at)

    def _over(self, name: str, asked: float, now: float) -> None:
        """The producer could begin another transaction."""
        for number in self._transactions.over(name, asked):
            self.watched.has_ended(number, now)

    def _listed(self, told: Told, event: Event, now: float) -> None:
        """A list has the group: as if it had been asked for alone, without filters, on a connection of its
        own. What is not on the list may be hidden from who asks."""
        asked = Asked(
            self._next_request,
            float(told.cause),
            self._next_connection,
            event.client or f"connection {event.data['connection']}",
            LIST,
            event.data["version"],
            ListGroupsRequest(self.watched.group),
            0,
            event.origin,
            str(event.data.get("broker", "")),
        )
        self._next_request, self._next_connection = self._next_request + 1, self._next_connection + 1
        body = event.data["fields"]
        try:
            reply = reply_from(asked.request, asked.version, body)
        except (NotInTheSpec, Unreadable):
            return
        self.watched.listed(asked, now, body, reply)

    def _answered(self, read: _Answer, told: Told, event: Event, now: float) -> None:
        self.watched.answered(read.number, now, read.body, told.weight, event.origin)
        name, asked = self._commits.pop((told.connection, told.number), ("", now))
        if name and codes_of(read.body) == {0}:
            self._over(name, asked, now)


class _Request(Struct, frozen=True):
    """A request as it was read."""

    api: str
    version: int
    client: str
    request: Request
    body: Body


class _Answer(Struct, frozen=True):
    """An answer as it was read. number: of its request in the group."""

    number: int
    body: Body


class Recordings:
    """Takes frames one after the other. Parameters: terms; account, what becomes of them."""

    def __init__(self, terms: Terms, account: Account) -> None:
        self._terms, self._account = terms, account
        self._router = Router(terms, account)
        self._groups: OrderedDict[str, Frames] = OrderedDict()
        self._rosters: OrderedDict[str, tuple[Roster, float]] = OrderedDict()
        self._timeouts = Timeouts()
        self._began: float | None = None
        self._now = 0.0

    def passes(self, now: float) -> None:
        """It is that late, as some source tells."""
        self._now = max(self._now, now)

    def take(self, event: Event) -> None:
        """The next event of frames."""
        self.passes(event.at or 0.0)
        if self._began is None:
            self._began = self._now
        for told in self._router.take(event, self._now):
            if told.part is Part.TRANSACTED:
                self._timeouts.hear(word_of(told.cause))
            if told.part in (Part.ASKED, Part.ANSWERED, Part.ANSWERED_AGAIN):
                self._watched(told.group).take(told, event, self._now)
            else:
                there = [self._groups[told.group]] if told.group in self._groups else []
                for frames in self._groups.values() if not told.group else there:
                    frames.take(told, event, self._now)

    def stored(self, event: Event) -> None:
        """What the offsets topic has of a group, or that it has nothing any more."""
        self._rosters.pop(event.group, None)
        roster = roster_of(event)
        if roster is not None and event.at is not None:
            self._rosters[event.group] = roster, event.at
            if len(self._rosters) > MOST_GROUPS:
                self._rosters.popitem(last=False)
        if event.group in self._groups:
            self._groups[event.group].watched.told(roster, event.at or self._now)

    def end(self) -> None:
        """The sources have ended."""
        while self._groups:
            self._groups.popitem(last=False)[1].watched.close(self._terms.ends(self._now))

    def size(self) -> int:
        """How many things are kept."""
        own = self._router.size() + len(self._rosters) + len(self._timeouts)
        return own + sum(one.size() for one in self._groups.values())

    def _watched(self, group: str) -> Frames:
        frames = self._groups.get(group)
        if frames is None:
            self._account.of(group)
            began = self._began if self._began is not None else self._now
            frames = self._groups[group] = Frames(group, self._terms, self._account, began, self._timeouts)
            if group in self._rosters:
                frames.watched.told(*self._rosters[group])
            if len(self._groups) > MOST_GROUPS:
                self._groups.popitem(last=False)[1].watched.close(self._terms.ends(self._now))
        self._groups.move_to_end(group)
        return frames


def roster_of(event: Event) -> Roster | None:
    """Who is in a group, by its record."""
    return stored(event) if event.kind is Kind.GROUP_STORED else None
