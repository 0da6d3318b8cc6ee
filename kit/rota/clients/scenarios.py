"""What groups of real clients do, step by step; the checker judges the history afterwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rota.clients.checker import Rules, violations
from rota.clients.history import Event, told
from rota.clients.members import Member
from rota.clients.world import World

Steps = Callable[[World], None]

EXPELLED = "(?i)unknown member|UnknownMember|generation id|IllegalGeneration|CommitFailed|_NO_OFFSET"
"""How clients report a commit when they are members no more, or have nothing left to commit."""

SCENARIOS: dict[str, Scenario] = {}


@dataclass(frozen=True)
class Scenario:
    """Steps, what they need of the clients, and what may happen in them."""

    steps: Steps
    rules: Rules

    def allowing(self, error: str) -> Scenario:
        """The same, but clients may report this error. A refused commit then explains what is seen again."""
        return replace(self, rules=replace(self.rules, errors=f"{self.rules.errors}|{error}"))

    def play(self, world: World) -> None:
        """Errors: AssertionError with the history, if a step fails or the history is not as it should be."""
        try:
            self.steps(world)
        except AssertionError as failure:
            # What is wrong with the history so far is likely why the step failed.
            wrong = violations(world.history.events(), replace(self.rules, complete=False))
            raise AssertionError("\n".join([*wrong, str(failure)])) from None
        finally:
            world.end()
        wrong = violations(world.history.events(), self.rules)
        assert not wrong, "\n".join([*wrong, told(world.history.events())])


def scenario(**rules: Any) -> Callable[[Steps], Steps]:
    """Puts a function among the scenarios, under its name."""

    def register(steps: Steps) -> Steps:
        SCENARIOS[steps.__name__] = Scenario(steps, Rules(**rules))
        return steps

    return register


@scenario()
def pair_joins_and_parts(world: World) -> None:
    """One starts alone, another joins while records come in, the first leaves."""
    topic = world.topic(4)
    world.produce(3)
    first = world.member(topic)
    world.settled(first)
    world.consumed()
    second = world.member(topic)
    world.produce(3)
    world.settled(first, second)
    world.produce(3)
    world.consumed()
    first.close()
    world.produce(1)
    world.settled(second)
    world.produce(1)
    world.consumed()
    second.close()


@scenario()
def third_joins(world: World) -> None:
    """A pair, then a third, over two topics."""
    topics = (world.topic(3, "orders"), world.topic(4, "payments"))
    first, second = world.member(*topics), world.member(*topics)
    world.produce(2)
    world.settled(first, second)
    third = world.member(*topics)
    world.produce(2)
    world.settled(first, second, third)
    world.produce(2)
    world.consumed()
    world.leave(third, second, first)


@scenario()
def one_of_three_leaves(world: World) -> None:
    """The first, which leads, leaves in the middle of the stream; then the next one."""
    topic = world.topic(6)
    first, second, third = (world.member(topic) for _ in range(3))
    world.settled(first, second, third)
    world.produce(3)
    world.consumed()
    first.close()
    world.produce(3)
    world.settled(second, third)
    world.consumed()
    second.close()
    world.produce(3)
    world.settled(third)
    world.consumed()
    third.close()


def _killed(world: World, victim: int) -> None:
    topic = world.topic(4)
    members = [world.member(topic), world.member(topic)]
    world.settled(*members)
    world.produce(3)
    world.consumed()
    for member in members:
        assert member.commit().kind == "committed"
    world.produce(2)
    world.consumed()
    dying = members.pop(victim)
    uncommitted = [event.place for event in world.history.of(dying.name, "record") if event.place[1] >= 3]
    assert uncommitted, "the dying member has seen nothing that it has not committed"
    dying.kill()
    world.settled(*members)
    world.seen_by(members[0], uncommitted)
    world.produce(2)
    world.consumed()
    members[0].close()


@scenario()
def first_is_killed(world: World) -> None:
    """The member that was there first, and leads, dies; what it has not committed is seen again."""
    _killed(world, 0)


@scenario()
def second_is_killed(world: World) -> None:
    """A follower dies; what it has not committed is seen again."""
    _killed(world, 1)


@scenario()
def newcomer_is_killed(world: World) -> None:
    """A newcomer dies while the group makes room for it."""
    topic = world.topic(3)
    first = world.member(topic)
    generation = world.settled(first)
    world.produce(2)
    world.consumed()
    told_before = len(world.history.of(first.name, "revoked", "assigned"))
    newcomer = world.member(topic)
    first.wait(
        "hears of the newcomer",
        lambda: len(world.history.of(first.name, "revoked", "assigned")) > told_before,
    )
    newcomer.kill()
    world.produce(2)
    world.settled(first, beyond=generation)
    world.consumed()
    first.close()


@scenario()
def newcomer_continues(world: World) -> None:
    """All leave, records come in, a newcomer continues where they have stopped."""
    topic = world.topic(3)
    members = [world.member(topic), world.member(topic)]
    world.settled(*members)
    world.produce(3)
    world.consumed()
    world.leave(*members)
    world.produce(3)
    newcomer = world.member(topic)
    world.settled(newcomer)
    world.consumed()
    newcomer.close()


@scenario(commit_on_revoke=False)
def nobody_commits(world: World) -> None:
    """Without a commit a newcomer starts from the beginning."""
    topic = world.topic(2)
    world.produce(3)
    first = world.member(topic)
    world.settled(first)
    world.consumed()
    assert first.committed(world.partitions()) == dict.fromkeys(world.partitions())
    first.close()
    newcomer = world.member(topic)
    world.settled(newcomer)
    world.seen_by(newcomer, world.places())
    newcomer.close()


@scenario()
def rolling_restart(world: World) -> None:
    """Each of three is replaced in turn, while records come in."""
    topic = world.topic(5)
    members = [world.member(topic) for _ in range(3)]
    world.settled(*members)
    for _ in range(3):
        world.produce(2)
        members.pop(0).close()
        world.produce(1)
        members.append(world.member(topic))
        world.settled(*members)
    world.produce(1)
    world.consumed()
    world.leave(*members)


@scenario(errors=EXPELLED)
def frozen_too_long(world: World) -> None:
    """A member does not run for longer than its session, and commits what it saw before. That is refused."""
    topic = world.topic(4)
    frozen, other = world.member(topic), world.member(topic)
    world.settled(frozen, other)
    world.produce(2)
    world.consumed()
    frozen.ask("hold", "busy")
    frozen.freeze()
    world.settled(other)
    world.produce(2)
    world.seen_by(other, [place for place in world.places() if place[1] >= 2])
    frozen.tell("commit")
    frozen.thaw()
    world.settled(frozen, other)
    world.produce(2)
    world.consumed()
    world.leave(frozen, other)


@scenario()
def subscriptions_differ(world: World) -> None:
    """One wants both topics, the other one of them; then the other changes its mind."""
    orders, payments = world.topic(3, "orders"), world.topic(2, "payments")
    first, second = world.member(orders, payments), world.member(payments)
    world.produce(2)
    world.settled(first, second)
    world.consumed()
    second.subscribe(orders, payments)
    world.produce(2)
    second.wait("gets orders", lambda: second.name in world.holders(orders))
    world.settled(first, second)
    world.produce(2)
    world.consumed()
    world.leave(first, second)


@scenario()
def pattern(world: World) -> None:
    """Two subscribe to a pattern that two of three topics match."""
    world.topic(2, "other")
    matching = (world.topic(2, "metrics.cpu"), world.topic(3, "metrics.disk"))
    pattern = world.name("metrics[.].*")
    first, second = world.member(pattern=pattern), world.member(pattern=pattern)
    world.settled(first, second, partitions=world.partitions(*matching))
    world.produce(2, *matching)
    world.consumed()
    world.leave(first, second)


@scenario()
def pattern_matches_later(world: World) -> None:
    """Two subscribe to a pattern; a second topic that matches it is created."""
    pattern = world.name("metrics[.].*")
    world.topic(2, "metrics.cpu")
    first, second = world.member(pattern=pattern), world.member(pattern=pattern)
    world.settled(first, second)
    world.produce(2)
    world.topic(3, "metrics.disk")
    world.produce(2)
    world.settled(first, second)
    world.consumed()
    world.leave(first, second)


def _misses_the_topic(world: World, member: Member) -> None:
    member.wait("misses the topic", lambda: bool(world.history.of(member.name, "error")))


@scenario(errors="UNKNOWN_TOPIC_OR_PART")
def topic_is_created_later(world: World) -> None:
    """Two subscribe to a topic that is not there yet."""
    name = world.name("orders")
    first, second = world.member(name), world.member(name)
    for member in (first, second):
        _misses_the_topic(world, member)
    world.topic(4, "orders")
    world.produce(2)
    world.settled(first, second)
    world.consumed()
    world.leave(first, second)


@scenario()
def without_a_group(world: World) -> None:
    """Partitions assigned by hand; the group's name only holds the offsets."""
    world.topic(3)
    world.produce(3)
    first = world.member()
    first.assign(world.partitions())
    world.consumed()
    assert first.committed(world.partitions()) == dict.fromkeys(world.partitions())
    assert first.commit().kind == "committed"
    assert first.committed(world.partitions()) == dict.fromkeys(world.partitions(), 3)
    first.close()
    world.produce(2)
    second = world.member()
    second.assign(world.partitions())
    world.consumed()
    assert second.committed(world.partitions()) == dict.fromkeys(world.partitions(), 3)
    second.close()


