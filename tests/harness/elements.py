"""What a browser would make of a page: its elements, in order, with their attributes and texts."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

from rota.trace.markup import VOID


@dataclass
class Element:
    """An element with all text in it."""

    name: str
    attributes: dict[str, str | None]
    text: str = ""
    inside: list[Element] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[Element] = []
        self.elements: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"<{tag}> has an attribute twice: {attrs}"
        one = Element(tag, dict(attrs))
        self.elements.append(one)
        if self.open:
            self.open[-1].inside.append(one)
        if tag not in VOID:
            self.open.append(one)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> ends nothing"
        assert self.open[-1].name == tag, f"</{tag}> ends <{self.open[-1].name}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for one in self.open:
            one.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def elements(text: str) -> list[Element]:
    """All elements of a page; it must be well formed."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open, f"never ended: {[one.name for one in reader.open]}"
    return reader.elements


def having(text: str, name: str = "", **attributes: str) -> list[Element]:
    """Those of a name whose attributes are so; of `class` it is enough that the word is one of them."""
    wanted = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    return [
        one
        for one in elements(text)
        if (not name or one.name == name)
        and all(
            value in (one.attributes.get(key) or "").split()
            if key == "class"
            else one.attributes.get(key) == value
            for key, value in wanted.items()
        )
    ]
