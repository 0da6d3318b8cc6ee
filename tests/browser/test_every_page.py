"""What holds of every page: nothing goes wrong, nothing is asked for, all can be read, by everybody."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from browser.driving import BOTH, NARROW, Driver, Look, focus_faults, inaccessible, not_shown, sideways

Address = Callable[[str], str]

PAGES = [
    "trace",
    "lasso",
    "strangers",
    "report",
    "side by side",
    "changes",
    "account",
    "judged",
    "play",
    "docs",
]
"""Those that are driven; what opening a large one costs is judged by itself."""


@pytest.mark.parametrize("look", BOTH, ids=str)
@pytest.mark.parametrize("name", PAGES)
def test_it_is_as_it_should_be(driver: Driver, address: Address, axe: Path, name: str, look: Look) -> None:
    watched = driver.open(address(name), look)
    assert watched.page.title()
    assert sideways(watched.page) == []
    assert inaccessible(watched.page, axe) == []
    assert watched.wrong == []


@pytest.mark.parametrize("width", [1400, NARROW])
@pytest.mark.parametrize("name", PAGES)
def test_tab_goes_through_it_in_order(driver: Driver, address: Address, name: str, width: int) -> None:
    watched = driver.open(address(name), Look(width=width))
    assert focus_faults(watched.page) == []
    assert watched.wrong == []


@pytest.mark.parametrize("name", [name for name in PAGES if name != "play"])
def test_it_can_be_read_without_scripts(
    driver: Driver, address: Address, texts: Callable[[str], list[str]], name: str
) -> None:
    for width in (1400, NARROW):
        watched = driver.open(address(name), Look(width=width, script=False))
        assert sideways(watched.page) == []
        watched.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert not_shown(watched.page, texts(name)) == []
        assert watched.wrong == []


@pytest.mark.parametrize("name", [name for name in PAGES if name != "play"])
def test_print_leaves_nothing_out(
    driver: Driver, address: Address, texts: Callable[[str], list[str]], name: str
) -> None:
    watched = driver.open(address(name))
    watched.page.emulate_media(media="print")
    watched.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not_shown(watched.page, texts(name)) == []
