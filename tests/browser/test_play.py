"""`rota play`: what happens next is chosen by keys and clicks, back and forward; nothing is made up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.driving import Driver, Watched, inaccessible, not_shown, sideways
from browser.subjects import HOSTILE, STRANGER, playing

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def watched(driver: Driver) -> Iterator[Watched]:
    """The page of two clients that join; nothing goes wrong on it."""
    with playing() as address:
        watched = driver.open(address)
        settled(watched.page, 0)
        yield watched
        assert watched.wrong == []


def settled(page: Page, at: int) -> None:
    """Wait until the page shows the state after so many steps, and nothing is under way."""
    page.wait_for_function(
        "at => document.querySelector('.now').textContent === String(at)"
        " && document.querySelector('.offers').children.length && !document.body.classList.contains('busy')",
        arg=at,
    )


def state(page: Page) -> str:
    """The machines as they stand."""
    return page.locator(".state").text_content() or ""


def test_numbers_choose_and_arrows_go_back_and_forward(watched: Watched) -> None:
    page = watched.page
    seen = [state(page)]
    for at in (1, 2, 3):
        page.keyboard.press("1")
        settled(page, at)
        seen.append(state(page))
    assert len(set(seen)) == 4
    for key, at in (("Backspace", 2), ("ArrowLeft", 1), ("ArrowRight", 2), ("Home", 0), ("End", 3)):
        page.keyboard.press(key)
        settled(page, at)
        assert state(page) == seen[at], key
    page.keyboard.press("Home")
    settled(page, 0)
    second = page.locator(".move .label").nth(1).inner_text()
    page.keyboard.press("2")
    settled(page, 1)
    assert second in page.locator(".now-panel .when").inner_text()


def test_a_move_is_taken_by_keyboard_alone(watched: Watched) -> None:
    page = watched.page
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.move')"):
            break
    assert page.locator(".preview").inner_text().strip(), "what it would do is shown"
    page.keyboard.press("Enter")
    settled(page, 1)
    page.wait_for_function("() => document.activeElement.matches('.move')")


def test_a_click_on_the_chart_goes_to_that_step(watched: Watched) -> None:
    page = watched.page
    for at in (1, 2, 3, 4):
        page.keyboard.press("1")
        settled(page, at)
    page.click(".event[data-step='2'] text >> nth=0")
    settled(page, 2)
    assert page.locator(".event.ahead").count() == 2


def test_refusals_are_told(watched: Watched) -> None:
    watched.page.click("#not-possible")
    assert watched.page.locator(".refused li").count() > 0
    assert watched.page.locator(".refused").inner_text().strip()


def test_a_jump_walks_and_an_error_says_why(watched: Watched) -> None:
    page = watched.page
    page.keyboard.press("/")
    page.keyboard.type("coordinator.phase ==")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#jump-error').textContent.trim()")
    page.fill("#expression", page.locator("#expressions option").first.get_attribute("value") or "")
    page.keyboard.press("Enter")
    page.wait_for_function("() => Number(document.querySelector('.of').textContent) > 0")
    assert page.locator("#jump-error").inner_text() == ""
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    page.wait_for_function("() => Number(document.querySelector('.of').textContent) > 5")


def test_the_run_is_saved_as_a_trace(watched: Watched) -> None:
    page = watched.page
    page.keyboard.press("1")
    settled(page, 1)
    with page.expect_download() as saved:
        page.keyboard.press("s")
    lines = Path(saved.value.path()).read_text(encoding="utf-8").splitlines()
    assert saved.value.suggested_filename.endswith("-1-steps.jsonl")
    assert all(json.loads(line) for line in lines)


def test_the_state_graph_is_drawn_and_leads_to_a_state(watched: Watched, axe: Path) -> None:
    page = watched.page
    page.click("#tab-graph")
    page.wait_for_selector(".graph-picture [data-node]")
    assert page.locator(".graph-picture [data-node]").count() > 20
    assert inaccessible(page, axe) == []
    assert sideways(page) == []
    page.focus("#tab-graph")
    page.keyboard.press("ArrowLeft")
    page.locator("#run").wait_for(state="visible")


def test_strangers_texts_are_shown_and_do_nothing(driver: Driver, tmp_path: Path, axe: Path) -> None:
    (tmp_path / "stranger.py").write_text(STRANGER, encoding="utf-8")
    with playing("--system", "stranger:system", folder=tmp_path) as address:
        watched = driver.open(address)
        page = watched.page
        settled(page, 0)
        for at in range(1, 6):
            page.keyboard.press("1")
            settled(page, at)
        page.click("#tab-graph")
        page.wait_for_selector(".graph-picture [data-node]")
        page.locator(".graph-picture [data-node]").first.hover()
        assert not_shown(page, [HOSTILE]) == []
        assert page.locator("img").count() == 0
        assert sideways(page) == []
        assert watched.wrong == []


def test_when_the_server_has_gone_the_page_says_so(driver: Driver) -> None:
    with playing() as address:
        watched = driver.open(address)
        settled(watched.page, 0)
    watched.page.keyboard.press("1")
    watched.page.wait_for_function("() => document.querySelector('.ended').textContent.includes('rota play')")
    assert all("ERR_CONNECTION_REFUSED" in one for one in watched.wrong)


def test_another_token_is_refused(driver: Driver) -> None:
    with playing() as address:
        page = driver.open(f"{address.partition('#')[0]}#someone").page
        page.wait_for_function("() => document.querySelector('.ended').textContent.trim()")
        assert page.locator(".move").count() == 0
