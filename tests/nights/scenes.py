"""The twenty incidents. Each scene says what is done; its cause is known for that."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from nights.night import SESSION_MS, Night, NotPlayable, Scene
from rota.clients.members import Member

PARTITIONS = 6
LONG_SESSION_MS = 60_000
NIGHTS: list[Night] = []

GENERIC = frozenset({"not-visible", "new"})
"""Causes that are true of nearly any group; what is seen of its beginning may be told with what follows."""

GOES, COMES = frozenset({"gone"}), frozenset({"came"})
"""Causes that are true, and say little, where somebody goes or comes."""


def night(
    *cause: str,
    less: frozenset[str] = frozenset(),
    settings: Mapping[str, int] | None = None,
    own: bool = False,
    stored: bool = True,
) -> Callable[[Callable[[Scene], None]], Callable[[Scene], None]]:
    """Puts a scene among the nights, under its name."""

    def register(play: Callable[[Scene], None]) -> Callable[[Scene], None]:
        name = play.__name__.replace("_", "-")
        also = (less | GENERIC) - {*cause}
        NIGHTS.append(Night(name, play, frozenset(cause), also, settings or {}, own, stored))
        return play

    return register


def group_of(
    scene: Scene, number: int, instance: str = "", session_ms: int = SESSION_MS
) -> tuple[str, list[Member]]:
    """A topic and so many consumers that share it; static ones if an instance id is given."""
    topic = scene.topic(PARTITIONS)
    scene.produce(1)
    members = []
    for place in range(number):
        name = f"{instance}-{place}" if instance else ""
        members.append(scene.client(topic, instance=name, session_ms=session_ms))
        scene.settled(*members)
    return topic, members


@night("first-members", less=COMES)
def first_members(scene: Scene) -> None:
    """Nothing is wrong: an application starts."""
    topic = scene.topic(PARTITIONS)
    scene.begins()
    scene.settled(scene.client(topic))


@night("came", "first-members", less=COMES)
def scaled_up(scene: Scene) -> None:
    """Nothing is wrong: one consumer more."""
    topic, members = group_of(scene, 1)
    scene.begins()
    scene.lone(*members, scene.client(topic))


@night("slow-poll", less=GOES | frozenset({"left"}))
def slow_poll(scene: Scene) -> None:
    """A batch takes longer than max.poll.interval.ms."""
    _, (first, second) = group_of(scene, 2)
    scene.begins()
    second.tell("hold")
    scene.lone(first)


@night("lost-client", less=GOES)
def crash(scene: Scene) -> None:
    """A process is killed."""
    _, (first, second) = group_of(scene, 2)
    scene.begins()
    second.kill()
    scene.lone(first)


@night("sessions-together", less=GOES | frozenset({"lost-client"}))
def host_lost(scene: Scene) -> None:
    """Three consumers of one host are killed at once."""
    _, members = group_of(scene, 4)
    scene.begins()
    for member in members[1:]:
        member.kill()
    scene.lone(members[0])


@night("paused-process", less=GOES | COMES | frozenset({"lost-client"}))
def paused_process(scene: Scene) -> None:
    """A process stands still for longer than its session, and goes on."""
    _, (first, second) = group_of(scene, 2)
    scene.begins()
    second.freeze()
    scene.lone(first)
    second.thaw()
    scene.lone(first, second)


@night("static-restart")
def static_restart(scene: Scene) -> None:
    """A static member is killed and back within its session timeout, in which any process can start."""
    topic, (first, second) = group_of(scene, 2, "one", LONG_SESSION_MS)
    scene.begins()
    second.kill()
    again = scene.client(topic, instance="one-1", session_ms=LONG_SESSION_MS)
    scene.settled(first, again)


@night("static-restart-late", less=GOES | COMES | frozenset({"lost-client"}))
def static_restart_late(scene: Scene) -> None:
    """A static member is back after its session has run out."""
    topic, (first, second) = group_of(scene, 2, "one")
    scene.begins()
    second.kill()
    scene.lone(first)
    again = scene.client(topic, instance="one-1")
    scene.lone(first, again)


@night("duplicate-instance", less=frozenset({"fenced", "static-restart", "static-restarts"}))
def two_with_one_instance(scene: Scene) -> None:
    """Two processes have one group.instance.id."""
    topic, (first, _) = group_of(scene, 2, "one")
    scene.begins()
    twin = scene.client(topic, instance="one-1")
    scene.settled(first, twin)
    time.sleep(2)


@night("rolling-deploy", less=GOES | COMES | frozenset({"restart", "left", "left-in-turn", "closed"}))
def rolling_deploy(scene: Scene) -> None:
    """Three consumers are closed and replaced, one after the other."""
    topic, members = group_of(scene, 3)
    scene.begins()
    for _ in range(3):
        members.pop(0).close()
        members.append(scene.client(topic))
        scene.lone(*members)


@night("join-leave-loop", less=GOES | COMES | frozenset({"restart", "left", "left-in-turn", "closed"}))
def leaves_and_comes(scene: Scene) -> None:
    """A consumer fails soon after it has started, and is started again."""
    topic, (first,) = group_of(scene, 1)
    scene.begins()
    for _ in range(3):
        other = scene.client(topic)
        scene.lone(first, other)
        other.close()
        scene.lone(first)


@night("closed", less=GOES | frozenset({"left"}))
def closed(scene: Scene) -> None:
    """A consumer is closed."""
    _, (first, second) = group_of(scene, 2)
    scene.begins()
    second.close()
    scene.lone(first)


@night("removed-by-admin", less=GOES | COMES | frozenset({"left"}))
def removed_by_admin(scene: Scene) -> None:
    """An administrator removes a member; it comes again as a new one."""
    topic, members = group_of(scene, 2)
    scene.begins()
    victim = scene.history.of(members[1].name, "view")[-1].member_id
    scene.raw(topic).remove(victim, "Member was removed by an admin client")
    scene.lone(*members)


@night("group-too-large", settings={"group.max.size": 2})
def group_too_large(scene: Scene) -> None:
    """A third consumer comes where two are allowed."""
    topic, _ = group_of(scene, 2)
    scene.begins()
    scene.starts(scene.client(topic), 4)


@night("subscription-changed", less=frozenset({"rejoined-changed", "leader-rejoined", "metadata-changed"}))
def subscription_changed(scene: Scene) -> None:
    """A consumer subscribes to another topic as well. Java's leader may see that one late, and join again."""
    topic, members = group_of(scene, 2)
    other = scene.topic(2, "invoices")
    scene.begins()
    members[1].subscribe(topic, other)
    scene.lone(*members)


