"""A mistake in a system as its user sees it: the run to it, then the line that names it."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from rota.cli.errors import HOLDS, INTERNAL, USAGE, UsageError
from rota.cli.keeping import keep
from rota.kernel import System, UserError
from rota.report.check_model import Plan
from rota.trace import Trace, dumps, record_mistake, text

TRACE = "trace-mistake.jsonl"
"""The file of the run to a mistake."""


@contextmanager
def shown(plan: Plan, systems: Sequence[System], clear: Callable[[], None], out: Path) -> Iterator[None]:
    """Within, a mistake in one of a plan's systems becomes its run on stderr, a trace, and a UsageError.

    clear: takes progress off the screen; out: the folder of the trace. In a system of rota's own a mistake is
    an internal error.
    """
    try:
        yield
    except UserError as error:
        clear()
        if os.environ.get("ROTA_DEBUG") == "1":
            traceback.print_exception(error)
        if error.start is not None:
            size = len(error.start)
            system = next(one for one in systems if len(one.machines) == size)
            _keep(record_mistake(system, error), out / TRACE)
        raise mistaken(error, ours=plan.origin is None) from error


def _keep(trace: Trace, path: Path) -> None:
    """Show the run to a mistake, and write it like that to a violation."""
    click.echo(text(trace), err=True)
    if keep({path: dumps(trace), path.with_suffix(".txt"): text(trace)}, HOLDS) == HOLDS:
        click.echo(f"trace:  {path} (as text beside it: .txt)", err=True)


def mistaken(error: UserError, ours: bool = False) -> UsageError:
    """The line about a mistake. ours: it is one of rota's own system."""
    cause = f"mistake in {error}"
    if ours:
        return UsageError(f"internal error: {cause}; report it", INTERNAL)
    if error.path is None:
        return UsageError(f"{cause}; correct it (it is too deep for a shortest run to be looked for)", USAGE)
    return UsageError(f"{cause}; correct it", USAGE)
