"""librdkafka's tests, from Debian's source package, which `apt-get source` fetches; nothing is installed."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.libraries.playing import Place

from rota.conformance.targets.made_once import NotMade, run_tool

VERSION = "2.0.2"
REMEDIES = (
    "take Debian, with apt-get, dpkg-dev, make and a compiler for C and C++",
    "connect to the network; it is needed this once",
)
_SOURCES = Path("/etc/apt/sources.list.d/debian.sources")
_TEST = re.compile(r"^ +_TEST\((\d{4}_\w+),\s*([\w| ]+)", re.MULTILINE)
_LOCAL = ("TEST_F_LOCAL", "TEST_F_MANUAL")


def made(folder: Path) -> Path:
    """The source below this folder, its test-runner built. Errors: NotMade."""
    if not _SOURCES.is_file():
        raise NotMade(f"there is no {_SOURCES}", REMEDIES[0])
    (folder / "parts").mkdir()
    (folder / "lists" / "partial").mkdir(parents=True)
    text = _SOURCES.read_text(encoding="utf-8").replace("Types: deb\n", "Types: deb-src\n")
    (folder / "parts" / "source.sources").write_text(text, encoding="utf-8")
    options = [
        word
        for name, value in (
            ("Dir::Etc::SourceList", "/dev/null"),
            ("Dir::Etc::SourceParts", folder / "parts"),
            ("Dir::State::Lists", folder / "lists"),
        )
        for word in ("-o", f"{name}={value}")
    ]
    _run(("apt-get", *options, "update"), folder)
    _run(("apt-get", *options, "source", "--download-only", f"librdkafka={VERSION}-1"), folder)
    source = folder / f"librdkafka-{VERSION}"
    _run(("tar", "xzf", f"librdkafka_{VERSION}.orig.tar.gz"), folder)
    _run(("./configure", "--disable-ssl", "--disable-gssapi", "--disable-curl"), source)
    _run(("make", "libs"), source)
    _run(("make", "-C", "tests", "test-runner"), source)
    return source


def _run(command: Sequence[str], folder: Path) -> None:
    completed = run_tool(command, folder, REMEDIES)
    if completed.returncode != 0:
        raise NotMade(f"{' '.join(command[:3])}: {completed.stderr.strip()[-500:]}", REMEDIES[1])


def tests(place: Place) -> Sequence[str]:
    """The tests that want a broker."""
    found = _TEST.findall((place.folder / "test.c").read_text(encoding="utf-8"))
    return [name for name, flags in found if not any(flag in flags for flag in _LOCAL)]


def command(names: Sequence[str]) -> Sequence[str]:
    """The command that plays them."""
    return (sys.executable, os.fspath(Path(__file__).with_name("rdkafka_events.py")), *names)
