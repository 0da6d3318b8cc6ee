"""The states of a group as a picture: fixed places, arrows along right angles, nothing that crosses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from rota.report.reference.markdown import GENERATED
from rota.report.reference.states import NOWHERE, StateGraph
from rota.spec import GroupState

WIDTH = 1280
LINE = 16
"""Pixels from one line of text to the next."""

E, P, C, S = (state.value for state in (
    GroupState.EMPTY, GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE, GroupState.STABLE
))  # fmt: skip
N = NOWHERE

SAYS = {
    N: "",
    E: "no members",
    P: "members join",
    C: "the leader assigns",
    S: "assignments are known",
}

COLOURS = {
    "join": "#1d4ed8",
    "sync": "#0f766e",
    "heartbeat": "#57534e",
    "leave": "#b45309",
    "timers": "#7e22ce",
    "persistence": "#15803d",
    "static": "#be185d",
    "loading": "#0e7490",
    "admin": "#9f1239",
    "expiry": "#a21caf",
    "offsets": "#0369a1",
    "transactions": "#4d7c0f",
    "hosting": "#7c2d12",
}
"""Part -> colour of its rules; others are grey."""

GREY, INK = "#475569", "#0f172a"
DASHED = ' stroke-dasharray="5 4"'


Words = Mapping[tuple[str, str], Sequence[str]]
"""(state, state) -> the rules on the arrow from the one to the other."""


@dataclass(frozen=True)
class Box:
    """A state's place. x, y: its centre."""

    x: float
    y: float
    width: float
    height: float = 60

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height / 2


@dataclass(frozen=True)
class Route:
    """An arrow with its words.

    points: of a line with right angles; at: where the words are, their first line's left end or, with anchor
    `end` or `middle`, their right end or middle; above: they end there instead of beginning there.
    """

    points: tuple[tuple[float, float], ...]
    at: tuple[float, float]
    anchor: str = "start"
    above: bool = False


class Places:
    """Where states, arrows and words are, with room for as many words as each arrow has.

    always: the rules that end a group whatever its state; others: states for which no place was thought of.
    """

    def __init__(self, words: Words, always: Sequence[str], others: Sequence[str] = ()) -> None:
        def room(*pairs: tuple[str, str]) -> float:
            return LINE * max(len(words.get(pair, ())) for pair in pairs)

        self.over = 30 + room((S, E))
        self.under_over = self.over + (30 + room((N, S)) if (N, S) in words else 0)
        nowhere = self.under_over + 60 + LINE * max(len(always), len(words.get((E, N), ())))
        self.back = nowhere + 40 + room((N, E)) + room((P, N))
        row = max(self.back, nowhere + 30 + room((N, P))) + 60 + room((E, P), (S, P))
        self.beside = row + 70 + max(room((P, E)), room((P, S)))
        last = self.beside + 50 + max(room((P, C), (C, P)), room((E, C), (S, C)))
        self.boxes = {
            N: Box(560, nowhere, 110, 40),
            E: Box(150, row, 200),
            P: Box(640, row, 230),
            S: Box(1130, row, 200),
            C: Box(640, last, 230),
        }
        self.boxes |= {state: Box(1130 - 230 * i, last, 140) for i, state in enumerate(others)}
        self.height = last + 50 + room((C, S), (C, E))
        self.always = Route(((830, nowhere - 10), (615, nowhere - 10)), (630, nowhere - 20), above=True)
        self.routes = self._routes()

    def _routes(self) -> Mapping[tuple[str, str], Route]:
        n, e, p, c, s = (self.boxes[state] for state in (N, E, P, C, S))
        return {
            (N, E): Route(((n.left, n.y + 10), (210, n.y + 10), (210, e.top)), (222, n.y + 38)),
            (E, N): Route(((140, e.top), (140, n.y - 10), (n.left, n.y - 10)), (150, n.y - 20), above=True),
            (N, P): Route(((n.right, n.y + 10), (730, n.y + 10), (730, p.top)), (742, n.y + 28)),
            (P, N): Route(((n.x, p.top), (n.x, n.bottom)), (n.x - 12, self.back), "end", True),
            (N, S): Route(((n.x, n.top), (n.x, self.under_over), (1080, self.under_over), (1080, s.top)),
                          (820, self.under_over - 10), "middle", True),
            (S, E): Route(((1180, s.top), (1180, self.over), (90, self.over), (90, e.top)),
                          (640, self.over - 10), "middle", True),
            (E, P): _level(e.right, p.left, e.y - 12, above=True),
            (P, E): _level(p.left, e.right, e.y + 12, above=False),
            (S, P): _level(s.left, p.right, s.y - 12, above=True),
            (P, S): _level(p.right, s.left, s.y + 12, above=False),
            (P, C): Route(((610, p.bottom), (610, c.top)), (598, self.beside), "end"),
            (C, P): Route(((670, c.top), (670, p.bottom)), (682, self.beside)),
            (C, S): Route(((c.right, c.y + 12), (1160, c.y + 12), (1160, s.bottom)), (770, c.y + 30)),
            (S, C): Route(((1090, s.bottom), (1090, c.y - 12), (c.right, c.y - 12)),
                          (1078, c.y - 22), "end", True),
            (C, E): Route(((c.left, c.y + 12), (120, c.y + 12), (120, e.bottom)), (510, c.y + 30), "end"),
            (E, C): Route(((190, e.bottom), (190, c.y - 12), (c.left, c.y - 12)),
                          (202, c.y - 22), "start", True),
        }  # fmt: skip

    def route(self, before: str, after: str) -> Route:
        """The arrow between two states; a straight one where none was thought of."""
        if (before, after) in self.routes:
            return self.routes[before, after]
        one, other = self.boxes[before], self.boxes[after]
        return Route(((one.x, one.y), (other.x, other.y)), ((one.x + other.x) / 2, (one.y + other.y) / 2))


