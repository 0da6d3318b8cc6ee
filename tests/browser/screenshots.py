"""Pictures of the pages, by day and by night, wide and narrow: to be looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.driving import LOOKS, Driver, Look

if TYPE_CHECKING:
    from playwright.sync_api import Page

Address = Callable[[str], str]


def as_it_opens(page: Page) -> None:
    """Nothing is done before."""


def a_few_steps(page: Page) -> None:
    """Some moves of `rota play`."""
    page.wait_for_selector(".move")
    for at in range(1, 7):
        page.keyboard.press("2" if at == 2 else "1")
        page.wait_for_function("at => document.querySelector('.now').textContent === String(at)", arg=at)


def the_graph(page: Page) -> None:
    """The state graph of `rota play`."""
    a_few_steps(page)
    page.click("#tab-graph")
    page.wait_for_selector(".graph-picture [data-node]")


def a_dialogue(page: Page) -> None:
    """A failure of a report with its dialogue."""
    case = page.locator("section.group .case").first
    case.locator("summary").first.click()
    case.evaluate("one => one.scrollIntoView()")


SHOTS: dict[str, tuple[str, Callable[[Page], None]]] = {
    "trace": ("trace", as_it_opens),
    "lasso": ("lasso", as_it_opens),
    "long": ("long", as_it_opens),
    "report": ("report", as_it_opens),
    "dialogue": ("report", a_dialogue),
    "judged": ("judged", as_it_opens),
    "play": ("play", a_few_steps),
    "graph": ("play", the_graph),
    "docs": ("docs", as_it_opens),
}
"""Picture -> the page, and what is done on it before."""


@pytest.mark.parametrize("look", LOOKS, ids=str)
@pytest.mark.parametrize("name", SHOTS)
def test_a_picture_is_taken(
    driver: Driver, address: Address, pytestconfig: pytest.Config, name: str, look: Look
) -> None:
    folder: Path = pytestconfig.getoption("--screenshots")
    page_name, prepare = SHOTS[name]
    watched = driver.open(address(page_name), look)
    prepare(watched.page)
    watched.page.wait_for_timeout(250)
    file = folder / f"{name}-{look}.png"
    watched.page.screenshot(path=file)
    assert file.stat().st_size > 5_000
    assert watched.wrong == []
