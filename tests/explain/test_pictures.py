"""What pages and timelines show of an incident."""

from __future__ import annotations

import re

from harness.nights import Night, explained, member, told
from rota.explain.page import page
from rota.explain.telling import span
from rota.explain.timeline import timeline
from rota.history import Kind, Source

A, B = (member("worker", number) for number in (1, 2))


def begins(night: Night) -> dict[str, float]:
    """Where the first bar of each row begins, by the row's name."""
    drawn = str(timeline(told(night)))
    found = re.findall(r'<text [^>]*class="who[^"]*"[^>]*><title>([^<]*)</title>.*?<rect x="([\d.]+)"', drawn)
    return {name: float(x) for name, x in found}


def test_who_was_there_before_has_a_bar_from_the_edge_and_who_comes_from_when_it_came() -> None:
    night = Night(source=Source.CLIENT_LOG)
    one, two = ({"client": name, "origin": f"{name}.log:1"} for name in ("a", "b"))
    night.say(0, Kind.ID_GIVEN, B, **two).say(0, Kind.JOINING, B, **two)
    night.say(1, Kind.REBALANCE_TOLD, A, **one).say(1, Kind.JOINING, A, **one)
    night.say(2, Kind.WAS_JOINED, A, generation=3, **one).say(2, Kind.WAS_JOINED, B, generation=3, **two)
    night.say(3, Kind.SYNCED, A, generation=3, **one).say(3, Kind.SYNCED, B, generation=3, **two)
    group, *members = begins(night).items()
    rows = dict(members)
    (old,) = (x for name, x in rows.items() if name.startswith("worker-00000001"))
    (new,) = (x for name, x in rows.items() if name.startswith("worker-00000002"))
    assert old == group[1]
    assert new > old


def test_one_moment_is_told_once() -> None:
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", span(told(Night().fail(0, A, 1, 1, took=0.1)).incident)
    )
    assert " to " in span(told(Night().fail(0, A, 1, 1, took=30)).incident)
    assert span(told(Night().prepare(0, 1, "")).incident).endswith(" to now")


def test_ids_of_members_are_written_as_they_are() -> None:
    assert "<p>worker-00000001… came;" in page(explained(Night().come(0, A, 4, 2).events), "a log")
    assert "<p>The broker heard nothing of worker-" in page(
        explained(Night().fail(0, A, 4, 2).events), "a log"
    )
