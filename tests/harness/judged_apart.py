"""Histories judged one by one, as machines would that have only a group's part of what sources tell."""

from __future__ import annotations

from collections import defaultdict

from rota.history import Source
from rota.history.pairs import connection_of
from rota.validate.account import Account
from rota.validate.apart import History, is_for_all, parts_of
from rota.validate.crossing import Crossing
from rota.validate.routing import Router


def judged_apart(events, terms, order=sorted, tell_all=True):
    """What becomes of events, and what was compared. order: in which groups are judged; tell_all: whether
    groups are told what is for all of them."""
    account, comparisons = Account(), []
    rows, began, now = _shuffled(events, terms, account)
    announced = [row for row in rows if is_for_all(*row[2:])]
    shares = defaultdict(list, {"": []})
    for row in rows:
        shares[row[1]].append(row)
    for group in order(shares):
        history = History("", group, terms, began)
        more = announced if group and tell_all else []
        for moment, _, told, event in sorted([*shares[group], *more], key=lambda row: row[0]):
            before = len(history.comparisons)
            history.take(told, event, moment[0])
            comparisons += [(moment, one) for one in history.comparisons[before:]]
        history.end(terms.ends(now))
        account.add(history.account)
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
        rows += [((now, place), told.group, told, event) for told in parts_of(router, event, now)]
    return rows, began or 0.0, now
