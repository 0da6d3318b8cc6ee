"""Files of a verb: tried out before the work begins, written when all is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from rota.cli.errors import HOLDS, USAGE, UsageError, say
from rota.cli.interrupts import held
from rota.report.writing import CannotWrite, try_out, write


def try_files(paths: Iterable[Path], remedy: str = "name another folder with --out") -> None:
    """See whether files can be written, before the work begins. Errors: UsageError."""
    try:
        for path in paths:
            try_out(path)
    except CannotWrite as error:
        raise UsageError(f"{error}; {remedy}") from error


def write_files(files: Iterable[tuple[Path, str]]) -> None:
    """Write what a verb was asked for beside its verdict. Errors: UsageError."""
    try:
        for path, text in files:
            write(path, text)
    except CannotWrite as error:
        raise UsageError(f"{error}; name another folder, or make room there") from error


def keep(files: Mapping[Path, str | Iterable[str]], code: int) -> int:
    """Write files, by path, when the verdict was printed; the exit code. files: as of `write`.

    A verdict stays what it is. One that nothing speaks against (0) becomes 2 where a file could not be
    written. What could not be is named on stderr.
    """
    failed = False
    with held():
        for path, text in files.items():
            try:
                write(path, text)
            except CannotWrite as error:
                failed = True
                say(f"{error}; make room or name another place, then run this again")
    return USAGE if failed and code == HOLDS else code
