"""What two consumers of a library go through together, and a restart of the server below them."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from harness.clients.libraries import LIBRARIES, OURS, AnyMember, static
from rota.clients.checker import Rules
from rota.clients.producers import Producers
from rota.clients.scenarios import SCENARIOS, Scenario
from rota.clients.world import World
from rota.conformance.dialogues.script import Signal

ADOPTED = ("pair_joins_and_parts", "second_is_killed", "newcomer_continues")
"""Of the kit's scenarios: join and leave, crash, commit."""
COOPERATIVE = "pair_joins_and_parts"
"""What is played with a cooperative assignor, too."""

ALL = {**{name: each.assignors for name, each in LIBRARIES.items()}, **OURS}
"""Library → its assignors here."""
STATIC = [name for name in ALL if name in OURS or LIBRARIES[name].static]

PATIENCE = 60.0
"""Seconds that a step may take: some libraries wait for seconds before they join again."""


class Restarted(Protocol):
    """A server that is ended and started again at its address."""

    address: tuple[str, int]

    def end(self, _address: tuple[str, int], _how: Signal) -> None:
        """End it."""

    def start_again(self) -> None:
        """Start it with what it has kept."""


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
    _perform(address, SCENARIOS[name], library, assignor, patience)


def play_static_restart(address: str, library: str, patience: float = PATIENCE) -> None:
    """Errors: AssertionError with the history."""
    steps = partial(_static_restart, library=library)
    _perform(address, Scenario(steps, Rules()), library, ALL[library][0], patience)


def play_server_restart(server: Restarted, library: str, patience: float = PATIENCE) -> None:
    """Errors: AssertionError with the history."""
    steps = partial(_server_restart, server=server)
    host, port = server.address
    # While nobody listens, libraries report that, each in its own words.
    rules = Rules(errors=".*", complete=False)
    _perform(f"{host}:{port}", Scenario(steps, rules), library, ALL[library][0], patience)


def _perform(address: str, scenario: Scenario, library: str, assignor: str, patience: float) -> None:
    producers = FromLibrdkafka(address)
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


def _server_restart(world: World, server: Restarted) -> None:
    """The server is started again with its log: the members are members still, and their offsets are there.
    Records are not kept; the topic is made anew."""
    topic = world.topic(4)
    members = [world.member(topic), world.member(topic)]
    world.settled(*members)
    world.produce(3)
    world.consumed()
    for member in members:
        assert member.commit().kind == "committed"
    before = {member.name: _member_id(world, member.name) for member in members}
    server.end(server.address, Signal.TERM)
    server.start_again()
    world.topic(4)
    world.settled(*members)
    assert {member.name: _member_id(world, member.name) for member in members} == before
    assert members[0].committed(world.partitions()) == dict.fromkeys(world.partitions(), 3)


def _member_id(world: World, name: str) -> str:
    return world.history.of(name, "view")[-1].member_id
