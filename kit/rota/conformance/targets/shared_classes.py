"""Class data sharing: what a JVM has read of Kafka's jars is kept, and the next one starts in half the time.

Sources: JEP 350 (archives made when a program ends), JEP 310 (their use).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from rota.conformance.targets.java import Java
from rota.conformance.targets.made_once import NotMade, made_once
from rota.conformance.targets.process import NotStarted

FIRST = 13
"""The first Java that makes such archives of the classes of a program (JEP 350)."""

_ARCHIVE = "classes.jsa"

_lock = threading.Lock()
_known: dict[Path, tuple[str, ...]] = {}


def shared_classes(java: Java, libs: Path, run: Callable[..., None]) -> tuple[str, ...]:
    """The JVM's flags for the archive of this Java beside the folder of jars; none if it cannot be had.

    It is made if it is not there: `run(*flags)` has a program of these jars start and end in good order,
    with flags more, and raises NotStarted. An archive only saves time: where it cannot be made, and where
    the JVM finds it made by another build or of other jars, programs run without it.
    """
    if java.major < FIRST:
        return ()
    folder = libs.parent / f"classes-{java.text}"
    with _lock:
        if folder not in _known:
            _known[folder] = _flags(folder, run)
        return _known[folder]


def _flags(folder: Path, run: Callable[..., None]) -> tuple[str, ...]:
    """The flags for the archive in this folder, after making it if it is not there."""

    def make(place: Path) -> Path:
        made = place / "made"
        made.mkdir()
        run(f"-XX:ArchiveClassesAtExit={made / _ARCHIVE}", "-Xlog:disable")
        if not (made / _ARCHIVE).is_file():
            raise NotMade("the JVM left no archive", "use another build of Java")
        return made

    try:
        archive = made_once(folder, make) / _ARCHIVE
    except (NotMade, NotStarted):
        return ()
    return (f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:cds=off", "-Xlog:cds+dynamic=off")
