"""A run as a trace, which `rota trace FILE --replay` follows again.

A trace needs something that its last state is. If that contradicts a property, it is that; else a described
state is reached: as a person has described it, or by what the last step has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from typing import Any

from rota.kernel import IN_STATES, Kind, System
from rota.play.session import PlayError, Session
from rota.trace import REACH, Origin, Trace, origin_of, reaching, record

Named = Origin
"""What of an origin a system does not know itself: scope, configuration, profile and mutant."""


def saved(session: Session, named: Named, described: str = "") -> Trace:
    """The trace of the run up to where the person stands.

    Parameters: session; named, what was asked for by name; described, an expression that is true there.
    Errors: PlayError where it is not.
    """
    path = session.path[: session.at]
    broken = "" if described else violated(session)
    if broken:
        return record(session.system, broken, session.start, path, _origin(session.system, named))
    text = described or _description(session)
    if not session.there(text)(session.state):
        raise PlayError(f"this is not a state in which {text}; describe it otherwise, or leave that out")
    searched = reaching(session.system, text)
    return record(searched, REACH, session.start, path, _origin(searched, named))


def violated(session: Session) -> str:
    """The name of a property that the state, or the step to it, contradicts; empty if there is none."""
    system, state = session.system, session.state
    for one in system.select(*IN_STATES):
        if not system.holds(one, state):
            return one.name
    for one in system.select(Kind.STEP) if session.at else ():
        if not system.step_holds(one, session.states[session.at - 1], state):
            return one.name
    return ""


def _origin(system: System, named: Named) -> Origin:
    own = origin_of(system)
    return replace(named, factory=own.factory, settings=own.settings, reach=own.reach)


def examples(session: Session) -> list[str]:
    """A few expressions that are true here, to begin with."""
    return list(dict.fromkeys(_facts(session.system, session.state)))[:12]


def _description(session: Session) -> str:
    """An expression that is true of the state: about what the last step has changed, if it can be."""
    before = session.states[session.at - 1] if session.at else None
    facts = list(_facts(session.system, session.state))
    if before is not None:
        then = set(_facts(session.system, before))
        facts = [fact for fact in facts if fact not in then] or facts
    for text in facts:
        if session.there(text)(session.state):
            return text
    name = session.system.machines[0].name
    return f"{name} == {name}"


def _facts(system: System, state: tuple[Any, ...]) -> Iterator[str]:
    """What is plainly so of a machine, or of a field of it, as expressions, the most telling ones first."""
    values = list(zip(system.machines, state, strict=True))
    found = [(machine.name, *one) for machine, value in values for one in _plain(value)]
    for wanted in (
        _is_word,
        lambda _, plain: isinstance(plain, int),
        lambda _, plain: isinstance(plain, str),
    ):
        for name, path, plain in found:
            shown = plain.value if isinstance(plain, Enum) else plain
            if wanted(path, plain) and isinstance(shown, str | int):
                yield f"{'.'.join([name, *path])} == {shown!r}"


def _is_word(path: tuple[str, ...], plain: Any) -> bool:
    """Whether it says how something stands: one of an enumeration, or a value that is nothing but a text."""
    return isinstance(plain, Enum) or (not path and isinstance(plain, str))


def _plain(value: Any, depth: int = 2) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The value, or its fields and theirs, each with the way there."""
    if is_dataclass(value) and not isinstance(value, type):
        for one in fields(value) if depth else ():
            for path, inner in _plain(getattr(value, one.name), depth - 1):
                yield (one.name, *path), inner
    else:
        yield (), value
