"""What drives pages: headless Chromium, and axe-core. Where one is missing tests are skipped and say so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser import subjects
from browser.driving import Driver

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "rota-out/docs/index.html"
AXE = ROOT / "rota-out/browser/node_modules/axe-core/axe.min.js"
NAMES = ("chromium", "chromium-browser", "google-chrome")

INSTALLS = "`make test-browser` installs it"

FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
"""It is to draw a page and to ask nobody for anything."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--screenshots", type=Path, default=ROOT / "rota-out/screenshots", help="where pictures of pages go"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


def chromium_here() -> str | None:
    """Where Chromium is, if it is: the one that ROTA_CHROMIUM names, else the first that is found."""
    named = os.environ.get("ROTA_CHROMIUM")
    return next(filter(None, map(shutil.which, [named] if named else NAMES)), None)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Chromium, for the tests of this folder: while it runs its event loop keeps others from running."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        pytest.skip(f"playwright is not installed; {INSTALLS}")
    path = chromium_here()
    if path is None:
        pytest.skip(f"no chromium found; {INSTALLS}")
    alone = ["--no-sandbox"] if os.geteuid() == 0 else []  # the sandbox refuses root
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS, *alone])
        yield browser
        browser.close()


@pytest.fixture
def driver(chromium: Browser) -> Iterator[Driver]:
    """Opens pages for one test."""
    driver = Driver(chromium)
    yield driver
    driver.close()


@pytest.fixture(scope="session")
def axe() -> Path:
    """The source of axe-core."""
    if not AXE.exists():
        pytest.skip(f"axe-core is not installed; {INSTALLS}")
    return AXE


@pytest.fixture(scope="package")
def files(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes a page that is a file, once, and says where it is; the front page of the docs is built before."""
    folder = tmp_path_factory.mktemp("pages")

    @cache
    def file(name: str) -> Path:
        if name == "docs":
            if not DOCS.exists():
                pytest.skip("the docs are not built; `make docs` does that")
            return DOCS
        made: Path = getattr(subjects, subjects.FILES[name])(folder)
        return made

    return file


@pytest.fixture
def address(files: Callable[[str], Path]) -> Iterator[Callable[[str], str]]:
    """The address of a page. `rota play` and the docs have a server each, which ends with the test."""
    with ExitStack() as started:

        def address(name: str) -> str:
            if name == "play":
                return started.enter_context(subjects.playing())
            if name == "docs":
                return started.enter_context(subjects.served(files(name).parent))
            return files(name).as_uri()

        yield address


@pytest.fixture
def texts(files: Callable[[str], Path]) -> Callable[[str], list[str]]:
    """What can be read on a page, however it is looked at."""
    return lambda name: subjects.TEXTS[name](files(name))
