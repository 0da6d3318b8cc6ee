"""Targets that close, hang, talk nonsense or die get a verdict, never a traceback."""

from __future__ import annotations

import json
import random
import socket
import struct
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rota.cli.conform import conform
from rota.wire import api, decode_request, encode_response, frame

Start = Callable[[Callable[[socket.socket], None]], Any]
Read = Callable[[socket.socket], bytes]

NO_DELAY = "group.initial.rebalance.delay.ms=0"
GROUP_APIS = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")
ADVERTISED = [
    {"api_key": api(name).key, "min_version": 0, "max_version": api(name).max_version} for name in GROUP_APIS
]


def judge(target: str, tmp_path: Path, *arguments: str) -> tuple[Result, dict[str, Any]]:
    """Run `rota conform --json`; the outcome and the object on standard output."""
    fixed = [
        "--target",
        target,
        "--json",
        "--timeout",
        "0.5",
        "--set",
        NO_DELAY,
        "--seed",
        "1",
        "--out",
        str(tmp_path),
    ]
    outcome = CliRunner().invoke(conform, [*fixed, *arguments])
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit), outcome.exc_info
    return outcome, json.loads(outcome.stdout)


def verdicts(report: dict[str, Any]) -> set[str]:
    return {case["verdict"] for case in report["cases"]}


def answering(read: Read, api_name: str, respond: Callable[[socket.socket, Any], None]) -> Any:
    """A handler that is polite until a request of this API comes, which `respond` deals with."""

    def handler(connection: socket.socket) -> None:
        while True:
            request = decode_request(read(connection))
            if request.api.name == api_name:
                respond(connection, request)
            elif request.api.name == "ApiVersions":
                reply(connection, request, {"api_keys": ADVERTISED})
            else:
                reply(connection, request, {"error_code": 25})

    return handler


def reply(
    connection: socket.socket, request: Any, body: dict[str, Any], correlation_id: int | None = None
) -> None:
    number = request.correlation_id if correlation_id is None else correlation_id
    connection.sendall(frame(encode_response(request.api.name, request.version, body, number)))


