"""The page of a run: what is there, without the script too, and that it is one file."""

from __future__ import annotations

import json
import re
import time
from base64 import b64encode
from collections import Counter
from dataclasses import replace
from hashlib import sha256

from harness.elements import elements, having
from harness.stories import story_of
from rota.pages.document import document, part
from rota.pages.state import state_panel
from rota.pages.trace_page import LARGEST, page, player
from rota.trace.markup import Markup, joined
from rota.trace.story import Light, Moment, Story


def test_every_step_is_there_as_text() -> None:
    text = page(story_of())
    assert [one.attributes["id"] for one in having(text, "article")] == [
        "step-0",
        "step-1",
        "step-2",
        "step-3",
    ]
    (second,) = having(text, id="step-2")
    for said in (
        "2: c1 sends JoinGroup",
        "0.250 s",
        "JoinGroup v9",
        "join.leader",
        "Timer(session)",
        "Call(…)",
    ):
        assert said in second.text
    assert "violated" not in second.text
    (third,) = having(text, id="step-3")
    assert "✗ violated: one-owner One at most." in third.text
    assert "violated" in (third.attributes["class"] or "")


def test_the_head_says_what_it_is_about() -> None:
    text = page(story_of())
    assert [one.text for one in having(text, "h1")] == ["sync.one-owner"]
    assert "<title>sync.one-owner: violated after 3 steps</title>" in text
    assert [one.text for one in having(text, class_="lead")] == ["One owner at most.", "So it is."]
    assert [one.text for one in having(text, "dd")] == ["KIP-1"]
    assert [one.text for one in having(text, class_="notice")] == ["Something is missing."]
    (verdict,) = having(text, class_="verdict")
    assert verdict.text == "✗ violated after 3 steps"
    held = page(replace(story_of(), outcome=Light.HOLDS, verdict="reached"))
    assert having(held, class_="verdict")[0].text == "✓ reached"


def test_why_links_to_steps() -> None:
    story = replace(
        story_of(), why=("In step 2 it is so, in step 99 and step 0 not.", "Steps 3 and 4, step 3.")
    )
    links = [one for one in having(page(story), "li")[0].inside if one.name == "a"]
    assert [(one.text, one.attributes["href"]) for one in links] == [("step 2", "#step-2")]
    (listed,) = having(page(story), "ol")
    assert [one.text for one in listed.inside] == list(story.why)


def test_every_link_leads_to_a_place_and_no_id_is_there_twice() -> None:
    for story in (story_of(), bare()):
        found = elements(page(story))
        ids = Counter(one.attributes["id"] for one in found if "id" in one.attributes)
        assert set(ids.values()) == {1}
        links = {one.attributes["href"] for one in found if one.name == "a"}
        assert links <= {f"#{id}" for id in ids}
        assert "#step-1" in links


def test_two_stories_on_a_page_have_places_of_their_own() -> None:
    text = document("two", joined(player(story_of(), "a-"), player(story_of(), "b-")))
    found = elements(text)
    ids = Counter(one.attributes["id"] for one in found if "id" in one.attributes)
    assert set(ids.values()) == {1}
    assert {one.attributes["href"] for one in found if one.name == "a"} <= {f"#{id}" for id in ids}


def bare() -> Story:
    """A dialogue: events with times and details, nothing known of states."""
    return replace(story_of(), moments=(), claims=(), why=(), copies={}, notice="", outcome=Light.SILENT)


def test_a_story_without_moments_has_no_states() -> None:
    text = page(bare())
    assert not having(text, class_="machines")
    assert not having(text, class_="strip")
    assert not having(text, "script", type="application/json")
    assert "0.250 s" in having(text, id="step-1")[0].text
    assert not having(text, class_="violated")


