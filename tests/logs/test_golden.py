"""What each program prints of groups, line by line as it prints it, and the events that are made of it."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest

from harness.logs_golden import AT, PROGRAMS, Golden, bare, events_of, golden
from rota.history import Kind, event_of, line_of
from rota.logs.reasons import REASONS

GOLDEN = tuple(golden())


@pytest.mark.parametrize("program", PROGRAMS)
def test_lines_become_events(program: str, tmp_path: Path) -> None:
    printed = PROGRAMS[program]
    wrong = []
    for one in of(program):
        events = events_of([printed.line(one.sentence)], tmp_path, time_zone=UTC)
        assert [event_of(line_of(event)) for event in events] == events
        assert {event.at for event in events} <= {AT}
        assert {event.origin for event in events} <= {"server.log:1"}
        if [bare(event) for event in events] != list(one.events):
            wrong.append((one, events))
    assert wrong == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_pattern_has_a_line(program: str) -> None:
    printed = PROGRAMS[program]
    lines = {id(printed.pattern(one.sentence)) for one in of(program)}
    assert [one.text for one in printed.table.patterns if id(one) not in lines] == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_a_line_tells_is_what_its_pattern_says(program: str) -> None:
    """A pattern that tells nothing has no events, all others have of their kind as many as are listed."""
    printed = PROGRAMS[program]
    for one in of(program):
        kinds = {event["kind"] for event in one.events}
        kind = printed.pattern(one.sentence).kind
        assert kinds <= ({kind.value} if kind is not None else set()), one
        listed = "groups were deleted: ." in one.sentence
        assert (kind is not None) == bool(kinds) or listed, one


def test_every_reason_has_a_line() -> None:
    reasons = [event.get("reason", "") for one in GOLDEN for event in one.events]
    known = {id(found[0]) for reason in reasons if (found := REASONS.find(reason)) is not None}
    assert [one.text for one in REASONS.patterns if id(one) not in known] == []


def test_every_rebalance_has_a_cause() -> None:
    events = [event for one in GOLDEN for event in one.events if event["kind"] == Kind.PREPARING]
    assert len(events) > 25
    assert [event for event in events if "cause" not in event["data"]] == []


def of(program: str) -> list[Golden]:
    """The lines of a program."""
    found = [one for one in GOLDEN if one.program == program]
    assert len(found) > 20
    return found