def _level(start: float, end: float, y: float, *, above: bool) -> Route:
    return Route(((start, y), (end, y)), ((start + end) / 2, y - 10 if above else y + 18), "middle", above)


def svg(graph: StateGraph) -> str:
    """The picture."""
    return "\n".join(_svg(graph)) + "\n"


def _svg(graph: StateGraph) -> Iterator[str]:
    words, always = labels(graph)
    places = Places(words, always, [state for state in graph.states if state not in SAYS])
    height = places.height + 50
    rules = [*(rule for some in words.values() for rule in some), *always]
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" font-family="Helvetica, Arial, sans-serif">'
    )
    yield GENERATED
    yield "<title>The states of a classic consumer group</title>"
    yield (
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        f'orient="auto"><path d="M 0 0 L 10 5 L 0 10 z" fill="{GREY}"/></marker></defs>'
    )
    yield f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>'
    for pair, some in words.items():
        yield from _arrow(places.route(*pair), some)
    if always:
        yield from _every_state(places.always, always)
    for state, box in places.boxes.items():
        yield from _state(state, box)
    yield from _legend(list(dict.fromkeys(rule.partition(".")[0] for rule in rules)), height - 22)
    yield "</svg>"


def labels(graph: StateGraph) -> tuple[Words, Sequence[str]]:
    """The rules on arrows, and the rules that end a group whatever its state."""
    words = {pair: list(graph.between(*pair)) for pair in graph.pairs}
    ends = [set(words.get((state, N), ())) for state in (E, P, C, S)]
    always = sorted(set.intersection(*ends))
    left = {
        pair: [rule for rule in some if pair[1] != N or rule not in always] for pair, some in words.items()
    }
    return {pair: some for pair, some in left.items() if some}, always


def _arrow(route: Route, words: Sequence[str], style: str = "") -> Iterator[str]:
    yield (
        f'<path d="{_path(route.points)}" fill="none" stroke="{GREY}" stroke-width="1.6"{style} '
        'marker-end="url(#tip)"/>'
    )
    yield from _words(route, words)


def _every_state(route: Route, words: Sequence[str]) -> Iterator[str]:
    (x, y), _ = route.points
    yield f'<text x="{x + 8:.0f}" y="{y + 4:.0f}" font-size="13" fill="{GREY}">every state</text>'
    yield from _arrow(route, words, DASHED)


def _words(route: Route, words: Sequence[str]) -> Iterator[str]:
    x, y = route.at
    first = y - LINE * (len(words) - 1) if route.above else y
    for number, word in enumerate(words):
        colour = COLOURS.get(word.partition(".")[0], GREY)
        yield (
            f'<text x="{x:.0f}" y="{first + LINE * number:.0f}" text-anchor="{route.anchor}" fill="{colour}" '
            f'font-size="12" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace">{escape(word)}</text>'
        )


def _path(points: Sequence[tuple[float, float]], radius: float = 10) -> str:
    """A line with right angles that are rounded."""
    steps = [f"M {points[0][0]:.0f} {points[0][1]:.0f}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        corner_drawn = f"Q {corner[0]:.0f} {corner[1]:.0f} {_near(corner, after, radius)}"
        steps.append(f"L {_near(corner, before, radius)} {corner_drawn}")
    steps.append(f"L {points[-1][0]:.0f} {points[-1][1]:.0f}")
    return " ".join(steps)


def _near(corner: tuple[float, float], other: tuple[float, float], radius: float) -> str:
    """The point on the way from a corner to another point, this far from the corner."""
    x = corner[0] + radius * _sign(other[0] - corner[0])
    y = corner[1] + radius * _sign(other[1] - corner[1])
    return f"{x:.0f} {y:.0f}"


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _state(state: str, box: Box) -> Iterator[str]:
    fill, style = ("#f8fafc", DASHED) if state == N else ("#e0ecff", "")
    yield (
        f'<rect x="{box.left:.0f}" y="{box.top:.0f}" width="{box.width:.0f}" height="{box.height:.0f}" '
        f'rx="10" fill="{fill}" stroke="#1e3a5f" stroke-width="1.6"{style}/>'
    )
    says = SAYS.get(state, "")
    yield (
        f'<text x="{box.x:.0f}" y="{box.y + (-3 if says else 5):.0f}" text-anchor="middle" font-size="16" '
        f'font-weight="bold" fill="{INK}">{escape(state)}</text>'
    )
    if says:
        yield (
            f'<text x="{box.x:.0f}" y="{box.y + 17:.0f}" text-anchor="middle" font-size="12" '
            f'fill="{GREY}">{escape(says)}</text>'
        )


def _legend(parts: Sequence[str], y: float) -> Iterator[str]:
    x = 50.0
    yield f'<text x="{x:.0f}" y="{y:.0f}" font-size="13" fill="{GREY}">rules of the part</text>'
    x += 125
    for part in parts:
        colour = COLOURS.get(part, GREY)
        yield f'<rect x="{x:.0f}" y="{y - 10:.0f}" width="11" height="11" rx="2" fill="{colour}"/>'
        yield f'<text x="{x + 16:.0f}" y="{y:.0f}" font-size="13" fill="{INK}">{escape(part)}</text>'
        x += 40 + 8 * len(part)
