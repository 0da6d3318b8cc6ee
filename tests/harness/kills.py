"""A server that is killed again and again under load, and a ledger of what its clients were told.

Three clients work at once: one commits offsets, one is a member that rebalances, one makes groups and deletes
them. Before a request the ledger allows what was so and what is asked for; after its answer only the latter.
After each restart everything is read and compared; what is found is then what a client was told.
"""

from __future__ import annotations

import multiprocessing
import random
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from harness.dying_server import Doom, main
from rota.wire import decode_response, encode_request, frame

SETTINGS = {
    "offsets.topic.num.partitions": 2,
    "offsets.topic.segment.bytes": 8192,
    "group.initial.rebalance.delay.ms": 0,
}
CALLS = {"append": 300, "roll": 30, "compaction": 60}
"""How many calls of each kind a life makes at most before it ends in one."""

SECONDS = 10.0
"""The longest that a life may take to end by itself, and an answer to come."""

SAID = "said.txt"

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["rota.cli.serve", "rota.cli.main"])

Told = Any
"""A state of something that a client knows of: an offset, a member with its generation and assignment."""


class Lost(AssertionError):
    """What a client was told is not so any more."""


class Connection:
    """A client's connection; errors are those of sockets, EOFError too."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._socket.makefile("rb")

    def call(self, name: str, version: int, **body: object) -> dict[str, Any]:
        self._socket.sendall(frame(encode_request(name, version, body, 1, "c")))
        size = self._stream.read(4)
        if len(size) < 4:
            raise EOFError
        payload = self._stream.read(int.from_bytes(size, "big"))
        if len(payload) < int.from_bytes(size, "big"):
            raise EOFError
        return dict(decode_response(name, version, payload).body)

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


@dataclass(slots=True)
class Ledger:
    """What may be true of each thing that clients know of."""

    allowed: dict[str, list[Told]] = field(default_factory=dict)
    answered: int = 0

    def current(self, what: str) -> Told:
        return self.allowed[what][-1]

    def asks(self, what: str, new: Told) -> None:
        self.allowed[what] = [self.current(what), new]

    def told(self, what: str) -> None:
        self.allowed[what] = [self.current(what)]
        self.answered += 1

    def found(self, what: str, state: Told) -> None:
        if state not in self.allowed[what]:
            raise Lost(f"{what}: found {state}, told was {' or '.join(map(str, self.allowed[what]))}")
        self.allowed[what] = [state]


def _commit(connection: Connection, group: str, offset: int) -> None:
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": "m" * (offset % 50)}
    topics = [{"name": "t", "partitions": [partition]}]
    body = {"group_id": group, "generation_id_or_member_epoch": -1, "member_id": "", "topics": topics}
    answer = connection.call("OffsetCommit", 8, **body)
    _expect(answer["topics"][0]["partitions"][0]["error_code"], f"OffsetCommit of {group}")


def _expect(error_code: int, what: str) -> None:
    if error_code:
        raise Lost(f"{what} was answered with the error {error_code}")


def _committed(connection: Connection, group: str) -> int:
    """The offset that a group has committed, -1 for none."""
    topics = connection.call("OffsetFetch", 7, group_id=group, topics=None)["topics"]
    return next((each["committed_offset"] for topic in topics for each in topic["partitions"]), -1)


def _member(connection: Connection, group: str) -> Told:
    """The only member that a group has, with its assignment; None without one."""
    (described,) = connection.call("DescribeGroups", 5, groups=[group])["groups"]
    members = described["members"]
    return (members[0]["member_id"], bytes(members[0]["member_assignment"])) if members else None


def commits(connection: Connection, ledger: Ledger, generator: random.Random) -> None:
    group = f"commits-{generator.randrange(6)}"
    offset = ledger.current(group) + 1
    ledger.asks(group, offset)
    _commit(connection, group, offset)
    ledger.told(group)


def deletes(connection: Connection, ledger: Ledger, generator: random.Random) -> None:
    group = f"deletes-{generator.randrange(3)}"
    if ledger.current(group) == -1:
        ledger.asks(group, generator.randrange(1000))
        _commit(connection, group, ledger.current(group))
    else:
        ledger.asks(group, -1)
        (answer,) = connection.call("DeleteGroups", 2, groups_names=[group])["results"]
        _expect(answer["error_code"], f"DeleteGroups of {group}")
    ledger.told(group)


def rebalances(connection: Connection, ledger: Ledger, generator: random.Random) -> None:
    """The member joins anew with other metadata, is given another assignment, and sends a heartbeat."""
    group = "members"
    before = ledger.current(group)
    protocols = [{"name": "range", "metadata": b"%d" % generator.randrange(1 << 30)}]
    joining = {"group_id": group, "protocol_type": "consumer", "protocols": protocols}
    timeouts = {"session_timeout_ms": 300_000, "rebalance_timeout_ms": 300_000}
    member_id = before[0] if before else ""
    joined = connection.call("JoinGroup", 3, **joining, **timeouts, member_id=member_id)
    _expect(joined["error_code"], f"JoinGroup of {member_id!r}")
    assignment = b"%d of generation %d" % (generator.randrange(1 << 30), joined["generation_id"])
    ledger.asks(group, (joined["member_id"], assignment))
    mine = {"group_id": group, "generation_id": joined["generation_id"], "member_id": joined["member_id"]}
    share = {"member_id": joined["member_id"], "assignment": assignment}
    _expect(connection.call("SyncGroup", 3, **mine, assignments=[share])["error_code"], "SyncGroup")
    ledger.told(group)
    _expect(connection.call("Heartbeat", 3, **mine)["error_code"], "Heartbeat")


Work = Callable[[Connection, Ledger, random.Random], None]


def check(connection: Connection, ledger: Ledger) -> None:
    """Everything that was told. Errors: Lost."""
    connection.call("Metadata", 9, topics=[{"name": "t"}], allow_auto_topic_creation=True)
    for group in ledger.allowed:
        if group == "members":
            found = _member(connection, group)
            ledger.found(group, found)
            if found:
                # The generation is in the assignment's text.
                generation = int(found[1].rpartition(b" ")[2])
                mine = {"group_id": group, "generation_id": generation, "member_id": found[0]}
                answer = connection.call("Heartbeat", 3, **mine)
                _expect(answer["error_code"], f"the heartbeat of {found[0]} in generation {generation}")
        else:
            ledger.found(group, _committed(connection, group))


@dataclass(slots=True)
class Tally:
    """What happened: lives by how they ended, answers, what recoveries told."""

    ended: Counter[str] = field(default_factory=Counter)
    answered: int = 0
    cut: int = 0
    finished: int = 0

    def __str__(self) -> str:
        ends = ", ".join(f"{count} in {what}" for what, count in sorted(self.ended.items()))
        return (
            f"{sum(self.ended.values())} kills ({ends}): {self.answered} answers, all as told after the "
            f"restart; {self.cut} torn tails cut, {self.finished} times unfinished work ended"
        )


def run(folder: Path, kills: int, seed: int, fsync: str = "always", forgetful: bool = False) -> Tally:
    """Kills a server so often, every other time within an append, a roll or a compaction. Errors: Lost.

    A `forgetful` one answers before it writes.
    """
    generator = random.Random(seed)
    groups = [f"commits-{number}" for number in range(6)] + [f"deletes-{number}" for number in range(3)]
    ledger = Ledger({group: [-1] for group in groups} | {"members": [None]})
    tally = Tally()
    for life in range(kills + 1):
        doom = _doom(life, generator) if life < kills else None
        with _server(folder, fsync, doom, forgetful) as (process, port):
            try:
                with closing(Connection(port)) as connection:
                    check(connection, ledger)
            except (OSError, EOFError):
                process.join(SECONDS)
                if life == kills or process.exitcode != -signal.SIGKILL:
                    raise
            if life < kills:
                itself = _load(port, ledger, generator, process, doom)
                tally.ended[doom.doing if doom and itself else "no particular place"] += 1
    told = (folder / SAID).read_text()
    if "Traceback" in told:
        raise Lost(f"the server said:\n{told[-3000:]}")
    tally.answered = ledger.answered
    tally.cut = told.count("cut off the end")
    tally.finished = told.count("deleted: ") + told.count("took its place")
    return tally


def _doom(life: int, generator: random.Random) -> Doom | None:
    """Every other life has one."""
    if life % 2 == 0:
        return None
    doing = tuple(CALLS)[life // 2 % len(CALLS)]
    return Doom(doing, generator.randint(1, CALLS[doing]), generator.randrange(1 << 30))


@contextmanager
def _server(
    folder: Path, fsync: str, doom: Doom | None, forgetful: bool
) -> Iterator[tuple[BaseProcess, int]]:
    """A server on the folder `data`, killed at the end at the latest. Errors: Lost if it does not start."""
    port_file = folder / "port.txt"
    port_file.unlink(missing_ok=True)
    arguments = ["--port-file", str(port_file), "--data-dir", str(folder / "data"), "--fsync", fsync]
    arguments += [part for name, value in SETTINGS.items() for part in ("--set", f"{name}={value}")]
    wanted = (arguments, str(folder / SAID), doom, forgetful)
    process = FORKS.Process(target=main, args=wanted, daemon=True)
    process.start()
    try:
        deadline = time.monotonic() + 6 * SECONDS
        while not (port_file.exists() and port_file.read_text().endswith("\n")):
            if not process.is_alive() or time.monotonic() > deadline:
                raise Lost(f"the server did not start: {(folder / SAID).read_text()[-3000:]}")
            time.sleep(0.002)
        yield process, int(port_file.read_text())
    finally:
        process.kill()
        process.join()


def _load(
    port: int, ledger: Ledger, generator: random.Random, process: BaseProcess, doom: Doom | None
) -> bool:
    """Clients at work until the server is gone; whether it went by itself. Errors: Lost."""
    wrong: list[Lost] = []
    clients = [
        threading.Thread(target=_client, args=(port, ledger, generator.random(), work, wrong))
        for work in (commits, deletes, rebalances)
    ]
    for client in clients:
        client.start()
    process.join(SECONDS if doom is not None else generator.uniform(0.0, 0.15))
    itself = process.exitcode is not None
    process.kill()
    for client in clients:
        client.join()
    if wrong:
        raise wrong[0]
    return itself


def _client(port: int, ledger: Ledger, seed: float, work: Work, wrong: list[Lost]) -> None:
    """Works until its server is gone."""
    generator = random.Random(seed)
    try:
        with closing(Connection(port)) as connection:
            while True:
                work(connection, ledger, generator)
    except Lost as error:
        wrong.append(error)
    except (OSError, EOFError):
        pass
