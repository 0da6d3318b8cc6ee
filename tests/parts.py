"""All tests, and mypy: part after part, five processes at a time.

`python tests/parts.py OUT` leaves in OUT what each part printed and its JUnit file, prints a line for each
that is over (when, its processor time, its last line), and what failed at the end; `--browser OUT` drives
pages in a browser, too; `--reports OUT` prints the names of the JUnit files.

Parts that wait, for sockets and for brokers, have timeouts: three of them run at a time, and go first where
processors are few; if one of them were left for the end, nothing else would fill these. Beside them run those
that compute, the dearest first: so all end at about one time. When all are over, a few tests that failed
beside the others are run once more, alone (`alone`).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from alone import to_run_again
from failed import counts
from failed import main as tell

AT_A_TIME = 5
WAITING = 3
"""How many of those that run may be such that wait."""

BEHIND = 10
"""How nice those are that compute."""

GRACE = 20
"""Seconds that an interrupted part has to end."""


@dataclass(frozen=True)
class Part:
    """Tests that one process runs. folders: below tests, none for all that no other part has.

    failing: its exit code if tests failed, and nothing else.
    """

    name: str
    folders: tuple[str, ...] = ()
    waits: bool = False
    failing: int = 1

    def report(self, out: Path) -> Path:
        """Its JUnit file."""
        return out / f"tests-{self.name}.xml"

    def command(self, out: Path) -> Sequence[str]:
        """What runs it."""
        chosen = [f"tests/{one}" for one in self.folders] or [f"--ignore=tests/{one}" for one in ELSEWHERE]
        return (sys.executable, "-m", "pytest", f"--junitxml={self.report(out)}", *chosen)


class Pages(Part):
    """Some pages in a browser, and the site that is built for that."""

    def command(self, out: Path) -> Sequence[str]:
        """What runs it."""
        return ("make", "--no-print-directory", "test-browser", "SOME=1", f"OUT={out}")


@dataclass(frozen=True)
class Alone(Part):
    """Tests that failed beside others."""

    tests: tuple[str, ...] = ()

    def command(self, out: Path) -> Sequence[str]:
        """What runs them."""
        return (sys.executable, "-m", "pytest", f"--junitxml={self.report(out)}", *self.tests)


class Types(Part):
    """The types of all that is not a test."""

    def command(self, out: Path) -> Sequence[str]:
        """What runs it; it leaves no report."""
        return (sys.executable, "-m", "mypy")


PARTS = (
    Part("conformance", ("conformance",), waits=True),
    Part("server", ("coordinator", "generate", "server"), waits=True),
    Part("others", waits=True),
    Part("kafka", ("beside_kafka", "clients"), waits=True),
    Part("cli", ("cli",)),
    Part("explore", ("explore", "log", "mutants")),
    Part("proofs", ("invariants", "kernel", "oracle", "proofs", "spec")),
    Part("scopes", ("scopes",)),
    Part("worlds", ("designs", "environment")),
    Part("docs", ("docs",)),
    Types("types"),
)

PAGES = Pages("browser", ("browser",), waits=True, failing=2)


def with_pages() -> tuple[Part, ...]:
    """All parts. Pages, whose site is built first, take longest of those that wait and begin later."""
    return (*PARTS[:WAITING], PAGES, *PARTS[WAITING:])


ELSEWHERE = [folder for part in (*PARTS, PAGES) for folder in part.folders]


@dataclass
class Running:
    """A part that runs, in a process group of its own."""

    part: Part
    process: subprocess.Popen[bytes]
    told: Path

    def over(self) -> float | None:
        """The seconds of processor time that it and its processes took; None while it runs."""
        number, status, used = os.wait4(self.process.pid, os.WNOHANG)
        if not number:
            return None
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return used.ru_utime + used.ru_stime

    def end(self) -> None:
        """Interrupt it, so that its tests stop what they have started."""
        for number in (signal.SIGINT, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE)


def start(part: Part, out: Path) -> Running:
    """Start a part."""
    told = out / f"tests-{part.name}.txt"
    nice = () if part.waits else ("nice", "-n", str(BEHIND))
    with told.open("wb") as file:
        process = subprocess.Popen(
            (*nice, *part.command(out)), stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
    if not part.waits:
        _behind(process.pid)
    return Running(part, process, told)


def _behind(leader: int) -> None:
    """Let a session stand back behind others: where Linux shares out among these, nice counts within one."""
    with suppress(OSError):
        Path(f"/proc/{leader}/autogroup").write_text(str(BEHIND))


def following(left: Sequence[Part], running: Sequence[Running]) -> Part:
    """The part that is next: one that waits, unless enough of them run."""
    enough = sum(one.part.waits for one in running) >= WAITING
    return next((one for one in left if one.waits is not enough), left[0])


def reports(parts: Sequence[Part], out: Path) -> list[Path]:
    """The JUnit files of those parts that leave one."""
    return [part.report(out) for part in parts if not isinstance(part, Types)]


def _line(one: Running, after: float, used: float) -> str:
    """What became of a part. after, used: seconds since the first began, and of processor time."""
    *_, last = ["nothing", *one.told.read_text(errors="replace").split("\n")[:-1]]
    return f"{_minutes(after)}  {one.part.name:<11}  {_minutes(used)} of CPU  {last.strip('= ')}"


def _minutes(seconds: float) -> str:
    return "{:3}:{:02}".format(*divmod(int(seconds), 60))


def main(parts: Sequence[Part], out: Path) -> int:
    """Run the parts, and alone what failed; 1 if that failed again, or if a part failed otherwise."""
    out.mkdir(parents=True, exist_ok=True)
    found = reports(parts, out)
    alone = Alone("alone")
    for report in (*found, alone.report(out)):
        report.unlink(missing_ok=True)
    print(
        f"rota: {len(parts)} parts, {AT_A_TIME} at a time; what each prints: {out}/tests-PART.txt", flush=True
    )
    began = time.monotonic()
    whole = play(parts, out, began)
    if again := to_run_again(found):
        play([replace(alone, tests=again)], out, began)
    tell(found)
    return int(not whole or counts(found)["failed"] > 0)


def play(parts: Sequence[Part], out: Path, began: float) -> bool:
    """Run the parts; False if one of them ended otherwise than with tests that passed or failed."""
    left, running, whole = list(parts), list[Running](), True
    try:
        while left or running:
            while left and len(running) < AT_A_TIME:
                left.remove(part := following(left, running))
                running.append(start(part, out))
            for one in list(running):
                if (used := one.over()) is not None:
                    running.remove(one)
                    whole &= _is_told(one.part, one.process.returncode, out)
                    print(_line(one, time.monotonic() - began, used), flush=True)
            time.sleep(0.1)
    finally:
        for one in running:
            one.end()
    return whole


def _is_told(part: Part, code: int, out: Path) -> bool:
    """Whether its report says all of how a part ended."""
    failed = counts(reports([part], out))["failed"]
    return code == 0 or (code == part.failing and failed > 0)


def interrupted(*_: object) -> None:
    """End with all that runs."""
    sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupted)
    *asked, folder = sys.argv[1:]
    chosen = with_pages() if "--browser" in asked else PARTS
    if "--reports" in asked:
        print(*reports(chosen, Path(folder)), sep="\n")
    else:
        sys.exit(main(chosen, Path(folder)))
