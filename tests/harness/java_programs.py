"""Programs of ours in Java beside Kafka's classes: compiled, and asked line by line."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from rota.conformance.targets.java import find_java
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched

RELEASE = RELEASES["kafka-4.4.0"]
HERE = Path(__file__).parent

Compiled = Callable[[str], tuple[str, ...]]
"""Name of a program -> the command that runs it."""


class NotCompiled(Exception):
    """Kafka's class cannot be asked here; the message says what is missing."""


def compiled(name: str, folder: Path, classes: str | None = None) -> tuple[str, ...]:
    """The command that runs `NAME.java` beside Kafka's classes, or others. Errors: NotCompiled."""
    if (javac := shutil.which("javac")) is None:
        raise NotCompiled("no javac found (Debian: apt-get install openjdk-17-jdk-headless)")
    try:
        libs = classes or f"{fetched(RELEASE).resolve()}/*"
    except NoJars as cause:
        raise NotCompiled(f"{RELEASE.name}: {cause}") from cause
    source = HERE / f"{name}.java"
    subprocess.run([javac, "-nowarn", "-d", str(folder), "-cp", libs, str(source)], check=True, timeout=600)
    java = find_java(RELEASE.java, f"Kafka {RELEASE.version}").path
    return (java, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{libs}:{folder}", source.stem)


def answers(command: Sequence[str], lines: Sequence[str]) -> list[str]:
    """What the program says to these lines, one each."""
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=900)
    found = done.stdout.splitlines()
    assert len(found) == len(lines), done.stderr[-2000:]
    return found
