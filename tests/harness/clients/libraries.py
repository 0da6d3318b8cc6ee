"""Consumers of every library, in processes that speak as `rota.clients.consumer_process` says.

What is not Python has a program of its own (`programs`), which is built once, in the cache, through the usual
client of its registry, with the versions that stand here.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.java_programs import NotCompiled, compiled
from rota.clients.members import PROCESSES, Member
from rota.conformance.cache_folder import cache_folder
from rota.conformance.targets.made_once import NotMade, made_once, run_tool

PROGRAMS = Path(__file__).with_name("programs")
NETWORK = "connect to the network; it is needed this once"
INSTANCE = {"librdkafka": "group.instance.id", "kafka-python": "group_instance_id"}
"""How the two that take further settings as they are call the instance id."""


@dataclass(frozen=True)
class Library:
    """A library. `tool` makes its program in a folder; `command` runs it there, before the settings.

    assignors: those of the scenarios; static: it has static members.
    """

    name: str
    version: str
    sources: tuple[str, ...]
    tool: str
    make: Callable[[Library, Path], None]
    command: Callable[[Path], Sequence[str]]
    assignors: tuple[str, ...] = ("range",)
    static: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)

    def made(self) -> Path:
        """The folder of the program, built if it is not there. Errors: NotMade."""
        digest = hashlib.sha256()
        for source in self.sources:
            digest.update((PROGRAMS / source).read_bytes())
        name = f"{self.name}-{self.version}-{digest.hexdigest()[:12]}"
        return made_once(cache_folder() / "clients" / name, self._make)

    def _make(self, folder: Path) -> Path:
        if shutil.which(self.tool) is None:
            raise NotMade(f"no {self.tool} found", f"install {self.tool}")
        program = folder / "program"
        program.mkdir()
        for source in self.sources:
            shutil.copyfile(PROGRAMS / source, program / Path(source).name)
        self.make(self, program)
        return program


def _run(folder: Path, *commands: Sequence[str]) -> None:
    for command in commands:
        completed = run_tool(command, folder, (f"install {command[0]}", NETWORK))
        if completed.returncode != 0:
            raise NotMade(f"{' '.join(command[:3])}: {completed.stderr.strip()[-800:]}", NETWORK)


def _go(module: str, *pinned: str) -> Callable[[Library, Path], None]:
    def make(library: Library, folder: Path) -> None:
        wanted = (f"{module}@{library.version}", "golang.org/x/sys@v0.48.0", *pinned)
        _run(
            folder,
            ("go", "mod", "init", "consumer"),
            ("go", "get", *wanted),
            ("go", "build", "-mod=mod", "-trimpath", "-o", "consumer", "."),
        )

    return make


def _npm(library: Library, folder: Path) -> None:
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
    _run(folder, ("npm", "install", *options, f"kafkajs@{library.version}"))


def _pip(library: Library, folder: Path) -> None:
    words = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:")
    _run(folder, (sys.executable, *words, "--target", ".", f"aiokafka=={library.version}"))


def _javac(_library: Library, folder: Path) -> None:
    try:
        command = compiled("clients/programs/LineConsumer", folder)
    except NotCompiled as cause:
        raise NotMade(str(cause), "install it") from cause
    at = command.index("-cp") + 1
    libs = command[at].partition(":")[0]
    (folder / "command").write_text("\n".join((*command[:at], libs, *command[at + 1 :])), encoding="utf-8")


def _java(folder: Path) -> Sequence[str]:
    command = (folder / "command").read_text(encoding="utf-8").split("\n")
    at = command.index("-cp") + 1
    return (command[0], "-Xmx128m", *command[1:at], f"{command[at]}:{folder}", *command[at + 1 :])


def _consumer(folder: Path) -> Sequence[str]:
    return (str(folder / "consumer"),)


_SHARED = "golang/consumer.go"
COOPERATIVE = ("range", "cooperative-sticky")
LIBRARIES = {
    each.name: each
    for each in (
        Library(
            name="franz-go",
            version="v1.22.3",
            sources=(_SHARED, "golang/franzgo.go"),
            tool="go",
            make=_go("github.com/twmb/franz-go", "github.com/twmb/franz-go/pkg/kmsg@v1.15.1"),
            command=_consumer,
            assignors=COOPERATIVE,
        ),
        Library(
            name="sarama",
            version="v1.61.1",
            sources=(_SHARED, "golang/sarama.go"),
            tool="go",
            make=_go("github.com/IBM/sarama"),
            command=_consumer,
            assignors=COOPERATIVE,
        ),
        Library(
            name="kafka-go",
            version="v0.4.51",
            sources=(_SHARED, "golang/kafkago.go"),
            tool="go",
            make=_go("github.com/segmentio/kafka-go"),
            command=_consumer,
            static=False,
        ),
        Library(
            name="kafkajs",
            version="2.2.4",
            sources=("kafkajs_consumer.js",),
            tool="npm",
            make=_npm,
            command=lambda folder: ("node", str(folder / "kafkajs_consumer.js")),
            assignors=("roundrobin",),
            static=False,
        ),
        Library(
            name="aiokafka",
            version="0.14.0",
            sources=("aiokafka_process.py",),
            tool="python3",
            make=_pip,
            command=lambda folder: (sys.executable, str(folder / "aiokafka_process.py")),
        ),
        Library(
            name="java",
            version="4.4.0",
            sources=("LineConsumer.java",),
            tool="javac",
            make=_javac,
            command=_java,
            assignors=COOPERATIVE,
        ),
    )
}
LONG_SESSION = {"session_timeout_ms": 45_000}
OURS = {"librdkafka": COOPERATIVE, "kafka-python": COOPERATIVE}
"""Those that `rota.clients` has already, with their assignors."""


class AnyMember(Member):
    """A consumer process of any of the libraries."""

    def command(self, settings: str) -> list[str]:
        if self.library in PROCESSES:
            return super().command(settings)
        library = LIBRARIES[self.library]
        return [*library.command(library.made()), settings]


def static(library: str, instance: str) -> dict[str, Any]:
    """The settings of a static member, whose session outlasts a restart of its process."""
    if library in INSTANCE:
        return {**LONG_SESSION, "more": {INSTANCE[library]: instance}}
    return {**LONG_SESSION, "instance_id": instance}
