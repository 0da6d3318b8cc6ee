"""What two consumers of a library go through together, and a restart of the server below them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from harness.clients.libraries import LIBRARIES, OURS, AnyMember, static
from harness.clients.meddler import Bug, Meddler
from harness.kept_server import KeptServer
from rota.clients.checker import Rules
from rota.clients.history import Partition
from rota.clients.producers import Producers
from rota.clients.scenarios import SCENARIOS, Scenario
from rota.clients.world import World
from rota.conformance.dialogues.script import Signal

ADOPTED = ("pair_joins_and_parts", "second_is_killed", "newcomer_continues")
"""Of the kit's scenarios: join and leave, crash, commit."""
CRASH = {"kafkajs": "newcomer_is_killed"}
"""What is played in place of `second_is_killed`, where each record is committed before the next one."""
COOPERATIVE = "pair_joins_and_parts"
"""What is played with a cooperative assignor, too."""
LEAVES = ("kafka-go",)
"""Those that leave their group and join anew when a connection ends."""

ALL = {**{name: each.assignors for name, each in LIBRARIES.items()}, **OURS}
"""Library → its assignors here."""
STATIC = [name for name in ALL if name in OURS or LIBRARIES[name].static]

PATIENCE = 60.0
"""Seconds that a step may take: some libraries wait for seconds before they join again."""


class Restartable:
    """A server that keeps its groups, behind a proxy; nobody gets in until its topics are there again, which
    it does not keep."""

    def __init__(self, server: KeptServer) -> None:
        self.server = server
        self._proxy = Meddler(self.direct, Bug())

    @property
    def direct(self) -> str:
        """Where the server is."""
        host, port = self.server.address
        return f"{host}:{port}"

    def __enter__(self) -> Restartable:
        self._proxy.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._proxy.__exit__()

    @property
    def address(self) -> str:
        """Where clients find it."""
        return self._proxy.address

    def restart(self, prepare: Callable[[], object]) -> None:
        """End it and start it again; `prepare` has it alone."""
        self._proxy.closed = True
        self.server.end(self.server.address, Signal.TERM)
        self.server.start_again()
        prepare()
        self._proxy.closed = False


class FromLibrdkafka(Producers):
    """Topics and records are librdkafka's, whichever library consumes."""

    def of(self, library: str) -> Any:
        return super().of("librdkafka")


def _world(
    address: str, producers: Producers, library: str, assignor: str, rules: Rules, patience: float
) -> World:
    world = World(
        address,
        producers,
        (library,),
        patience,
        assignor=assignor,
        commit_on_revoke=rules.commit_on_revoke,
    )
    world.made = AnyMember
    return world


def play(address: str, name: str, library: str, assignor: str, patience: float = PATIENCE) -> None:
    """One of the scenarios. Errors: AssertionError with the history."""
    if name == "second_is_killed":
        name = CRASH.get(library, name)
    _perform(address, SCENARIOS[name], library, assignor, patience)


def play_static_restart(address: str, library: str, patience: float = PATIENCE) -> None:
    """Errors: AssertionError with the history."""
    steps = partial(_static_restart, library=library)
    _perform(address, Scenario(steps, Rules()), library, ALL[library][0], patience)


def play_server_restart(kept: KeptServer, library: str, patience: float = PATIENCE) -> None:
    """Errors: AssertionError with the history."""
    with Restartable(kept) as server:
        steps = partial(_server_restart, server=server, library=library)
        # While nobody gets in, libraries report that, each in its own words.
        scenario = Scenario(steps, Rules(errors=".*", complete=False))
        _perform(server.address, scenario, library, ALL[library][0], patience, producing=server.direct)


def _perform(
    address: str, scenario: Scenario, library: str, assignor: str, patience: float, producing: str = ""
) -> None:
    producers = FromLibrdkafka(producing or address)
    try:
        scenario.play(_world(address, producers, library, assignor, scenario.rules, patience))
    finally:
        producers.close()


def _owned(world: World, name: str) -> Any:
    return world.history.of(name, "view")[-1].more["owned"]


def _static_restart(world: World, library: str) -> None:
    """The second of two static members dies and comes back under its instance id, within its session: nobody
    joins anew, the generation stays, and it goes on with its partitions where it had committed."""
    topic = world.topic(4)
    first = world.member(topic, **static(library, "one"))
    world.settled(first)
    second = world.member(topic, **static(library, "two"))
    generation = world.settled(first, second)
    world.produce(3)
    world.consumed()
    for member in (first, second):
        assert member.commit().kind == "committed"
    held = _owned(world, second.name)
    second.kill()
    again = world.member(topic, **static(library, "two"))
    world.history.note(again.name, "replaces", of=second.name)
    assert world.settled(first, again) == generation, "the group has joined anew"
    assert _owned(world, again.name) == held, "it has other partitions than before"
    world.produce(2)
    world.consumed()
    for member in (again, first):
        member.close()


def _server_restart(world: World, server: Restartable, library: str) -> None:
    """The server is started again with its log: members are members still, and their offsets are there."""
    topic = world.topic(4)
    members = [world.member(topic), world.member(topic)]
    world.settled(*members)
    world.produce(3)
    world.consumed()
    for member in members:
        assert member.commit().kind == "committed"
    before = {member.name: _member_id(world, member.name) for member in members}
    kept: dict[Partition, int] = {}
    server.restart(lambda: kept.update(_committed(world.topic(4), world, server)))
    assert kept == dict.fromkeys(world.partitions(), 3)
    world.settled(*members)
    if library not in LEAVES:
        assert {member.name: _member_id(world, member.name) for member in members} == before


def _committed(topic: str, world: World, server: Restartable) -> dict[Partition, int]:
    """What the server says of the group's offsets before anybody of the group is let in: some libraries begin
    by committing where they begin in a topic that has become empty."""
    consumer = Consumer({"bootstrap.servers": server.direct, "group.id": world.group_id})
    asked = [TopicPartition(topic, index) for _, index in sorted(world.partitions(topic))]
    try:
        found = consumer.committed(asked, timeout=PATIENCE)
    finally:
        consumer.close()
    return {(each.topic, each.partition): each.offset for each in found}


def _member_id(world: World, name: str) -> str:
    return world.history.of(name, "view")[-1].member_id
