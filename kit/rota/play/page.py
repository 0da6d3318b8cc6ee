"""The page: one file of HTML, with the style of all pages. What it shows comes later, from its server."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from rota.pages.document import Markup, document, element, escaped, joined
from rota.pages.fragments import SWITCH

SOURCES = {"connect-src": "'self'"}
"""It asks its own server, and nobody else."""


@cache
def page() -> str:
    """The page, the same for every run."""
    return document(
        "rota play", _body(), styles=[_own("play.css")], scripts=[_own("play.js")], sources=SOURCES
    )


def _own(name: str) -> str:
    return (files("rota.play") / name).read_text(encoding="utf-8")


def _body() -> Markup:
    main = element("main", _moves(), element("div", _run(), _state(), class_="right"), class_="desk")
    said = element("p", class_="unseen said", role="status", aria_live="polite")
    waiting = element("p", "Waiting for the server …", class_="notice ended", role="alert", hidden=True)
    return element("div", _head(), waiting, main, _keys(), said, class_="play")


KEYS = (
    (("1", "…", "9"), "take a move"),
    (("Backspace", "←"), "back"),
    (("→",), "forward"),
    (("Home", "End"), "start and end of the run"),
    (("/",), "jump"),
    (("r",), "random steps"),
    (("s",), "save"),
)


def _keys() -> Markup:
    """What the keys do."""
    parts = []
    for keys, does in KEYS:
        parts += [*(joined(element("kbd", key), " ") for key in keys), escaped(f"{does}   ")]
    return element("footer", element("p", *parts), class_="keys quiet")


def _head() -> Markup:
    bar = element("div", element("span", "rota play", class_="brand"), SWITCH, class_="bar")
    return element("header", bar, element("h1", id="title"), element("dl", class_="facts"), class_="top")


def _moves() -> Markup:
    refused = element(
        "details",
        element("summary", "Not possible now", id="not-possible"),
        element("div", class_="refused"),
    )
    return element(
        "section",
        element("div", element("h2", "What can happen", id="can"), _walk(), class_="headline"),
        element("div", element("div", class_="offers"), refused, class_="list"),
        element("div", class_="preview", aria_live="off", tabindex="0", role="region", aria_label="Preview"),
        class_="moves panel",
        aria_labelledby="can",
    )


def _walk() -> Markup:
    """Random steps."""
    number = element(
        "input", type="number", min="1", max="500", value="10", class_="steps", aria_label="Random steps"
    )
    button = element("button", "random steps", type="submit", title="Take so many steps at random (r)")
    return element("form", number, button, class_="walk")


def _run() -> Markup:
    back = _button("←", "back", "Back (Backspace or ←)")
    forward = _button("→", "forward", "Forward (→)")
    start = _button("⇤", "first", "To the start (Home)")
    where = element(
        "span", element("b", "0", class_="now"), " of ", element("span", "0", class_="of"), class_="where"
    )
    tabs = element(
        "div",
        _tab("Run", "run", chosen=True),
        _tab("State graph", "graph", chosen=False),
        role="tablist",
        class_="tabs",
    )
    save = _button("Save trace", "save", "Save trace: the run as a file (s)")
    controls = element("div", start, back, where, forward, tabs, save, class_="controls")
    run = element("div", id="run", role="tabpanel", aria_labelledby="tab-run", class_="shown-run")
    graph = element(
        "div",
        element("div", _button("from the start", "graph-start"), _button("from here", "graph-here"),
                element("span", class_="quiet graph-said"), class_="graph-controls"),
        element("div", class_="graph-picture", tabindex="0", role="region", aria_label="State graph"),
        element("p", class_="graph-node quiet"),
        id="graph", role="tabpanel", aria_labelledby="tab-graph", hidden=True,
    )  # fmt: skip
    return element("section", controls, _jump(), run, graph, class_="panel run", aria_label="The run")


def _tab(text: str, shows: str, *, chosen: bool) -> Markup:
    return element(
        "button", text, type="button", role="tab", aria_selected="true" if chosen else "false",
        aria_controls=shows, id=f"tab-{shows}", tabindex="0" if chosen else "-1",
    )  # fmt: skip


def _button(text: str, do: str, said: str = "") -> Markup:
    sign = said if len(text) == 1 else None  # a text is its own label
    return element("button", text, type="button", data_do=do, title=said or None, aria_label=sign)


def _jump() -> Markup:
    """To a state with a predicate, and what is wrong with it."""
    field = element(
        "input", type="text", id="expression", spellcheck="false", autocomplete="off", maxlength="2000",
        placeholder="to the nearest state in which …", aria_describedby="jump-error", list="expressions",
        aria_label="Expression about the state to jump to",
    )  # fmt: skip
    return element(
        "form",
        field,
        element("datalist", id="expressions"),
        element("button", "Jump", type="submit", title="To the nearest such state (/)"),
        element("p", id="jump-error", class_="error", role="alert"),
        class_="jump",
    )


def _state() -> Markup:
    return element(
        "section",
        element("h2", "Now", element("span", class_="when quiet")),
        element("div", class_="lights"),
        element("div", class_="state"),
        element("div", class_="owners"),
        class_="panel now-panel",
        aria_label="The state",
    )