@night("metadata-changed", less=frozenset({"leader-rejoined", "rejoined-changed", "subscription-changed"}))
def topics_changed(scene: Scene) -> None:
    """A topic is created that matches the subscriptions. To Java's consumers these have changed, as one says
    that does not lead and is the first to see it."""
    scene.topic(PARTITIONS)
    members = [scene.client(pattern=f"^{scene.name('.*')}")]
    scene.settled(*members)
    members.append(scene.client(pattern=f"^{scene.name('.*')}"))
    scene.settled(*members)
    scene.begins()
    scene.topic(4, "invoices")
    scene.lone(*members)


@night("sync-timeout", "not-rejoined", less=GOES | COMES | frozenset({"lost-client"}))
def leader_never_syncs(scene: Scene) -> None:
    """The leader computes assignments for ever; its heartbeats go on. While Java's consumer waits for its
    assignment no heartbeat of it is answered, and after its session it joins again: the leader does not."""
    topic = scene.topic(PARTITIONS)
    leader = scene.raw(topic)
    joined = leader.join(LONG_SESSION_MS)
    assert joined["leader"] == leader.member
    assert leader.sync() == 0
    scene.begins()
    follower = scene.client(topic)
    leader.heartbeats_until(27)
    leader.join(LONG_SESSION_MS)
    leader.heartbeats_until(25)
    scene.settled(follower)


@night("not-rejoined", less=GOES | COMES)
def never_rejoins(scene: Scene) -> None:
    """A member heartbeats and does not join again when the group rebalances."""
    topic, (first,) = group_of(scene, 1)
    stuck = scene.raw(topic)
    sent = stuck.start_join()
    if stuck.joined(sent)["error_code"] == 79:
        stuck.joined(stuck.start_join())
    assert stuck.sync() == 0
    scene.begins()
    other = scene.client(topic)
    stuck.heartbeats_until(25)
    scene.lone(first, other)


@night("pending-unused", less=COMES)
def id_never_used(scene: Scene) -> None:
    """A client is given an id and never joins with it; then another comes."""
    topic, (first,) = group_of(scene, 1)
    scene.begins()
    absent = scene.raw(topic)
    assert absent.joined(absent.start_join(SESSION_MS))["error_code"] == 79
    other = scene.client(topic)
    scene.lone(first, other)


@night(
    "coordinator-moved",
    "broker-away",
    less=GOES
    | COMES
    | frozenset(
        {"leader-rejoined", "metadata-changed", "lost-client", "sessions-together", "paused-together"}
    ),
    own=True,
)
def coordinator_restarts(scene: Scene) -> None:
    """The broker is killed and started again. Rota's forgets its topics, which the leader notices; Kafka's
    is away for longer than the sessions last."""
    _, members = group_of(scene, 2)
    scene.begins()
    scene.broker.stop()
    scene.broker.start()
    time.sleep(8)
    assert all(not scene.history.of(member.name, "ended") for member in members)


@night("append-failed", less=GOES | COMES | frozenset({"lost-client"}), own=True, stored=False)
def full_disk(scene: Scene) -> None:
    """The disk of the coordinator is full when the next generation is to be stored."""
    topic, (first,) = group_of(scene, 1)
    scene.begins()
    if not scene.broker.fill_disk():
        raise NotPlayable("its only disk would end this broker")
    scene.starts(scene.client(topic), 5)
    assert not scene.history.of(first.name, "ended")
