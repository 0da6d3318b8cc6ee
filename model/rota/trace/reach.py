"""The search for a state that a person describes: the system with one property, that there is none.

A run that violates it leads to such a state, and the shortest one is found like any counterexample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from rota.kernel import Kind, Machine, Outcome, Property, System, SystemRef, View
from rota.trace.expressions import NOTHING, Expression, ExpressionError, Path, follow, parse

REACH = "reach"
"""Name of the property."""

FACTORY = "rota.trace.reach:rebuild"

MOST = 2
"""Machines that a property can look at together."""


@dataclass(frozen=True)
class Named:
    """A machine that has a role of its own, so that a property can speak of it alone."""

    machine: Machine

    @property
    def name(self) -> str:
        """The machine's."""
        return self.machine.name

    @property
    def role(self) -> str:
        """Its name."""
        return self.machine.name

    def initial(self) -> Sequence[Any]:
        """As the machine."""
        return self.machine.initial()

    def actions(self, value: Any) -> Sequence[Outcome]:
        """As the machine."""
        return self.machine.actions(value)

    def receive(self, value: Any, sender: str, message: Any) -> Sequence[Outcome]:
        """As the machine."""
        return self.machine.receive(value, sender, message)


def names_of(system: System) -> list[str]:
    """What an expression can speak of: machines and roles."""
    return [name for one in system.machines for name in (one.name, one.role)]


def reaching(system: System, text: str) -> System:
    """The system with the one property that no state is as the expression says.

    States, transitions and hashes are those of `system`. Beside it there is a witness for each field that is
    read: one that was never there is misspelt, most likely. Errors: ExpressionError for what is no
    expression about this system, or reads more machines than a property can.
    """
    expression = parse(text, names_of(system))
    if len(expression.reads) > MOST:
        read = ", ".join(name for name, _ in expression.reads)
        raise ExpressionError(f"{text!r} reads {read}; describe the state by {MOST} machines at most")
    check_fields(system, expression)
    own = {name for name, _ in expression.reads if name in system.index}
    if ref := system.ref:
        shipped = ("factory", ref.factory), ("settings", ref.settings), ("text", text)
        ref = SystemRef(FACTORY, shipped)
    return replace(
        system,
        machines=tuple(Named(one) if one.name in own else one for one in system.machines),
        properties=(_nowhere(expression), *_there(expression)),
        liveness=(),
        symmetry=None,
        ref=ref,
    )


def rebuild(factory: str, settings: tuple[tuple[str, Any], ...], text: str) -> System:
    """`reaching`, in another process."""
    return reaching(SystemRef(factory, settings).build(), text)


def unwrapped(ref: SystemRef) -> tuple[SystemRef, str | None]:
    """How the system is built that is searched, and for what; None for a system that is not from here."""
    if ref.factory != FACTORY:
        return ref, None
    settings = dict(ref.settings)
    return SystemRef(settings["factory"], settings["settings"]), settings["text"]


def _nowhere(expression: Expression) -> Property:
    def test(*seen: Any) -> bool:
        return not expression.evaluate(*seen)

    views = tuple(
        View(name, partial(expression.seen, number)) for number, (name, _) in enumerate(expression.reads)
    )
    return Property(REACH, Kind.SAFETY, f"A state in which {expression.text}.", views, test)


def _there(expression: Expression) -> Iterator[Property]:
    """For each field that is read, that some state has it."""
    for name, paths in expression.reads:
        for path in paths:
            whole = ".".join([name, *path])
            view = View(name, partial(follow, path=path))
            yield Property(whole, Kind.WITNESS, f"A state with {whole}.", (view,), _is_there)


def _is_there(value: Any) -> bool:
    return value is not NOTHING


def check_fields(system: System, expression: Expression) -> None:
    """Look for fields that no value can have, as far as annotations tell. Errors: ExpressionError."""
    for name, paths in expression.reads:
        roles = [one for one in system.machines if name in (one.name, one.role)]
        try:
            kinds = {type(value) for one in roles for value in one.initial()}
        except Exception:  # the engine meets it too, and says whose mistake it is
            continue
        for path in paths:
            _follow_types(name, kinds, path)


def _follow_types(name: str, kinds: set[Any], path: Path) -> None:
    for number, field in enumerate(path):
        known = [hints for kind in kinds if (hints := _hints(kind)) is not None]
        if not known or len(known) < len(kinds):
            return
        found = [hints[field] for hints in known if field in hints]
        if not found:
            where = ".".join([name, *path[:number]])
            there = ", ".join(dict.fromkeys(one for hints in known for one in hints))
            raise ExpressionError(f"{where} has no {field}; it has {there}")
        kinds = {kind for one in found for kind in _alternatives(one)}


def _hints(kind: Any) -> dict[str, Any] | None:
    """The fields of a type and theirs; None if it may have any: an abstract one names none."""
    if not isinstance(kind, type) or kind is object:
        return None
    try:
        hints = get_type_hints(kind)
    except (NameError, TypeError):  # an annotation that only a type checker sees
        return None
    computed = {name: Any for name in dir(kind) if isinstance(getattr(kind, name, None), property)}
    fields = {name: hint for name, hint in {**hints, **computed}.items() if not name.startswith("_")}
    return fields or None


def _alternatives(hint: Any) -> list[Any]:
    """The types that a value may have, but for None."""
    if get_origin(hint) in (Union, UnionType):
        return [kind for one in get_args(hint) for kind in _alternatives(one)]
    if hint is type(None):
        return []
    return [get_origin(hint) or hint]
