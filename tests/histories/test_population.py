"""Groups as real clients make them: sound ones hold, what is planted is found where it shows."""

from __future__ import annotations

import json
from base64 import b64decode
from functools import cache

import pytest

from harness.nights_apart import as_tables, verdicts
from harness.small_groups import small
from rota.generate.shown import Shown
from rota.history import Kind, event_of, line_of
from rota.mutants.core import core_bugs
from rota.population import histories
from rota.population.files import RECORDINGS, Wanted, write
from rota.population.histories import group_of, is_told, simulated
from rota.population.recorded import frames_of
from rota.population.renamed import copies
from rota.population.shapes import LEAST, MOST, shape_of
from rota.population.truth import TRUTH
from rota.spec import KAFKA_4
from rota.validate.terms import Terms
from rota.validate.validation import Validation

TERMS = Terms(KAFKA_4, fresh=True)


def judged(events, terms=TERMS):
    validation = Validation(terms)
    for event in events:
        validation.take(event)
    return validation.end()


@cache
def events():
    return tuple(frames_of(simulated(5, small()).played, "sim.jsonl"))


def test_shapes_are_of_the_sizes_that_are_told():
    shapes = [shape_of(f"1 {number}") for number in range(2_000)]
    first = [sum(one.begins <= 2.0 for one in shape.lives) for shape in shapes]
    assert LEAST <= min(first) <= max(first) <= MOST
    assert sum(one <= 4 for one in first) / len(first) == pytest.approx(0.55, abs=0.1)
    assert all(30.0 <= one.seen <= 120.0 for one in shapes)


def test_a_sound_group_holds_and_has_a_rebalance():
    account = judged(events())
    assert account.verdict == "holds"
    assert account.judged > 0.9 * len(events())
    generations = {one.generation for one in events() if one.kind is Kind.RESPONSE and one.generation}
    assert max(one for one in generations if one) > 1


def test_the_same_number_is_the_same_history():
    again = frames_of(simulated(5, small()).played, "sim.jsonl")
    assert tuple(again) == events()
    other = frames_of(simulated(6, small()).played, "sim.jsonl")
    assert tuple(other) != events()


def test_a_copy_is_judged_as_its_original():
    original, *others = ([event_of(line) for _, line in one] for one in copies(events(), small(), 3, 1))
    assert tuple(original) == events()
    for copy, told in enumerate(others, 1):
        account = judged(told)
        assert account.groups == {group_of(small(), copy)}
        assert (account.verdict, account.judged) == ("holds", judged(events()).judged)
        frames = b"".join(b64decode(one.data.get("bytes", "")) for one in told)
        text = "".join(map(str, told)) + frames.decode("latin-1")
        assert group_of(small(), copy) in text
        assert group_of(small()) not in text
        assert len({one.origin for one in (*told, *events())}) == 2 * len(told)
    ids = [{one.member for one in told} - {""} for told in (original, *others)]
    assert ids[0].isdisjoint(ids[1])
    assert ids[1].isdisjoint(ids[2])


def test_what_shows_is_found_and_nothing_else(tmp_path, monkeypatch):
    names = "request-ends-initial-delay", "unchanged-join-not-parked", "departed-leader-leads"
    bugs = {name: core_bugs()[name] for name in names}
    monkeypatch.setattr(histories, "_plantable", lambda: bugs)
    monkeypatch.setattr(histories, "shape_of", lambda seed: shape_of(f"5 {small()}"))
    written = write(Wanted(5, 5, 0.7), tmp_path)
    truth = [json.loads(line) for line in (tmp_path / TRUTH).read_text().splitlines()]
    shown = {one["group"] for one in truth if one["shown"]}
    assert (written.histories, written.planted, written.visible) == (5, len(truth), len(shown))
    assert 0 < len(shown) < len(truth), "who leads no more shows only where the leader leaves"
    as_tables([tmp_path / RECORDINGS], tmp_path / "out", TERMS)
    told = {one["group"]: one["verdict"] for one in map(json.loads, verdicts(tmp_path / "out"))}
    assert len(told) == 5
    assert {group for group, verdict in told.items() if verdict == "violated"} == shown


def frame_of(event):
    return b64decode(event.data.get("bytes", ""))


def test_a_copy_has_its_names_in_frames_too():
    original, copy = ([event_of(line) for _, line in one] for one in copies(events(), small(), 2, 1))
    names = {
        group_of(small()): group_of(small(), 1),
        **{one.member: other.member for one, other in zip(original, copy, strict=True) if one.member},
    }
    assert len(names) > 2
    for one, other in zip(original, copy, strict=True):
        renamed = frame_of(one)
        for old, new in names.items():
            renamed = renamed.replace(old.encode(), new.encode())
        assert frame_of(other) == renamed


def test_a_copy_is_at_another_time():
    original, *others = ([at for at, _ in one] for one in copies(events(), small(), 3, 1))
    for copy in others:
        later = copy[0] - original[0]
        assert later > 0
        assert copy == pytest.approx([at + later for at in original], abs=1e-5)


def test_lines_of_copies_are_as_events_are_written():
    for copy in copies(events(), small(), 3, 1):
        assert [(event.at, line_of(event).encode()) for event in (event_of(line) for _, line in copy)] == copy


@pytest.mark.parametrize(
    ("shown", "told"),
    [
        (Shown("answer", "Heartbeat"), True),
        (Shown("moment", "Heartbeat", 1.9), False),
        (Shown("moment", "Heartbeat", 2.1), True),
        (Shown("moment", "Heartbeat", -0.1), True),
        (Shown("silence", "LeaveGroup", 0.3), False),
        (Shown("silence", "LeaveGroup", 2.1), True),
    ],
)
def test_a_bug_shows_where_nobody_who_is_merely_late_does_that(shown, told):
    """An answer that is missing when all ends may have been on its way."""
    assert is_told(shown) is told
