"""Strips: runs of equal cells, overlaps and lights in words."""

from __future__ import annotations

from dataclasses import replace

from harness.elements import Element, having
from harness.stories import story_of
from rota.pages.strips import lights, ownership_strip
from rota.trace.story import Light, Moment, Story


def cells(strip: str) -> list[tuple[str, int, str]]:
    return [
        (
            one.attributes["class"] or "",
            int(one.attributes.get("colspan") or 1),
            one.attributes["title"] or "",
        )
        for one in having(strip, "td")
    ]


def owned(*owners: tuple[str, ...]) -> Story:
    return replace(story_of(), moments=tuple(Moment(owners={"t-0": one} if one else {}) for one in owners))


def test_an_overlap_is_told_in_words() -> None:
    strip = str(ownership_strip(story_of()))
    assert cells(strip) == [
        ("free", 1, "held by nobody, at the start"),
        ("held owner-0", 2, "held by member c1, steps 1 to 2"),
        ("overlap", 1, "overlap: member c1 and c2, step 3"),
    ]
    (row,) = having(strip, "th", scope="row")
    assert row.text == "t-0overlap at 3"


def test_overlaps_are_listed_as_spans() -> None:
    both = ("c1", "c2")
    strip = str(ownership_strip(owned(both, (), both, both, both, ("c2",))))
    assert having(strip, class_="found")[0].text == "overlap at 0, 2–4"
    assert cells(strip)[0][2] == "overlap: member c1 and c2, at the start"
    assert cells(strip)[-1][0] == "held owner-1"


def test_where_nothing_can_be_owned_there_is_no_strip() -> None:
    assert ownership_strip(owned((), ())) == ""


def test_violated_properties_come_first_and_the_others_behind_a_summary() -> None:
    shown = str(lights(story_of()))
    assert [one.text for one in having(shown, "th", scope="rowgroup")] == [
        "one-ownerfirst at 3",
        "always-fine",
    ]
    assert [one.text for one in having(shown, "summary")] == ["1 other property is not violated"]
    assert cells(shown) == [
        ("silent", 3, "claims nothing here, from the start to step 2"),
        ("violated", 1, "violated, step 3"),
        ("holds", 4, "holds, from the start to step 3"),
    ]
    signs = [one.text for one in having(shown, "td")]
    assert signs == ["–", "✗", "✓"]


def test_properties_without_lights_are_not_shown() -> None:
    dark = replace(story_of(), moments=(Moment(), Moment(lights={"one-owner": Light.HOLDS})))
    shown = str(lights(dark))
    assert [kind for kind, *_ in cells(shown)] == ["unknown", "holds"]
    assert "always-fine" not in shown
    assert lights(replace(story_of(), moments=())) == ""


def test_columns_link_to_steps() -> None:
    heads: list[Element] = [
        one for one in having(str(ownership_strip(story_of(), "x-")), "a") if one.text.isdigit()
    ]
    assert [one.attributes["href"] for one in heads] == ["#x-0", "#x-1", "#x-2", "#x-3"]
