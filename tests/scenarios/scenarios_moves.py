"""Scenarios 17, 19d and 19e: the coordinator moves, the wrong broker is asked, or one that is not ready."""

from __future__ import annotations

from rota.spec import Hosting, Node
from rota.stage import Stage
from scenarios.scenario_list import CODES, GUIDE, scenario

FIND = f"{GUIDE}: FindCoordinator"
LOADED = "upstream GroupMetadataManager#onLoaded, #onUnloaded"


@scenario("17a", f"{FIND}; {LOADED}", alone=True)
def coordinator_moves(stage: Stage) -> None:
    """Another broker becomes the coordinator of a Stable group and reads it from the log. The members are
    sent to look for it, and go on there as if nothing had happened: same ids, same generation, same parts,
    each session from its beginning."""
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a, b)
    stage.led_by = Node(2, "broker-2", 9092)
    stage.give_up()
    assert [one.heartbeat().error for one in (a, b)] == ["NOT_COORDINATOR", "NOT_COORDINATOR"]
    assert a.find().reply.coordinators[0].node.node_id == 2
    stage.wait(4_000)
    stage.load()
    assert (stage.state, stage.members, stage.leader) == ("Stable 1", "A B", "A")
    assert [stage.left("session", one) for one in (a, b)] == [10_000, 10_000]
    assert [one.heartbeat().error for one in (a, b)] == ["NONE", "NONE"]
    assert b.sync().reply.assignment == b"part of B"


@scenario("17b", f"{FIND}; {LOADED}")
def coordinator_moves_during_a_rebalance(stage: Stage) -> None:
    """The coordinator moves when a generation is complete but not stored. Who waits is told NOT_COORDINATOR.
    The next coordinator knows the generation before, and only its members; the lost generation's number is
    used a second time, for another membership."""
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a)
    newcomer, again = b.enter(), a.join()
    assert [one.reply.generation_id for one in (again, newcomer)] == [2, 2]
    waiting = b.sync()
    stage.give_up()
    assert (waiting.error, waiting.reply.assignment) == ("NOT_COORDINATOR", b"")
    stage.load()
    assert (stage.state, stage.members) == ("Stable 1", "A")
    assert a.heartbeat().error == "ILLEGAL_GENERATION"
    assert b.join().error == "UNKNOWN_MEMBER_ID"
    assert a.join().reply.generation_id == 2
    assert stage.members == "A"
    stage.settle(a)


@scenario("17c", f"KIP-394; {LOADED}")
def handed_out_id_is_lost(stage: Stage) -> None:
    """A member id that was handed out is in no log. The coordinator moves before its client has used it, and
    the next one does not know it: the client asks for another."""
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a)
    assert b.join().error == "MEMBER_ID_REQUIRED"
    stage.give_up()
    stage.load()
    assert b.join().error == "UNKNOWN_MEMBER_ID"
    joined = b.enter()
    assert joined.waits
    assert stage.members == "A B"


@scenario("17d", f"KIP-345; KAFKA-10284; {LOADED}")
def restarted_static_member_survives(stage: Stage) -> None:
    """A static member's restart is in the log, so the next coordinator fences the former id, not the new
    one."""
    a, b = stage.client("A", instance="one"), stage.client("B", instance="two")
    stage.stable(a, b)
    former = b.member_id
    assert b.restart().join().error == "NONE"
    stage.give_up()
    stage.load()
    assert b.heartbeat().error == "NONE"
    assert b.heartbeat(member_id=former).error == "FENCED_INSTANCE_ID"
    assert b.sync().reply.assignment == b"part of B"


@scenario("17e", f"KAFKA-4704; {LOADED}", alone=True)
def offsets_are_loaded_without_a_group(stage: Stage) -> None:
    """A group is deleted, and a consumer without group management commits under its name. The next
    coordinator finds the end of the group in the log and offsets after it: they have a group again, without
    a type."""
    a, simple = stage.client("A"), stage.client("S")
    stage.stable(a)
    a.leave()
    assert simple.delete_group().error == "NONE"
    assert simple.commit(("t", 0, 5)).error == "NONE"
    stage.give_up()
    stage.load()
    assert (stage.state, stage.live.protocol_type) == ("Empty 0", None)
    assert simple.fetch(("t", 0)).offsets == {"t-0": (5, "NONE")}


@scenario("19d", f"{CODES}: NOT_COORDINATOR; {FIND}", alone=True)
def wrong_broker(stage: Stage) -> None:
    """A request reaches a broker that is not the group's coordinator. It says so, whatever is asked, and any
    broker tells who is; a broker that does not know says that there is none, for now, and so does one whose
    coordinator does not run."""
    stage.hosting = Hosting.ELSEWHERE
    a = stage.client("A", member_id="m1", generation=1)
    asked = [a.join(), a.sync(), a.heartbeat(), a.leave(), a.commit(), a.fetch(("t", 0)), a.describe()]
    assert {one.error for one in asked} == {"NOT_COORDINATOR"}
    assert a.find().reply.error_code.name == "COORDINATOR_NOT_AVAILABLE"
    stage.led_by = Node(2, "broker-2", 9092)
    found = a.find().reply.coordinators[0]
    assert (found.error_code.name, found.node.node_id) == ("NONE", 2)
    stage.hosting = Hosting.INACTIVE
    assert [a.join().error, a.heartbeat().error] == ["COORDINATOR_NOT_AVAILABLE", "COORDINATOR_NOT_AVAILABLE"]


@scenario("19e", f"{CODES}: COORDINATOR_LOAD_IN_PROGRESS", alone=True)
def broker_that_is_still_loading(stage: Stage) -> None:
    """The coordinator still reads the group from the log. It asks for patience; only a heartbeat is told that
    all is well, since the sessions have not begun."""
    a, b = stage.client("A"), stage.client("B")
    stage.stable(a)
    stage.give_up()
    stage.hosting = Hosting.LOADING
    told = [one.error for one in (b.join(), a.sync(), a.commit(), a.fetch(("t", 0)), a.leave(), a.describe())]
    assert set(told) == {"COORDINATOR_LOAD_IN_PROGRESS"}
    assert a.heartbeat().error == "NONE"
    assert stage.group is None
    stage.load()
    assert (stage.state, stage.members) == ("Stable 1", "A")


@scenario("19f", f"{CODES}: COORDINATOR_LOAD_IN_PROGRESS", profile="kafka-3.x")
def broker_of_3_that_is_still_loading(stage: Stage) -> None:
    """The same with a broker of 3.x: it tells a SyncGroup to join again, where later ones say that they load.
    That the consumer of the time does not expect and fails with."""
    a = stage.client("A")
    stage.stable(a)
    stage.give_up()
    stage.hosting = Hosting.LOADING
    assert a.sync().error == "REBALANCE_IN_PROGRESS"
    assert a.join().error == "COORDINATOR_LOAD_IN_PROGRESS"
