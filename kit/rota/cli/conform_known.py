"""What the command line of `rota conform` says of cases: ids, files with ids, lists of known failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from rota.cli.errors import HOLDS, INTERRUPTED, USAGE, UsageError, say
from rota.cli.keeping import try_files
from rota.conformance.catalogue import UnknownCase, all_cases, cases_by_name, is_name, select
from rota.conformance.known_failures import KnownError, added_to_known, read_known
from rota.conformance.results import CaseResult, KnownFailure
from rota.report.writing import CannotWrite, write


@dataclass(frozen=True)
class KnownOptions:
    """What is known to fail, and what becomes of it. known: files and selectors, as given."""

    known: tuple[str, ...] = ()
    write_known: Path | None = None
    strict: bool = False


KNOWN_OPTIONS = (
    click.option("--known", multiple=True, metavar="FILE|ID",
                 help="Known failures: a list in TOML, or a case; repeatable."),
    click.option("--write-known", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
                 help="Add what fails in this run to the list FILE; what is there stays."),
    click.option("--strict", is_flag=True, help="A known failure that passes is a failure (exit 1)."),
)  # fmt: skip
"""The options of `KnownOptions`."""


class KnownFailures:
    """Known failures of this run, and those of the file to which new ones are added.

    Both are read before anything is played. Errors: UsageError, UnknownCase.
    """

    def __init__(self, options: KnownOptions) -> None:
        self._path = options.write_known
        names = cases_by_name()
        try:
            there = self._path is not None and self._path.exists()
            self._before = read_known(self._path, names) if self._path is not None and there else {}
            self.of_run = _known(options.known, names)
        except KnownError as error:
            raise UsageError(str(error)) from error
        if self._path is not None:
            try_files([self._path], "name another file")

    def write(self, results: Sequence[CaseResult], code: int, quiet: bool) -> int:
        """Add what failed to the file, if one was named and nobody interrupted; the exit code.

        As with other files a verdict stays what it is, but one that nothing speaks against.
        """
        if self._path is None or code == INTERRUPTED:
            return code
        try:
            written = added_to_known(self._path, self._before, results)
            write(self._path, written.text)
        except (KnownError, CannotWrite) as error:
            say(str(error))
            return USAGE if code == HOLDS else code
        for line in () if quiet else written.lines():
            say(line)
        return code


def _known(given: Sequence[str], names: Mapping[str, tuple[str, ...]]) -> dict[str, KnownFailure]:
    found: dict[str, KnownFailure] = {}
    for text in given:
        if _is_file(text):
            entries = read_known(Path(text), names)
        elif "/" in text or text.endswith(".toml"):
            raise UsageError(f"there is no file {text}; name a list of known failures, or a case")
        else:
            cases = select(all_cases(), [text])
            entries = {c.id: KnownFailure(c.id, family=text if text == c.family else "") for c in cases}
        for name in entries.keys() & found.keys():
            raise UsageError(f"{name} is given as known twice, the second time by {text}; keep one")
        found.update(entries)
    return found


def selectors_in(arguments: Sequence[str]) -> list[str]:
    """The arguments with each file replaced by the ids that it lists.

    A list of known failures gives its ids; any other file is read as an id, rule or part on each line, what
    follows a # left out. Errors: UsageError.
    """
    found: list[str] = []
    for argument in arguments:
        found += _listed(Path(argument)) if _is_file(argument) else [argument]
    return found


def _is_file(text: str) -> bool:
    """Whether it is a file and no name of the catalogue, which would come first."""
    return not is_name(text) and Path(text).is_file()


def _listed(path: Path) -> list[str]:
    try:
        if path.suffix == ".toml":
            return list(read_known(path, cases_by_name())) or _nothing(path)
        lines = path.read_text(encoding="utf-8").splitlines()
    except KnownError as error:
        raise UsageError(str(error)) from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}; name a file with an id on each line") from error
    found = []
    for number, line in enumerate(lines, start=1):
        if name := line.partition("#")[0].strip():
            if not is_name(name):
                raise UsageError(f"{path}, line {number}: {_unknown(name)}")
            found.append(name)
    return found or _nothing(path)


def _unknown(name: str) -> str:
    try:
        select(all_cases(), [name])
    except UnknownCase as error:
        return str(error)
    return f"no case is called {name!r}"


def _nothing(path: Path) -> list[str]:
    """An empty list must not select all cases, as no argument does."""
    raise UsageError(f"{path} lists no case; put an id on each line")
