"""Options as values: what a verb is asked for arrives in frozen dataclasses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from rota.cli import completing
from rota.cli.choices import ENGINES, PROTOCOLS
from rota.cli.kept_tables import tables_folder
from rota.explore import Limits
from rota.spec import PROFILES

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


def takes(parameter: str, kind: type, *options: Decorator) -> Decorator:
    """A command's options as one value: a decorator below `click.command`.

    Parameters: parameter of the command, which gets the value; kind, a dataclass with a field for each of
    the options, by name.
    """

    def decorate(command: Command) -> Command:
        bare = click.Command("bare", callback=command)
        for option in reversed(options):
            option(bare)
        names = [one.name for one in bare.params]

        @wraps(command)
        def collected(*arguments: Any, **given: Any) -> Any:
            value = kind(**{name: given.pop(name) for name in names})
            return command(*arguments, **{parameter: value}, **given)

        made: Command = collected
        for option in reversed(options):
            made = option(made)
        return made

    return decorate


@dataclass(frozen=True)
class Selection:
    """What is explored or walked through. settings: `K=V` as given; only: a property; None: not given."""

    scope: str | None = None
    configurations: tuple[str, ...] = ()
    profile: str = "kafka-4.x"
    mutant: str | None = None
    system: str | None = None
    settings: tuple[str, ...] = ()
    strict: bool = False
    only: str | None = None
    protocol: str | None = None


@dataclass(frozen=True)
class Search:
    """How it is explored, and when that is given up.

    memory: MiB; workers: at most; reach: an expression, what to look for in place of violations; None: not
    given.
    """

    engine: str = "auto"
    liveness: bool = False
    max_states: int | None = None
    workers: int | None = None
    symmetry: bool = False
    fingerprints: bool = False
    memory: int | None = None
    checkpoint: Path | None = None
    resume: bool = False
    resume_if_any: bool = False
    keep_going: bool = False
    no_cache: bool = False
    reach: str | None = None

    @property
    def limits(self) -> Limits:
        """As engines take them, but for the workers, whose number is not decided yet."""
        return Limits(
            max_states=self.max_states,
            memory=self.memory and self.memory << 20,
            checkpoint=self.checkpoint,
            resume=self.resume or self.resume_if_any,
            symmetry=self.symmetry,
            fingerprints=self.fingerprints,
            # every expression would fill the folder with a world's tables of its own
            cache=None if self.no_cache or self.reach else tables_folder(),
        )


PROFILE = click.option(
    "--profile", default="kafka-4.x", metavar="|".join(PROFILES), shell_complete=completing.profiles,
    help="Line of brokers.",
)  # fmt: skip
MUTANT = click.option(
    "--mutant", metavar="NAME", shell_complete=completing.mutants,
    help="Plant this bug and see whether it is found (exit 1).",
)  # fmt: skip
CONFIGURATION = click.option(
    "--configuration", "configurations", multiple=True, metavar="NAME",
    shell_complete=completing.configurations, help="Only this one; repeatable.",
)  # fmt: skip
SETTING = click.option(
    "--set", "settings", multiple=True, metavar="K=V", help="A setting of the system; repeatable."
)
ENGINE = click.option(
    "--engine", default="auto", metavar="|".join(ENGINES), shell_complete=completing.engines,
    help="How to explore; the answer is the same.",
)  # fmt: skip
MAX_STATES = click.option(
    "--max-states", type=click.IntRange(min=1), metavar="N", help="Give up beyond N states (exit 3)."
)

SELECTION = (
    click.option("--protocol", metavar="|".join(PROTOCOLS), shell_complete=completing.protocols,
                 help="Protocol of the group: classic, or consumer (KIP-848).  [default: both, of what fits "
                      "both]"),
    click.option("--scope", metavar="SCOPE", shell_complete=completing.scopes,
                 help="Suite of configurations: tiny, small (the default), standard, nightly, or endless."),
    CONFIGURATION,
    PROFILE,
    MUTANT,
    click.option("--system", metavar="MODULE:NAME",
                 help="Explore what this function returns, a kernel System."),
    SETTING,
    click.option("--strict", is_flag=True, help="Known weaknesses of the profile count as violations."),
    click.option("--property", "only", metavar="NAME", shell_complete=completing.properties,
                 help="Judge this one alone. A known weakness that is named counts as a violation: so its "
                      "run is shown."),
)  # fmt: skip
"""The options of `Selection`."""

WHAT = ("--protocol", "--scope", "--configuration", "--profile", "--mutant", "--system", "--set")
"""Those that say what is explored, as sections of help name them."""
