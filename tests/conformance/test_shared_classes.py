"""Archives of classes: made once for each Java and each release, or done without."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rota.conformance.targets import shared_classes as module
from rota.conformance.targets.java import Java
from rota.conformance.targets.process import NotStarted
from rota.conformance.targets.shared_classes import shared_classes

JAVA = Java("java", 17, "17.0.1")


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_known", {})


@pytest.fixture
def libs(tmp_path: Path) -> Path:
    return tmp_path / "kafka-4.4.0" / "libs"


class Runs:
    """Programs that leave the archive that their flags ask for, unless they are `broken`."""

    def __init__(self, broken: bool = False) -> None:
        self.flags: list[tuple[str, ...]] = []
        self._broken = broken
        self._lock = threading.Lock()

    def __call__(self, *flags: str) -> None:
        with self._lock:
            self.flags.append(flags)
        if not self._broken:
            option, _, path = flags[0].partition("=")
            assert option == "-XX:ArchiveClassesAtExit"
            Path(path).write_text("classes")


def archive_in(flags: tuple[str, ...]) -> Path:
    (path,) = (flag.partition("=")[2] for flag in flags if flag.startswith("-XX:SharedArchiveFile="))
    return Path(path)


def test_made_once_and_found_again(libs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs()
    with ThreadPoolExecutor(8) as pool:
        (flags,) = set(pool.map(lambda _: shared_classes(JAVA, libs, runs), range(8)))
    monkeypatch.setattr(module, "_known", {})
    assert shared_classes(JAVA, libs, runs) == flags
    assert len(runs.flags) == 1
    assert archive_in(flags).read_text() == "classes"
    assert [path.name for path in libs.parent.iterdir()] == ["classes-17.0.1"]


def test_each_java_has_its_own(libs: Path) -> None:
    runs = Runs()
    both = {archive_in(shared_classes(Java("java", 17, text), libs, runs)) for text in ("17.0.1", "17.0.2")}
    assert len(both) == len(runs.flags) == 2


def test_an_old_java_makes_none(libs: Path) -> None:
    runs = Runs()
    assert shared_classes(Java("java", 11, "11.0.2"), libs, runs) == ()
    assert runs.flags == []


def test_done_without_where_none_is_left(libs: Path) -> None:
    runs = Runs(broken=True)
    assert shared_classes(JAVA, libs, runs) == shared_classes(JAVA, libs, runs) == ()
    assert len(runs.flags) == 1, "what failed once is not tried for each broker again"
    assert list(libs.parent.iterdir()) == []


def test_done_without_where_nothing_starts(libs: Path) -> None:
    def run(*_flags: str) -> None:
        raise NotStarted("it ends at once")

    assert shared_classes(JAVA, libs, run) == ()
    assert list(libs.parent.iterdir()) == []


def test_done_without_where_nothing_can_be_written(libs: Path) -> None:
    libs.parent.touch()
    assert shared_classes(JAVA, libs, Runs()) == ()
