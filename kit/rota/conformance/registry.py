"""The list of cases: a decorator that adds one, and how a selection of them is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches

from rota.conformance.dialogue import Dialogue
from rota.conformance.model import Case, Level

Play = Callable[[Dialogue], None]

PARTS = ("join", "sync", "heartbeat", "leave", "voting", "timers", "wire")
"""The parts of the protocol, in the order of the reports."""

_CASES: dict[str, Case] = {}


class UnknownCase(ValueError):
    """A selector that names no case, no rule and no part."""


def case(
    id: str,
    requirement: str,
    source: str,
    *,
    level: Level = Level.MUST,
    needs: Mapping[str, tuple[int, int]] | None = None,
    initial_delay_ms: int = 300,
    least_delay_ms: int = 0,
    seconds: float = 1.0,
) -> Callable[[Play], Play]:
    """Register a dialogue as the case `id`; its rule is the id's first two dotted parts.

    The other parameters are those of `Case`. Raises ValueError for an id that is taken.
    """

    def add(play: Play) -> Play:
        if id in _CASES:
            raise ValueError(f"two cases are called {id}")
        _CASES[id] = Case(
            id=id,
            rule=".".join(id.split(".")[:2]),
            level=level,
            requirement=requirement,
            source=source,
            play=play,
            needs=dict(needs or {}),
            initial_delay_ms=initial_delay_ms,
            least_delay_ms=least_delay_ms,
            seconds=seconds,
        )
        return play

    return add


def all_cases() -> list[Case]:
    """Every case, part by part."""
    import rota.conformance.cases  # noqa: F401 - defines them

    return sorted(_CASES.values(), key=lambda case: PARTS.index(case.part))


def select(cases: Iterable[Case], selectors: Iterable[str]) -> list[Case]:
    """The cases that any selector names by id, rule or part, in their own order; all for no selector.

    Raises `UnknownCase` for a selector that names nothing.
    """
    cases, wanted = list(cases), set(selectors)
    known = {name for case in cases for name in (case.id, case.rule, case.part)}
    for name in sorted(wanted - known):
        close = get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}?" if close else "`rota conform --list` shows them"
        raise UnknownCase(f"no case, rule or part is called {name!r}; {hint}")
    return [case for case in cases if not wanted or wanted & {case.id, case.rule, case.part}]
