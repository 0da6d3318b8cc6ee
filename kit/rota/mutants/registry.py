"""The mutants by name, and how a system with one of them is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rota.environment import world
from rota.environment.world import CLIENTS
from rota.explore.result import DEADLOCK
from rota.invariants import classic, endless
from rota.kernel import Kind, System, SystemRef
from rota.mutants.bugs import (
    admin,
    clients,
    dialogues,
    dialogues_admin,
    dialogues_doors,
    heartbeat,
    join,
    leave,
    moves,
    offsets,
    persistence,
    rebalance,
    static,
    sync,
    timers,
    voting,
)
from rota.mutants.mutant import Mutant, collect
from rota.spec import RULES


class UnknownMutantError(KeyError):
    """No mutant has that name."""

    def __str__(self) -> str:
        return f"there is no mutant {self.args[0]}; `rota check --list-mutants` names them"


MUTANTS: Mapping[str, Mutant] = collect(
    join,
    rebalance,
    voting,
    sync,
    heartbeat,
    leave,
    timers,
    persistence,
    static,
    moves,
    offsets,
    admin,
    clients,
)

FOUND_BY_DIALOGUES: Mapping[str, Mutant] = collect(dialogues, dialogues_admin, dialogues_doors)
"""Those that no property of the world sees, and a dialogue of the tests does."""

KILLS_ALONE: Mapping[str, tuple[str, str]] = {
    "join.one-leader-per-generation": ("generation-stands-still", "fault"),
    "join.list-is-the-membership": ("generation-stands-still", "fault"),
    "sync.one-owner": ("generation-stands-still", "fault"),
    "static.one-member-per-process": ("loaded-without-instances", "move-static"),
    "join.no-pile-up": ("newcomer-without-timer", "pile-up"),
}
"""Properties that are never the first to report a mutant → one that each kills judged alone, and where."""

OF_CLIENTS = "client."
"""How the slug of a client's mutant begins; the kind of client follows (see `rota.mutants.bugs.clients`)."""

ODD_REQUESTS: Mapping[str, str] = {
    "join.invalid-group-id": "an empty group id",
    "join.invalid-session-timeout": "a session timeout out of bounds",
    "join.unknown-group": "a member id for a group that is not there",
    "sync.protocol-required": "no protocol type or name where both are required",
    "sync.invalid-group-id": "an empty group id",
    "sync.inconsistent-protocol": "another protocol type or name than the group's",
    "heartbeat.invalid-group-id": "an empty group id",
    "leave.invalid-group-id": "an empty group id",
    "leave.unknown-group": "a leave from a group that is not there",
}
"""Rules that clients which obey the protocol never make fire, and what does: a stranger's request, whose
answer no property looks at. Their mutants are found by dialogues."""


def every_mutant() -> dict[str, Mutant]:
    """What `rota check --mutant` takes: also those that no property sees, of which it compares the counts."""
    return {**MUTANTS, **FOUND_BY_DIALOGUES}


def system(
    settings: Mapping[str, Any],
    mutant: str | None = None,
    *,
    strict: bool = False,
    only: str | None = None,
    settled: bool = False,
) -> System:
    """The world of a configuration, with its properties, and a mutant in it if one is named.

    A mutant lives in a world that keeps dead data: what is dead for the rules need not be for the mutant.
    strict: known weaknesses count as violations; only: the property that is judged, or `deadlock`; a known
    weakness as a violation; settled: a mutant's world, too, clears dead data, so that its counts can be
    compared with those of the sound one. Errors: UnknownMutantError, SettingsError.
    """
    chosen, replaced = dict(settings), {}
    if mutant is not None:
        if mutant not in every_mutant():
            raise UnknownMutantError(mutant)
        if not settled:
            chosen["settle"] = False
        replaced = _replaced(every_mutant()[mutant])
    given = {"mutant": mutant, "strict": strict, **({} if only is None else {"only": only})}
    given |= {"settled": True} if settled else {}
    shipped = (("settings", tuple(sorted(settings.items()))), *given.items())
    ref = SystemRef("rota.mutants.registry:rebuild", shipped)
    hard = strict or only is not None
    properties, lively = classic(chosen, strict=hard), endless(chosen, strict=hard)
    if only is not None:
        ends = only == DEADLOCK
        properties = tuple(
            one for one in properties if (one.kind is Kind.TERMINAL if ends else one.name == only)
        )
        lively = tuple(one for one in lively if one.name == only)
    return replace(world(properties, ref=ref, **replaced, **chosen), liveness=lively)


def _replaced(mutant: Mutant) -> dict[str, Any]:
    """The table of rules, or that of clients, with the mutant in it."""
    if mutant.slug.startswith(OF_CLIENTS):
        return {"kinds": {**CLIENTS, mutant.slug.removeprefix(OF_CLIENTS): mutant.function}}
    return {"rules": RULES.replaced(mutant.slug, mutant.function)}


def rebuild(
    settings: tuple[tuple[str, Any], ...],
    mutant: str | None,
    strict: bool,
    only: str | None = None,
    settled: bool = False,
) -> System:
    """`system`, from settings that were shipped to another process."""
    return system(dict(settings), mutant, strict=strict, only=only, settled=settled)
