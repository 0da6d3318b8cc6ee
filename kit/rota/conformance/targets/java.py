"""The Java that a process would be started with: JAVA_HOME first, then PATH, where Spark and Kafka look."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

JAVA_REMEDY = (
    "install it (Debian: apt-get install openjdk-17-jre-headless) and put java on PATH or set JAVA_HOME"
)


class NoJava(Exception):
    """There is no Java, it does not answer, or it is too old; the message names the cause."""


@dataclass(frozen=True)
class Java:
    """A Java that runs: the path of its program, its major version and its version text."""

    path: str
    major: int
    text: str


def find_java(needed: int, what: str) -> Java:
    """The Java to start `what` with, which needs this major version or a later one. Errors: NoJava."""
    home = os.environ.get("JAVA_HOME")
    path = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if path is None:
        raise NoJava("no java found")
    try:
        answer = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise NoJava(f"{path} -version does not run ({type(error).__name__})") from None
    found = re.search(r'version "([^"]+)"', answer.stderr + answer.stdout)
    if found is None:
        raise NoJava(f"{path} -version names no version")
    if (major := java_major(found[1])) < needed:
        raise NoJava(f"{path} is Java {found[1]}, {what} needs {needed} or later")
    return Java(path, major, found[1])


def java_major(text: str) -> int:
    """Major version of a version text: 17 of 17.0.15, 8 of 1.8.0_402 (the numbering until Java 8)."""
    numbers = [int(part) for part in re.findall(r"\d+", text)]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]
