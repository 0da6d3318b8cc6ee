"""Scenarios 21 to 23: the size of a group, cooperative members, brokers of old."""

from __future__ import annotations

from rota.stage import Stage
from scenarios.scenario_list import BROKER, CODES, CONSUMER, scenario

SIZE = f"KIP-389; {BROKER}: group.max.size"


@scenario("21a", f"{SIZE}; {CODES}: GROUP_MAX_SIZE_REACHED", group_max_size=2)
def full_group_refuses_newcomers(stage: Stage) -> None:
    """A group is as large as it may be. A newcomer is refused before it is given an id; when a member has
    left there is room again."""
    a, b, c = (stage.client(name) for name in "ABC")
    stage.stable(a, b)
    before = stage.group
    refused = c.join()
    assert (refused.error, refused.reply.member_id) == ("GROUP_MAX_SIZE_REACHED", "")
    assert stage.group == before
    b.leave()
    joined = c.enter()
    assert a.join().reply.generation_id == joined.reply.generation_id == 2
    assert stage.members == "A C"
    stage.settle(a, c)


@scenario("21b", f"{SIZE}; upstream GroupMetadataManager#acceptJoiningMember", group_max_size=2)
def handed_out_ids_do_not_count(stage: Stage) -> None:
    """Ids that were handed out and not used do not count. Three are given out for two places: who comes back
    first is in, and the last is refused."""
    clients = [stage.client(name) for name in "ABC"]
    assert {one.join().error for one in clients} == {"MEMBER_ID_REQUIRED"}
    joined = [one.join() for one in clients]
    assert [one.waits for one in joined] == [True, True, False]
    assert (joined[2].error, stage.members, stage.pending) == ("GROUP_MAX_SIZE_REACHED", "A B", "")


@scenario("21c", f"{SIZE}; KIP-345; upstream GroupMetadataManager#acceptJoiningMember", group_max_size=2)
def restart_in_a_full_group(stage: Stage) -> None:
    """A static member restarts in a full group. It would only take its own place, but it comes without an id
    and is counted as one more: refused, until its own session is over."""
    a, b = stage.client("A", instance="one"), stage.client("B", instance="two")
    stage.stable(a, b)
    stage.wait(4_000)
    a.heartbeat()
    assert b.restart().join().error == "GROUP_MAX_SIZE_REACHED"
    stage.wait(6_000)
    assert (stage.state, stage.members) == ("PreparingRebalance 1", "A")
    joined, again = b.join(), a.join()
    assert [one.reply.generation_id for one in (again, joined)] == [2, 2]
    stage.settle(a, b)


@scenario("22", f"KIP-429; {CONSUMER}: partition.assignment.strategy")
def cooperative_members_rebalance_twice(stage: Stage) -> None:
    """Cooperative members keep what they own while they join, and say so. A newcomer is given nothing at
    first: the owner must let go before another may take. Who has let go joins again, and in that second
    round the newcomer gets its part. To the coordinator both rounds are rebalances like any other."""
    a = stage.client("A", "cooperative-sticky:owns nothing")
    b = stage.client("B", "cooperative-sticky:owns nothing")
    stage.generation(a)
    a.sync({a: "0 1 2 3"})
    a.protocols = ("cooperative-sticky:owns 0 1 2 3",)
    newcomer, again = b.enter(), a.join()
    assert [one.reply.generation_id for one in (again, newcomer)] == [2, 2]
    assert [one.metadata for one in again.reply.members] == [b"owns 0 1 2 3", b"owns nothing"]
    waiting = b.sync()
    assert a.sync({a: "0 1", b: ""}).reply.assignment == b"0 1"
    assert waiting.reply.assignment == b""
    a.protocols = ("cooperative-sticky:owns 0 1",)
    second = a.join()
    assert b.heartbeat().error == "REBALANCE_IN_PROGRESS"
    followed = b.join()
    assert [one.reply.generation_id for one in (second, followed)] == [3, 3]
    waiting = b.sync()
    a.sync({a: "0 1", b: "2 3"})
    assert waiting.reply.assignment == b"2 3"
    assert stage.state == "Stable 3"


@scenario("23a", "KIP-394; KAFKA-7610", profile="kafka-2.1")
def members_pile_up(stage: Stage) -> None:
    """Before the handshake a newcomer is a member with its first JoinGroup. A client that gives up waiting
    and asks again, without an id since it was never told one, is one more member each time. Nobody takes
    those away while the rebalance lasts, and afterwards each is assigned a part that nobody reads."""
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a)
    first = b.enter()
    stage.wait(3_000)
    a.heartbeat()
    again = [b.enter() for _ in range(2)]
    assert len(stage.live.members) == 4
    listed = a.join().reply.members
    assert len(listed) == 4
    assert first.reply.generation_id == again[-1].reply.generation_id == 2


@scenario("23b", "KIP-394; KAFKA-7610")
def retries_do_not_pile_up(stage: Stage) -> None:
    """With the handshake the same client retries with the id that it was given: it is one member however
    often it asks."""
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a)
    first = b.enter()
    stage.wait(3_000)
    a.heartbeat()
    again = [b.join() for _ in range(2)]
    assert stage.members == "A B"
    assert len(stage.live.members) == 2
    assert a.join().reply.generation_id == again[-1].reply.generation_id == 2
    assert first.waits


@scenario("23c", "KIP-394; KAFKA-7610")
def old_client_piles_up_for_a_while(stage: Stage) -> None:
    """A client of before the handshake asks a broker of today: it is a member with its first JoinGroup, and
    one more with each that it repeats. But nobody is kept for ever: who is new and waits is taken out after
    five minutes, unless it is answered before."""
    patient = {"session": 600_000, "rebalance": 600_000}
    a, b = stage.client("A", **patient), stage.client("B")
    stage.stable(a)
    again = [b.enter(version=3) for _ in range(2)]
    assert [one.waits for one in again] == [True, True]
    assert len(stage.live.members) == 3
    stage.wait(299_999)
    assert len(stage.live.members) == 3
    stage.wait(1)
    assert stage.members == "A"
    assert [one.error for one in again] == ["UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"]
    assert a.join().reply.generation_id == 2
