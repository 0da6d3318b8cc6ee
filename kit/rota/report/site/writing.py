"""Pieces of the site's pages that several kinds have."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

RULE, PROPERTY = "/reference/rule", "/reference/property"
"""Folders of the pages of single rules and properties, from the root of the site."""

_MEANT = re.compile(r"(`+[^`]+`+|(?<!\w)\*\w[^*`]*\*(?!\w))")
"""What docstrings have of Markdown: code in backticks, a word that is stressed."""


def plain(text: str) -> str:
    """Words of a docstring in Markdown: code and stress stay, all else is taken literally."""
    parts = _MEANT.split(text)
    return "".join(
        part if i % 2 else re.sub(r"([\\*_<\[\]#|])", r"\\\1", part) for i, part in enumerate(parts)
    )


def prose(text: str) -> Iterator[str]:
    """A docstring as Markdown: paragraphs, lists, and indented blocks as they stand."""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith("    "):
            yield from ("```text", *(line.removeprefix("    ") for line in paragraph.splitlines()), "```", "")
        else:
            yield from (*plain(paragraph).splitlines(), "")


def place_of(function: Callable[..., object]) -> str:
    """The file of a function, from the root of the checkout, and its line."""
    plainly = inspect.unwrap(function.func if isinstance(function, partial) else function)
    return f"{file_of(plainly)}:{inspect.getsourcelines(plainly)[1]}"


def file_of(what: object) -> str:
    """The file of a function, a class or a module, from the root of the checkout."""
    parts = Path(inspect.getsourcefile(what) or "").parts  # type: ignore[arg-type]
    return "/".join(parts[len(parts) - parts[::-1].index("rota") - 2 :])


def rule_link(slug: str) -> str:
    """To the page of a rule."""
    return f"[{slug}]({RULE}/{slug}.md)"


def property_link(name: str, known: Iterable[str]) -> str:
    """To the page of a property; what is none, such as a deadlock, is only named."""
    return f"[{name}]({PROPERTY}/{name}.md)" if name in known else f"`{name}`"


def listed(facts: Mapping[str, str]) -> Iterator[str]:
    """Facts as a table without a head; those that say nothing are left out."""
    yield from ("| | |", "|---|---|")
    yield from (f"| **{name}** | {_cell(words)} |" for name, words in facts.items() if words)
    yield ""


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def toctree(pages: Iterable[str], **options: str) -> Iterator[str]:
    """The pages below this one, for the site's index; an option without a value is on."""
    head = (f":{name}: {value}".rstrip() for name, value in options.items())
    yield from ("```{toctree}", *head, "", *pages, "```", "")
