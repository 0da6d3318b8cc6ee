"""The mutants that liveness properties kill: with them a group waits, or changes, for ever."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EndlessKill:
    """by: a liveness property; mutant; configuration: of the scope endless, where it breaks it."""

    by: str
    mutant: str
    configuration: str


ENDLESS_KILLS: tuple[EndlessKill, ...] = tuple(
    EndlessKill(*one)
    for one in (
        ("join.phase-ends", "initial-timer-lost", "core"),
        ("join.phase-ends", "join-timer-lost", "alone-crash"),
        ("sync.phase-ends", "no-sync-timer", "alone-crash"),
        ("sync.phase-ends", "sync-timeout-forgives", "alone-crash"),
        ("sync.phase-ends", "former-id-leads", "alone-static"),
        ("parked.answered-in-the-end", "failed-append-unanswered", "append"),
        ("parked.answered-in-the-end", "stable-before-stored", "core"),
        ("parked.answered-in-the-end", "commit-never-answered", "commit"),
        ("parked.answered-in-the-end", "waiting-members-given-up", "alone-move"),
        ("parked.answered-in-the-end", "stopping-broker-is-silent", "alone-move"),
        ("parked.answered-in-the-end", "wrong-broker-is-silent", "alone-move"),
        ("join.pending-ids-end", "pending-without-timer", "no-common-protocol"),
        ("timers.unused-members-go", "heartbeat-stops-session", "alone-crash"),
        ("group.settles", "change-without-rebalance", "core"),
        ("group.settles", "coordinator-is-never-found", "alone-move"),
    )
)
"""One kill or more per sentence; `rota rules --matrix` shows them beside the first killer of each mutant."""
