"""A page in headless Chromium, watched while it is driven, and what can be judged of it.

Each judge returns what is wrong, in words; a page that is as it should be gives an empty list.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

WIDE, NARROW = 1400, 390
"""Widths of windows: a screen's, a telephone's."""


@dataclass(frozen=True)
class Look:
    """How a page is looked at. theme: light or dark; width: of the window; script: whether scripts run."""

    theme: str = "light"
    width: int = WIDE
    script: bool = True

    def __str__(self) -> str:
        return f"{self.theme}-{'narrow' if self.width == NARROW else 'wide'}"


BOTH = [Look(), Look("dark", NARROW)]
"""Every theme and every width, each once."""

LOOKS = [Look(theme, width) for theme in ("light", "dark") for width in (WIDE, NARROW)]


@dataclass
class Watched:
    """A page that has been opened. wrong: what it did that no page of ours may do, in order."""

    page: Page
    wrong: list[str] = field(default_factory=list)


class Driver:
    """Opens pages, each in a context of its own, so none sees what another has stored.

    Parameters: browser; axe, the source of axe-core, None where it is not there.
    """

    def __init__(self, browser: Browser, axe: Path | None = None) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.axe = axe

    def open(self, url: str, look: Look = Look(), prepare: str = "") -> Watched:
        """Open a page; it may read and write the clipboard.

        Parameters: url; look; prepare, a script that runs before those of the page.
        """
        context = self._browser.new_context(
            viewport={"width": look.width, "height": 900},
            color_scheme=look.theme,
            java_script_enabled=look.script,
            permissions=["clipboard-read", "clipboard-write"],
        )
        self._contexts.append(context)
        watched = Watched(context.new_page())
        if prepare:
            watched.page.add_init_script(prepare)
        _watch(context, watched, own=url.partition("#")[0])
        watched.page.goto(url)
        return watched

    def close(self) -> None:
        """Close all that was opened."""
        for context in self._contexts:
            context.close()
        self._contexts.clear()


def _watch(context: BrowserContext, watched: Watched, own: str) -> None:
    """Note errors, dialogs, and requests for anything but the page and what its own server has."""
    origin = own if own.startswith("file:") else "/".join(own.split("/")[:3])

    def asks(url: str) -> None:
        inside = url.partition("#")[0] == own if origin == own else f"{url}/".startswith(f"{origin}/")
        if not inside and not url.startswith(("data:", "blob:")):
            watched.wrong.append(f"asks for {url}")

    context.on("request", lambda request: asks(request.url))
    context.on(
        "console",
        lambda said: watched.wrong.append(f"console: {said.text}") if said.type == "error" else None,
    )
    context.on("weberror", lambda error: watched.wrong.append(f"error: {error.error}"))

    def dialog(opened: Any) -> None:
        watched.wrong.append(f"dialog: {opened.message}")
        opened.dismiss()

    context.on("dialog", dialog)


def sideways(page: Page) -> list[str]:
    """Whether the page as a whole has to be scrolled sideways, and what sticks out."""
    return page.evaluate(
        """() => {
          const room = document.documentElement.clientWidth;
          if (document.scrollingElement.scrollWidth <= room) return [];
          const out = [...document.querySelectorAll("body *")]
            .filter(one => one.getBoundingClientRect().left + one.scrollWidth > room + 1)
            .map(one => `${one.tagName.toLowerCase()}.${one.getAttribute("class") || ""}`);
          const wide = document.scrollingElement.scrollWidth;
          return [`${wide} px wide in ${room}: ${[...new Set(out)].slice(0, 8)}`];
        }"""
    )


def inaccessible(page: Page, axe: Path) -> list[str]:
    """The serious and critical faults that axe-core finds."""
    page.evaluate(axe.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)")
    return [
        f"{one['id']} ({one['impact']}): {one['help']}: {node['target']} {node['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def not_shown(page: Page, texts: Iterable[str]) -> list[str]:
    """Those of the texts that cannot be read on the page as it stands, however their words are broken."""
    shown = "".join(
        page.evaluate(
            """() => {
              const words = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
              const how = {opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true};
              while (walk.nextNode()) {
                const parent = walk.currentNode.parentElement;
                if (parent.checkVisibility(how)) words.push(walk.currentNode.data);
              }
              return words;
            }"""
        )
    )
    squeezed = "".join(shown.split())
    return [text for text in texts if "".join(text.split()) not in squeezed]


def focus_faults(page: Page, most: int = 60) -> list[str]:
    """What is wrong with the order in which Tab goes: not the page's order, or not to be seen where it is.

    most: how often Tab is pressed.
    """
    page.evaluate("() => { document.activeElement?.blur(); window.scrollTo(0, 0); }")
    wrong, order = [], []
    for _ in range(most):
        page.keyboard.press("Tab")
        now = page.evaluate(
            """() => {
              const all = [...document.querySelectorAll("*")], at = document.activeElement;
              if (!at || at === document.body || at === document.documentElement) return null;
              const style = getComputedStyle(at), box = at.getBoundingClientRect();
              const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
              const stroked = [...at.querySelectorAll("*")].map(getComputedStyle)
                .some(one => one.stroke !== "none" && parseFloat(one.strokeWidth) >= 2.5);
              const kind = `${at.tagName.toLowerCase()}.${at.getAttribute("class") || ""}`;
              const name = at.id ? `#${at.id}` : kind;
              return {at: all.indexOf(at), name, seen: box.width > 0 && box.height > 0,
                      marked: outlined || stroked || style.boxShadow !== "none"};
            }"""
        )
        if now is None or (order and now["at"] == order[0]["at"]):
            break
        if not now["seen"]:
            wrong.append(f"{now['name']} has the focus and cannot be seen")
        elif not now["marked"]:
            wrong.append(f"{now['name']} does not show that it has the focus")
        order.append(now)
    places = [one["at"] for one in order]
    if places != sorted(places):
        wrong.append(f"Tab does not follow the page: {', '.join(one['name'] for one in order)}")
    if not order:
        wrong.append("Tab goes nowhere")
    return wrong


def cpu_seconds(page: Page) -> float:
    """What the process that draws the page has computed since it began, in seconds of CPU time."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    metrics = session.send("Performance.getMetrics")["metrics"]
    session.detach()
    return float(next(one["value"] for one in metrics if one["name"] == "ProcessTime"))


def opened_after(page: Page) -> dict[str, float]:
    """Seconds of the clock from the start of the navigation to the first paint and to the load event."""
    return page.evaluate(
        """async () => {
          const paint = () => performance.getEntriesByName("first-contentful-paint")[0];
          for (let n = 0; !paint() && n < 100; n++) await new Promise(done => setTimeout(done, 20));
          const [navigation] = performance.getEntriesByType("navigation");
          return {paint: (paint()?.startTime ?? NaN) / 1000, load: navigation.loadEventEnd / 1000};
        }"""
    )
