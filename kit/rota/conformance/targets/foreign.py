"""Coordinators that others wrote, as programs that are built or fetched once and started for each case."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from rota.conformance.cache_folder import CACHE, NoHome, cache_folder
from rota.conformance.targets.made_once import NotMade, made_once, run_tool
from rota.conformance.targets.process import NotStarted, Process, Started

_ERROR = re.compile(r"error\b|go: (?!downloading)", re.IGNORECASE)
"""How the lines begin in which cargo, pip and go name a cause."""

START_SECONDS = 30.0
"""How long a program may take until it listens."""


@dataclass(frozen=True)
class Tool:
    """What makes a program: a command on PATH, and what helps where there is none."""

    command: str
    remedy: str

    @property
    def path(self) -> str | None:
        """Where it is, if it is there."""
        return shutil.which(self.command)


@dataclass(frozen=True, kw_only=True)
class Foreign:
    """A coordinator of others under its name as a target.

    `make(tool, folder)` leaves the file `name` in a folder below the one given and says in which; `effort`
    is what that costs. `start(program, settings)` starts it. `heeds` are the settings that it can be started
    with, `known` those that it has else. So many dialogues as `parallel` may run at a time.
    """

    name: str
    version: str
    about: str
    tool: Tool
    effort: str
    make: Callable[[str, Path], Path]
    start: Callable[[Path, Mapping[str, int]], Started]
    parallel: int
    known: Mapping[str, int] = field(default_factory=dict)
    heeds: frozenset[str] = frozenset()

    @property
    def folder(self) -> Path:
        """Where it is kept, if it was made. Errors: NoHome."""
        return cache_folder() / f"{self.name}-{self.version}" / "bin"

    def missing(self) -> tuple[str, str] | None:
        """What stands in the way of starting it here, as cause and remedy; None if nothing is known to.

        Whether the network is there is not tried.
        """
        try:
            here = self.folder.is_dir()
        except NoHome as cause:
            return f"{cause}, to keep it in", f"name a folder in {CACHE}"
        if not here and self.tool.path is None:
            return f"no {self.tool.command} found, and it is not in the cache", self.tool.remedy
        return None

    def program(self) -> Path:
        """The program, after making it if it is not there. Errors: NotMade."""
        if (cause := self.missing()) is not None:
            raise NotMade(*cause)
        if not self.folder.is_dir():
            told = f"rota: making {self.name} {self.version} with {self.tool.command} ({self.effort})"
            print(told, file=sys.stderr, flush=True)
        made_once(self.folder, lambda place: self.make(self.tool.path or self.tool.command, place))
        return self.folder / self.name

    def started(self, settings: Mapping[str, int]) -> Started:
        """A process of its own with those of the settings that it heeds. Errors: NotStarted."""
        try:
            program = self.program()
        except NotMade as error:
            raise NotStarted(str(error), error.remedy) from error
        return self.start(program, {name: settings[name] for name in settings if name in self.heeds})


def lay_out(name: str, folder: Path) -> None:
    """Copy the files that a program is built from."""
    source = files("rota.conformance.targets.programs") / name
    for file in source.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())


def build(command: Sequence[str], folder: Path, made: str, tool: Tool) -> None:
    """Run the tool, which has to leave this file in the folder. Errors: NotMade."""
    connect = "connect to the network and try again; it is needed this once"
    completed = run_tool(command, folder, (tool.remedy, connect))
    if completed.returncode != 0 or not (folder / made).is_file():
        said = [line.strip() for line in completed.stderr.splitlines() if line.strip()]
        telling = [line for line in said if _ERROR.match(line)] or said[-1:]
        cause = telling[0][:300] if telling else f"exit code {completed.returncode}"
        raise NotMade(f"{tool.command} does not build it: {cause}", connect)


def that_says_where(command: Sequence[str]) -> Started:
    """A program that prints its host and port and ends when its standard input does. Errors: NotStarted."""
    process = Process(command, stdout=subprocess.PIPE)
    try:
        host, port = process.first_line(within=START_SECONDS).split()
        return Started(process, (host, int(port)))
    except (NotStarted, ValueError) as error:
        process.stop()
        raise NotStarted(str(error)) from error