@scenario()
def seeks(world: World) -> None:
    """A member of a group goes back, and another by hand goes forward."""
    topic = world.topic(2)
    world.produce(5)
    member = world.member(topic)
    world.settled(member)
    world.consumed()
    member.seek((topic, 1), 2)
    again = [place for place in world.places() if place[0] == (topic, 1) and place[1] >= 2]
    before = len(world.history.of(member.name, "record"))
    world.history.wait(
        "the records after the seek are seen again",
        lambda: len(world.history.of(member.name, "record")) >= before + len(again),
    )
    member.seek((topic, 0), 4)
    world.history.wait(
        "the last record is seen again",
        lambda: len(world.history.of(member.name, "record")) > before + len(again),
    )
    world.produce(1)
    world.consumed()
    member.close()


@scenario(from_start=False, complete=False)
def latest(world: World) -> None:
    """Without a committed offset a member starts at the end; nothing older is seen."""
    topic = world.topic(2)
    world.produce(3)
    member = world.member(topic)
    world.settled(member)
    for _ in range(200):
        # Nothing tells when a client has found the end; a record that comes before that is not seen.
        world.produce(1)
        if world.soon(lambda: _partitions(world.history.of(member.name, "record")) == world.partitions()):
            break
    seen = {event.place for event in world.history.of(member.name, "record")}
    assert min(offset for _, offset in seen) >= 3, told(world.history.events())
    assert len({partition for partition, _ in seen}) == 2, told(world.history.events())
    member.close()


def _partitions(records: list[Event]) -> frozenset[object]:
    return frozenset(event.place[0] for event in records)
