"""The command that a report gives to play a case again: it says all that the first one said."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rota.cli.conform import conform
from rota.conformance.catalogue import all_cases, select
from rota.conformance.results import CaseResult
from rota.conformance.runner import Options, play_all
from rota.conformance.targets.grammar import parse_target
from rota.report.events import WholeRun
from rota.report.read_back import read_run
from rota.report.text import again
from rota.server import running

FULL = "join.group-max-size-reached.first-step"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A server with room for everyone, of which somebody says that it has room for two."""
    with running({"group.initial.rebalance.delay.ms": 100}) as address:
        yield address


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    config = tmp_path / "it's a client.properties"
    config.write_text("security.protocol=PLAINTEXT\n")
    return config


def rota_conform(*arguments: str) -> Result:
    return CliRunner().invoke(conform, list(arguments))


def line_of(result: Result) -> list[str]:
    """The words after `again`, as a shell reads them."""
    (line,) = (line for line in result.stdout.splitlines() if line.startswith("  again "))
    _, rota, verb, *words = shlex.split(line)
    assert (rota, verb) == ("rota", "conform")
    return words


def test_what_was_given_is_given_again(server: str, plain: Path, tmp_path: Path) -> None:
    given = ["--set", "group.max.size=2", "--command-config", str(plain), "--timeout", "2.5", "--slow"]
    report = f"json={tmp_path / 'first.json'}"
    first = rota_conform("--target", server, "--report", report, *given, FULL)
    assert first.exit_code == 1
    words = line_of(first)
    assert words == ["--target", server, *given, FULL]
    second = rota_conform(*words, "--report", f"json={tmp_path / 'second.json'}")
    assert second.exit_code == 1
    assert line_of(second) == words
    assert read(tmp_path / "first.json").started.given == tuple(given)
    page = rota_conform(
        "--matrix", str(tmp_path / "first.json"), "--report", f"html={tmp_path / 'page.html'}"
    )
    assert page.exit_code == 1
    assert "--set group.max.size=2 --command-config" in (tmp_path / "page.html").read_text()


def read(path: Path) -> WholeRun:
    return read_run(path)


def test_nothing_is_given_where_nothing_was(server: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    assert (
        rota_conform("--target", server, "--report", f"json={path}", "heartbeat.alive.stable").exit_code == 0
    )
    assert again(read(path).started, "x") == f"rota conform --target {server} x"
    whole = json.loads(path.read_text())
    del whole["given"]
    path.write_text(json.dumps(whole))
    assert read(path).started.given == ()  # a report of a rota that did not say it


def test_a_comparison_is_repeated_with_what_was_given(server: str, plain: Path, tmp_path: Path) -> None:
    given = ["--set", "group.max.size=2", "--command-config", str(plain)]
    result = rota_conform("--diff", "rota", server, *given, "--out", str(tmp_path), FULL)
    assert result.exit_code == 1
    told = " ".join(result.stdout.split())
    assert f"rota conform --diff rota {server} {shlex.join(given)} {FULL}" in told


def bare(results: list[CaseResult]) -> list[tuple[str, str]]:
    """Messages without the bytes that were on the wire."""
    return [
        (result.case.id, line.text)
        for result in results
        for line in result.lines
        if line.mark in ("→", "←") and not line.size
    ]


def test_every_message_has_its_bytes() -> None:
    target = parse_target("rota")
    cases = select(all_cases(), ["wire", "hosting.find-coordinator", "heartbeat.alive.stable"])
    results = list(play_all(cases, target, Options(seed=1), {}))
    assert len(results) > 8
    assert bare(results) == []
