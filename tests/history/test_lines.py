"""Events survive the line format, and lines that are none are told with their mistake."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rota.history import Event, Kind, LineError, Source, event_of, line_of, lines
from rota.history.lines import event_from
from rota.mutants.core import CoreBug, planted

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


NUMBERS = st.floats() | st.integers(-(2**70), 2**70) | st.just(10**400)
VALUES = JSON | NUMBERS | st.sampled_from(["frames", "request", "\ud800"])
KEYS = ("at", "source", "origin", "kind", "group", "generation", "data", "new")


def as_python_reads_it(line: bytes) -> str:
    """The event, or what is wrong with it, from `json` alone."""
    try:
        return repr(event_from(json.loads(line)))
    except LineError as odd:
        return str(odd)


def told(line: bytes) -> str:
    try:
        return repr(lines.event_of(line))
    except LineError as odd:
        return str(odd)


SEEN = Event(1.5, Source.FRAMES, "a:1", Kind.REQUEST, "g", generation=3, data={"fields": [1, None]})


@given(EVENTS, st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=1), st.booleans())
@example(SEEN, {"at": 1}, True)
@example(SEEN, {"generation": 2**70, "data": {"n": float("nan")}}, True)
def test_a_line_means_what_python_reads_of_it(
    event: Event, others: dict[str, object], ascii_only: bool
) -> None:
    """It is read with msgspec: numbers of any size, what JSON does not have and what is odd are the same."""
    values = {**json.loads(line_of(event)), **others}
    text = json.dumps(values, ensure_ascii=ascii_only, separators=(",", ":"))
    line = text.encode("utf-8", "surrogatepass")
    assert told(line) == as_python_reads_it(line)


def test_msgspec_alone_reads_what_rota_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", None)
    assert event_of(line_of(SEEN)) == SEEN


@pytest.mark.parametrize(("name", "old", "new"), [
    ("msgspec has the last word", "(msgspec.MsgspecError, ValueError, RecursionError)", "RecursionError"),
    ("Python is not asked", "json.loads(told)", "msgspec.json.decode(told)"),
    ("moments are always floats", "return _DECODED(told)", "return msgspec.structs.force_setattr("
     "one := _DECODED(told), 'at', one.at and float(one.at)) or one"),
])  # fmt: skip
def test_another_reader_is_seen(name: str, old: str, new: str) -> None:
    bug = CoreBug("", name, name, "rota.history.lines:event_of", old, new)
    with planted(bug), pytest.raises((AssertionError, msgspec.MsgspecError)):
        test_a_line_means_what_python_reads_of_it()


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
