"""What judges the pages finds what is wrong: each page here has one fault, the first has none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.driving import Driver, Look, Watched, focus_faults, inaccessible, not_shown, sideways
from harness.thinned import some

if TYPE_CHECKING:
    from playwright.sync_api import Page

STYLE = """<meta name="viewport" content="width=device-width"><style>
:focus-visible{outline:2px solid} details::details-content{content-visibility:visible}</style>"""
SOUND = f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sound</title>{STYLE}</head>
<body><main><h1>A page</h1><p>All is well.</p><a href="#here">here</a> <button id="b">Press</button>
<p id="here">Here.</p></main></body></html>"""

POLICY = (
    """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"""
)


def with_body(more: str) -> str:
    """The sound page and something more in it."""
    return SOUND.replace("</main>", f"{more}</main>")


def with_head(more: str) -> str:
    """The sound page and something more before its body."""
    return SOUND.replace("</head>", f"{more}</head>")


@pytest.fixture
def opened(driver: Driver, tmp_path: Path) -> Callable[..., Watched]:
    """Writes a page to a file and opens it."""

    def opened(html: str, look: Look = Look(), prepare: str = "") -> Watched:  # noqa: B008
        file = tmp_path / "page.html"
        file.write_text(html, encoding="utf-8")
        return driver.open(file.as_uri(), look, prepare)

    return opened


def test_a_sound_page_has_no_fault(opened: Callable[..., Watched], axe: Path) -> None:
    for look in (Look(), Look("dark", 390), Look(script=False)):
        watched = opened(SOUND, look)
        assert sideways(watched.page) == []
        assert not_shown(watched.page, ["A page", "All is  well."]) == []
        assert focus_faults(watched.page) == []
        assert not look.script or inaccessible(watched.page, axe) == []
        assert watched.wrong == []


ACTS = [
    (with_body('<img alt="" src="http://127.0.0.1:9/x.png">'), "asks for http://127.0.0.1:9/x.png"),
    (with_body('<img alt="" src="beside.png">'), "asks for file:///"),
    (
        with_head('<link rel="stylesheet" href="http://127.0.0.1:9/x.css">'),
        "asks for http://127.0.0.1:9/x.css",
    ),
    (with_body("<script>console.error('oh')</script>"), "console: oh"),
    (with_body("<script>nobody()</script>"), "error: nobody is not defined"),
    (with_body("<script>alert('hello')</script>"), "dialog: hello"),
    (with_body("<svg onload=alert(1)></svg>"), "dialog: 1"),
    (with_head(POLICY).replace("<h1>", "<h1 onclick='x()'>"), "Content Security Policy"),
    (with_head(POLICY + "<script>x()</script>"), "Content Security Policy"),
    (with_body("<script>fetch('http://127.0.0.1:9/told')</script>"), "asks for http://127.0.0.1:9/told"),
]
"""What a page does that none of ours may, and what is told of it."""


@pytest.mark.parametrize(("html", "wrong"), some(ACTS, 2))
def test_what_a_page_does_is_watched(opened: Callable[..., Watched], html: str, wrong: str) -> None:
    watched = opened(html)
    watched.page.click("h1")
    watched.page.wait_for_timeout(50)
    assert [one for one in watched.wrong if wrong in one], watched.wrong


INACCESSIBLE = [
    (with_body("<button></button>"), "button-name (critical)"),
    (with_body('<p style="color:#bbb">pale</p>'), "color-contrast (serious)"),
    (with_body('<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">'), "image-alt (critical)"),
    (SOUND.replace(' lang="en"', ""), "html-has-lang (serious)"),
    (with_body("<input>"), "label (critical)"),
    (with_body('<div role="tab">x</div>'), "aria-required-parent (critical)"),
]
"""Pages that not everybody can use, and what is told of them."""


@pytest.mark.parametrize(("html", "wrong"), some(INACCESSIBLE, 2))
def test_inaccessible_pages_are_found(
    opened: Callable[..., Watched], axe: Path, html: str, wrong: str
) -> None:
    found = inaccessible(opened(html).page, axe)
    assert found
    assert all(one.startswith(wrong) for one in found), found


def test_a_page_that_is_too_wide_is_found(opened: Callable[..., Watched]) -> None:
    html = with_body('<pre class="wide">' + "x" * 100 + "</pre>")
    assert sideways(opened(html).page) == []
    (found,) = sideways(opened(html, Look(width=390)).page)
    assert "pre.wide" in found
    scrolled = html.replace("<pre", '<pre style="overflow:auto" tabindex="0"')
    assert sideways(opened(scrolled, Look(width=390)).page) == []


HIDDEN = (
    '<p style="display:none">secret</p>',
    '<p style="visibility:hidden">secret</p>',
    '<p style="opacity:0">secret</p>',
    "<p hidden>secret</p>",
    "<script>document.body.append(document.createTextNode('sec' + 'ret'))</script>",
    "<style>@media print{.off{display:none}}</style><p class=off>secret</p>",
    "<style>details::details-content{content-visibility:hidden}</style><details><p>secret</p></details>",
)
"""Where a text does not show."""


@pytest.mark.parametrize("hidden", some(HIDDEN))
def test_texts_that_are_not_shown_are_found(opened: Callable[..., Watched], hidden: str) -> None:
    def missing(page: Page) -> list[str]:
        page.emulate_media(media="print")
        return not_shown(page, ["All is well.", "secret"])

    assert missing(opened(with_body(hidden), Look(script=False)).page) == ["secret"]
    assert missing(opened(with_body("<p>sec<b>ret</b></p>"), Look(script=False)).page) == []


@pytest.mark.parametrize(
    ("html", "wrong"),
    [
        (SOUND.replace('id="b"', 'id="b" tabindex="3"'), "Tab does not follow the page: #b, a."),
        (SOUND.replace('id="b"', 'id="b" style="outline:none"'), "#b does not show that it has the focus"),
        (
            SOUND.replace('id="b"', 'id="b" style="width:0;height:0;padding:0;border:0"'),
            "#b has the focus and",
        ),
        (SOUND.replace("href=", "name=").replace('id="b"', "disabled"), "Tab goes nowhere"),
    ],
)
def test_faults_of_the_focus_are_found(opened: Callable[..., Watched], html: str, wrong: str) -> None:
    (found,) = focus_faults(opened(html).page)
    assert found.startswith(wrong)


def test_the_clipboard_of_one_page_is_not_that_of_another(opened: Callable[..., Watched]) -> None:
    read = "navigator.clipboard.readText()"
    first = opened(SOUND).page
    first.evaluate("navigator.clipboard.writeText('mine')")
    assert first.evaluate(read) == "mine"
    bare = opened(SOUND, prepare="delete Navigator.prototype.clipboard").page
    assert bare.evaluate("navigator.clipboard === undefined")