def test_what_is_seen_from_outside_has_bands_and_no_states() -> None:
    outside = tuple(Moment(bands={"c1": f"generation {at}"}) for at in range(4))
    text = page(
        replace(bare(), moments=outside, events=tuple(replace(one, differences=()) for one in bare().events))
    )
    assert not having(text, class_="machines")
    assert "Nothing changes." not in text
    assert len(having(text, class_="name")) == 4


def test_a_story_of_nothing_is_a_page() -> None:
    text = page(Story("nothing", "at the start"))
    assert having(text, id="step-0")


def test_the_policy_allows_what_is_there_and_nothing_else() -> None:
    text = document("t", Markup(""), styles=["p {}"], scripts=["1"], sources={"connect-src": "'self'"})
    (policy,) = [one.attributes["content"] or "" for one in elements(text) if "http-equiv" in one.attributes]
    allowed = dict(one.split(" ", 1) for one in policy.split("; "))
    assert allowed["default-src"] == "'none'"
    assert allowed["connect-src"] == "'self'"
    for name in ("style", "script"):
        (inner,) = re.findall(f"<{name}>(.*?)</{name}>", text, re.DOTALL)
        digest = b64encode(sha256(inner.encode()).digest()).decode()
        assert allowed[f"{name}-src"] == f"'sha256-{digest}'"
    assert "connect-src" not in page(story_of())
    assert "unsafe" not in policy


def test_nothing_is_loaded() -> None:
    text = page(story_of())
    assert not [one for one in elements(text) if {"src", "srcset", "action", "style"} & set(one.attributes)]
    assert "url(" not in text
    assert "@import" not in text
    assert set(re.findall(r"https?://[^\"' ]+", text)) == {"http://www.w3.org/2000/svg"}


def test_the_same_story_gives_the_same_bytes() -> None:
    assert page(story_of()) == page(story_of())


def long(steps: int) -> Story:
    """With values of a thousand letters that change in each step."""

    def spell(text: str) -> str:
        if not text.startswith("Client("):
            return text
        others = ", ".join(
            f"Member(id=c{number}-1, awaiting_join=c{number}, session=45000)" for number in range(20)
        )
        return text.replace("phase=stable", f"phase=stable, members=[{others}]")

    return story_of(spell, steps)


def test_a_page_of_two_hundred_steps_is_small_and_soon_made() -> None:
    story = long(200)
    assert len(story.moments[0].values[0].value) > 1_000
    before = time.process_time()
    text = page(story)
    assert len(text.encode()) < 1_000_000
    assert time.process_time() - before < 10


def test_what_would_make_a_page_too_large_is_named_instead() -> None:
    story = replace(story_of(), copies={"short": "s", "endless": "e" * LARGEST})
    text = page(story)
    assert [one.text for one in having(text, "summary") if one.text in story.copies] == ["short"]
    assert "Too long for this page: endless." in having(text, class_="copies")[0].text


def test_moments_are_told_by_what_changed() -> None:
    (data,) = having(page(story_of()), "script", type="application/json")
    moments = json.loads(data.text)["moments"]
    assert len(moments) == 4
    assert all(len(moment) <= 2 for moment in moments)
    texts = json.loads(data.text)["texts"]
    assert len(set(texts)) == len(texts)
    still = replace(story_of(), moments=(story_of().moments[0],) * 4)
    assert json.loads(having(page(still), "script", type="application/json")[0].text)["moments"][1:] == [
        [],
        [],
        [],
    ]


def test_a_state_marks_what_changed() -> None:
    panel = str(state_panel(story_of(), 2))
    assert [one.text for one in having(panel, class_="fresh")] == ["  seen=2,", "at 2"]
    assert [one.text for one in having(panel, class_="who")] == ["member c1", "c2"]
    assert [one.text for one in having(panel, class_="captions")] == ["stable · owns t-0", ""]
    assert not having(str(state_panel(story_of(), 0)), class_="fresh")
    assert state_panel(bare(), 0) == ""


def test_sheet_and_script_are_in_the_package() -> None:
    assert "prefers-reduced-motion" in part("page.css")
    assert "keydown" in part("page.js")
