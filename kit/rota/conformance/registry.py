"""The lists of cases and probes: decorators that add one, whose rule a case is, how some are selected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from rota.conformance.dialogue import Dialogue
from rota.conformance.model import Case, Level, Probe, Script
from rota.spec import RULES

Play = Callable[[Dialogue], None]

WIRE = "wire"
"""The part of the rules that the spec does not have: how requests become bytes."""

PARTS = (
    *("join", "static", "sync", "heartbeat", "leave", "voting", "timers", "persistence", "hosting"),
    *("offsets", "admin", "expiry", WIRE),
)
"""The parts of the protocol, in the order of the reports."""

_CASES: dict[str, Case] = {}
_PROBES: dict[str, Probe] = {}

S = TypeVar("S", bound=Script)


class UnknownCase(ValueError):
    """A selector that names no dialogue, no rule and no part."""


def case(
    id: str,
    requirement: str,
    source: str,
    *,
    level: Level = Level.MUST,
    needs: Mapping[str, tuple[int, int]] | None = None,
    initial_delay_ms: int = 300,
    least_delay_ms: int = 0,
    settings: Mapping[str, int] | None = None,
    seconds: float = 1.0,
    older: str = "",
) -> Callable[[Play], Play]:
    """Register a dialogue as the case `id`, which begins with the slug of its rule; see `rule_of`.

    The other parameters are those of `Case`. Raises ValueError for an id that is taken or names no rule.
    """

    def add(play: Play) -> Play:
        if id in _CASES:
            raise ValueError(f"two cases are called {id}")
        _CASES[id] = Case(
            id=id,
            rule=rule_of(id),
            level=level,
            sentence=requirement,
            source=source,
            play=play,
            needs=dict(needs or {}),
            initial_delay_ms=initial_delay_ms,
            least_delay_ms=least_delay_ms,
            settings=dict(settings or {}),
            seconds=seconds,
            older=older,
        )
        return play

    return add


def rule_of(id: str) -> str:
    """The slug of the rule that a case is about: the longest one of the spec's rules that its id continues.

    A case of the part `wire` has a rule of its own. Raises ValueError for an id without a rule, or without
    words of its own after the slug.
    """
    if id.startswith(f"{WIRE}."):
        return id
    slugs = [slug for slug in RULES if id.startswith(f"{slug}.")]
    if not slugs:
        raise ValueError(f"{id} is no case: it has to be the slug of a rule, a dot, and what the case shows")
    return max(slugs, key=len)


def all_cases() -> list[Case]:
    """Every case, part by part, in each part in the order of the spec's rules."""
    import rota.conformance.cases  # noqa: F401 - defines them

    place = {slug: number for number, slug in enumerate(RULES)}
    return sorted(_CASES.values(), key=lambda case: (PARTS.index(case.part), place.get(case.rule, 0)))


def probe(
    id: str,
    sentence: str,
    source: str,
    *,
    needs: Mapping[str, tuple[int, int]] | None = None,
    initial_delay_ms: int = 300,
    settings: Mapping[str, int] | None = None,
    seconds: float = 1.0,
) -> Callable[[Play], Play]:
    """Register a dialogue as the probe `id`: its part, its subject, and what it shows, with dots between.

    The other parameters are those of `Script`. Raises ValueError for an id that is taken or of another form.
    """

    def add(play: Play) -> Play:
        if id in _PROBES:
            raise ValueError(f"two probes are called {id}")
        if id.count(".") != 2 or id.split(".", 1)[0] not in PARTS:
            raise ValueError(
                f"{id} is no probe: it has to be part.subject.detail, with a part of the protocol"
            )
        _PROBES[id] = Probe(
            id=id,
            sentence=sentence,
            source=source,
            play=play,
            needs=dict(needs or {}),
            initial_delay_ms=initial_delay_ms,
            least_delay_ms=0 if initial_delay_ms == 300 else initial_delay_ms,
            settings=dict(settings or {}),
            seconds=seconds,
        )
        return play

    return add


def all_probes() -> list[Probe]:
    """Every probe, part by part."""
    import rota.conformance.probes  # noqa: F401 - defines them

    return sorted(_PROBES.values(), key=lambda probe: PARTS.index(probe.part))


def all_scripts() -> list[Script]:
    """Every case, then every probe."""
    return [*all_cases(), *all_probes()]


def select(scripts: Iterable[S], selectors: Iterable[str]) -> list[S]:
    """The dialogues that any selector names by id, rule or part, in their own order; all for no selector.

    Raises `UnknownCase` for a selector that names nothing.
    """
    scripts, wanted = list(scripts), set(selectors)
    known = _names(scripts)
    for name in sorted(wanted - known):
        if name in _names(all_probes()):
            raise UnknownCase(
                f"{name} names probes, which have no verdict of their own; play them with --diff A B"
            )
        close = get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}?" if close else "`rota conform --list` shows them"
        raise UnknownCase(f"no case, rule or part is called {name!r}; {hint}")
    return [script for script in scripts if not wanted or wanted & _names([script])]


def _names(scripts: Iterable[Script]) -> set[str]:
    return {name for script in scripts for name in (script.id, script.subject, script.part)}