def test_closes(hostile: Start, next_request: Read, tmp_path: Path) -> None:
    def close(connection: socket.socket, request: Any) -> None:
        if request.body["group_id"].startswith("rota-1-"):  # what asks for versions gets nothing
            connection.shutdown(socket.SHUT_RDWR)

    handler = answering(next_request, "JoinGroup", close)
    outcome, report = judge(hostile(handler).name, tmp_path, "join.unknown-group.refused")
    assert outcome.exit_code == 1
    assert verdicts(report) == {"fail"}
    assert "closed the connection" in report["cases"][0]["actual"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_bytes(hostile: Start, next_request: Read, tmp_path: Path, seed: int) -> None:
    noise = random.Random(seed)
    handler = answering(
        next_request, "JoinGroup", lambda connection, _: connection.sendall(noise.randbytes(200))
    )
    outcome, report = judge(
        hostile(handler).name, tmp_path, "heartbeat.alive.stable", "join.next-generation.first"
    )
    assert outcome.exit_code in (1, 3)
    assert verdicts(report) <= {"fail", "undecided"}


def test_framed_noise(hostile: Start, next_request: Read, tmp_path: Path) -> None:
    noise = random.Random(5)

    def handler(connection: socket.socket) -> None:
        while request := next_request(connection):
            connection.sendall(frame(request[4:8] + noise.randbytes(60)))

    outcome, report = judge(hostile(handler).name, tmp_path, "heartbeat.alive.stable")
    assert outcome.exit_code == 1
    assert report["cases"][0]["expected"] == "a well-formed answer to what was asked"


def test_wrong_correlation_id(hostile: Start, next_request: Read, tmp_path: Path) -> None:
    def handler(connection: socket.socket) -> None:
        while True:
            request = decode_request(next_request(connection))
            reply(connection, request, {"api_keys": ADVERTISED}, request.correlation_id + 1)

    outcome, report = judge(hostile(handler).name, tmp_path, "heartbeat.alive.stable")
    assert outcome.exit_code == 1
    assert "correlation id 2 in the answer to 1" in report["cases"][0]["actual"]


def test_hangs_in_the_middle(hostile: Start, next_request: Read, tmp_path: Path) -> None:
    handler = answering(next_request, "JoinGroup", lambda connection, request: None)
    outcome, report = judge(
        hostile(handler).name, tmp_path, "join.unknown-group.refused", "heartbeat.alive.stable"
    )
    assert outcome.exit_code == 1
    found = {case["id"]: case["verdict"] for case in report["cases"]}
    assert found["join.unknown-group.refused"] == "fail"
    assert found["heartbeat.alive.stable"] == "undecided"  # the set-up hangs, heartbeats were never asked


def test_half_an_answer(hostile: Start, next_request: Read, tmp_path: Path) -> None:
    def half(connection: socket.socket, _request: Any) -> None:
        connection.sendall(struct.pack(">i", 50) + b"half")

    handler = answering(next_request, "JoinGroup", half)
    outcome, report = judge(hostile(handler).name, tmp_path, "join.unknown-group.refused")
    assert outcome.exit_code == 1
    assert report["cases"][0]["actual"] == "no answer in 2 s"


def test_dies_during_a_case(hostile: Start, next_request: Read, tmp_path: Path) -> None:
    server = hostile(answering(next_request, "JoinGroup", lambda connection, request: server.stop()))
    outcome, report = judge(server.name, tmp_path, "join.unknown-group.refused")
    assert outcome.exit_code == 1
    assert report["cases"][0]["verdict"] == "died"
    assert "nothing accepts connections" in report["cases"][0]["actual"]


def test_a_death_in_company_ends_the_run(hostile: Start, next_request: Read, tmp_path: Path) -> None:
    """Nobody can start it again, so nobody can tell who ended it."""

    groups: set[str] = set()

    def die(connection: socket.socket, request: Any) -> None:
        groups.update({request.body["group_id"]} if request.body["group_id"].startswith("rota-1-") else ())
        if len(groups) == 4:  # the first ones have no answer yet
            server.stop()

    server = hostile(answering(next_request, "JoinGroup", die))
    outcome, report = judge(server.name, tmp_path, "--timeout", "5", "join", "static")
    assert (outcome.exit_code, report["verdict"]) == (3, "undecided")
    assert "died" not in verdicts(report)
    (told,) = {case["because"].split(" while ")[0] for case in report["cases"] if "on it" in case["because"]}
    assert told == "the target died"
    gone = [left for left in report["not_checked"] if left["why"].startswith("the target died, and nobody")]
    assert len(gone) > 10
    played = {case["id"] for case in report["cases"]}
    assert played.isdisjoint(left["id"] for left in gone)


def test_what_is_undecided_shows_its_dialogue(hostile: Start, next_request: Read, tmp_path: Path) -> None:
    handler = answering(next_request, "JoinGroup", lambda connection, request: None)
    fixed = ["--timeout", "0.5", "--set", NO_DELAY, "--out", str(tmp_path)]
    outcome = CliRunner().invoke(
        conform, ["--target", hostile(handler).name, *fixed, "heartbeat.alive.stable"]
    )
    assert outcome.exit_code == 3
    shown = outcome.stdout[outcome.stdout.index("UNDECIDED heartbeat.alive.stable (MUST)") :]
    told = " ".join(shown.split())
    assert "because could not reach a group of " in told
    assert "expected one generation with everyone in it actual no answer to " in told
    assert '→ JoinGroup v9 member_id ""' in told


def test_died_counts_on_every_level(hostile: Start, next_request: Read, tmp_path: Path) -> None:
    server = hostile(answering(next_request, "JoinGroup", lambda connection, request: server.stop()))
    outcome, report = judge(server.name, tmp_path, "join.invalid-group-id.before-session-timeout")
    assert report["cases"][0]["level"] == "SHOULD"
    assert (outcome.exit_code, report["cases"][0]["verdict"]) == (1, "died")


def test_nothing_that_could_be_judged_is_no_conformance(
    hostile: Start, next_request: Read, tmp_path: Path
) -> None:
    handler = answering(next_request, "JoinGroup", lambda connection, request: None)
    outcome, report = judge(hostile(handler).name, tmp_path, "admin.list")
    assert verdicts(report) == {"unsupported"}
    assert (outcome.exit_code, report["verdict"]) == (3, "undecided")


def test_control_characters_do_no_harm(hostile: Start, next_request: Read, tmp_path: Path) -> None:
    odd = "\x1b[31m\x00\x07red\x0b"

    def granted(connection: socket.socket, request: Any) -> None:
        names = {"member_id": odd, "leader": odd, "protocol_name": odd}
        reply(connection, request, {"error_code": 0, "generation_id": 7, **names})

    server = hostile(answering(next_request, "JoinGroup", granted))
    report = tmp_path / "odd.xml"
    arguments = ["--target", server.name, "--report", f"junit={report}", "join.unknown-group.refused"]
    outcome = CliRunner().invoke(conform, arguments)
    assert outcome.exit_code == 1
    assert "\x1b" not in outcome.stdout
    assert "\x00" not in outcome.stdout
    assert ET.parse(report).getroot().find(".//failure") is not None
