"""A whole page: one file that loads nothing, runs only its own script and shows strangers' texts as text."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import Any

from rota.trace.markup import Markup, element, escaped, joined, visible
from rota.trace.svg import DARK, LIGHT, style

Sources = Mapping[str, str]
"""Directive of a content security policy -> what it allows."""


def part(name: str) -> str:
    """A style sheet or script of this package, by its file's name."""
    return (files("rota.pages") / name).read_text(encoding="utf-8")


def style_sheet() -> str:
    """What every page looks like, charts included."""
    colours = "".join(f"  --{name}: light-dark({day}, {DARK[name]});\n" for name, day in LIGHT.items())
    return f":root {{\n{colours}}}\n{style()}{part('page.css')}"


def document(
    title: str,
    body: Markup,
    *,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    sources: Sources | None = None,
) -> str:
    """A page with the style sheet and script of all pages.

    Parameters: title; body, what is in <body>; styles and scripts, texts that come after the common ones;
    sources, what else the content security policy allows.
    """
    style_text = "\n".join((style_sheet(), *styles))
    script_text = "\n".join((part("page.js"), *scripts))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element(
            "meta", http_equiv="Content-Security-Policy", content=_policy(style_text, script_text, sources)
        ),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="generator", content="rota"),
        element("title", title),
        element("style", _raw(style_text, "style")),
        element("script", _raw(script_text, "script")),
    )
    return f"<!doctype html>\n{element('html', head, element('body', body), lang='en')}\n"


def _policy(style_text: str, script_text: str, sources: Sources | None) -> str:
    allowed = {
        "default-src": "'none'",
        "style-src": _digest(style_text),
        "script-src": _digest(script_text),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        **(sources or {}),
    }
    return "; ".join(f"{directive} {what}" for directive, what in allowed.items())


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _raw(text: str, name: str) -> Markup:
    """What is in <style> and <script> is no markup. Errors: ValueError for what would end it."""
    if f"</{name}" in text.lower() or "<!--" in text:
        raise ValueError(f"what is in <{name}> cannot contain its end")
    return Markup(text)


def embedded(value: Any, **attributes: str) -> Markup:
    """Data for the script, as JSON that cannot end its element."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return element("script", Markup(text), type="application/json", **attributes)


__all__ = ["Markup", "document", "element", "embedded", "escaped", "joined", "part", "style_sheet", "visible"]
