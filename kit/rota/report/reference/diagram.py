"""The page on the states of a group: the picture, the same as Mermaid, and every way in a table."""

from __future__ import annotations

from collections.abc import Iterator

from rota.report.reference.drawing import labels, svg
from rota.report.reference.markdown import link, links, opening, paragraph, table
from rota.report.reference.states import DRAWN, NOWHERE, ORDER, StateGraph

__all__ = ["lines", "svg"]

ABOUT = """Seen in the graphs of small configurations ({names}), under the newest brokers: each arrow was
gone in an exploration, and the rule on it is the one that handled the request, the timer or the answer of
the log."""

WAYS = """Every way from a state to another, the rule that takes it, and the rules that it asked on the way
(several lists where it goes several ways)."""

STAYS = """What happens in a state without leaving it."""


def lines(graph: StateGraph) -> Iterator[str]:
    """The page."""
    yield from opening("The states of a group", ABOUT.format(names=", ".join(DRAWN)))
    yield from ("![The states of a classic consumer group](states.svg)", "")
    yield from _mermaid(graph)
    yield from ("## ways between states", "")
    yield from paragraph(WAYS)
    yield from table(("from", "to", "rule", "asks on the way"), _ways(graph))
    yield from ("", "## what leaves the state as it is", "")
    yield from paragraph(STAYS)
    yield from table(
        ("state", "rules"),
        ((state, links(some, "rules.md")) for state in ORDER if (some := graph.between(state, state))),
    )


def _ways(graph: StateGraph) -> Iterator[tuple[str, str, str, str]]:
    for before, after in graph.pairs:
        for rule, asked in graph.between(before, after).items():
            ways = "; ".join(links(dict.fromkeys(one), "rules.md") for one in asked if one)
            yield before, after, link(rule, "rules.md"), ways


def _mermaid(graph: StateGraph) -> Iterator[str]:
    """The same for readers of Mermaid; several rules are several lines of a label."""
    words, always = labels(graph)
    yield from ("<details><summary>the same as Mermaid</summary>", "", "```mermaid", "stateDiagram-v2")
    for (before, after), some in words.items():
        start, end = ("[*]" if state == NOWHERE else state for state in (before, after))
        yield f"    {start} --> {end}: {'<br/>'.join(some)}"
    if always:
        yield f"    note left of {ORDER[1]}: ends every group: {', '.join(always)}"
    yield from ("```", "", "</details>", "")
