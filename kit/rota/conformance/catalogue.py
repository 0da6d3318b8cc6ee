"""Every case and every probe that there is, in the order of the reports, and how some are selected."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TypeVar

import rota.conformance.cases
import rota.conformance.probes  # noqa: F401 - both register what they hold
from rota.conformance.dialogues.registry import CASES, PARTS, PROBES
from rota.conformance.dialogues.script import Case, Probe, Script
from rota.conformance.rules import BY_NAME, part_of_consumer

S = TypeVar("S", bound=Script)


class UnknownCase(ValueError):
    """A selector that names no dialogue, no rule and no part."""


def all_cases() -> list[Case]:
    """Every case, part by part, in each part in the order of the spec's rules."""
    place = {slug: number for number, slug in enumerate(BY_NAME)}
    return sorted(CASES.values(), key=lambda case: (PARTS.index(case.part), place.get(case.rule, 0)))


def cases_by_name() -> dict[str, tuple[str, ...]]:
    """What a list of known failures may name: each case, and each family, with the ids of its cases."""
    found: dict[str, tuple[str, ...]] = {case.id: (case.id,) for case in CASES.values()}
    for case in all_cases():
        if case.family:
            found[case.family] = (*found.get(case.family, ()), case.id)
    return found


def all_probes() -> list[Probe]:
    """Every probe, part by part."""
    return sorted(PROBES.values(), key=lambda probe: PARTS.index(probe.part))


def all_scripts() -> list[Script]:
    """Every case, then every probe."""
    return [*all_cases(), *all_probes()]


def is_name(text: str) -> bool:
    """Whether any dialogue, rule or part is called so."""
    return text in _names(all_scripts())


def select(scripts: Iterable[S], selectors: Iterable[str]) -> list[S]:
    """The dialogues that any selector names by id, family, rule or part, in their own order; else all.

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
    return {name for script in scripts for name in (script.id, *_wholes(script))}


def _wholes(script: Script) -> list[str]:
    """What it is a part of, by name: its family if it has one, its rule, its part; `consumer` has parts."""
    family = script.family if isinstance(script, Case) else ""
    within = part_of_consumer(script.subject)
    return [name for name in (family, script.subject, within, script.part) if name]
