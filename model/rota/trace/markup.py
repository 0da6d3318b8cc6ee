"""Markup that cannot be broken by what is in it: HTML and SVG built from elements, every text escaped.

What is in a story may come from anywhere: a client id may be a script. So only `element` makes `Markup`, any
other text becomes characters, and what is no character of a line is written as JSON writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "wbr"})
"""Elements of HTML that have no end."""

LINE_ENDS = "\n\t"
"""What may stay as it is although it is no printable character."""

_SPECIAL = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_NAME = re.compile(r"[a-zA-Z][\w-]*")


class Markup(str):
    """A text that is markup already."""

    __slots__ = ()


Child = str | Iterable[str] | None
"""Markup, a text, several of them, or nothing."""

Value = str | int | float | bool | None
"""Of an attribute. True: it is there without a value; False and None: it is not there."""


def escaped(text: str) -> Markup:
    """A text as characters, wherever it stands; Markup stays."""
    if isinstance(text, Markup):
        return text
    return Markup(visible(text).translate(_SPECIAL))


def visible(text: str) -> str:
    """A text in which what cannot be seen, or turns the direction of what follows, is written out."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in LINE_ENDS else json.dumps(one)[1:-1] for one in text)


def joined(*children: Child) -> Markup:
    """Children one after the other."""
    return Markup("".join(_pieces(children)))


def _pieces(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if isinstance(child, str):
            yield escaped(child)
        elif child is not None:
            yield from map(escaped, child)


def element(name: str, /, *children: Child, **attributes: Value) -> Markup:
    """An element. An attribute's name has `-` where its keyword has `_`, and no `_` at its end.

    Errors: ValueError for a name that is none.
    """
    written = "".join(_attribute(key.rstrip("_").replace("_", "-"), one) for key, one in attributes.items())
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of an element")
    if name in VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def _attribute(name: str, value: Value) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name of an attribute")
    if value is None or value is False:
        return ""
    return f' {name}=""' if value is True else f' {name}="{escaped(str(value))}"'


def word(text: str, otherwise: str) -> str:
    """A text that may stand in a class's name: lower case letters, digits and hyphens, or the other one."""
    return text if re.fullmatch(r"[a-z][a-z0-9-]{0,30}", text) else otherwise
