"""The picture of a state graph: a column for each depth, a place in it for each state, lines between them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from rota.play.graph import Edge, Graph, Node

ACROSS, DOWN, MARGIN = 64, 26, 28
RADIUS = 7
SWEEPS = 6
"""How often the places in the columns are mended, to and fro."""

Place = tuple[float, float]


@dataclass(frozen=True)
class Marks:
    """What is marked. here: the node at which a person stands, None where it is not drawn; way: the nodes of
    the run, in order; broken: the nodes that contradict a property; texts: what is said of each node."""

    here: int | None
    way: Sequence[int]
    broken: Collection[int]
    texts: Sequence[str]


def picture(graph: Graph, marks: Marks) -> str:
    """An SVG element. Nodes are links to `#nNUMBER`, with their number in `data-node`."""
    places = arranged(graph)
    leading = {edge.source for edge in graph.edges if edge.source != edge.target}
    ends = {node.number for node in graph.nodes if node.number not in leading and not node.open}
    width = max(x for x, _ in places.values()) + MARGIN
    height = max(y for _, y in places.values()) + MARGIN
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="graph" {size} role="group" '
        f'aria-label="State graph: {escape(graph.said)}">',
        *_lines(graph, places, marks),
        *(_node(node, places[node.number], marks, node.number in ends) for node in graph.nodes),
        "</svg>",
    ]
    return "".join(parts)


def arranged(graph: Graph) -> dict[int, Place]:
    """Where each node stands: in the column of its depth, near to those that it is linked with."""
    columns = [list(layer) for layer in graph.layers]
    near: dict[int, list[int]] = {node.number: [] for node in graph.nodes}
    for edge in graph.edges:
        near[edge.source].append(edge.target)
        near[edge.target].append(edge.source)
    rows = {number: float(row) for column in columns for row, number in enumerate(column)}
    for sweep in range(SWEEPS):
        for column in columns if sweep % 2 == 0 else reversed(columns):
            _mend(column, near, rows, graph)
    tallest = max(map(len, columns))
    return {
        number: (MARGIN + depth * ACROSS, MARGIN + (row + (tallest - len(column)) / 2) * DOWN)
        for depth, column in enumerate(columns)
        for row, number in enumerate(column)
    }


def _mend(column: list[int], near: Mapping[int, Sequence[int]], rows: dict[int, float], graph: Graph) -> None:
    """Order a column by where its neighbours in other columns stand."""
    depth = graph.nodes[column[0]].depth
    middle = len(column) / 2

    def wanted(number: int) -> float:
        others = [rows[one] for one in near[number] if graph.nodes[one].depth != depth]
        return sum(others) / len(others) if others else rows[number]

    column.sort(key=wanted)
    for row, number in enumerate(column):
        rows[number] = row - middle


def _lines(graph: Graph, places: Mapping[int, Place], marks: Marks) -> Iterator[str]:
    """The edges, those that matter here above the others. A move that changes nothing has no line."""
    way = set(zip(marks.way, marks.way[1:], strict=False))
    ranked: list[list[str]] = [[], [], []]
    for edge in graph.edges:
        if edge.source == edge.target:
            continue
        on_way, from_here = (edge.source, edge.target) in way, edge.source == marks.here
        rank = 2 if on_way else 1 if from_here else 0
        kind = ("edge", "edge next", "edge way")[rank]
        ranked[rank].append(_line(edge, kind, places, graph))
    for lines in ranked:
        yield from lines


def _line(edge: Edge, kind: str, places: Mapping[int, Place], graph: Graph) -> str:
    (x, y), (to_x, to_y) = places[edge.source], places[edge.target]
    forward = graph.nodes[edge.target].depth > graph.nodes[edge.source].depth
    if forward:
        bend = (to_x - x) / 2
        curve = f"C {x + bend:g} {y:g} {to_x - bend:g} {to_y:g} {to_x - RADIUS:g} {to_y:g}"
    else:  # back, or within a column: around the outside
        kind += " back"
        above, beside = to_y - DOWN, to_x + ACROSS / 2
        curve = f"C {x + ACROSS / 2:g} {y - DOWN:g} {beside:g} {above:g} {to_x:g} {to_y - RADIUS:g}"
    title = escape("\n".join(edge.labels))
    return f'<path class="{kind}" d="M {x:g} {y:g} {curve}"><title>{title}</title></path>'


def _node(node: Node, place: Place, marks: Marks, end: bool) -> str:
    """A circle: a thick one where nothing leads on (end), a cross where a property is contradicted."""
    kinds = ["node"]
    kinds += ["way"] * (node.number in marks.way) + ["here"] * (node.number == marks.here)
    kinds += ["broken"] * (node.number in marks.broken) + ["open"] * node.open + ["end"] * end
    x, y = place
    shapes = [f'<circle cx="{x:g}" cy="{y:g}" r="{RADIUS}"/>']
    if node.number in marks.broken:
        arm = RADIUS - 3
        shapes.append(
            f'<path class="cross" d="M {x - arm:g} {y - arm:g} l {2 * arm} {2 * arm} m 0 {-2 * arm} '
            f'l {-2 * arm} {2 * arm}"/>'
        )
    if node.number == marks.here:
        shapes.append(f'<circle class="halo" cx="{x:g}" cy="{y:g}" r="{RADIUS + 4}"/>')
    text = escape(marks.texts[node.number])
    link = f'id="n{node.number}" href="#n{node.number}" data-node="{node.number}"'
    inner = f"<title>{text}</title>{''.join(shapes)}"
    return f'<a class="{" ".join(kinds)}" {link} aria-label="{text}">{inner}</a>'
