"""All pages by the names of their files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from rota.report.reference import (
    consumer_pages,
    diagram,
    event_pages,
    property_pages,
    rule_pages,
    states,
    version_pages,
)
from rota.report.reference.markdown import opening

INDEX = (
    ("rules.md", "the rules of the spec: what each says, since when, where that is written, who checks it"),
    ("consumer-rules.md", "the rules of the consumer protocol, who checks each, and its conformance cases"),
    ("states.md", "the states of a group and every way from one to another, from explored graphs"),
    ("versions.md", "what each version of each request brings, and how the lines of brokers differ"),
    ("properties.md", "what is claimed of the protocol, what each claim kills, and known weaknesses"),
    (
        "consumer-properties.md",
        "what is claimed of the consumer protocol, what each claim kills, and known weaknesses",
    ),
    (
        "events.md",
        "what is seen of groups in logs, captures and the offsets topic: the kinds of events, their keys",
    ),
    ("log-lines.md", "what brokers and clients print of groups, and what each line is read as"),
)


def pages() -> Mapping[str, str]:
    """File name -> text, the same from every run."""
    graph = states.collect()
    made: dict[str, Callable[[], Iterator[str]]] = {
        "README.md": _index,
        "rules.md": rule_pages.lines,
        "consumer-rules.md": consumer_pages.lines,
        "states.md": lambda: diagram.lines(graph),
        "versions.md": version_pages.lines,
        "properties.md": property_pages.lines,
        "consumer-properties.md": property_pages.consumer_lines,
        "events.md": event_pages.events,
        "log-lines.md": event_pages.log_lines,
    }
    texts = {name: "\n".join(lines()) + "\n" for name, lines in made.items()}
    return {**texts, "states.svg": diagram.svg(graph)}


def _index() -> Iterator[str]:
    yield from opening("Reference", "Made from the spec itself; a test fails if a page is out of date.")
    for name, about in INDEX:
        yield f"- [{name.removesuffix('.md')}]({name}): {about}"
