"""Histories judged one by one, as machines would that have only a group's part of what sources tell."""

from __future__ import annotations

from collections import defaultdict

from rota.history import Kind, Source
from rota.history.pairs import connection_of
from rota.validate.account import Account
from rota.validate.audited_logs import Logs
from rota.validate.audited_offsets import Topic
from rota.validate.crossing import GENERATIONS, Crossing, Generations
from rota.validate.recordings import Frames, roster_of
from rota.validate.routing import NOT_ASKED_FOR, Part, Router
from rota.validate.validation import DESCRIBED, is_asked_for

BESIDE, COMPARED = "beside", "compared"
"""What an event of no frame is for its group; and one that tells of a generation, which is compared."""


def judged_apart(events, terms, order=sorted, tell_all=True):
    """What becomes of events, and what was compared. order: in which groups are judged; tell_all: whether
    groups are told what is for all of them."""
    account, comparisons = Account(), []
    rows, began, now = _shuffled(events, terms, account)
    announced = [row for row in rows if is_for_all(*row)]
    shares = defaultdict(list, {"": []})
    for row in rows:
        shares[row[1]].append(row)
    for group in order(shares):
        history = History(group, terms, began)
        more = announced if group and tell_all else []
        for moment, _, told, event in sorted([*shares[group], *more], key=lambda row: row[0]):
            before = len(history.comparisons)
            history.take(told, event, moment[0])
            comparisons += [(moment, one) for one in history.comparisons[before:]]
        account.add(history.end(now))
    crossing = Crossing(account)
    for _, comparison in sorted(comparisons, key=lambda one: one[0]):
        crossing.take(comparison)
    return account, crossing


def _shuffled(events, terms, account):
    """(moment, group, what is told, event) of every event; when frames begin; when all ends."""
    routers, rows, began, now = {}, [], None, 0.0
    for place, event in enumerate(events):
        now = max(now, event.at or 0.0)
        frames = event.source is Source.FRAMES
        if frames and began is None:
            began = now
        name = connection_of(event) if frames and "connection" in event.data else ""
        router = routers.setdefault(name, Router(terms, account))
        rows += [((now, place), group, told, event) for group, told in parts_of(router, event, now)]
    return rows, began or 0.0, now


def parts_of(router, event, now):
    """Groups, and what an event means for them. router: of its connection; now: the time of its moment."""
    if event.source is not Source.FRAMES:
        yield event.group, BESIDE
        return
    for told in router.take(event, now):
        yield told.group, told
    if event.kind in GENERATIONS and event.group:
        yield event.group, COMPARED


def is_for_all(_, group, told, event):
    """Whether every group is to be told: frames are missing nobody knows where, or a line of a log tells that
    a coordinator begins or ends."""
    return not group and (told is not BESIDE or event.source is Source.BROKER_LOG)


class History:
    """Takes what is for one group, in the order of time; for the group "" what is for none.

    Parameters: group; terms; began: the time of the first frame. Attributes: account; comparisons.
    """

    def __init__(self, group, terms, began):
        self.group = group
        self.account = Account()
        self.comparisons = []
        self._terms, self._began = terms, began
        self._frames = None
        self._roster = None
        self._logs, self._topic = Logs(self.account), Topic(self.account)
        self._generations = Generations()

    def take(self, told, event, now):
        """The next event. now: the time of its moment."""
        if told is COMPARED:
            self.comparisons += self._generations.take(event)
        elif told is BESIDE:
            self._beside(event, now)
        elif told.part in (Part.ASKED, Part.ANSWERED):
            self._watched().take(told, event, now)
        elif self._frames is not None:
            self._frames.take(told, event, now)

    def end(self, now):
        """Nothing more comes. now: the time of the last event."""
        if self._frames is not None:
            self._frames.watched.close(now)
        return self.account

    def _watched(self):
        if self._frames is None:
            self.account.of(self.group)
            self._frames = Frames(self.group, self._terms, self.account, self._began)
            if self._roster is not None:
                self._frames.watched.told(*self._roster)
        return self._frames

    def _beside(self, event, now):
        if event.group != self.group:
            if is_asked_for(event, self._terms):
                self._logs.announce(event)
            return
        if not is_asked_for(event, self._terms):
            self.account.leave(NOT_ASKED_FOR, event.source.value, 1)
            return
        if event.source is Source.BROKER_LOG:
            self._logs.take(event)
        elif event.source is Source.OFFSETS:
            self._topic.take(event)
            self._stored(event, now)
        else:
            self.account.leave(DESCRIBED, event.source.value, 1)
        if event.kind in GENERATIONS:
            self.comparisons += self._generations.take(event)

    def _stored(self, event, now):
        if event.kind not in (Kind.GROUP_STORED, Kind.GROUP_REMOVED):
            return
        roster = roster_of(event)
        self._roster = (roster, event.at) if roster is not None and event.at is not None else None
        if self._frames is not None:
            self._frames.watched.told(roster, event.at or now)
