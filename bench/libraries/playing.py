"""Runs tests of a library in processes and reads what they say, whatever ends a process.

A process prints a line of JSON for each event, as Go's test2json does: `Action` (run, output, pass, fail,
skip) and `Test`. A test that ends its process, by a panic or because nothing was heard of it for long, has
failed; the others go on in another process.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PASS, FAIL, SKIP = "pass", "fail", "skip"
_ENDS = frozenset({PASS, FAIL, SKIP})

Command = Callable[[Sequence[str]], Sequence[str]]
"""The command that runs these tests."""


@dataclass(frozen=True)
class Place:
    """Where tests run: the folder, and what is added to their environment."""

    folder: Path
    environment: Mapping[str, str]


@dataclass
class Heard:
    """What was heard of tests: how each ended, what is under way, what they printed."""

    ended: dict[str, str] = field(default_factory=dict)
    running: dict[str, None] = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)

    def take(self, event: Mapping[str, Any]) -> None:
        """The next event."""
        name, action = event.get("Test"), event.get("Action")
        if text := event.get("Output"):
            self.printed.append(text)
        if not name:
            return
        if action == "run":
            self.running[name] = None
        elif action in _ENDS:
            self.running.pop(name, None)
            self.ended[name] = str(action)

    def again(self, tests: Sequence[str], heard: Heard) -> Heard:
        """The same, but for these tests and those below them what was heard of them now."""
        below = tuple(f"{name}/" for name in tests)
        kept = {
            name: how for name, how in self.ended.items() if name not in tests and not name.startswith(below)
        }
        return Heard({**kept, **heard.ended}, {}, [*self.printed, *heard.printed])


def play(tests: Sequence[str], command: Command, place: Place, silence: float) -> Heard:
    """All these tests. silence: seconds without a word after which a process is ended."""
    heard = Heard()
    left = list(tests)
    while left:
        heard.running.clear()
        _run(command(left), place, silence, heard)
        culprits = [name for name in left if name in heard.running] or left[:1]
        left = [name for name in left if name not in heard.ended]
        if not left:
            break
        if len(culprits) == 1:  # else several ran side by side, and each is tried by itself
            _blame(culprits[0], heard)
        else:
            for name in culprits:
                heard.running.clear()
                _run(command([name]), place, silence, heard)
                if name not in heard.ended:
                    _blame(name, heard)
        left = [name for name in left if name not in heard.ended]
    return heard


def _blame(name: str, heard: Heard) -> None:
    heard.printed.append(f"=== {name} ended its process, or was not heard of for too long\n")
    for under_way in [name, *(each for each in heard.running if each.startswith(f"{name}/"))]:
        heard.ended[under_way] = FAIL


def _run(command: Sequence[str], place: Place, silence: float, heard: Heard) -> None:
    process = subprocess.Popen(
        command,
        cwd=place.folder,
        env={**os.environ, **place.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        for line in _lines(process, silence):
            try:
                event = json.loads(line)
            except json.JSONDecodeError:
                event = {"Output": line}
            heard.take(event if isinstance(event, dict) else {"Output": line})
    finally:
        _end(process)


def _lines(process: subprocess.Popen[str], silence: float) -> Iterator[str]:
    """Its lines, until it ends or says nothing for so long."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=silence)
        except queue.Empty:
            return
        if line is None:
            return
        yield line


def _end(process: subprocess.Popen[str]) -> None:
    """The process and all that it has started, which it may have left behind."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def leaves(ended: Mapping[str, str]) -> dict[str, str]:
    """The tests that have no subtests, and those that failed though none of their subtests did."""
    parents = {name.rpartition("/")[0] for name in ended if "/" in name}
    failed = [name for name, how in ended.items() if how == FAIL]
    return {
        name: how
        for name, how in ended.items()
        if name not in parents or (how == FAIL and not any(other.startswith(f"{name}/") for other in failed))
    }
