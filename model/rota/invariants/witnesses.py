"""Witnesses: what must be reachable, else the check is vacuous; and the declared ends."""

from __future__ import annotations

from collections.abc import Callable

from rota.environment.broker.coordinator import Coordinator
from rota.environment.clients.state import ENDED, IN_GENERATION, Client, Phase
from rota.environment.world import Observed
from rota.invariants.views import CLIENT, GROUP
from rota.kernel import Kind, Property, View
from rota.spec import Group, GroupState


def _stable_in(client: Client) -> int | None:
    return client.generation_id if client.phase in IN_GENERATION else None


def _together(one: int | None, other: int | None) -> bool:
    return one is not None and one == other


def _is_stable(generation: int | None) -> bool:
    return generation is not None


def _second_generation(group: Group | None) -> bool:
    return group is not None and group.generation_id >= 2 and group.state is GroupState.STABLE


def _empty_again(group: Group | None) -> bool:
    return group is not None and group.state is GroupState.EMPTY and group.generation_id > 0


def _rejoins_after_restart(client: Client) -> bool:
    return client.phase is Phase.STABLE and client.member_id.endswith("-2")


def _stuck_behind_pending(group: Group | None) -> bool:
    if group is None or group.state is not GroupState.PREPARING_REBALANCE or group.initial_join is not None:
        return False
    return bool(group.pending) and len(group.awaiting_join) == len(group.members)


def _leads(client: Client) -> tuple[int, int] | None:
    return (client.epoch, client.generation_id) if client.leads else None


def _same_number(one: tuple[int, int] | None, other: tuple[int, int] | None) -> bool:
    return one is not None and other is not None and one[0] != other[0] and one[1] == other[1]


def _phase(client: Client) -> Phase:
    return client.phase


def _failed(phase: Phase) -> bool:
    return phase is Phase.FAILED


def _witness(name: str, meaning: str, views: tuple[View, ...], test: Callable[..., bool]) -> Property:
    return Property(name, Kind.WITNESS, meaning, views, test)


def witnesses(observed: Observed) -> tuple[Property, ...]:
    """What a configuration with these clients and this budget must show."""
    clients = len([kind for kind in observed.kinds if kind != "raw"])
    if observed.max_size is not None:
        clients = min(clients, observed.max_size)
    stable = View("client", _stable_in)
    found = [_witness("can_become_stable", "A client becomes stable.", (stable,), _is_stable)]
    busy = clients > 2 or any(observed.budget.get(kind) for kind in ("fault", "rejoin"))
    if not observed.compatible:
        phase = View("client", _phase)
        found.append(
            _witness("can_be_refused", "A client without a common protocol is refused.", (phase,), _failed)
        )
    if clients > 1 and observed.compatible and observed.handshake and busy:
        found.append(
            _witness(
                "can_wait_for_pending",
                "All members have joined and wait for an id that was handed out.",
                (GROUP,),
                _stuck_behind_pending,
            )
        )
    if clients > 1 and observed.compatible:
        found += [
            _witness("can_share", "Two clients are stable in one generation.", (stable, stable), _together),
            _witness("can_rebalance", "A second generation becomes stable.", (GROUP,), _second_generation),
        ]
    if observed.budget.get("fault", 0) or observed.budget.get("leave", 0) >= clients:
        found.append(_witness("can_empty_again", "The group loses its last member.", (GROUP,), _empty_again))
    if observed.budget.get("failover") and clients > 1 and observed.compatible:
        leads = View("client", _leads)
        found.append(
            _witness(
                "can_reuse_a_generation",
                "Two clients lead generations of one number, made by one coordinator after the other.",
                (leads, leads),
                _same_number,
            )
        )
    if observed.budget.get("fault", 0):
        found.append(
            _witness(
                "can_return_under_another_id",
                "A client is stable under its second id.",
                (CLIENT,),
                _rejoins_after_restart,
            )
        )
    return tuple(found)


def _quiet(value: Coordinator) -> tuple[bool, int, frozenset[str]]:
    """(nothing is under way, generation, members)."""
    group = value.group
    if group is None:
        return True, 0, frozenset()
    at_rest = (
        group.state in (GroupState.STABLE, GroupState.EMPTY) and not group.pending and not group.pending_sync
    )
    return at_rest, group.generation_id, frozenset(group.members)


def _at_rest(client: Client) -> tuple[bool, int, str] | None:
    """None for a client that has ended for good, else (stable with nothing in flight, generation, id)."""
    if client.phase in ENDED and client.phase is not Phase.CRASHED:
        return None
    calm = client.phase is Phase.STABLE and client.inbox is None and client.orphan is None
    return calm, client.generation_id, client.member_id


def _settled(quiet: tuple[bool, int, frozenset[str]], client: tuple[bool, int, str] | None) -> bool:
    at_rest, generation_id, members = quiet
    if client is None:
        return at_rest
    calm, own_generation, member_id = client
    return at_rest and calm and own_generation == generation_id and member_id in members


ENDS = (
    Property(
        "ends.settled",
        Kind.TERMINAL,
        "The group is at rest, and every client is a member of the current generation or has gone.",
        (View("coordinator", _quiet), View("client", _at_rest)),
        _settled,
    ),
)
