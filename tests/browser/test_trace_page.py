"""The page of a trace: keys, buttons, links and clicks choose a step; what is copied is on the clipboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser import subjects
from browser.driving import NARROW, Driver, Look, cpu_seconds, opened_after, sideways
from harness.thinned import long

if TYPE_CHECKING:
    from playwright.sync_api import Page

Files = Callable[[str], Path]

WITHOUT_CLIPBOARD = "delete Navigator.prototype.clipboard;"
"""As in a browser that gives pages from files none."""


def chosen(page: Page) -> int:
    """The step that is shown, and nothing else is."""
    (shown,) = page.locator(".steps > .step:visible").all()
    step = int(shown.get_attribute("data-step") or "")
    assert page.locator(".now").inner_text() == str(step)
    marked = page.locator(".event[aria-current=step]")
    assert marked.count() == (1 if step else 0)
    if step:
        assert marked.get_attribute("data-step") == str(step)
    return step


def steps(page: Page) -> int:
    """How many there are."""
    return page.locator(".event[data-step]").count()


def test_keys_choose_a_step(driver: Driver, files: Files) -> None:
    watched = driver.open(files("trace").as_uri())
    page, last = watched.page, steps(watched.page)
    assert last > 5
    assert chosen(page) == last, "where it shows that something is wrong"
    for key, wanted in (
        ("Home", 0),
        ("ArrowLeft", 0),
        ("ArrowRight", 1),
        ("ArrowDown", 2),
        ("j", 3),
        ("k", 2),
        ("ArrowUp", 1),
        ("End", last),
        ("ArrowRight", last),
    ):
        page.keyboard.press(key)
        assert chosen(page) == wanted, key
    page.keyboard.press("Control+Home")
    assert chosen(page) == last, "keys of the browser are left to it"
    assert watched.wrong == []


def test_a_link_leads_to_a_step(driver: Driver, files: Files) -> None:
    page = driver.open(f"{files('trace').as_uri()}#step-7").page
    assert chosen(page) == 7
    page.keyboard.press("ArrowRight")
    assert page.url.endswith("#step-8")
    page.evaluate("location.hash = 'step-2'")
    page.wait_for_function("() => document.querySelector('.now').textContent === '2'")
    assert chosen(page) == 2
    for wrong in ("#step-99999", "#step-x", "#%00"):
        page = driver.open(f"{files('trace').as_uri()}{wrong}").page
        assert chosen(page) == steps(page), wrong


def test_clicks_choose_a_step(driver: Driver, files: Files) -> None:
    page = driver.open(files("trace").as_uri()).page
    page.click(".event[data-step='3'] text >> nth=0")
    assert chosen(page) == 3
    page.click("[data-go=previous]")
    assert chosen(page) == 2
    link = page.locator(".why a").first
    link.click()
    assert chosen(page) == int(link.get_attribute("href").rpartition("-")[2])


def test_the_chosen_step_is_in_sight(driver: Driver, files: Files) -> None:
    for width in (1400, NARROW):
        page = driver.open(files("long").as_uri(), Look(width=width)).page
        for key in ("Home", "ArrowRight", "End", "ArrowLeft"):
            page.keyboard.press(key)
            inside = page.evaluate(
                """() => {
                  const view = document.querySelector(".picture").getBoundingClientRect();
                  const row = document.querySelector(".event[aria-current] .ground")?.getBoundingClientRect();
                  return !row || (row.top >= view.top - 1 && row.bottom <= view.bottom + 1);
                }"""
            )
            assert inside, (key, width)


def test_machines_are_those_of_the_chosen_step(driver: Driver, files: Files) -> None:
    page = driver.open(files("trace").as_uri()).page
    seen = []
    page.keyboard.press("Home")
    for _ in range(steps(page) + 1):
        seen.append(page.locator(".machines .value").all_text_contents())
        page.keyboard.press("ArrowRight")
    assert len({tuple(one) for one in seen}) > len(seen) / 2
    page.keyboard.press("Home")
    assert page.locator(".machines .value").all_text_contents() == seen[0]


@pytest.mark.parametrize("prepare", ["", long(WITHOUT_CLIPBOARD)], ids=["clipboard", "no-clipboard"])
def test_what_is_copied_is_on_the_clipboard(driver: Driver, files: Files, prepare: str) -> None:
    watched = driver.open(f"{files('trace').as_uri()}#step-3", prepare=prepare)
    page = watched.page
    reader = page.context.new_page()
    reader.goto(files("strangers").as_uri())

    def clipboard() -> str:
        reader.bring_to_front()
        text = reader.evaluate("navigator.clipboard.readText()")
        page.bring_to_front()
        return str(text)

    page.click(".link")
    page.wait_for_function("() => document.querySelector('.link').textContent.includes('Copied')")
    assert clipboard() == f"{files('trace').as_uri()}#step-3"
    forms = page.locator(".form pre").all_text_contents()
    buttons = page.locator(".copy").all()
    assert len(buttons) == len(forms) >= 2
    for button, text in zip(buttons, forms, strict=True):
        button.click()
        page.wait_for_function("one => one.textContent.includes('Copied')", arg=button.element_handle())
        assert clipboard() == text
    assert [one for one in watched.wrong if "asks for" not in one] == []


def test_what_cannot_be_copied_is_shown(driver: Driver, files: Files) -> None:
    nothing = f"{WITHOUT_CLIPBOARD} document.execCommand = () => false;"
    page = driver.open(files("trace").as_uri(), prepare=nothing).page
    first = page.locator(".form").first
    assert not first.is_visible()
    page.locator(".copy").first.click()
    first.wait_for(state="visible")
    assert (
        page.evaluate("getSelection().toString()").strip()
        == (first.locator("pre").text_content() or "").strip()
    )


def test_strangers_texts_are_shown_and_do_nothing(driver: Driver, files: Files) -> None:
    watched = driver.open(files("strangers").as_uri())
    for _ in range(9):
        watched.page.keyboard.press("ArrowLeft")
        assert watched.page.locator("img").count() == 0
    for button in watched.page.locator(".copy").all():
        button.click()
    assert subjects.HOSTILE in watched.page.locator("h1").inner_text()
    assert watched.wrong == []


def test_day_and_night_are_switched(driver: Driver, files: Files) -> None:
    page = driver.open(files("trace").as_uri()).page
    ground = "getComputedStyle(document.body).backgroundColor"
    day = page.evaluate(ground)
    page.click(".theme")
    night = page.evaluate(ground)
    assert day != night
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) == night
    page.click(".theme")
    assert page.evaluate(ground) == day


def test_a_long_run_opens_in_a_second(
    driver: Driver, files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the CPU time of the process that draws it, which is what it costs however busy the machine is."""
    file = files("long")
    assert file.stat().st_size < 1_000_000
    watched = driver.open(file.as_uri())
    page = watched.page
    assert steps(page) == subjects.LONG
    clock, computed = opened_after(page), cpu_seconds(page)
    with capsys.disabled():
        print(
            f"\n{subjects.LONG} steps: {file.stat().st_size:,} bytes, {computed:.2f} s of CPU, first paint",
            end="",
        )
        print(f" after {clock['paint']:.2f} s, loaded after {clock['load']:.2f} s")
    assert 0.05 < computed < 1
    assert sideways(page) == []
    assert watched.wrong == []
