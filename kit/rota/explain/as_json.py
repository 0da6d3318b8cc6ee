"""Accounts as JSON: one object, for programs. New keys may come, none changes its meaning."""

from __future__ import annotations

from typing import Any

from rota.explain.diagnosis import Diagnosis, evidence
from rota.explain.rebalance import Rebalance
from rota.explain.worst import Explained, Totals, visible
from rota.reading import Tally

SCHEMA = 1

EXPLAINED, NOTHING = "explained", "nothing"
"""The verdicts: an account could be given; nothing about groups was found."""


def as_json(found: Explained, tally: Tally) -> dict[str, Any]:
    """The whole."""
    first = found.first
    return {
        "schema": SCHEMA,
        "verdict": EXPLAINED if found.events else NOTHING,
        "first": None if first is None else first.headline,
        "rebalances": found.rebalances,
        "seconds": _seconds(found),
        "groups": [_totals(one) for one in found.groups],
        "groups_left_out": found.more_groups,
        "incidents": [incident_as_json(one) for one in found.incidents],
        "incidents_left_out": found.left_out,
        "events": tally.events,
        "read": dict(tally.sources),
        "unread": tally.unread,
        "quarantined": {reason: one.number for reason, one in tally.quarantined.items()},
    }


def _seconds(of: Totals | Explained) -> float | None:
    seconds = visible(of)
    return None if seconds is None else round(seconds, 3)


def _totals(one: Totals) -> dict[str, Any]:
    return {
        "group": one.group,
        "rebalances": one.rebalances,
        "incidents": one.incidents,
        "seconds": _seconds(one),
        "costliest_cause": one.worst,
        "last": one.last,
        "open": one.open,
    }


def incident_as_json(one: Diagnosis) -> dict[str, Any]:
    """An incident. Moments are seconds since 1970, None where the source does not tell."""
    found = one.incident
    shown, more = evidence(found)
    return {
        "group": found.group,
        "cause": one.cause.name,
        "title": one.cause.title,
        "sentence": one.headline,
        "members": list(one.who),
        "rule": one.cause.rule,
        "began": found.began,
        "ended": found.ended,
        "open": found.open,
        "seconds": None if found.untimed == found.number else round(found.seconds, 3),
        "rebalances": found.number,
        "without_consumer": {name: round(gap, 3) for name, gap in found.gaps.items()},
        "change": [{"setting": setting, "words": words} for setting, words in one.cause.change],
        "known": list(one.cause.weaknesses),
        "not_visible": one.not_visible,
        "accounts": [_rebalance(each) for each in found.told],
        "rests_on": [{"origin": event.origin, "kind": event.kind.value} for event in shown],
        "rests_on_more": more,
    }


def _rebalance(one: Rebalance) -> dict[str, Any]:
    return {
        "began": one.began,
        "joined": one.joined,
        "ended": one.ended,
        "ending": one.ending.value,
        "seconds": None if one.seconds is None else round(one.seconds, 3),
        "trigger": one.trigger.name,
        "rule": one.trigger.rule,
        "member": one.who,
        "reason": one.reason,
        "from_generation": one.from_generation,
        "to_generation": one.to_generation,
        "members_before": one.members_before,
        "members_after": one.members_after,
        "waited_for": list(one.waiting),
        "last_to_join": one.last,
        "protocol": one.protocol,
        "sources": sorted(one.sources),
    }
