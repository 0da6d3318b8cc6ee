"""What holds of every page: nothing goes wrong, nothing is asked for, all can be read, by everybody.

`make test BROWSER=1` looks at each page in one way, in turn; `make test-browser` in all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from browser.driving import BOTH, NARROW, Driver, Look, focus_faults, inaccessible, not_shown, sideways
from harness.thinned import long, some

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


FILES = [name for name in PAGES if name != "play"]

DEAR = "side by side"
"""What axe-core takes many seconds for; what it is made of is on other pages, too."""


def in_turn(ways: Sequence[object], one_in: int = 1) -> list[Any]:
    """Each page in each way; not marked long is the first page in the first, the next in the next.

    one_in: how many pages there are to each of which that holds.
    """
    pairs = [(place, name, way) for place, name in enumerate(PAGES) for way in ways]
    return [
        (name, way)
        if way is ways[place % len(ways)] and not place % one_in and name != DEAR
        else long((name, way))
        for place, name, way in pairs
    ]


@pytest.mark.parametrize(("name", "look"), in_turn(BOTH), ids=str)
def test_it_is_as_it_should_be(driver: Driver, address: Address, axe: Path, name: str, look: Look) -> None:
    watched = driver.open(address(name), look)
    assert watched.page.title()
    assert sideways(watched.page) == []
    assert inaccessible(watched.page, axe) == []
    assert watched.wrong == []


@pytest.mark.parametrize(("name", "width"), in_turn([NARROW, 1400], one_in=3), ids=str)
def test_tab_goes_through_it_in_order(driver: Driver, address: Address, name: str, width: int) -> None:
    watched = driver.open(address(name), Look(width=width))
    assert focus_faults(watched.page) == []
    assert watched.wrong == []


@pytest.mark.parametrize("name", some(FILES))
def test_it_can_be_read_without_scripts(
    driver: Driver, address: Address, texts: Callable[[str], list[str]], name: str
) -> None:
    for width in (1400, NARROW):
        watched = driver.open(address(name), Look(width=width, script=False))
        assert sideways(watched.page) == []
        watched.page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert not_shown(watched.page, texts(name)) == []
        assert watched.wrong == []


@pytest.mark.parametrize("name", some(FILES, first=1))
def test_print_leaves_nothing_out(
    driver: Driver, address: Address, texts: Callable[[str], list[str]], name: str
) -> None:
    watched = driver.open(address(name))
    watched.page.emulate_media(media="print")
    watched.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert not_shown(watched.page, texts(name)) == []
