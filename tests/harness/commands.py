"""Commands of the documentation: run as a reader would, and compared with what the page shows of them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import monotonic

from rota.report.site.blocks import LEFT_OUT, Block, Command, Mark, blocks

ROOT = Path(__file__).resolve().parents[2]
SECONDS = {Mark.QUICK: 300, Mark.LONG: 3000}
"""After so long a command is ended: what is quick is so on a quiet machine."""

VARIES: Sequence[tuple[str, str]] = (
    (r"\b\d+(?:[.,]\d+)? ?(?:ms|s|min|h|MiB|MB|kB)\b", "<amount>"),
    (r"\b\d[\d,.]* (?:states/s|a second)", "<rate>"),
    (r"\bwith \d+ workers?\b", "<workers>"),
    (r"\bsources (?:[0-9a-f]{12}\b|…)", "<sources>"),
    (r"\b127\.0\.0\.1:\d+", "127.0.0.1:<port>"),
    (r"\b0x[0-9a-f]+\b", "<address>"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
    (r"#\d{2,}\b", "#<digest>"),
    (r"/tmp/[\w./-]+", "<path>"),
    (r"(?<![\w/.-])rota-out(?![\w/-])", "<path>"),
    (r"[-=─]{4,}", "<rule>"),
    (r"[ \t]+", " "),
)
"""What is another each time: times, sizes, ports, ids, hashes. It is taken out of both sides."""


def normal(line: str) -> str:
    """A line without what varies."""
    for pattern, name in VARIES:
        line = re.sub(pattern, name, line)
    return line.strip()


def differs(shown: Sequence[str], printed: str) -> str:
    """What of the lines on a page is not printed; empty if all is, in one piece but for what is left out.

    A line `…` stands for any lines, `…` at the end of a line for the rest of it. Empty lines do not count.
    """
    wanted = [line for line in map(normal, shown) if line]
    said = [line for line in map(normal, printed.splitlines()) if line]
    at, free = 0, False
    for line in wanted:
        if line in (LEFT_OUT, "..."):
            free = True
            continue
        found = next((i for i in range(at, len(said)) if _is(line, said[i])), None)
        if found is None or (found > at and not free):
            there = f"instead of it {said[at]!r}" if at < len(said) else "nothing follows"
            return f"not printed: {line!r}" if free else f"not printed here: {line!r}; {there}"
        at, free = found + 1, False
    if wanted and not free and at < len(said):
        return f"more is printed: {said[at]!r}"
    return ""


def _is(wanted: str, said: str) -> bool:
    if LEFT_OUT not in wanted:
        return wanted == said
    pattern = ".*".join(re.escape(part) for part in wanted.split(LEFT_OUT))
    return re.fullmatch(pattern, said) is not None


@dataclass(frozen=True)
class Played:
    """A command that was run. processor: seconds of it; problem: what is not as the page says, or nothing."""

    text: str
    seconds: float
    processor: float
    problem: str


@dataclass
class Terminal:
    """A shell in a folder with a home of its own, where one page is followed from its top.

    output: of the last command: standard output, then what rota says on standard error. How far a search is,
    which is written there too, depends on how fast it goes and does not count.
    """

    folder: Path
    output: str = ""
    started: set[str] = field(default_factory=set)

    def follow(self, page: str, marks: Sequence[Mark]) -> Iterator[Played]:
        """Write the files of a page and run its commands of some marks, in order."""
        script = ""
        for block in blocks(page):
            if block.file:
                self._write(block)
            elif block.output:
                yield Played(f"the output of {script}", 0, 0, differs(block.body, self.output))
            elif block.mark in marks:
                for command in _commands(block):
                    script = command.text.splitlines()[0]
                    yield self.run(command, SECONDS[block.mark])

    def run(self, command: Command, most: float) -> Played:
        """Run one command. most: seconds after which it is ended."""
        begun, used = monotonic(), _processor()
        try:
            done = subprocess.run(
                ["bash", "-c", command.text],
                cwd=self.folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=most,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Played(command.text, most, _processor() - used, f"not over after {most:.0f} s")
        self.output = done.stdout + "".join(re.findall(r"^rota: .*\n", done.stderr, re.MULTILINE))
        problem = ""
        if done.returncode != command.exit_code:
            problem = (
                f"exit {done.returncode} and not {command.exit_code}:\n{(done.stdout + done.stderr)[-2000:]}"
            )
        elif command.shown:
            problem = differs(command.shown, self.output)
        return Played(command.text, monotonic() - begun, _processor() - used, problem)

    def environment(self) -> dict[str, str]:
        """What a reader has who has just installed rota: this Python's programs first, an empty home."""
        home = self.folder / ".home"
        home.mkdir(exist_ok=True)
        kept = {name: os.environ[name] for name in ("JAVA_HOME", "LANG", "ROTA_TABLES") if name in os.environ}
        return kept | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "COLUMNS": "110",
            "NO_COLOR": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def _write(self, block: Block) -> None:
        """A file begins with its first piece on the page."""
        path = self.folder / block.file
        before = path.read_text(encoding="utf-8") if block.file in self.started else ""
        path.write_text(before + "\n".join(block.body) + "\n", encoding="utf-8")
        self.started.add(block.file)


def _processor() -> float:
    """Seconds of processor time of all that was run and is over."""
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _commands(block: Block) -> Sequence[Command]:
    """What is run of a block: its commands, or the Python in it as one script."""
    if block.language != "python":
        return [
            Command(
                f"make --no-print-directory -C {ROOT} OUT=$PWD/rota-out {one.text[5:]}",
                one.shown,
                one.exit_code,
            )
            if one.text.startswith("make ")
            else one
            for one in block.commands
        ]
    body = "\n".join(block.body)
    return [Command(f"python - <<'ROTA'\n{body}\nROTA", (), block.exit_code)]
