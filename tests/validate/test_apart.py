"""What comes of a history is the same whether it is judged among others or apart from them."""

from __future__ import annotations

import random
from functools import cache

import pytest
from msgspec.structs import replace

from harness import scenes
from harness.judged_apart import judged_apart
from harness.judged_frames import terms_of, with_a_gap
from harness.recorded_frames import recorded
from rota.history import Event, Kind, Source
from rota.mutants.core import core_bugs, planted
from rota.validate.validation import Validation

NAMES = ("late_members", "rejoining", "sessions", "offsets", "listed")
LOG = "server.log"
NOBODY = "nobody"
CLOSED_BY = "closed by the client"


@cache
def night():
    """Groups of which one breaks the protocol, on connections that they share, with a log and records."""
    with planted(core_bugs()["described-while-rebalancing"]):
        bad = recorded(scenes.late_members, "kafka-4.x")
    own = [_closed_once(bad), *([*recorded(getattr(scenes, name), "kafka-4.x")] for name in NAMES[1:])]
    last = max(place for place, event in enumerate(own[2]) if event.kind is Kind.RESPONSE)
    del own[2][last]  # what is asked last is never answered, as only the end of all tells
    own = [[_of_two(event) for event in events] for events in own]
    frames = [_shared(event, turn) for turn, events in enumerate(own) for event in events]
    frames.sort(key=lambda event: event.at)
    numbered = [replace(event, origin=f"night.jsonl#{place}") for place, event in enumerate(frames)]
    began = numbered[0].at
    return sorted([*numbered, *_log(began), *_records(began)], key=lambda event: event.at)


def _closed_once(events):
    """On connections of its own, of which one ends after its first answer: what is said tells of it."""
    own = [
        replace(event, data={**event.data, "connection": event.data["connection"] + 500}) for event in events
    ]
    first = next(event for event in own if event.kind is Kind.RESPONSE)
    data = {"connection": first.data["connection"]}
    place = own.index(first) + 1
    return [
        *own[:place],
        replace(first, kind=Kind.CLOSED, group="", data=data, reason=CLOSED_BY),
        *own[place:],
    ]


def _of_two(event):
    """A description of one group as one of two, of which the other does not exist."""
    if event.data.get("api") != "DescribeGroups":
        return event
    fields = event.data["fields"]
    own = fields["groups"][0]
    dead = {
        "group_id": NOBODY,
        "group_state": "Dead",
        "protocol_type": "",
        "protocol_data": "",
        "members": [],
    }
    other = NOBODY if event.kind is Kind.REQUEST else {**own, **dead}
    return replace(event, data={**event.data, "fields": {**fields, "groups": [own, other]}})


def _shared(event, turn):
    """An event on a connection that other groups use as well."""
    data = dict(event.data)
    if "correlation" in data:
        data["correlation"] += 100_000 * turn
    return replace(event, data=data)


def _log(began):
    """A generation that is told twice, which is right only where the coordinator was loaded between."""
    told = [("a", Kind.STABILIZED, 3), ("b", Kind.STABILIZED, 3), ("c", Kind.STABILIZED, 3)]
    told += [("", Kind.LOADED, None)]
    told += [("a", Kind.STABILIZED, 3), ("b", Kind.PREPARING, 2), ("b", Kind.STABILIZED, 2)]
    return [
        Event(began + place / 10, Source.BROKER_LOG, f"{LOG}:{place}", kind, group, generation=generation,
              data={"members": 1})
        for place, (group, kind, generation) in enumerate([*told, ("b", Kind.STABILIZED, 2)])
    ]  # fmt: skip


def _records(began):
    """Records beside the log, by clocks that are ahead of it. The first is half a minute ahead and the others
    a minute, so the second is not compared, although it tells other members than the log."""
    told = [(30, "c", 3, "m"), (60, "a", 3, "mn"), (60.1, "b", 3, "m"), (60.2, "b", 2, "mn")]
    for place, (at, group, generation, members) in enumerate(told):
        data = {"members": [{"member": one} for one in members], "protocol": "range"}
        yield Event(began + at, Source.OFFSETS, f"__consumer_offsets-1@{place}", Kind.GROUP_STORED, group,
                    "m", generation=generation, data=data)  # fmt: skip


def together(events, terms):
    """What becomes of events in one run."""
    validation = Validation(terms)
    for event in events:
        validation.take(event)
    return validation.end(), validation.crossing


def of_account(account, crossing):
    """All that an account says."""
    told = account.as_json()
    return {
        **told,
        "violations": sorted(map(str, told["violations"])),
        "not_checked": account.not_checked,
        "undecided": account.undecided,
        "late": account.late,
        "standings": {key: one.as_row(*key) for key, one in account.standings.items() if key[1]},
        "reached": account.reached,
        "compared": crossing.compared,
        "skews": crossing.skews,
    }


@pytest.mark.parametrize("more", [{}, {"fresh": True}, {"group": "rejoining"}], ids=str)
def test_a_history_is_judged_apart_as_among_others(more):
    terms = terms_of(**more)
    random_order = random.Random(1)
    apart = judged_apart(night(), terms, lambda groups: random_order.sample(sorted(groups), len(groups)))
    assert of_account(*apart) == of_account(*together(night(), terms))
    assert apart[0].events == len(night())
    if not more:
        standings = apart[0].standings
        assert standings["", "late_members"].verdict == "violated"
        assert standings["", "rejoining"].verdict == "holds"
        assert standings["", "sessions"].verdict == "violated"
        assert standings["", "a"].verdict == "holds"
        counts = standings["", NOBODY].judged, standings["", NOBODY].not_checked
        assert counts == (0, 0), "what names two groups counts with the first"


def test_so_it_is_with_gaps_and_frames_that_cannot_be_read():
    events = list(night())
    for place, event in enumerate(events):
        if event.kind is Kind.RESPONSE and place % 17 == 0:
            events[place] = replace(event, data={**event.data, "fields": {"nothing": 1}})
        if event.kind is Kind.REQUEST and place % 29 == 0:
            events[place] = replace(event, data={**event.data, "fields": {"nothing": 1}})
    frames = [event for event in events if event.source is Source.FRAMES and "connection" in event.data]
    others = [event for event in events if event not in frames]
    gaps = with_a_gap(frames, frames[20].data["connection"], 30, 34)
    everywhere = Event(frames[60].at, Source.FRAMES, "night.jsonl#x", Kind.GAP, reason="cut")
    worse = sorted([*gaps, *others, everywhere], key=lambda event: event.at)
    account, crossing = together(worse, terms_of())
    assert account.quarantined > 3
    assert account.undecided
    assert of_account(*judged_apart(worse, terms_of())) == of_account(account, crossing)


def test_what_is_for_all_has_to_be_told_to_all():
    """Without it a group's coordinator would seem never to have been loaded anew."""
    account, _ = judged_apart(night(), terms_of(), tell_all=False)
    assert account.found > together(night(), terms_of())[0].found
