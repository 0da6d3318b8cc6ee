"""The state graph of a small system, or the part of it around a state, by breadth-first search."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

from rota.kernel import State, System, Transition
from rota.play.session import successors

MOST_STATES = 300
"""States in a picture: with more of them nobody sees anything."""

SECONDS = 10.0
"""How long a picture may take to be found out, about."""


@dataclass(frozen=True, eq=False)
class Node:
    """A state. depth: steps from where the search began, at least; came: the node before it and the way from
    there, None where the search began; open: something that it leads to is not in the picture."""

    number: int
    state: State
    depth: int
    came: tuple[int, Transition] | None = None
    open: bool = False


@dataclass(frozen=True)
class Edge:
    """One transition or several, from a node to another; labels: of each."""

    source: int
    target: int
    labels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in the order in which they were found. whole: nothing that can be reached is left out."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    whole: bool
    said: str

    @cached_property
    def numbers(self) -> dict[State, int]:
        """The node of each state."""
        return {node.state: node.number for node in self.nodes}

    @cached_property
    def layers(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the nodes of each depth."""
        deepest = max(node.depth for node in self.nodes)
        return tuple(
            tuple(node.number for node in self.nodes if node.depth == depth) for depth in range(deepest + 1)
        )

    def way(self, number: int) -> tuple[Transition, ...]:
        """A shortest way to a node from where the search began."""
        way: list[Transition] = []
        while (came := self.nodes[number].came) is not None:
            number, move = came
            way.insert(0, move)
        return tuple(way)


def explored(system: System, start: State, most: int = MOST_STATES, seconds: float = SECONDS) -> Graph:
    """The nearest states to one. Errors: PlayError for a mistake of the system's own."""
    return _Search(system, start, most, time.monotonic() + seconds).run()


class _Search:
    """One search; `run` it once."""

    def __init__(self, system: System, start: State, most: int, until: float) -> None:
        self.system, self.most, self.until = system, most, until
        self.nodes = [Node(0, start, 0)]
        self.numbers = {start: 0}
        self.labels: dict[tuple[int, int], list[str]] = {}
        self.open: set[int] = set()
        self.late = False

    def run(self) -> Graph:
        at = 0
        while at < len(self.nodes):
            self.late = self.late or time.monotonic() > self.until
            if self.late:
                self.open.add(at)
            else:
                self._expand(self.nodes[at])
            at += 1
        nodes = tuple(
            Node(one.number, one.state, one.depth, one.came, one.number in self.open) for one in self.nodes
        )
        edges = tuple(Edge(*ends, tuple(dict.fromkeys(labels))) for ends, labels in self.labels.items())
        return Graph(nodes, edges, not self.open, self._said())

    def _expand(self, node: Node) -> None:
        for move in successors(self.system, node.state):
            target = self.numbers.get(move.target)
            if target is None and len(self.nodes) < self.most:
                target = self.numbers[move.target] = len(self.nodes)
                self.nodes.append(Node(target, move.target, node.depth + 1, (node.number, move)))
            if target is None:
                self.open.add(node.number)
            else:
                self.labels.setdefault((node.number, target), []).append(move.label)

    def _said(self) -> str:
        """How much of it this is."""
        count, deepest = len(self.nodes), self.nodes[-1].depth
        if not self.open:
            return f"all {count:,} states that can be reached from there, {deepest} steps away and fewer"
        why = "there was no time for more" if self.late else "there are more, which are not drawn"
        return f"the {count:,} nearest states, {deepest} steps away and fewer; {why}"
