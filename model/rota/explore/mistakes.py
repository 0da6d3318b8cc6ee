"""Mistakes in a system as findings: with a shortest run to them, the same from every engine.

An engine that works with tables, or in many processes, meets mistakes in an order of its own. So whichever
has met one, the reference engine looks for the first in its order, and its word counts: what is violated
before that is violated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar, cast

from rota.explore.reference import LastingSearch, Search
from rota.explore.result import Limits, Result, Suspect
from rota.kernel import Asking, Machine, State, System, UserError, Value

MOST = 300_000
"""States among which a run to a mistake is looked for."""


SUSPECTED = 20_000
"""States among which a mistake is looked for where it is not known that there is one."""


class NotSeen(RuntimeError):
    """One engine has met a mistake and the reference engine has not: a bug in one, or an impure function."""


Explore = TypeVar("Explore", bound=Callable[..., Result])


def finding(explore: Explore) -> Explore:
    """An engine that tells of mistakes with a shortest run to each; see `retraced`."""
    return _finding(explore, Search)


def finding_lasting(explore: Explore) -> Explore:
    """The same for an engine that judges endless runs."""
    return _finding(explore, LastingSearch)


def _finding(explore: Explore, search: type[Search]) -> Explore:
    @wraps(explore)
    def found(system: System, limits: Limits | None = None, **given: Any) -> Result:
        try:
            return explore(system, limits, **given)
        except UserError as error:
            return retraced(error, system, limits or Limits(), search)
        except Suspect as error:
            if system.ref is not None:  # else nothing was explored
                mistake = UserError(f"system {system.name}", str(error))
                with suppress(NotSeen):
                    retraced(mistake, system, Limits(max_states=SUSPECTED), search)
            raise

    return cast(Explore, found)


def retraced(
    error: UserError, system: System, limits: Limits, search: type[Search] = Search, most: int = MOST
) -> Result:
    """What the reference engine says of a system in which an engine has met a mistake.

    That is a violation, if one comes first. Errors: UserError, with a run if there is one among so many
    states; NotSeen if the reference engine sees no mistake.
    """
    if error.path is not None:
        raise error
    bounded = limits.max_states is None or limits.max_states > most
    again = Limits(max_states=most if bounded else limits.max_states, bound=limits.bound)
    result = search(system, again).run()
    if result.violation is not None:
        return result
    if bounded and result.distinct > most:
        raise error
    raise NotSeen(
        f"{system.name}: {error}; the reference engine does not see that: is a function impure?"
    ) from error


def met_from(system: System, state: State) -> UserError | None:
    """The mistake that a state is, or a transition out of it; its run begins in the state."""
    machines = tuple(_Begun(machine, value) for machine, value in zip(system.machines, state, strict=True))
    try:
        Search(replace(system, machines=machines), Limits(bound=lambda: 1)).run()
    except UserError as error:
        return error
    return None


class _Begun(Asking):
    """A watched machine that begins with a value."""

    def __init__(self, machine: Machine, value: Value) -> None:
        self.machine, self.name, self.role, self._value = machine, machine.name, machine.role, value
        self.actions, self.receive = machine.actions, machine.receive

    def initial(self) -> Sequence[Value]:
        return [self._value]
