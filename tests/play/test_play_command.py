"""`rota play`: what is played, what is said, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rota.cli import play
from rota.cli.main import main

TOYS = Path(__file__).parents[1] / "systems"
ADDRESS = re.compile(r"http://(127\.0\.0\.1:\d+)/#(\S+)")


@contextmanager
def playing(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The command in a process of its own, its host and its token."""
    command = [sys.executable, "-m", "rota", "play", "--no-browser", "--idle", "1", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(TOYS), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert process.stdout is not None
        head = process.stdout.readline()
        found = ADDRESS.search(process.stdout.readline())
        assert found, head + (process.stderr.read() if process.stderr else "")
        yield process, found[1], found[2]
    finally:
        process.kill()
        process.communicate()


def asked(host: str, token: str, **said: Any) -> dict[str, Any]:
    headers = {"Content-Type": "application/json", "Origin": f"http://{host}", "X-Rota-Token": token}
    question = urllib.request.Request(
        f"http://{host}/ask", json.dumps({"page": "p", **said}).encode(), headers
    )
    with urllib.request.urlopen(question, timeout=30) as answer:
        content: dict[str, Any] = json.load(answer)
    return content


def test_it_is_played_and_ends_when_the_page_is_closed(tmp_path: Path) -> None:
    with playing(tmp_path) as (process, host, token):
        shown = asked(host, token, do="look")
        assert shown["facts"]["configuration"] == "core (tiny)"
        assert [move["label"] for offer in shown["offers"] for move in offer["moves"]] == [
            "c1 sends JoinGroup",
            "c2 sends JoinGroup",
        ]
        asked(host, token, do="jump", expression='coordinator.group.state == "Stable"')
        saved = asked(host, token, do="save")
        asked(host, token, do="bye")
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert out.endswith("ended: the page was closed\n")
    file = tmp_path / "run.jsonl"
    file.write_text(saved["content"], encoding="utf-8")
    followed = CliRunner().invoke(main, ["trace", str(file), "--replay"])
    assert (followed.exit_code, followed.output) == (0, "reproduced: reach after 8 steps\n")
    with playing(tmp_path, "--trace", str(file)) as (_, host, token):
        shown = asked(host, token, do="look")
        assert (shown["at"], shown["last"]) == (8, 8)
        assert "join" in shown["lights"], "what the system claims by itself"


def test_ctrl_c_ends_it_as_other_verbs(tmp_path: Path) -> None:
    with playing(tmp_path) as (process, _, _):
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err.strip()) == (130, "rota: interrupted")


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """What would be played, without a server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(TOYS))
    monkeypatch.setenv("PYTHONPATH", "")
    desks: list[Any] = []

    class Served:
        address = "http://127.0.0.1:1/#t"

        def __init__(self, desk: Any, port: int) -> None:
            desks.append(desk)

        def until_over(self, idle: float) -> str:
            return f"after {idle:g} seconds"

    monkeypatch.setattr(play, "PlayServer", Served)

    def run(*arguments: str) -> tuple[Result, Any]:
        desks.clear()
        result = CliRunner().invoke(main, ["play", "--no-browser", *arguments])
        return result, desks[0] if desks else None

    return run


@pytest.mark.parametrize(
    ("arguments", "name", "facts"),
    [
        ((), "classic", {"configuration": "core (tiny)", "states": "148"}),
        (("--configuration", "fault"), "classic", {"configuration": "fault (small)"}),
        (("--scope", "small", "--configuration", "leave"), "classic", {"configuration": "leave (small)"}),
        (("--mutant", "barrier-ignores-pending"), "classic", {"configuration": "rejoin (small)"}),
        (("--profile", "kafka-2.1"), "classic", {"profile": "kafka-2.1"}),
        (("--design", "watchers"), "watchers", {"design": "watchers"}),
        (("--design", "server-side", "--set", "partitions=2"), "server-side", {"design": "server-side"}),
        (
            ("--system", "ticket_office:office", "--set", "people=4"),
            "ticket-office",
            {"from": "ticket_office:office"},
        ),
        (("--system", "toys:die_hard"), "die-hard", {"from": "toys:die_hard"}),
    ],
)
def test_what_is_played(chosen: Any, arguments: tuple[str, ...], name: str, facts: dict[str, str]) -> None:
    result, desk = chosen(*arguments)
    assert result.exit_code == 0, result.output
    assert desk.session.system.name == name
    assert facts.items() <= desk.facts.items()
    assert "ended: after 1800 seconds" in result.output
    walked = desk.ask({"do": "walk", "steps": 5, "seed": 1})
    assert walked["at"] > 0
    assert "error" not in walked


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--configuration", "cor"), "there is no configuration 'cor'; did you mean core?"),
        (("--mutant", "nobody"), "there is no mutant 'nobody'"),
        (("--design", "classic"), "there is no design 'classic'"),
        (("--design", "watchers", "--scope", "tiny"), "--scope does not go with --design"),
        (("--design", "watchers", "--mutant", "nobody"), "there is no mutant 'nobody'"),
        (("--design", "watchers", "--set", "moon=1"), "cannot build a world of watchers"),
        (("--system", "ticket_office:office", "--mutant", "x"), "--mutant does not go with --system"),
        (("--system", "ticket_office:nobody"), "has no function nobody"),
        (("--trace", "gone.jsonl"), "cannot read gone.jsonl"),
        (("--trace", "gone.jsonl", "--mutant", "x"), "--mutant does not go with --trace"),
        (("--idle", "0"), "0"),
    ],
)
def test_what_cannot_be_played_is_said(chosen: Any, arguments: tuple[str, ...], why: str) -> None:
    result, desk = chosen(*arguments)
    assert (result.exit_code, desk) == (2, None)
    assert why in result.stderr


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    with playing(tmp_path) as (_, host, _):
        result = CliRunner().invoke(main, ["play", "--no-browser", "--port", host.partition(":")[2]])
    assert result.exit_code == 2
    assert "choose another --port" in result.stderr
