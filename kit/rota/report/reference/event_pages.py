"""The pages of histories: the kinds of events with their keys, and the lines of logs that become events."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator

from rota.history import event as of_history
from rota.history.event import Event, Kind, Source
from rota.history.lines import SCHEMA
from rota.logs.java_consumer import CONSUMER
from rota.logs.kafka_java import JAVA
from rota.logs.kafka_scala import SCALA
from rota.logs.librdkafka import LIBRDKAFKA
from rota.logs.patterns import Table
from rota.logs.reasons import REASONS, Cause
from rota.logs.rota_server import SERVER
from rota.report.reference.markdown import codes, opening, paragraph, table

_SECTION = re.compile(r"    # Of (?P<title>[^.]*)\. ?(?P<more>.*)")

EVENTS = """What is seen of groups, in logs, captures and the offsets topic, is told in one format: an event
is a JSON object on a line. Keys and kinds may be added; a key that changes its meaning changes the schema."""

PROGRAMS = {
    "Kafka 4": JAVA,
    "Kafka 3": SCALA,
    "rota serve": SERVER,
    "Java's consumer": CONSUMER,
    "librdkafka": LIBRDKAFKA,
}

LINES = """What brokers and clients print of groups and what it is read as. Where a name stands in braces the
line tells something, and the event has it under that name; what begins with an underscore is left out. The
class is the one that prints it; the sentence is found whatever stands before and behind it in its line."""


def events() -> Iterator[str]:
    """The page of events."""
    yield from opening("Events", EVENTS)
    yield from table(("key", "what it says"), _keys())
    yield ""
    yield from paragraph(f"The schema is {SCHEMA}; the sources are {codes(one.value for one in Source)}.")
    for (title, more), kinds in _kinds():
        yield from (f"## {title[0].upper()}{title[1:]}", "")
        if more:
            yield from paragraph(f"All of them: {more}")
        yield from table(("kind", "what was seen, what it has"), kinds)
        yield ""


def _keys() -> Iterator[tuple[str, str]]:
    """The keys of a line, as the event's own description tells them."""
    text = " ".join(inspect.getdoc(Event).split("\n\n", 1)[1].split())  # type: ignore[union-attr]
    yield "`schema`", "the number of the schema"
    for part in text.rstrip(".").split("; "):
        names, _, words = part.partition(":")
        if not words:  # "generation, None where untold"
            names, _, words = part.partition(",")
        yield codes(re.findall(r"\w+", names.partition(" (")[0])), words.strip()
    yield codes(("source", "kind")), "what tells it, and what it tells: below"


def _kinds() -> Iterator[tuple[tuple[str, str], list[tuple[str, str]]]]:
    """Title and what all below it have → kinds with their descriptions, in the order of the class."""
    source = inspect.getsource(of_history)
    (tree,) = (one for one in ast.parse(source).body if isinstance(one, ast.ClassDef) and one.name == "Kind")
    titles = {
        number: (found["title"], found["more"])
        for number, line in enumerate(source.splitlines(), start=1)
        if (found := _SECTION.match(line)) is not None
    }
    pages: dict[tuple[str, str], list[tuple[str, str]]] = {title: [] for title in titles.values()}
    for place, node in enumerate(tree.body):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            title = titles[max(number for number in titles if number < node.lineno)]
            pages[title].append((f"`{Kind[node.targets[0].id].value}`", _described(tree.body, place)))
    yield from pages.items()


def _described(body: list[ast.stmt], place: int) -> str:
    after = body[place + 1] if place + 1 < len(body) else None
    if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
        return " ".join(str(after.value.value).split())
    return ""


def log_lines() -> Iterator[str]:
    """The page of lines."""
    yield from opening("Lines of logs", LINES)
    for title, patterns in PROGRAMS.items():
        yield from (f"## {title}", "")
        yield from _sentences(patterns)
    yield from ("## Why a coordinator rebalances", "")
    yield from paragraph(
        "The reason of an event of the kind `preparing-rebalance` is taken apart: `cause` says which it is."
    )
    yield from table(
        ("cause", "reason", "of"),
        ((f"`{one.also['cause']}`", _code(one.text), one.versions) for one in REASONS.patterns),
    )
    assert {one.also["cause"] for one in REASONS.patterns} == {one.value for one in Cause}


def _sentences(patterns: Table) -> Iterator[str]:
    told = [one for one in patterns.patterns if one.kind is not None]
    yield from table(
        ("sentence", "kind", "printed by"),
        ((_code(one.text), f"`{one.kind}`", f"{one.by.rpartition('.')[2]}, {one.versions}") for one in told),
    )
    silent = len(patterns.patterns) - len(told)
    yield ""
    if silent:
        yield from paragraph(f"{silent} more sentences are known and tell nothing that an account needs.")


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"
