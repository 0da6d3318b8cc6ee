"""Recorded frames, judged; and what a source that is worse would have of them."""

from __future__ import annotations

from msgspec.structs import replace

from harness import scenes
from rota.generate.settings import broker_config
from rota.history import Event, Kind, Source
from rota.spec import PROFILES
from rota.validate.terms import Terms
from rota.validate.validation import Validation


def terms_of(profile="kafka-4.x", **more):
    """By what recordings of scenes are judged."""
    return Terms(PROFILES[profile], broker_config(scenes.SETTINGS), **more)


def judged(events, terms):
    """What becomes of events; every one of them is accounted for."""
    validation = Validation(terms)
    for event in events:
        validation.take(event)
    account = validation.end()
    assert account.events == len(events)
    return account


def with_a_gap(events, connection, first, last):
    """Events without those of a connection between two places, and with a gap in their stead."""
    kept, gone = [], []
    for place, event in enumerate(events):
        lost = first <= place < last and event.data["connection"] == connection
        (gone if lost else kept).append(event)
    if not gone:
        return events
    begins = Event(
        gone[0].at,
        Source.FRAMES,
        gone[0].origin,
        Kind.GAP,
        reason="packets were lost",
        data={"connection": connection},
    )
    return sorted([begins, *kept], key=lambda event: event.at)


def shifted(events, seconds):
    """Events by a clock that is ahead."""
    return [replace(event, at=event.at + seconds) for event in events]
