"""Kafka's jars: fetched once, whole or not at all; what is missing is said in one line."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from rota.cli.conform import conform
from rota.cli.doctor import doctor
from rota.conformance.cache_folder import cache_folder
from rota.conformance.targets import kafka_jars, made_once
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched, libraries, missing

RELEASE = RELEASES["kafka-4.4.0"]
GOOD = "mkdir libs; touch libs/kafka_2.13-4.4.0.jar libs/other.jar; echo again >> $CALLS"
HALF = "mkdir libs; touch libs/kafka-clients-4.4.0.jar; exit 0"
BROKEN = (
    "mkdir libs; touch libs/half.jar; echo '[ERROR] Unknown host repo.example'; echo '[ERROR] more'; exit 1"
)


@pytest.fixture
def bin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH, with a Java that fits, and the shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    for tool in ("sh", "mkdir", "touch"):
        (folder / tool).symlink_to(f"/bin/{tool}")
    monkeypatch.setenv("PATH", str(folder))
    program(folder / "java", "echo 'openjdk version \"17.0.1\"' >&2")
    return folder


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def left_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_fetched_once(cache: Path, bin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program(bin / "mvn", GOOD)
    assert fetched(RELEASE) == fetched(RELEASE) == cache / "kafka-4.4.0" / "libs"
    assert (tmp_path / "calls").read_text() == "again\n"
    assert left_in(cache) == ["kafka-4.4.0/libs/kafka_2.13-4.4.0.jar", "kafka-4.4.0/libs/other.jar"]
    assert capsys.readouterr().err == "rota: fetching Kafka 4.4.0 from Maven Central (about 45 MB, once)\n"


@pytest.mark.parametrize(("script", "says"), [(BROKEN, "Unknown host repo.example"), (HALF, "exit code 0")])
def test_what_is_not_whole_leaves_nothing(cache: Path, bin: Path, script: str, says: str) -> None:
    program(bin / "mvn", script)
    with pytest.raises(NoJars, match=says) as caught:
        fetched(RELEASE)
    assert "\n" not in str(caught.value)
    assert caught.value.remedy == f"connect to the network, or copy its jars into {libraries(RELEASE)}"
    assert not libraries(RELEASE).exists()
    assert left_in(cache) == []


def test_interrupted_leaves_nothing(cache: Path, bin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(bin / "mvn", GOOD)
    run = subprocess.run

    def interrupted(command: list[str], **options: object) -> object:
        result = run(command, **options)  # type: ignore[call-overload]
        if command[0] == "mvn":
            raise KeyboardInterrupt
        return result

    monkeypatch.setattr(made_once.subprocess, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fetched(RELEASE)
    assert left_in(cache) == []
    assert not libraries(RELEASE).exists()


def test_what_a_killed_download_left_is_swept(cache: Path, bin: Path) -> None:
    program(bin / "mvn", GOOD)
    old, young = (cache / "kafka-4.4.0" / f".fetching-{name}" for name in ("old", "young"))
    for folder in (old, young):
        (folder / "libs").mkdir(parents=True)
    os.utime(old, (0, 0))
    fetched(RELEASE)
    assert not old.exists()
    assert young.exists()


def test_whoever_is_first_is_kept(cache: Path, bin: Path) -> None:
    libs = libraries(RELEASE)
    program(bin / "mvn", f"{GOOD}; mkdir {libs}; touch {libs}/first.jar")
    assert fetched(RELEASE) == libs
    assert left_in(cache) == ["kafka-4.4.0/libs/first.jar"]


def test_where_nothing_can_be_written(cache: Path, bin: Path) -> None:
    program(bin / "mvn", GOOD)
    cache.touch()
    with pytest.raises(NoJars, match="cannot write") as caught:
        fetched(RELEASE)
    assert "ROTA_CACHE" in caught.value.remedy


def test_what_is_missing(cache: Path, bin: Path) -> None:
    assert missing(RELEASE) == ("no mvn found, and its jars are not in the cache", kafka_jars.MAVEN_REMEDY)
    libraries(RELEASE).mkdir(parents=True)
    assert missing(RELEASE) is None
    program(bin / "java", "echo 'openjdk version \"11.0.2\"' >&2")
    cause = missing(RELEASE)
    assert cause is not None
    assert cause[0].endswith("is Java 11.0.2, Kafka 4.4.0 needs 17 or later")
    assert missing(RELEASES["kafka-3.9.2"]) != cause


def test_the_cache_is_in_the_home_if_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROTA_CACHE", raising=False)
    monkeypatch.setenv("HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/.cache/rota")


@pytest.mark.parametrize(
    ("programs", "says"),
    [
        ({}, "no mvn found, and its jars are not in the cache; install Maven"),
        ({"mvn": BROKEN}, "does not start: mvn cannot fetch its jars: Unknown host repo.example; connect to"),
        ({"mvn": GOOD, "java": "exit 1"}, "java -version does not run (CalledProcessError); install it"),
    ],
)
def test_one_line_and_exit_code_3(
    cache: Path, bin: Path, programs: dict[str, str], says: str, tmp_path: Path
) -> None:
    for name, script in programs.items():
        program(bin / name, script)
    outcome = CliRunner().invoke(conform, ["--target", "kafka-4.4.0", "--out", str(tmp_path)])
    lines = [line for line in outcome.stderr.splitlines() if not line.startswith("rota: fetching")]
    assert (outcome.exit_code, outcome.stdout, len(lines)) == (3, "", 1)
    assert says in lines[0]


def test_doctor_tells_whether_kafka_can_be_started(cache: Path, bin: Path) -> None:
    def kafka() -> dict[str, str]:
        parts = json.loads(CliRunner().invoke(doctor, ["--json"]).stdout)["parts"]
        return next(part for part in parts if part["name"] == "kafka")

    assert kafka()["state"] == "absent"
    assert kafka()["remedy"] == kafka_jars.MAVEN_REMEDY
    program(bin / "mvn", GOOD)
    assert kafka()["detail"] == f"no jars yet, mvn fetches them when they are needed in {cache}"
    libraries(RELEASE).mkdir(parents=True)
    assert kafka()["detail"] == f"jars of kafka-4.4.0 in {cache}"
