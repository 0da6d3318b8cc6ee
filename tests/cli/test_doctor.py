"""`rota doctor`: extras, self-tests, Java."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rota.cli import doctor as under_test
from rota.cli.extras import EXTRAS, extra_for
from rota.cli.main import main
from rota.conformance.targets.java import java_major

ROOT = Path(__file__).parents[2]


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["doctor", *arguments])


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A JAVA_HOME whose java the test writes."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin" / "java"


def says(java: Path, version: str) -> None:
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    java.chmod(0o755)


def test_the_table_of_extras_is_the_distributions() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for tools in ("dev", "bench", "docs", "browser"):  # of this repository; nothing of rota needs them
        del declared[tools]
    names = {name: {spec.split(">")[0] for spec in specs} for name, specs in declared.items()}
    assert {extra.name: {package for package, _ in extra.packages} for extra in EXTRAS} == names


def test_every_extra_has_a_self_test_that_passes_here() -> None:
    assert set(under_test.SELF_TESTS) == {extra.name for extra in EXTRAS}
    result = invoke("--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 0
    assert report["schema"] == 1
    assert report["verdict"] == "ok"
    assert {part["name"]: part["state"] for part in report["parts"]}["proofs"] == "ok"


def test_text_names_the_command_for_what_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = under_test.Extra("proofs", "rota prove", (("no-such-distribution", "no_such"),))
    monkeypatch.setattr(under_test, "EXTRAS", (gone,))
    result = invoke()
    assert result.exit_code == 0
    assert "absent  proofs  no no-such-distribution: rota prove" in result.stdout
    assert "-m pip install 'rota[proofs]'" in result.stdout


def test_a_part_that_fails_its_self_test_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise RuntimeError("bad wheel")

    monkeypatch.setitem(under_test.SELF_TESTS, "fast", fails)
    result = invoke("--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["verdict"] == "broken"
    assert report["parts"][0]["detail"] == "RuntimeError: bad wheel"


@pytest.mark.parametrize(
    ("text", "major"), [("17.0.15", 17), ("21", 21), ("1.8.0_402", 8), ("25-ea", 25), ("11.0.2", 11)]
)
def test_java_versions(text: str, major: int) -> None:
    assert java_major(text) == major


def test_java_that_fits(java: Path) -> None:
    says(java, "21.0.1")
    result = invoke("--require", "java")
    assert result.exit_code == 0
    assert result.stdout == "java 21.0.1: fit for Spark (major version 21)\n"


@pytest.mark.parametrize("version", ["16.0.2", "1.8.0_402", None])
def test_java_that_is_too_old_or_not_there(java: Path, version: str | None) -> None:
    if version is not None:
        says(java, version)
    result = invoke("--require", "java")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "Spark needs Java 17 or later: install it" in result.stderr
    spark = next(part for part in under_test.EXTRAS if part.name == "spark")
    assert under_test.examine(spark).state == "broken"


def test_java_that_answers_nonsense(java: Path) -> None:
    java.write_text("#!/bin/sh\necho tea\n")
    java.chmod(0o755)
    result = invoke("--require", "java")
    assert result.exit_code == 2
    assert "names no version" in result.stderr


def test_modules_are_found_in_their_extra() -> None:
    found = extra_for("confluent_kafka.admin")
    assert found is not None
    assert found.name == "targets"
    assert extra_for("antigravity") is None
