"""The port of a target that is down is kept: somebody else's would be taken for it."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from rota.conformance.dialogues.script import Signal
from rota.conformance.targets import command, kafka_broker, ports
from rota.conformance.targets.command import Command, Commanded
from rota.conformance.targets.kafka_broker import TRIES, Broker, Node, PortTaken, on_other_ports
from rota.conformance.targets.ports import free_ports, hold
from rota.conformance.targets.process import NotStarted

# Who closes first has its port taken for a minute: that has to be whoever asks, also on a busy machine.
LISTENS = """
import socket, sys
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    while True:
        server.accept()[0].recv(1)
"""

SLEEPS = (sys.executable, "-c", "import time; time.sleep(60)")
"""In place of a Java: what is formatted and started does nothing."""


def unused(number: int) -> list[int]:
    """Free ports that neither the system nor `free_ports` of other processes would give to anybody."""
    found: list[int] = []
    for port in range(30_100, 32_700):
        with suppress(OSError), closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == number:
            break
    return found


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], int]:
    """The port that another process is given that draws these two, in this order."""

    def given(*both: int) -> int:
        left = iter(both)
        monkeypatch.setattr(ports, "_given", set())
        monkeypatch.setattr("secrets.randbelow", lambda _: next(left) - ports._FIRST)
        return free_ports(1)[0]

    return given


def test_a_port_that_is_held_is_given_to_nobody(drawn: Callable[[int, int], int]) -> None:
    port, other = unused(2)
    with closing(hold(port)):
        assert drawn(port, other) == other
    assert drawn(port, other) == port


def test_who_asks_to_reuse_addresses_may_listen_on_a_port_that_is_held() -> None:
    (port,) = unused(1)
    with (
        closing(hold(port)),
        closing(socket.create_server(("127.0.0.1", port))) as server,
        closing(socket.create_connection(server.getsockname())),
    ):
        assert server.accept()


def test_a_command_that_is_down_keeps_its_port(drawn: Callable[[int, int], int]) -> None:
    (other,) = unused(1)
    target = Commanded(Command([sys.executable, "-c", LISTENS, "{port}"]))
    port = target.address[1]
    try:
        target.end(target.address, Signal.KILL)
        assert drawn(port, other) == other
        target.start_again()
        assert target.post_mortem(0) is None
    finally:
        target.stop()


def test_a_broker_keeps_its_ports_until_it_is_stopped(
    tmp_path: Path, drawn: Callable[[int, int], int]
) -> None:
    port, controller, other = unused(3)
    broker = Broker(SLEEPS, str(tmp_path), Node(1, port, {1: controller}), "cluster")
    try:
        broker.end(broker.address, Signal.KILL)
        assert [drawn(each, other) for each in (port, controller)] == [other, other]
    finally:
        broker.stop()
    assert [drawn(each, other) for each in (port, controller)] == [port, controller]


def test_a_broker_whose_port_is_taken_is_not_started(tmp_path: Path) -> None:
    port, controller = unused(2)
    with (
        closing(socket.create_server(("127.0.0.1", controller), reuse_port=False)),
        pytest.raises(NotStarted, match="somebody has taken its port"),
    ):
        Broker(SLEEPS, str(tmp_path), Node(1, port, {1: controller}), "cluster")
    with closing(hold(port)):
        pass


def test_a_broker_whose_port_was_taken_is_started_on_others() -> None:
    """Twice; who finds every port taken gives up."""
    taken = [PortTaken("taken", "try again")] * (TRIES - 1)
    assert on_other_ports(raising([*taken, None])) is None
    assert on_other_ports(raising([None])) is None
    with pytest.raises(PortTaken):
        on_other_ports(raising([*taken, PortTaken("taken", "try again"), None]))
    with pytest.raises(NotStarted, match="broken"):
        on_other_ports(raising([NotStarted("broken"), None]))


def raising(outcomes: list[NotStarted | None]) -> Callable[[], None]:
    """Raises, or not, call by call."""

    def start() -> None:
        if (error := outcomes.pop(0)) is not None:
            raise error

    return start


def test_that_the_port_of_a_command_is_given_away_is_noticed(
    monkeypatch: pytest.MonkeyPatch, drawn: Callable[[int, int], int]
) -> None:
    monkeypatch.setattr(command, "hold", lambda port: closing(socket.socket()))
    with pytest.raises(AssertionError):
        test_a_command_that_is_down_keeps_its_port(drawn)


def test_that_the_ports_of_a_broker_are_given_away_is_noticed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, drawn: Callable[[int, int], int]
) -> None:
    monkeypatch.setattr(kafka_broker, "hold", lambda port: closing(socket.socket()))
    with pytest.raises(AssertionError):
        test_a_broker_keeps_its_ports_until_it_is_stopped(tmp_path, drawn)
