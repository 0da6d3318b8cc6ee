"""Requests find their answers: by connection and correlation id, also where frames are missing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from rota.history import Event, Exchange, Kind, Source, conversations
from rota.history.pairs import BEGUN_LATE, CLOSED, ENDED, FORGOTTEN, MOST_WAITING, REUSED

TIMES = count()


def seen(
    kind: Kind, correlation: int | None = None, connection: int = 1, of: str = "a", reason: str = ""
) -> Event:
    at = next(TIMES)
    data = {"connection": connection} | ({} if correlation is None else {"correlation": correlation})
    return Event(at, Source.FRAMES, f"{of}#{at}", kind, reason=reason, data=data)


def told(exchanges: Iterator[Exchange]) -> list[tuple[str, int | None, int | None, str]]:
    """Connection, correlation ids of request and response, and what is lost."""
    return [
        (
            one.connection,
            one.asked and one.asked.data["correlation"],
            one.answered and one.answered.data["correlation"],
            one.lost,
        )
        for one in exchanges
    ]


def ask(number: int, connection: int = 1, of: str = "a") -> Event:
    return seen(Kind.REQUEST, number, connection, of)


def answer(number: int, connection: int = 1, of: str = "a") -> Event:
    return seen(Kind.RESPONSE, number, connection, of)


def test_answers_find_their_requests_on_each_connection_and_in_each_source() -> None:
    events = [
        ask(1),
        ask(1, 2),
        ask(1, of="b"),
        ask(2),
        answer(1, 2),
        answer(2),
        answer(1),
        answer(1, of="b"),
    ]
    assert told(conversations(events)) == [
        ("a#2", 1, 1, ""),
        ("a#1", 2, 2, ""),
        ("a#1", 1, 1, ""),
        ("b#1", 1, 1, ""),
    ]
    asked, answered = events[1], events[4]
    first = next(conversations(events))
    assert (first.asked, first.answered) == (asked, answered)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([ask(1), seen(Kind.CLOSED)], [("a#1", 1, None, CLOSED)]),
        ([ask(1), seen(Kind.OPENED), ask(1), answer(1)], [("a#1", 1, None, CLOSED), ("a#1", 1, 1, "")]),
        ([ask(1), seen(Kind.CLOSED, connection=2)], [("a#1", 1, None, ENDED)]),
        ([ask(1), ask(1), answer(1)], [("a#1", 1, None, REUSED), ("a#1", 1, 1, "")]),
        ([answer(1)], [("a#1", None, 1, BEGUN_LATE)]),
        ([ask(1), Event(0.0, Source.FRAMES, "a#0", Kind.UNREAD, data={"connection": 1}), answer(1)],
         [("a#1", 1, 1, "")]),
    ],
    ids=["closed", "opened-again", "ended", "reused", "begun-late", "passed-over"],
)  # fmt: skip
def test_what_is_missing_is_told(events: list[Event], expected: list[object]) -> None:
    assert told(conversations(events)) == expected


def test_a_gap_is_told_of_what_waited_when_it_came_and_of_nothing_else() -> None:
    events = [
        ask(1),
        ask(2, 2),
        seen(Kind.GAP, reason="lost packets"),
        ask(3),
        answer(1),
        answer(3),
        answer(2, 2),
    ]
    gaps = [(one.connection, one.gap) for one in conversations(events)]
    assert gaps == [("a#1", "lost packets"), ("a#1", ""), ("a#2", "")]


def test_what_is_never_answered_takes_bounded_memory() -> None:
    found = told(conversations(ask(number) for number in range(MOST_WAITING + 5)))
    assert found[:5] == [("a#1", number, None, FORGOTTEN) for number in range(5)]
    assert {lost for *_, lost in found[5:]} == {ENDED}
