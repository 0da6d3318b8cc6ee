"""The docs: the front page's links lead somewhere, search finds, commands are copied without prompts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from browser.driving import Driver
from harness.thinned import long

Address = Callable[[str], str]


def test_every_link_of_the_front_page_leads_somewhere(driver: Driver, address: Address) -> None:
    watched = driver.open(address("docs"))
    page = watched.page
    links = page.locator("a[href]").evaluate_all("all => all.map(one => one.href.split('#')[0])")
    own = sorted({link for link in links if link.startswith(page.url)})
    assert len(own) > 10
    for link in own:
        answer = page.request.get(link)
        assert answer.ok, link
    assert watched.wrong == []


def test_search_finds_a_rule(driver: Driver, address: Address) -> None:
    watched = driver.open(f"{address('docs')}search.html?q=fenced")
    page = watched.page
    page.wait_for_selector("#search-results li a")
    page.locator("#search-results li a").first.click()
    page.wait_for_load_state()
    assert "fenced" in page.inner_text("main, article").lower()
    assert watched.wrong == []


def test_commands_are_copied_without_their_prompt(driver: Driver, address: Address) -> None:
    watched = driver.open(address("docs"))
    page = watched.page
    page.get_by_role("link", name="Find a bug in five minutes").first.click()
    block = page.locator(".highlight:has(button.copybtn)").first
    block.hover()
    block.locator("button.copybtn").click()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip()
    assert not copied.startswith("$")
    assert copied.splitlines()[0] in block.inner_text()
    assert watched.wrong == []


@pytest.mark.parametrize(
    ("page", "name", "opened"),
    [("rule/join.leader", "join.leader", 2), long(("rule/join", "join", 2)), ("rules", "Rules", 0)],
)
def test_the_sidebar_shows_where_one_is(
    driver: Driver, address: Address, page: str, name: str, opened: int
) -> None:
    """Its tree is made once for a folder: on a page one entry is marked, and the branches to it are open."""
    watched = driver.open(f"{address('docs')}reference/{page}.html")
    tree = watched.page.locator(".sidebar-tree")
    (entry,) = tree.locator("li.current-page > a").all()
    assert entry.get_attribute("href") == "#"
    assert name in (entry.text_content() or "")
    assert tree.locator("li.current:has(> ul)").count() == opened
    assert tree.locator("input:checked").count() == opened
    assert watched.wrong == []
