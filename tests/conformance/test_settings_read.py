"""What a broker says of its settings replaces what is assumed, and decides what is played."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rota.cli.conform import conform
from rota.conformance.dialogues.broker_settings import INITIAL_DELAY, MAX_SESSION, MAX_SIZE, MIN_SESSION
from rota.conformance.targets.settings_read import read_settings
from rota.wire import api, decode_request, encode_response, frame

Start = Callable[[Callable[[socket.socket], None]], Any]
Read = Callable[[socket.socket], bytes]

APIS = ("ApiVersions", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "FindCoordinator")
CASE = "heartbeat.unknown-member.no-group"
OF_TWO = "join.group-max-size-reached.first-step"


def broker(read: Read, config: Any, last: int = 4, asked: list[Any] | None = None) -> Any:
    """A broker of node 7 without members, which answers DescribeConfigs up to `last` with `config`."""

    def handler(connection: socket.socket) -> None:
        here = connection.getsockname()
        keys = [{"api_key": api(name).key, "min_version": 0, "max_version": 3} for name in APIS]
        if last >= 0:
            keys.append({"api_key": 32, "min_version": 0, "max_version": last})
        while True:
            request = decode_request(read(connection))
            if asked is not None and request.api.name == "DescribeConfigs":
                asked.append(request.body["resources"])
            body = {
                "ApiVersions": {"error_code": 0, "api_keys": keys},
                "FindCoordinator": {"error_code": 0, "node_id": 7, "host": here[0], "port": here[1]},
                "DescribeConfigs": {"results": [config]},
            }.get(request.api.name, {"error_code": 25})
            name, version, number = request.api.name, request.version, request.correlation_id
            connection.sendall(frame(encode_response(name, version, body, number)))

    return handler


def says(**settings: str | None) -> dict[str, Any]:
    named = [{"name": name.replace("_", "."), "value": value} for name, value in settings.items()]
    return {"error_code": 0, "resource_type": 4, "resource_name": "7", "configs": named}


def read(server: Any) -> dict[str, int]:
    host, _, port = server.name.rpartition(":")
    return read_settings((host, int(port)), 2.0)


@pytest.mark.parametrize("last", [0, 1, 3, 4, 9])
def test_what_the_coordinator_says_is_read(last: int, hostile: Start, next_request: Read) -> None:
    config = says(group_max_size="2", group_min_session_timeout_ms=None, log_dir="/x", broker_id="7")
    asked: list[Any] = []
    assert read(hostile(broker(next_request, config, last, asked))) == {MAX_SIZE: 2}
    ((resource,),) = asked
    assert (resource["resource_type"], resource["resource_name"]) == (4, "7")
    assert {MAX_SIZE, MIN_SESSION, MAX_SESSION, INITIAL_DELAY} <= set(resource["configuration_keys"])


REFUSES = {**says(group_max_size="2"), "error_code": 31}


@pytest.mark.parametrize(
    ("config", "last"),
    [(says(group_max_size="two"), 4), (says(group_max_size="-1"), 4), (REFUSES, 4), (says(), -1)],
)
def test_what_is_not_said_is_not_read(
    config: dict[str, Any], last: int, hostile: Start, next_request: Read
) -> None:
    assert read(hostile(broker(next_request, config, last))) == {}


def test_whatever_goes_wrong_nothing_is_read(hostile: Start, next_request: Read) -> None:
    def noise(connection: socket.socket) -> None:
        while request := next_request(connection):
            connection.sendall(frame(request[4:8] + b"\xff" * 60))

    assert read(hostile(noise)) == {}
    assert read(hostile(lambda connection: connection.close())) == {}
    assert read_settings(("127.0.0.1", 1), 1.0) == {}


def judged(server: Any, folder: Path, *arguments: str) -> Result:
    command = ["--target", server.name, "--timeout", "1", "--json", "--out", str(folder), *arguments]
    return CliRunner().invoke(conform, command)


def test_the_report_says_where_each_setting_is_from(
    hostile: Start, next_request: Read, tmp_path: Path
) -> None:
    config = says(group_max_size="5", group_min_session_timeout_ms="7")
    server = hostile(broker(next_request, config))
    outcome = judged(server, tmp_path, "--set", f"{MIN_SESSION}=9", CASE)
    settings = json.loads(outcome.stdout)["identity"]["settings"]["broker"]
    origins = {name: settings[name] for name in (MAX_SIZE, MIN_SESSION, MAX_SESSION)}
    assert origins == {MAX_SIZE: "5 (read)", MIN_SESSION: "9 (given)", MAX_SESSION: "1800000 (assumed)"}


def test_a_case_that_needs_another_setting_is_not_played(
    hostile: Start, next_request: Read, tmp_path: Path
) -> None:
    server = hostile(broker(next_request, says(group_max_size="5")))
    outcome = judged(server, tmp_path, OF_TWO)
    assert (outcome.exit_code, outcome.stdout) == (5, "")
    assert f"needs {MAX_SIZE}=2, the target has 5" in outcome.stderr
    two = hostile(broker(next_request, says(group_max_size="2")))
    played = json.loads(judged(two, tmp_path, OF_TWO).stdout)
    assert sum(played["counts"].values()) == 1
