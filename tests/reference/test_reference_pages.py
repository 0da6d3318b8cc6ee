"""docs/reference: up to date, whole, linked; the picture has everything and nothing lies on anything else."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import fields
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from rota.invariants import WEAKNESSES
from rota.invariants.weaknesses import STRONG_FORMS
from rota.kernel import rule
from rota.kernel.rules import RuleTable
from rota.mutants import MUTANTS
from rota.mutants.consumer import BUGS as CONSUMER_MUTANTS
from rota.mutants.consumer import meanings
from rota.mutants.core import consumer_bugs
from rota.report.reference import drawing, pages, version_pages
from rota.report.reference.claims import claims, consumer_claims, kills
from rota.report.reference.markdown import anchor
from rota.report.reference.states import NOWHERE, ORDER, StateGraph, Way
from rota.spec import PROFILES, RULES, Profile
from rota.spec.consumer.handlers import CONSUMER_RULES

FOLDER = Path(__file__).parents[2] / "docs" / "reference"


@pytest.fixture(scope="module")
def made() -> Mapping[str, str]:
    return pages()


def test_the_pages_are_those_that_the_spec_gives(made: Mapping[str, str]) -> None:
    """`make reference` writes them anew."""
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert written.keys() == made.keys()
    stale = [name for name in made if made[name] != written[name]]
    assert stale == [], "out of date; run `make reference`"


def headings(page: str) -> list[str]:
    return [line.lstrip("# ") for line in page.splitlines() if line.startswith("#")]


def test_every_link_leads_to_a_heading(made: Mapping[str, str]) -> None:
    anchors = {name: {anchor(one) for one in headings(page)} for name, page in made.items()}
    links = [
        (page, target or page, fragment)
        for page, text in made.items()
        for target, fragment in re.findall(r"\]\(([\w.]*)#?([\w-]*)\)", text)
    ]
    assert len(links) > 500
    assert [one for one in links if one[1] not in made or (one[2] and one[2] not in anchors[one[1]])] == []


def test_no_two_headings_of_a_page_share_a_fragment(made: Mapping[str, str]) -> None:
    for name in ("rules.md", "properties.md", "versions.md", "consumer-rules.md", "consumer-properties.md"):
        found = [anchor(one) for one in headings(made[name])]
        assert len(found) == len(set(found)), name


def test_everything_has_its_place(made: Mapping[str, str]) -> None:
    assert set(headings(made["rules.md"])) >= {*RULES, *(one.part for one in RULES.values())}
    assert set(headings(made["properties.md"])) >= {*claims(), *(one.name for one in WEAKNESSES)}
    for slug, one in RULES.items():
        assert one.title in made["rules.md"], slug
        assert one.source in made["rules.md"], slug
    assert all(f"`{mutant}`" in made["rules.md"] for mutant in MUTANTS)
    assert all(f"`{mutant}`" in made["properties.md"] for mutant in MUTANTS)
    assert all(
        f"`{one.name}`" in made["versions.md"]
        for one in fields(Profile)
        if one.name not in version_pages.PLAIN
    )
    assert all(name in made["versions.md"] for name in PROFILES)


def test_everything_of_the_consumer_protocol_has_its_place(made: Mapping[str, str]) -> None:
    said, claimed = made["consumer-rules.md"], made["consumer-properties.md"]
    assert set(headings(said)) >= {*CONSUMER_RULES, *(one.part for one in CONSUMER_RULES.values())}
    assert set(headings(claimed)) >= {*consumer_claims(), *meanings()}
    assert all(one.meaning in claimed for one in consumer_claims().values())
    assert all(one.title in said and one.source in said for one in CONSUMER_RULES.values())
    assert all(f"`{name}`" in claimed for name in CONSUMER_MUTANTS)
    assert all(f"`{name}`" in said for name, one in CONSUMER_MUTANTS.items() if one.slug in CONSUMER_RULES)
    assert all(f"`{name}`" in said for name in consumer_bugs())


def test_strong_forms_are_known_weaknesses_of_what_holds() -> None:
    weak = {one.name for one in WEAKNESSES}
    assert set(STRONG_FORMS) <= weak
    assert set(STRONG_FORMS.values()) <= set(claims()) - weak


def test_every_killer_is_a_property() -> None:
    assert set(kills()) <= {*claims(), "deadlock"}


# ---- versions


def test_the_rules_since_a_version_stand_beside_it() -> None:
    (row,) = [
        line for line in version_pages.lines() if line.startswith("| 4 |") and "member-id-required" in line
    ]
    assert "kafka-4.x, kafka-3.x, rota |" in row
    assert "kafka-2.1" not in row


def test_fields_come_and_go_with_versions() -> None:
    rows = [line for line in version_pages.lines() if line.startswith("| 3 |")]
    assert any("request: `members`, no more `member_id`. answer: `members`" in row for row in rows)


def test_who_reads_a_switch_is_found_in_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        version_pages, "RULES", RuleTable([asks_directly.__rota_rule__, asks_another.__rota_rule__])
    )
    version_pages.read_by.cache_clear()
    try:
        assert version_pages.read_by() == {"size_limit": ["x.direct"]}
    finally:
        version_pages.read_by.cache_clear()


@rule("x.direct", source="a test")
def asks_directly(spec: object) -> bool:
    return spec.profile.size_limit


@rule("x.other", source="a test")
def asks_another(spec: object) -> bool:
    return spec.config.size_limit


# ---- the picture


def picture(*ways: tuple[str, str, str]) -> ElementTree.Element:
    graph = StateGraph(frozenset(Way(*way, ()) for way in ways))
    return ElementTree.fromstring(drawing.svg(graph))


def texts(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [one for one in root.iter() if one.tag.endswith("text")]


def spans(root: ElementTree.Element) -> list[tuple[str, float, float, float]]:
    """(rule, left, right, baseline) of the rules on arrows, in type of 12 pixels."""
    out = []
    for one in texts(root):
        if "Mono" not in one.get("font-family", ""):
            continue
        word, x, y = one.text or "", float(one.get("x", 0)), float(one.get("y", 0))
        width = 7.3 * len(word)
        left = x - {"start": 0, "middle": width / 2, "end": width}[one.get("text-anchor", "start")]
        out.append((word, left, left + width, y))
    return out


def lines_of(root: ElementTree.Element) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """The straight pieces of all arrows."""
    found = []
    for one in root.iter():
        if one.tag.endswith("path") and one.get("fill") == "none":
            numbers = [float(word) for word in re.findall(r"-?\d+", one.get("d", ""))]
            points = list(zip(numbers[::2], numbers[1::2], strict=True))
            found += list(pairwise(points))
    return found


def test_every_way_is_drawn_and_nothing_lies_on_anything(made: Mapping[str, str]) -> None:
    root = ElementTree.fromstring(made["states.svg"])
    shown = [one.text for one in texts(root)]
    assert set(shown) >= {NOWHERE, "Empty", "PreparingRebalance", "CompletingRebalance", "Stable"}
    for row in re.findall(r"^\| (.*?) \| (.*?) \| \[(.*?)\]", made["states.md"], flags=re.MULTILINE):
        assert row[2] in shown
    words = spans(root)
    for one, other in combinations(words, 2):
        apart = one[2] < other[1] or other[2] < one[1] or abs(one[3] - other[3]) >= 14
        assert apart, (one, other)
    width = float(root.get("width", 0))
    for word, left, right, y in words:
        assert 0 < left < right < width
        for (x1, y1), (x2, y2) in lines_of(root):
            crossed = (
                max(x1, x2) > left and min(x1, x2) < right and max(y1, y2) > y - 9 and min(y1, y2) < y + 2
            )
            assert not crossed, (word, (x1, y1), (x2, y2))


def test_a_state_without_a_place_gets_one() -> None:
    shown = [
        one.text for one in texts(picture(("Stable", "Dead", "admin.delete"), ("Dead", "Empty", "join.any")))
    ]
    assert {"Dead", "admin.delete", "join.any"} <= set(shown)


def test_arrows_do_not_cross(made: Mapping[str, str]) -> None:
    pieces = lines_of(ElementTree.fromstring(made["states.svg"]))
    level = [(min(a[0], b[0]), max(a[0], b[0]), a[1]) for a, b in pieces if a[1] == b[1]]
    upright = [(a[0], min(a[1], b[1]), max(a[1], b[1])) for a, b in pieces if a[0] == b[0]]
    assert [(h, v) for h in level for v in upright if h[0] < v[0] < h[1] and v[1] < h[2] < v[2]] == []


def test_what_ends_a_group_in_every_state_is_drawn_once() -> None:
    ends = [(state, NOWHERE, "loading.unload") for state in ORDER if state not in (NOWHERE, "Dead")]
    root = picture(*ends, ("Empty", NOWHERE, "admin.delete"))
    shown = [one.text for one in texts(root)]
    assert shown.count("loading.unload") == 1
    assert "every state" in shown
    assert shown.count("admin.delete") == 1
