"""The mutants by name, and how a system with one of them is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rota.environment import world
from rota.invariants import classic
from rota.kernel import System, SystemRef
from rota.mutants import bugs
from rota.spec import RULES


class UnknownMutantError(KeyError):
    """No mutant has that name."""

    def __str__(self) -> str:
        return f"there is no mutant {self.args[0]}; `rota check --list-mutants` names them"


@dataclass(frozen=True)
class Mutant:
    """A planted bug.

    slug: the rule that it replaces; meaning: the mistake in one sentence; configuration: where it dies
    first; killer: the property that reports it there; seen_in: where such a bug was met, if it was.
    """

    name: str
    slug: str
    function: Callable[..., Any]
    configuration: str
    killer: str
    seen_in: str = ""

    @property
    def meaning(self) -> str:
        """The mistake in one sentence."""
        return (self.function.__doc__ or "").strip().partition("\n")[0]


def _mutants(*entries: Mutant) -> dict[str, Mutant]:
    return {entry.name: entry for entry in entries}


MUTANTS: Mapping[str, Mutant] = _mutants(
    Mutant(
        "barrier-ignores-pending",
        "join.barrier",
        bugs.barrier_ignores_pending,
        "rejoin",
        "join.barrier-waits-for-pending",
        "a test broker",
    ),
    Mutant(
        "barrier-counts-one", "join.barrier", bugs.barrier_counts_one, "core", "timers.parked-member-stays"
    ),
    Mutant(
        "absent-members-stay", "join.complete-phase", bugs.absent_members_stay, "core", "join.no-bystander"
    ),
    Mutant(
        "generation-stands-still",
        "join.next-generation",
        bugs.generation_stands_still,
        "core",
        "generation.grows-by-completed-joins",
        "a mock server",
    ),
    Mutant(
        "list-for-everybody",
        "join.next-generation",
        bugs.list_for_everybody,
        "core",
        "join.members-for-leader-only",
    ),
    Mutant(
        "no-sync-timer",
        "join.next-generation",
        bugs.no_sync_timer,
        "core",
        "timers.match-state",
        "KAFKA-12890",
    ),
    Mutant(
        "leader-not-replaced",
        "leave.remove-member",
        bugs.leader_not_replaced,
        "leave",
        "join.leader-is-a-member",
        "a test broker",
    ),
    Mutant(
        "parked-join-forgotten",
        "leave.remove-member",
        bugs.parked_join_forgotten,
        "fault",
        "parked.iff-waiting",
    ),
    Mutant(
        "vote-by-union", "voting.candidates", bugs.vote_by_union, "overlap", "voting.chosen-supported-by-all"
    ),
    Mutant(
        "newcomers-unchecked",
        "voting.supports",
        bugs.newcomers_unchecked,
        "no-common-protocol",
        "voting.common-protocol",
    ),
    Mutant(
        "unchanged-rejoin-counts",
        "join.unchanged",
        bugs.unchanged_rejoin_counts,
        "rejoin",
        "generation.grows-by-completed-joins",
    ),
    Mutant(
        "id-stays-pending",
        "join.pending-member",
        bugs.id_stays_pending,
        "core",
        "join.pending-are-no-members",
    ),
    Mutant(
        "pending-without-timer",
        "join.member-id-required",
        bugs.pending_without_timer,
        "core",
        "timers.match-state",
        "redpanda-data/redpanda#3761",
    ),
    Mutant(
        "follower-answered-at-once",
        "sync.follower-waits",
        bugs.follower_answered_at_once,
        "core",
        "sync.as-stored",
    ),
    Mutant(
        "stable-before-stored", "sync.leader-assigns", bugs.stable_before_stored, "core", "parked.fits-state"
    ),
    Mutant(
        "heartbeat-stops-session",
        "heartbeat.alive",
        bugs.heartbeat_stops_session,
        "core",
        "timers.match-state",
    ),
    Mutant(
        "change-without-rebalance",
        "join.rebalance-or-complete",
        bugs.change_without_rebalance,
        "core",
        "join.membership-fixed-in-a-generation",
    ),
    Mutant(
        "initial-timer-lost",
        "timers.initial-delay-over",
        bugs.initial_timer_lost,
        "core",
        "timers.match-state",
    ),
    Mutant(
        "join-timer-lost",
        "timers.join-timeout",
        bugs.join_timer_lost,
        "core",
        "timers.match-state",
        "redpanda-data/redpanda#25270",
    ),
    Mutant(
        "sync-timeout-forgives",
        "timers.sync-timeout",
        bugs.sync_timeout_forgives,
        "core",
        "timers.match-state",
    ),
    Mutant(
        "session-takes-parked",
        "timers.session-ignored",
        bugs.session_takes_parked,
        "fault",
        "timers.parked-member-stays",
        "redpanda-data/redpanda#22749",
    ),
    Mutant(
        "session-without-rebalance",
        "timers.session-expired",
        bugs.session_without_rebalance,
        "leave",
        "join.membership-fixed-in-a-generation",
    ),
    Mutant(
        "new-member-expires-silently",
        "timers.new-member-expired",
        bugs.new_member_expires_silently,
        "fault",
        "parked.iff-waiting",
    ),
    Mutant(
        "pending-expiry-unnoticed",
        "timers.pending-expired",
        bugs.pending_expiry_unnoticed,
        "leave-and-rejoin",
        "join.open-barrier-completes",
    ),
    Mutant(
        "late-answer-believed",
        "persistence.late-answer",
        bugs.late_answer_believed,
        "core",
        "state.legal-transition",
    ),
    Mutant(
        "failed-append-unanswered",
        "persistence.assignment-failed",
        bugs.failed_append_unanswered,
        "fault",
        "parked.iff-waiting",
    ),
    Mutant(
        "shares-swapped", "persistence.assignment-stored", bugs.shares_swapped, "core", "sync.own-assignment"
    ),
    Mutant(
        "generation-announced-early",
        "join.next-generation",
        bugs.generation_announced_early,
        "core",
        "generation.client-not-ahead",
    ),
    Mutant(
        "syncs-answered-twice",
        "persistence.assignment-stored",
        bugs.syncs_answered_twice,
        "core",
        "parked.answered-once",
    ),
)


def system(settings: Mapping[str, Any], mutant: str | None = None, *, strict: bool = False) -> System:
    """The world of a configuration, with its properties, and a mutant in it if one is named.

    A mutant lives in a world that keeps dead data: what is dead for the rules need not be for the mutant.
    strict: known weaknesses count as violations. Errors: UnknownMutantError, SettingsError.
    """
    chosen = dict(settings)
    rules = RULES
    if mutant is not None:
        if mutant not in MUTANTS:
            raise UnknownMutantError(mutant)
        chosen["settle"] = False
        rules = RULES.replaced(MUTANTS[mutant].slug, MUTANTS[mutant].function)
    ref = SystemRef(
        "rota.mutants.registry:rebuild",
        (("settings", tuple(sorted(settings.items()))), ("mutant", mutant), ("strict", strict)),
    )
    return world(classic(chosen, strict=strict), rules=rules, ref=ref, **chosen)


def rebuild(settings: tuple[tuple[str, Any], ...], mutant: str | None, strict: bool) -> System:
    """`system`, from settings that were shipped to another process."""
    return system(dict(settings), mutant, strict=strict)
