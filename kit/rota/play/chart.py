"""A state graph with what is said of its nodes, drawn for a session that stands somewhere in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rota.kernel import Kind, State, System, Transition
from rota.play.graph import Graph, Node, explored
from rota.play.graph_picture import Marks, picture
from rota.play.session import Session
from rota.trace import render
from rota.trace.lights import claims, lights
from rota.trace.story import Light

LONGEST = 60
"""Characters of a value."""


@dataclass(frozen=True, eq=False)
class Chart:
    """The graph around a state of a run. before: the way to that state; texts, broken: of its nodes."""

    graph: Graph
    before: tuple[Transition, ...]
    texts: tuple[str, ...]
    broken: frozenset[int]

    @classmethod
    def of(cls, session: Session, at: int) -> Chart:
        """The graph that begins in a state of the session's run. Errors: PlayError."""
        system, graph = session.system, explored(session.system, session.states[at])
        # nodes are no run: what is claimed of steps cannot be asked of one after the other
        of_states = [one for one in claims(system) if one.kind != Kind.STEP.value]
        lit = lights(system, [node.state for node in graph.nodes], (), of_states)
        wrong = [[name for name, light in one.items() if light is Light.VIOLATED] for one in lit]
        texts = [_text(system, *pair) for pair in zip(graph.nodes, wrong, strict=True)]
        broken = frozenset(number for number, names in enumerate(wrong) if names)
        return cls(graph, session.path[:at], tuple(texts), broken)

    def drawn(self, session: Session) -> dict[str, Any]:
        """The picture, with where the session stands and came along."""
        numbers = self.graph.numbers
        visited = [numbers.get(state) for state in session.states[: session.at + 1]]
        way = [number for number in visited if number is not None]
        marks = Marks(numbers.get(session.state), way, self.broken, self.texts)
        there = "" if marks.here is not None else "; where you are is not among them"
        return {"svg": picture(self.graph, marks), "said": self.graph.said + there}


def _text(system: System, node: Node, wrong: list[str]) -> str:
    """How far a state is, and how its machines stand in it."""
    steps = "1 step" if node.depth == 1 else f"{node.depth} steps"
    head = f"state {node.number}, {steps} away"
    violated = [f"violates {', '.join(wrong)}"] if wrong else []
    return "\n".join([head, *violated, *_stand(system, node.state)])


def _stand(system: System, state: State) -> Iterator[str]:
    names = [machine.name for machine in system.machines]
    values = dict(zip(names, state, strict=True))
    try:
        captions = system.depiction.captions(values)
    except Exception:  # a stranger's depiction may do anything; the page says so elsewhere
        captions = {}
    for name, value in values.items():
        text = ", ".join(captions[name]) if captions.get(name) else "" if captions else render(value)
        if text:
            yield f"{name}: {text if len(text) <= LONGEST else text[:LONGEST] + ' …'}"
