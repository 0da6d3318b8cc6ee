"""From the options of `rota check` to a plan: which configurations, or which foreign system."""

from __future__ import annotations

import inspect
import os
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from rota.cli.errors import UsageError
from rota.environment.world import SettingsError
from rota.explore import engines
from rota.invariants import known_weaknesses
from rota.kernel import System, SystemRef
from rota.mutants import MUTANTS, system
from rota.report.check_model import Job, Plan
from rota.scopes import Configuration, Scope, load, names
from rota.spec import PROFILES, RULES

DESIGNS = ("classic",)
ENGINES = ("auto", *engines.ENGINES)


@dataclass(frozen=True)
class Options:
    """What was asked for. settings: `K=V` as given; None: not given."""

    scope: str | None = None
    configurations: tuple[str, ...] = ()
    profile: str = "kafka-4.x"
    design: str = "classic"
    engine: str = "auto"
    mutant: str | None = None
    system: str | None = None
    settings: tuple[str, ...] = ()
    strict: bool = False


def plan(options: Options) -> Plan:
    """The plan. Errors: UsageError for whatever is not known or does not go together."""
    _known("engine", options.engine, ENGINES)
    _known("design", options.design, DESIGNS)
    _known("profile", options.profile, PROFILES)
    if options.system is not None:
        return _foreign(options, options.system)
    if options.mutant is not None:
        _known("mutant", options.mutant, MUTANTS, remedy="`rota check --list-mutants` tells what each does")
    scope = load(_known("scope", options.scope or "small", names()))
    overrides = parse_settings(options.settings)
    jobs = [_job(options, overrides, *one) for one in _configurations(options, scope)]
    return Plan(
        design=options.design,
        system=options.design,
        engine=options.engine,
        jobs=tuple(jobs),
        scope=scope.name,
        profile=options.profile,
        mutant=options.mutant,
        replaced=MUTANTS[options.mutant].slug if options.mutant else None,
        known=frozenset()
        if options.strict
        else frozenset(one.name for one in known_weaknesses(options.profile)),
        rules=RULES,
        omitted=PROFILES[options.profile].omitted,
    )


def _known(what: str, name: str, there: Iterable[str], remedy: str = "") -> str:
    """The name, if it is one of those there are; else UsageError with the nearest and all of them."""
    choices = list(there)
    if name in choices:
        return name
    near = get_close_matches(name, choices, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    there_are = f"there {'are' if len(choices) > 1 else 'is'} {', '.join(choices)}"
    raise UsageError(f"there is no {what} {name!r}; {hint}{remedy or there_are}")


def _configurations(options: Options, scope: Scope) -> list[tuple[str, Configuration]]:
    """Those asked for, else all of the scope; for a mutant the one that kills it first comes first.

    Each with the name of its scope.
    """
    there = {one.name: one for one in scope.configurations}
    if options.configurations:
        what = f"configuration in scope {scope.name} called"
        chosen = [there[_known(what, name, there)] for name in dict.fromkeys(options.configurations)]
        return [(scope.name, one) for one in chosen]
    every = [(scope.name, one) for one in scope.configurations]
    if options.mutant is None:
        return every
    name = MUTANTS[options.mutant].configuration
    others = [(other, one) for other in names() for one in load(other).configurations]
    first = next(pair for pair in (*every, *others) if pair[1].name == name)
    return [first, *(pair for pair in every if pair[1].name != name)]


def _job(options: Options, overrides: Mapping[str, Any], scope: str, configuration: Configuration) -> Job:
    settings = {**configuration.settings, "profile": options.profile, **overrides}
    changed = options.mutant is not None or overrides

    def build() -> System:
        try:
            return system(settings, options.mutant, strict=options.strict)
        except SettingsError as error:
            raise UsageError(str(error)) from error
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            if not overrides:
                raise
            cause = f"cannot build {configuration.name} with these settings ({type(error).__name__}: {error})"
            raise UsageError(f"{cause}; check --set {' --set '.join(options.settings)}") from error

    return Job(
        name=configuration.name,
        build=build,
        scope=scope,
        feature=configuration.feature,
        compared_with=configuration.compared_with,
        expected=None if changed else configuration.expected,
        size=(configuration.expected or {}).get("distinct"),
    )


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


def _foreign(options: Options, name: str) -> Plan:
    """A plan for a system from outside of rota."""
    for option, given in (("--mutant", options.mutant), ("--configuration", options.configurations),
                          ("--scope", options.scope)):  # fmt: skip
        if given:
            raise UsageError(f"{option} is for rota's own system; leave it out with --system")
    settings = parse_settings(options.settings)
    factory = resolve(name)

    def build() -> System:
        return _build(name, factory, settings)

    job = Job(name=name.partition(":")[2], build=build)
    return Plan(design="-", system=name, engine=options.engine, jobs=(job,), origin=name)


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
    except Exception as error:  # a stranger's module may raise anything while it is imported
        cause = f"{type(error).__name__}: {error}"
        raise UsageError(f"module {module} cannot be imported ({cause}); correct it") from error
    if not callable(found):
        raise UsageError(f"module {module} has no function {attribute}; name one that returns a System")
    return found  # type: ignore[no-any-return]  # callable() does not tell the type


def _build(name: str, factory: Callable[..., Any], settings: Mapping[str, Any]) -> System:
    try:
        inspect.signature(factory).bind(**settings)
    except TypeError as error:
        there = ", ".join(inspect.signature(factory).parameters) or "none"
        raise UsageError(f"{name} does not take these settings ({error}); it takes {there}") from None
    try:
        made = factory(**settings)
    except Exception as error:  # a stranger's function may raise anything
        cause = f"{type(error).__name__}: {error}"
        raise UsageError(f"{name} failed ({cause}); correct it, or its settings with --set") from error
    if not isinstance(made, System):
        raise UsageError(f"{name} returned {type(made).__name__}; let it return a rota.kernel.System")
    return made if made.ref else replace(made, ref=SystemRef(name, tuple(settings.items())))
