"""The report on a conformance run: cases are found by part, verdict and words; a link opens a case."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from browser.driving import Driver, Look

if TYPE_CHECKING:
    from playwright.sync_api import Page

Files = Callable[[str], Path]

OF_EACH = "all => all.map(one => [one.dataset.part, one.dataset.verdict])"
"""Part and verdict of cases."""


def left(page: Page) -> list[tuple[str, str]]:
    """Part and verdict of each case that can be seen, and the number beside the filters agrees."""
    shown = page.locator(".case:visible")
    found = shown.evaluate_all(OF_EACH)
    told = page.locator(".filters output").inner_text()
    assert told == f"{len(found)} of {page.locator('.case').count()}"
    return [(part, verdict) for part, verdict in found]


def test_filters_leave_what_is_asked_for(driver: Driver, files: Files) -> None:
    watched = driver.open(files("report").as_uri())
    page = watched.page
    every = page.locator(".case").evaluate_all(OF_EACH)
    assert {verdict for _, verdict in every} > {"fail", "pass"}
    page.select_option("[name=part]", "leave")
    assert left(page) == [(part, verdict) for part, verdict in every if part == "leave"]
    page.select_option("[name=verdict]", "fail")
    assert set(left(page)) == {("leave", "fail")}
    page.select_option("[name=part]", "")
    assert {verdict for _, verdict in left(page)} == {"fail"}
    assert len({part for part, _ in left(page)}) > 1
    page.select_option("[name=verdict]", "")
    page.fill("[name=find]", "leave UNKNOWN")
    assert 0 < len(left(page)) < len(every)
    page.fill("[name=find]", "no such words")
    assert page.locator(".none").is_visible()
    page.fill("[name=find]", "")
    assert len(left(page)) == len(every)
    page.press("[name=find]", "Enter")
    assert left(page), "the form is sent nowhere"
    assert watched.wrong == []


def test_without_scripts_there_are_no_filters(driver: Driver, files: Files) -> None:
    page = driver.open(files("report").as_uri(), Look(script=False)).page
    assert page.locator(".filters").is_hidden()
    assert page.locator(".group").count() > 1
    assert page.locator("section.group .case").first.is_visible()


def test_a_case_opens_by_keyboard_and_by_link(driver: Driver, files: Files) -> None:
    page = driver.open(files("report").as_uri()).page
    case = page.locator("section.group .case").first
    assert not case.locator(".picture").is_visible()
    case.locator("summary").first.focus()
    page.keyboard.press("Enter")
    case.locator(".picture").wait_for(state="visible")
    passed = page.locator(".case[data-verdict=pass]").last
    assert not passed.is_visible()
    watched = driver.open(f"{files('report').as_uri()}#{passed.get_attribute('id')}")
    opened = watched.page.locator(".case[data-verdict=pass]").last
    assert opened.is_visible()
    assert opened.evaluate("one => one.open && one.getBoundingClientRect().top < innerHeight")
    assert watched.wrong == []


def test_the_command_that_plays_a_case_again_is_copied(driver: Driver, files: Files) -> None:
    watched = driver.open(files("report").as_uri())
    page = watched.page
    case = page.locator("section.group .case").first
    case.locator("summary").first.click()
    case.locator(".again button").click()
    page.wait_for_function("() => document.querySelector('.again button').textContent.includes('Copied')")
    command = page.evaluate("navigator.clipboard.readText()")
    name = (case.get_attribute("id") or "").removeprefix("case-")
    assert command == f"rota conform --target librdkafka-mock --timeout 3 {name}"
    assert watched.wrong == []


def test_a_cause_leads_to_the_case_to_look_at(driver: Driver, files: Files) -> None:
    watched = driver.open(files("report").as_uri())
    page = watched.page
    cause = page.locator(".cause").first
    assert not cause.locator(".facts").is_visible()
    cause.locator("summary").click()
    link = cause.locator("dd a").first
    name = link.inner_text()
    for _ in range(2):
        link.click()
        case = page.locator(f"[id='case-{name}']")
        page.wait_for_function("id => document.getElementById(id).open", arg=f"case-{name}")
        assert case.evaluate("one => one.getBoundingClientRect().top < innerHeight")
        case.locator("summary").first.click()  # closed again: the same link opens it once more
    case.locator("summary").first.click()
    assert not case.get_by_text("0000  00 00 00").first.is_visible()
    case.get_by_text("Fields and bytes").click()
    assert case.locator(".as-text[open] pre").last.inner_text().count("0000  00 00 00 ") >= 2
    assert watched.wrong == []


def test_targets_side_by_side_are_filtered_and_linked(driver: Driver, files: Files) -> None:
    watched = driver.open(files("side by side").as_uri())
    page = watched.page
    all_of_them = page.locator(".case").count()
    page.select_option("[name=target]", "t1-")
    assert {verdict for _, verdict in left(page)} == {"pass"}
    assert 0 < len(left(page)) < all_of_them
    page.select_option("[name=target]", "")
    link = page.locator(".matrix td a").first
    where = (link.get_attribute("href") or "").removeprefix("#")
    assert where.startswith("t2-case-")
    link.click()
    page.wait_for_function("id => document.getElementById(id).open", arg=where)
    assert watched.wrong == []


def test_filters_leave_what_is_asked_for_of_what_changed(driver: Driver, files: Files) -> None:
    watched = driver.open(files("changes").as_uri())
    page = watched.page
    every = page.locator(".case").evaluate_all(OF_EACH)
    part = every[0][0]
    page.select_option("[name=part]", part)
    shown = [tuple(one) for one in every if one[0] == part]
    assert left(page) == shown, "groups are opened to show them"
    page.select_option("[name=part]", "")
    page.fill("[name=find]", "no such words")
    assert page.locator(".none").is_visible()
    assert page.locator(".group:visible").count() == 0
    assert watched.wrong == []


def test_what_changed_is_opened_by_its_cause(driver: Driver, files: Files) -> None:
    watched = driver.open(files("changes").as_uri())
    page = watched.page
    link = page.locator(".matrix td a").first
    where = (link.get_attribute("href") or "").removeprefix("#")
    assert where.startswith("after-case-")
    link.click()
    page.wait_for_function("id => document.getElementById(id).open", arg=where)
    assert page.locator(f"[id='{where}'] .picture").is_visible()
    assert watched.wrong == []
