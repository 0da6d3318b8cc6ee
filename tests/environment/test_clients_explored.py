"""Clients of every kind in small worlds, explored to the end by the reference engine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from harness.thinned import some
from rota.environment import world
from rota.environment.clients.callbacks import Callback, listener_calls
from rota.environment.clients.cooperative import CooperativeClient
from rota.environment.clients.state import Client, Phase
from rota.kernel import State, System, Transition
from rota.spec import GroupState

TWO_COOPERATIVE: dict[str, Any] = {
    "protocols": (("cooperative-sticky",), ("cooperative-sticky",)),
    "clients": ("cooperative", "cooperative"),
}
TWO_STATIC: dict[str, Any] = {"instances": ("i1", "i2")}
OLD: dict[str, Any] = {"join_version": 0, "budget": (("process", 1),)}

WORLDS: dict[str, dict[str, Any]] = {
    "eager": {},
    "round robin": {"protocols": (("roundrobin",), ("roundrobin",))},
    "sticky": {"protocols": (("sticky",), ("sticky",))},
    "static": TWO_STATIC,
    "static and dynamic": {"instances": ("i1", "")},
    "static, one closes": {**TWO_STATIC, "budget": (("leave", 1),)},
    "cooperative": TWO_COOPERATIVE,
    "cooperative and static": {**TWO_COOPERATIVE, "instances": ("i1", "")},
    "cooperative, a new partition": {**TWO_COOPERATIVE, "budget": (("partitions", 1),)},
    "old": {**OLD, "clients": ("old", "old")},
    "offsets": {"offsets": True, "budget": (("commit", 1),)},
    "cooperative, offsets": {**TWO_COOPERATIVE, "offsets": True, "budget": (("commit", 1),)},
    "poll timeout": {"budget": (("poll-timeout", 1),)},
    "retry": {"budget": (("retry", 1),)},
}


def reachable(system: System) -> tuple[set[State], list[tuple[State, Transition]]]:
    """Every state and every transition, by plain search."""
    found = set(system.initial_states())
    frontier, steps = list(found), []
    while frontier:
        fresh = set()
        for state in frontier:
            for transition in system.successors(state):
                steps.append((state, transition))
                fresh.add(transition.target)
        fresh -= found
        found |= fresh
        frontier = list(fresh)
    return found, steps


def clients(state: State) -> list[Client]:
    return [value for value in state if isinstance(value, Client)]


def labels(steps: Iterable[tuple[State, Transition]]) -> set[str]:
    return {local_step.label for _, transition in steps for local_step in transition.local_steps}


def together(state: State, partitions: int = 2) -> bool:
    """All clients are stable in the group's generation and share all its partitions."""
    group = state[0].group  # type: ignore[union-attr]
    if group is None or group.state is not GroupState.STABLE:
        return False
    stable = all(
        c.phase is Phase.STABLE and c.generation_id == group.generation_id and c.member_id in group.members
        for c in clients(state)
    )
    owned = sorted(number for c in clients(state) for number in c.partitions)
    return stable and owned == list(range(partitions))


@pytest.mark.parametrize("name", some(WORLDS, always=("cooperative", "eager", "old", "static")))
def test_all_clients_become_stable_together(name: str) -> None:
    settings = WORLDS[name]
    found, _ = reachable(world(**settings))
    grown = 2 + dict(settings.get("budget", ())).get("partitions", 0)
    assert any(together(state, grown) for state in found)
    assert not any(c.unasked for state in found for c in clients(state))


def test_a_static_member_that_restarts_in_time_disturbs_nobody() -> None:
    """It gets its assignment back under a new id, in the same generation."""
    found, _ = reachable(world(protocols=(("range",),), instances=("i1",), budget=(("crash", 1),)))
    back = [c for state in found for c in clients(state) if c.phase is Phase.STABLE and c.member_id == "c1-2"]
    assert any(c.generation_id == 1 and c.partitions == (0, 1) for c in back)


def test_of_two_processes_with_one_instance_id_one_is_fenced_for_good() -> None:
    found, steps = reachable(world(instances=("i1", "i1")))
    assert {"c1 reads JoinGroup FENCED_INSTANCE_ID", "c1 reads Heartbeat FENCED_INSTANCE_ID"} <= labels(steps)
    assert any(c.phase is Phase.FAILED for state in found for c in clients(state))
    for state in found:
        group = state[0].group
        assert group is None or len(group.members) <= 1


def test_a_cooperative_rebalance_moves_a_partition_in_two_generations() -> None:
    """The second client waits a generation for what the first gives up; nothing is ever taken for lost."""
    found, steps = reachable(world(**TWO_COOPERATIVE))
    assert max(state[0].group.generation_id for state in found if state[0].group) == 3
    calls = {call.callback for _, _, call in calls_of(steps)}
    assert calls == {Callback.ASSIGNED, Callback.REVOKED}
    for state in found:
        owned = [number for c in clients(state) for number in c.partitions]
        assert len(owned) == len(set(owned))


def test_cooperative_clients_need_an_assignor_that_waits() -> None:
    """With one for eager clients a partition has its new owner before the old one has given it up."""
    found, _ = reachable(world(**{**TWO_COOPERATIVE, "protocols": (("range",), ("range",))}))
    owned = [[number for c in clients(state) for number in c.partitions] for state in found]
    assert any(len(numbers) > len(set(numbers)) for numbers in owned)


