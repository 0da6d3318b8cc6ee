"""The sequence chart: what is drawn where, told without colour too, the same bytes each time."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from harness.stories import story_of
from rota.kernel import Arrow
from rota.trace.chart import LINES, broken, chart, cut, width
from rota.trace.story import Event, Light, Story
from rota.trace.svg import svg

SVG = "{http://www.w3.org/2000/svg}"


def drawn(story: Story, *, standalone: bool = False) -> Element:
    return ElementTree.fromstring(svg(story, standalone=standalone))


def having(root: Element, name: str) -> list[Element]:
    return [one for one in root.iter() if name in one.get("class", "").split()]


def texts(root: Element) -> list[str]:
    return ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]


def test_a_row_for_each_event_linked_to_its_step() -> None:
    rows = having(drawn(story_of()), "event")
    assert [one.tag for one in rows] == [f"{SVG}a"] * 3
    assert [one.get("href") for one in rows] == ["#step-1", "#step-2", "#step-3"]
    assert [one.get("data-step") for one in rows] == ["1", "2", "3"]
    assert rows[1][0].text == "Step 2: 2: c1 sends JoinGroup"
    assert [one.tag for one in having(drawn(story_of(), standalone=True), "event")] == [f"{SVG}g"] * 3


def test_lanes_stand_from_left_to_right_with_their_titles() -> None:
    titles = having(drawn(story_of()), "title")
    assert ["".join(one.itertext()) for one in titles] == [
        "member c1member c1",
        "c2c2",
        "loglog",
    ]
    assert [one.get("class") for one in titles] == [
        "title kind-member",
        "title kind-machine",
        "title kind-log",
    ]
    places = list(chart(story_of()).at.values())
    assert places == sorted(places)


def test_a_lost_arrow_ends_in_a_cross() -> None:
    root = drawn(story_of(steps=1))
    (lost,) = having(root, "lost")
    assert having(lost, "cross")
    assert not having(lost, "tip")
    assert lost[0].text == "c2 → c1: nothing (lost)"
    assert len(having(root, "arrow")) == 3
    assert len(having(root, "tip")) == 2


def test_the_last_step_of_a_violation_is_marked_by_a_sign() -> None:
    rows = having(drawn(story_of()), "event")
    assert [one.get("class") for one in rows] == ["event", "event", "event violated"]
    assert "✗" in texts(rows[2])
    assert (rows[2][0].text or "").endswith(", violated here")
    reached = having(drawn(replace(story_of(), outcome=Light.HOLDS, marked=(2,))), "event")
    assert [one.get("class") for one in reached] == ["event", "event marked", "event"]
    assert not having(drawn(replace(story_of(), outcome=Light.HOLDS)), "marked")


def test_bands_are_named_and_textured() -> None:
    root = drawn(story_of(steps=5))
    names = having(root, "name")
    assert [texts(one) for one in names] == [["generation 0"], ["generation 1"], ["generation 2"]]
    assert [one.get("class") for one in names] == ["name band-0", "name band-1", "name band-2"]
    bars = having(root, "bar")
    assert [one.get("y2") for one in bars[:-1]] == [one.get("y1") for one in bars[1:]]
    assert len(having(root, "texture")) == len(bars)


def test_a_lasso_has_a_frame_and_a_way_back() -> None:
    laid = chart(story_of(cycle=2))
    assert laid.loop == (laid.rows[1].top, laid.rows[2].bottom)
    root = drawn(story_of(cycle=2))
    assert "repeats for ever" in texts(root)
    assert not having(root, "violated")
    (frame, back) = having(root, "loop")
    assert frame[0].text == back[0].text == "The last 2 steps are repeated for ever."
    assert "stays here" in texts(drawn(story_of(cycle=0)))
    assert not having(drawn(story_of()), "loop")


def test_what_has_no_lane_is_not_drawn() -> None:
    event = Event(1, "elsewhere", machine="budget", arrows=(Arrow("c1", "budget", "Charge"),))
    root = drawn(replace(story_of(), events=(event,), moments=()))
    assert not having(root, "arrow")
    assert not having(root, "began")


def test_long_labels_are_cut_and_whole_in_the_title() -> None:
    label = "a very long label " * 20 + "end"
    story = replace(story_of(), events=(Event(1, label),), moments=())
    (row,) = having(drawn(story), "event")
    assert row[0].text == f"Step 1: {label}, violated here"
    (shown,) = having(row, "label")
    assert len(shown) == LINES
    assert "".join(shown.itertext()).endswith("…")


@pytest.mark.parametrize(
    "text", ["", "word", "several words in a row", "x" * 300, "日本語" * 50, "a b " * 99]
)
def test_no_line_is_wider_than_its_room(text: str) -> None:
    for room in (30, 100, 400):
        for line in (*broken(text, room, 12), cut(text, room, 12)):
            assert width(line, 12) <= room


def test_a_file_of_its_own_has_its_colours_by_day_and_night() -> None:
    text = svg(story_of(), standalone=True)
    assert "var(" not in text
    assert "prefers-color-scheme: dark" in text
    assert "<style" not in svg(story_of(), standalone=False)


def test_the_same_story_gives_the_same_bytes() -> None:
    assert svg(story_of(), standalone=True) == svg(story_of(), standalone=True)


def test_nothing_overlaps_and_all_is_within_the_picture() -> None:
    laid = chart(story_of(steps=9, cycle=3))
    assert [one.bottom for one in laid.rows[:-1]] == [one.top for one in laid.rows[1:]]
    assert all(row.top < one.y < row.bottom for row in laid.rows for one in row.arrows)
    assert laid.rows[-1].bottom < laid.height
    assert max(laid.at.values()) < laid.width
