"""The systems beside that of a trace: without the mutant, under another profile, with other settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rota.cli.check_plan import recognised
from rota.cli.errors import UsageError
from rota.kernel import System, SystemRef
from rota.mutants import every_mutant
from rota.mutants.consumer import BUGS as CONSUMER_BUGS
from rota.mutants.designs import BUGS
from rota.spec import PROFILES
from rota.trace import Run
from rota.trace.parting import twin

CLASSIC = "rota.mutants.registry:rebuild"
"""The factory of the world."""

CONSUMER = "rota.mutants.consumer:rebuild"
"""The factory of the consumer protocol's world."""

DESIGN, MUTANT_DESIGN = "rota.designs.suites:rebuild", "rota.mutants.designs:rebuild"
"""The factories of an older design, without a mutant and with one."""


@dataclass(frozen=True)
class Elsewhere:
    """Where the actions of a trace are played.

    profile, mutant: by name, None where it is the trace's; sound: without the trace's mutant; settings: of
    the factory, those that are others.
    """

    profile: str | None = None
    mutant: str | None = None
    sound: bool = False
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def asked(self) -> bool:
        """Whether it is another system than the trace's."""
        return self != Elsewhere()

    def words(self) -> str:
        """Which system, after a preposition of its own."""
        named = (
            "without the mutant" * self.sound,
            f"with the mutant {self.mutant}" * bool(self.mutant),
            f"under {self.profile}" * bool(self.profile),
            *(f"with {key}={value}" for key, value in self.settings),
        )
        return " ".join(filter(None, named))


def beside(run: Run, elsewhere: Elsewhere) -> tuple[Run, SystemRef]:
    """The run, in a system that keeps dead data if it has any, and how the system beside it is built.

    What is dead under one profile need not be under another, and a mutant's world keeps all of it: so both
    are compared as they are without such clearing. Errors: UsageError where there is no such system.
    """
    origin = run.trace.origin
    assert origin.factory is not None  # it was built
    here = SystemRef(origin.factory, tuple(origin.settings.items()))
    if origin.factory == CLASSIC:
        return _classic(run, here, elsewhere)
    if elsewhere.profile is not None:
        raise UsageError(f"{origin.factory} has no profiles; leave --profile out")
    if origin.factory == CONSUMER:
        return run, _consumer(here, elsewhere)
    if origin.factory in (DESIGN, MUTANT_DESIGN):
        return run, _design(here, elsewhere)
    if elsewhere.sound or elsewhere.mutant:
        option = "--without-mutant" if elsewhere.sound else "--mutant"
        cause = f"the trace is of {origin.factory}, which has no mutants of rota's"
        raise UsageError(f"{cause}; leave {option} out, or name another setting with --set")
    return run, SystemRef(here.factory, _changed(here.settings, elsewhere.settings))


def _changed(
    settings: tuple[tuple[str, Any], ...], others: tuple[tuple[str, Any], ...]
) -> tuple[tuple[str, Any], ...]:
    """Settings in their order, some of them others."""
    return tuple({**dict(settings), **dict(others)}.items())


def _classic(run: Run, here: SystemRef, elsewhere: Elsewhere) -> tuple[Run, SystemRef]:
    shipped = dict(here.settings)
    settings = dict(shipped["settings"])
    ours = here
    if shipped.get("settled") or (shipped["mutant"] is None and settings.get("settle", True)):
        settings["settle"] = False
        ours = _shipped(shipped, settings, shipped["mutant"])
        run = _again(run, ours.build())
    theirs = {**settings, **dict(elsewhere.settings), "settle": False}
    if elsewhere.profile is not None:
        theirs["profile"] = recognised("profile", elsewhere.profile, PROFILES)
    return run, _shipped(shipped, theirs, _mutant(shipped["mutant"], elsewhere, every_mutant()))


def _shipped(shipped: Mapping[str, Any], settings: Mapping[str, Any], mutant: str | None) -> SystemRef:
    changed = {**shipped, "settings": tuple(sorted(settings.items())), "mutant": mutant}
    changed.pop("settled", None)
    return SystemRef(CLASSIC, tuple(changed.items()))


def _again(run: Run, system: System) -> Run:
    """The run in the same system that keeps dead data."""
    found = twin(run, system)
    if found is None:
        cause = "the same system does otherwise if it keeps dead data, so nothing can be compared"
        raise UsageError(f"{cause}; play a trace of a mutant, whose world keeps it")
    return found


def _mutant(planted: str | None, elsewhere: Elsewhere, there: Mapping[str, Any]) -> str | None:
    """The mutant beside one that is planted, or none. Errors: UsageError."""
    if elsewhere.sound and planted is None:
        raise UsageError("the trace is of no mutant; leave --without-mutant out, or name another --profile")
    if elsewhere.mutant is not None:
        return recognised("mutant", elsewhere.mutant, there, "`rota check --list-mutants` names them")
    return None if elsewhere.sound else planted


def _consumer(here: SystemRef, elsewhere: Elsewhere) -> SystemRef:
    shipped = dict(here.settings)
    settings = tuple(sorted({**dict(shipped["settings"]), **dict(elsewhere.settings)}.items()))
    mutant = _mutant(shipped["mutant"], elsewhere, CONSUMER_BUGS)
    return SystemRef(CONSUMER, tuple({**shipped, "settings": settings, "mutant": mutant}.items()))


def _design(here: SystemRef, elsewhere: Elsewhere) -> SystemRef:
    shipped = dict(here.settings)
    settings = tuple(sorted({**dict(shipped["settings"]), **dict(elsewhere.settings)}.items()))
    name = _mutant(shipped.get("mutant"), elsewhere, BUGS[shipped["design"]])
    made = (("design", shipped["design"]), ("settings", settings))
    return SystemRef(DESIGN, made) if name is None else SystemRef(MUTANT_DESIGN, (*made, ("mutant", name)))
