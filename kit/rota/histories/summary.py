"""What came of a run, in words and as JSON: how many histories, what of them, and of what they consist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rota.histories.mix import Made, Mix
from rota.histories.results import Results
from rota.report.format import counted, wrapped
from rota.validate.account import history_of

FATES = "judged", "undecided", "not_checked", "quarantined"

SHOWN = 10
"""Rules, causes and kinds of requests that are named."""


def mix(found: Results) -> dict[str, Any]:
    """Of what the histories consist. heartbeats: share of the requests; the rest as of `Mix`."""
    told = found.mix
    asked, beats = sum(told.asked.values()), told.asked.get("Heartbeat", 0)
    return {
        "requests": dict(sorted(told.asked.items(), key=lambda one: (-one[1], one[0]))),
        "heartbeats": round(beats / asked, 4) if asked else None,
        "groups_without_a_rebalance": told.still,
        "distinct_pairs": told.pairs,
        "made": None if told.made is None else told.made.as_json(),
    }


def as_json(found: Results) -> dict[str, Any]:
    """As JSON has it: events = judged + undecided + not_checked + quarantined."""
    account = found.account
    events = {
        "events": account.events,
        "judged": account.judged,
        "undecided": account.undecided.total(),
        "not_checked": account.not_checked.total(),
        "quarantined": account.quarantined,
    }
    return {
        "verdict": account.verdict,
        "histories": len(account.groups),
        "verdicts": dict(sorted(found.verdicts.items())),
        **events,
        "violations": account.found,
        "rules": dict(Counter(one.rule for one in account.violations).most_common()),
        "mix": mix(found),
        "causes": {
            one.title: {"incidents": one.incidents, "seconds": round(one.seconds, 3)} for one in found.causes
        },
        "worst": {name: round(seconds, 3) for name, seconds in found.worst},
    }


def lines(found: Results) -> Iterator[str]:
    """As people read it."""
    verdicts = ", ".join(f"{number:,} {verdict}" for verdict, number in sorted(found.verdicts.items()))
    yield wrapped("histories: ", f"{counted(len(found.account.groups), 'group')}: {verdicts or 'none'}")
    told = as_json(found)
    parts = ", ".join(f"{told[name]:,} {name.replace('_', ' ')}" for name in FATES)
    yield wrapped("events: ", f"{told['events']:,} = {parts}")
    requests = list(told["mix"]["requests"].items())[:SHOWN]
    if requests:
        named = ", ".join(f"{number:,} {api}" for api, number in requests)
        beats = told["mix"]["heartbeats"]
        yield wrapped("requests: ", f"{named}; {beats:.1%} are heartbeats, {1 - beats:.1%} are not")
    yield wrapped("mix: ", "; ".join(_distinct(found.mix)))
    if found.mix.made is not None:
        yield wrapped("made: ", _made(found.mix.made))
    if found.causes:
        first = found.causes[:SHOWN]
        named = ", ".join(f"{one.title} {one.incidents:,} ({one.seconds:,.1f} s)" for one in first)
        yield wrapped("incidents: ", f"{named}; seconds are without an assignment")
        worst = ", ".join(f"{name} ({seconds:,.1f} s)" for name, seconds in found.worst[:3])
        yield wrapped("longest without an assignment: ", worst)


def _distinct(told: Mix) -> Iterator[str]:
    yield f"{counted(told.still, 'group')} without a rebalance"
    if told.pairs:
        pairs = counted(told.pairs, "distinct pair")
        yield f"{pairs} of a state and what happens in it, as the judge renames them"


def _made(told: Made) -> str:
    groups = f"{counted(told.histories, 'history', 'histories')}, {told.distinct:,} of them distinct"
    bugs = (
        f"{told.planted:,} judged with a planted bug, which shows in {told.visible:,}: {told.found:,} found"
    )
    other = f"{counted(len(told.beside), 'other')} violated"
    named = {"missed": told.missed, "violated without": told.beside}
    names = (
        f"; {word}: {', '.join(history_of(*key) for key in keys[:SHOWN])}"
        for word, keys in named.items()
        if keys
    )
    return f"{groups}; {bugs}, {other}{''.join(names)}"


def text(found: Results) -> str:
    """The summary as a file."""
    rules = list(as_json(found)["rules"].items())[:SHOWN]
    broken = (wrapped("violated: ", f"{rule}, {counted(number, 'time')}") for rule, number in rules)
    return "".join(f"{line}\n" for line in (*lines(found), *broken))
