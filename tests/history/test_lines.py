"""Events survive the line format, and lines that are none are told with their mistake."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.history import Event, Kind, LineError, Source, event_of, line_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)

EVENTS = st.builds(
    Event,
    st.none() | st.floats(0, 2**40),
    st.sampled_from(Source),
    st.text(),
    st.sampled_from(Kind),
    st.text(),
    st.text(),
    st.text(),
    st.text(),
    st.text(),
    st.none() | st.integers(-1, 2**31 - 1),
    st.text(),
    st.text(),
    st.dictionaries(st.text(), JSON, max_size=3),
)


@given(EVENTS)
def test_an_event_is_read_back_as_it_was(event: Event) -> None:
    line = line_of(event)
    assert "\n" not in line
    assert event_of(line) == event


BROKEN = {
    "{": "no JSON",
    "[]": "a JSON list",
    '{"schema":2}': "schema 2, and this reads schema 1",
    '{"schema":1,"at":"now"}': "at is 'now'",
    '{"schema":1,"at":1,"source":"tea"}': "source 'tea' is unknown here",
    '{"schema":1,"at":1,"source":"frames","origin":"a","kind":["x"]}': "kind ['x'] is unknown here",
    '{"schema":1,"at":true}': "at is True",
}


@pytest.mark.parametrize("line", BROKEN)
def test_what_is_no_event_is_told(line: str) -> None:
    with pytest.raises(LineError) as told:
        event_of(line)
    assert str(told.value).startswith(BROKEN[line])


def test_what_is_empty_is_left_out() -> None:
    line = line_of(Event(1.5, Source.FRAMES, "a:1", Kind.CLOSED, data={"connection": 3}))
    assert json.loads(line) == {
        "schema": 1,
        "at": 1.5,
        "source": "frames",
        "origin": "a:1",
        "kind": "closed",
        "data": {"connection": 3},
    }