def test_cooperative_clients_need_to_join_again_after_revoking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: who has given something up is content with what is left; the other one never gets it."""

    def content(self: CooperativeClient, value: Client, reply: Any) -> Client:
        after = take_up(self, value, reply)
        revoked = after.phase is not Phase.STABLE
        return replace(after, phase=Phase.STABLE, outbox=None) if revoked else after

    take_up = CooperativeClient._take_up
    one_late: dict[str, Any] = {**TWO_COOPERATIVE, "join_version": 3}
    before, _ = reachable(world(**one_late))
    monkeypatch.setattr(CooperativeClient, "_take_up", content)
    found, _ = reachable(world(**one_late))
    assert all(together(state) for state in ends(before))
    assert not all(together(state) for state in ends(found))


def ends(found: set[State]) -> list[State]:
    """The states in which all clients are stable and none will hear anything new."""
    return [
        state
        for state in found
        if all(c.phase is Phase.STABLE and c.inbox is None for c in clients(state))
        and state[0].group.state is GroupState.STABLE  # type: ignore[union-attr]
    ]


def calls_of(steps: Iterable[tuple[State, Transition]]) -> list[tuple[Client, Client, Any]]:
    return [
        (before, after, call)
        for state, transition in steps
        for before, after in zip(clients(state), clients(transition.target), strict=True)
        for call in listener_calls(before, after)
    ]


def test_what_a_listener_is_told_adds_up() -> None:
    """Only what it has is taken from it, only what it has not is given; reset clients alone lose."""
    settings = {**TWO_COOPERATIVE, "join_version": 3, "budget": (("late", 1),)}
    seen = set()
    for before, after, call in calls_of(reachable(world(**settings))[1]):
        has = set(before.partitions)
        assert call.partitions <= has if call.callback is not Callback.ASSIGNED else not call.partitions & has
        assert (call.callback is Callback.LOST) == (
            call.callback is not Callback.ASSIGNED and after.generation_id < 0
        )
        seen.add(call.callback)
    assert seen == set(Callback)


def test_a_zombie_is_told_in_every_way() -> None:
    """A client whose session is over goes on with its old id: by heartbeat, sync, commit and join."""
    alone = {"protocols": (("range",),), "join_version": 3}
    settings = {**alone, "offsets": True, "budget": (("commit", 1), ("late", 1))}
    seen = labels(reachable(world(**settings))[1])
    for request in ("Heartbeat", "SyncGroup", "OffsetCommit", "JoinGroup"):
        assert f"c1 reads {request} UNKNOWN_MEMBER_ID" in seen


def test_only_an_old_client_is_taken_out_of_its_group_for_being_busy() -> None:
    for kind, taken_out in (("old", True), ("eager", False)):
        settings = {**OLD, "clients": (kind, kind)}
        found, _ = reachable(world(**settings))
        busy = [
            c.member_id in state[0].group.members
            for state in found
            for c in clients(state)
            if c.phase is Phase.PROCESSING
        ]
        assert busy
        assert all(busy) != taken_out


def test_without_the_handshake_each_retry_adds_a_member() -> None:
    for version, most in ((3, 2), (9, 1)):
        settings = {"protocols": (("range",),), "join_version": version, "budget": (("retry", 1),)}
        found, _ = reachable(world(**settings))
        assert max(len(state[0].group.members) for state in found if state[0].group) == most


def test_a_later_leader_assigns_new_partitions_too() -> None:
    """Whoever leads in the end has noticed, though another one noticed first."""
    found, steps = reachable(world(budget=(("leave", 1), ("partitions", 1))))
    assert "c2 notices a partition that is there already" in labels(steps)
    assert any(
        [sorted(c.partitions) for c in clients(state) if c.phase is Phase.STABLE] == [[0, 1, 2]]
        for state in found
        if any(c.phase is Phase.GONE for c in clients(state))
    )


def test_where_to_read_on_is_handed_over() -> None:
    """One client commits and leaves, the other one goes on behind the commit."""
    found, _ = reachable(world(offsets=True, budget=(("commit", 1), ("leave", 1))))
    assert any(
        one.phase is Phase.GONE and other.phase is Phase.STABLE and other.position == 1
        for state in found
        for one, other in (clients(state), clients(state)[::-1])
    )


def test_a_static_leader_that_restarts_knows_that_it_leads_only_since_version_9() -> None:
    """KIP-814: before it, nobody was left to notice new partitions."""
    alone = {"protocols": (("range",),), "instances": ("i1",), "budget": (("crash", 1),)}
    for version, knows in ((8, False), (9, True)):
        found, _ = reachable(world(**alone, join_version=version))
        leads = {
            c.leads
            for state in found
            for c in clients(state)
            if c.phase is Phase.STABLE and state[0].group.leader == c.member_id
        }
        assert leads == ({True} if knows else {True, False})


def test_a_request_left_behind_fences_the_process_that_comes_after() -> None:
    """A JoinGroup of a static member that died is taken late: its successor has lost its place, for good."""
    alone = {"protocols": (("range",),), "instances": ("i1",), "budget": (("crash", 1),)}
    found, steps = reachable(world(**alone))
    assert "c1 reads Heartbeat FENCED_INSTANCE_ID" in labels(steps)
    assert any(c.phase is Phase.FAILED for state in found for c in clients(state))
