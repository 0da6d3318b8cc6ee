"""Systems for `rota check` from names and texts: settings as they are typed, functions of others."""

from __future__ import annotations

import inspect
import os
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from rota.cli.errors import UsageError, nearly
from rota.explore.result import DEADLOCK
from rota.kernel import Kind, Liveness, Property, System, SystemRef
from rota.kernel.mistakes import place_in, said


def parse_settings(texts: Sequence[str]) -> dict[str, Any]:
    """`K=V` pairs. Values that read as TOML numbers, booleans, arrays or tables are these, others are text.

    Arrays become tuples and tables pairs, so that settings travel to workers. Errors: UsageError.
    """
    settings = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise UsageError(f"cannot read the setting {text!r}; write --set NAME=VALUE")
        settings[key] = _value(value)
    return settings


def _value(text: str) -> Any:
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return _hashable(value) if isinstance(value, bool | int | str | list | dict) else text


def _hashable(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_hashable(item) for item in value)
    if isinstance(value, dict):
        return tuple(sorted((key, _hashable(item)) for key, item in value.items()))
    return value


def use_current_directory() -> None:
    """Look for modules in the current directory first, here and in worker processes."""
    here = os.getcwd()
    if sys.path[0] != here:
        sys.path.insert(0, here)
        inherited = os.environ.get("PYTHONPATH")
        os.environ["PYTHONPATH"] = os.pathsep.join([here, inherited] if inherited else [here])


def resolve(name: str) -> Callable[..., Any]:
    """The function that `MODULE:NAME` names, the current directory first. Errors: UsageError."""
    module, colon, attribute = name.partition(":")
    if not (module and colon and attribute):
        raise UsageError(f"cannot read the system {name!r}; write --system MODULE:NAME")
    use_current_directory()
    try:
        found = getattr(import_module(module), attribute, None)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0] and error.name != module:
            raise
        raise UsageError(
            f"there is no module {module}; it is looked for in the current directory, then in the environment"
        ) from None
    except (Exception, SystemExit) as error:  # a stranger's module may do anything while it is imported
        raise UsageError(f"module {module} cannot be imported ({_cause(error)}); correct it") from error
    if not callable(found):
        raise UsageError(f"module {module} has no function {attribute}; name one that returns a System")
    return found  # type: ignore[no-any-return]  # callable() does not tell the type


def build_foreign(name: str, factory: Callable[..., Any], settings: Mapping[str, Any]) -> System:
    """What a function returns for these settings. Errors: UsageError for whatever goes wrong in it."""
    try:
        inspect.signature(factory).bind(**settings)
    except TypeError as error:
        there = ", ".join(inspect.signature(factory).parameters) or "none"
        raise UsageError(f"{name} does not take these settings ({error}); it takes {there}") from None
    try:
        made = factory(**settings)
    except (Exception, SystemExit) as error:  # a stranger's function may do anything
        raise UsageError(
            f"{name} failed ({_cause(error)}); correct it, or its settings with --set"
        ) from error
    if not isinstance(made, System):
        raise UsageError(f"{name} returned {type(made).__name__}; let it return a rota.kernel.System")
    return made if made.ref else replace(made, ref=SystemRef(name, tuple(settings.items())))


def _cause(error: BaseException) -> str:
    """What was raised, and where in the stranger's files."""
    place = place_in(error.__traceback__)
    return said(error) + f", at {place}" * bool(place)


def saying_something(made: System, lasting: bool) -> System:
    """A system, if what it claims is judged in it. lasting: what it claims of endless runs is judged.

    Errors: UsageError, which names what there is.
    """
    claims: tuple[Property | Liveness, ...] = made.liveness if lasting else made.properties
    if not made.machines:
        raise UsageError(f"system {made.name} has no machines; give it one at least")
    if not claims:
        other = "; judge what it claims of endless runs with --liveness" * bool(made.liveness)
        raise UsageError(f"system {made.name} has no properties, so nothing would be judged{other or _MORE}")
    names = [one.name for one in claims if not (isinstance(one, Property) and one.kind is Kind.TERMINAL)]
    twice = sorted(name for name, count in Counter([*names, DEADLOCK]).items() if count > 1)
    if twice:
        raise UsageError(f"system {made.name} has two properties called {twice[0]}; rename one of them")
    for one in claims:
        _speaks_of_machines(made, one)
    return made


_MORE = "; give System.properties one at least"


def _speaks_of_machines(made: System, claim: Property | Liveness) -> None:
    """Errors: UsageError for a claim about machines that the system does not have."""
    there = Counter(machine.role for machine in made.machines)
    roles = ", ".join(sorted(there))
    for role, wanted in Counter(view.role for view in claim.views).items():
        if role not in there:
            cause = f"property {claim.name} is about the role {role!r}, which no machine of {made.name} has"
            raise UsageError(f"{cause}; {nearly(role, there)}its roles are {roles}")
        if there[role] < wanted:
            names = ", ".join(machine.name for machine in made.machines if machine.role == role)
            cause = f"property {claim.name} is about {wanted} machines of the role {role!r}"
            raise UsageError(f"{cause}, so it is never judged; {made.name} has only {names}")


def narrowed(made: System, only: str) -> System:
    """A system of which one property is judged. Errors: UsageError if it has none of that name."""
    ends = only == DEADLOCK
    properties = tuple(
        one for one in made.properties if (one.kind is Kind.TERMINAL if ends else one.name == only)
    )
    lively = tuple(one for one in made.liveness if one.name == only)
    if not properties and not lively:
        names = [*(one.name for one in made.properties), *(one.name for one in made.liveness)]
        there = ", ".join(names) or "none"
        raise UsageError(f"system {made.name} has no property {only!r}; it has {there}")
    return replace(made, properties=properties, liveness=lively)
