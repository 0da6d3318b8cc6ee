"""Known weaknesses: which brokers have them, and where a check must find them anew.

The sentences stand beside the properties of their kind; this is the list of whom each is true of. Many are
the strong form of a property that does hold. Where a profile's brokers do not break one, or where nothing of
what it takes is in a configuration, it is a property like all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rota.environment.clients.malformed_requests import STATIC_SINCE
from rota.environment.world import Observed, observed
from rota.invariants import crowd, liveness, moves, offsets, owners, restarts, safety, shape, static
from rota.kernel import Liveness, Property
from rota.spec import KAFKA_4, PROFILES, ROTA, ErrorCode
from rota.spec.classic.join import HANDSHAKE_SINCE
from rota.spec.classic.static import SKIPS_SINCE

Cause = Callable[[Observed], bool | None]
"""Whether a configuration has what a weakness takes.

True: it must be found anew; False: it cannot be there; None: it may or may not, and nothing is said.
"""


@dataclass(frozen=True)
class Weakness:
    """A sentence that one would wish to hold. profiles: whose brokers break it; cause: where they do."""

    sentence: Property | Liveness
    profiles: tuple[str, ...]
    cause: Cause

    @property
    def is_mended(self) -> bool:
        """Whether rota's mends end it."""
        return KAFKA_4.name in self.profiles and ROTA.name not in self.profiles

    @property
    def name(self) -> str:
        """The sentence's."""
        return self.sentence.name

    def known_in(self, profile: str) -> bool:
        """Whether brokers of a profile break it."""
        return profile in self.profiles


def _sole(seen: Observed) -> bool:
    """Whether every static member is alone with its instance id, and there is room for all."""
    return len(set(seen.statics)) == len(seen.statics) and seen.max_size is None


def _a_process_restarts(seen: Observed) -> bool | None:
    """A static member comes back while others are in the group, and is not refused for its size."""
    if not seen.statics:
        return False
    return True if seen.meet and _two_obey(seen) and _sole(seen) and seen.may("crash") else None


def _an_old_leader_restarts(seen: Observed) -> bool | None:
    """The same, with a JoinGroup that cannot say that the assignment is to be skipped (KIP-814)."""
    restarts = _a_process_restarts(seen)
    return restarts if max(seen.versions) < SKIPS_SINCE or not restarts else None


def _a_full_group_restarts(seen: Observed) -> bool | None:
    """A static member of a full group comes back."""
    if seen.max_size is None or not seen.statics:
        return False
    return True if seen.max_size <= seen.clients and seen.may("crash") else None


def _too_many_while_preparing(seen: Observed) -> bool | None:
    """Three members that rejoin, and newcomers, compete for two places."""
    if seen.max_size is None:
        return False
    return True if (seen.max_size, seen.clients) == (2, 3) else None


def _too_many_beside_the_absent(seen: Observed) -> bool | None:
    """The same, with a static member that does not come back in time."""
    if not seen.statics:
        return False
    return _too_many_while_preparing(seen) if seen.may("late", "crash") else None


def _a_client_is_busy(seen: Observed) -> bool | None:
    """An application takes its time before it polls again, and its client heartbeats only then."""
    if not seen.budget.get("process"):
        return False
    return True if "old" in seen.kinds else None


def _a_late_join_replaces(seen: Observed) -> bool | None:
    """A JoinGroup of a process that is gone is taken when the next one of its instance has joined."""
    if not seen.statics:
        return False
    return True if _sole(seen) and seen.may("crash", "break") else None


def _a_restart_fails(seen: Observed) -> bool | None:
    """A static member closes and comes back, a newcomer joins, and the log fails: nothing else goes wrong."""
    if not seen.statics:
        return False
    others = seen.clients > len(seen.statics) and seen.max_size is None
    return True if others and {*seen.budget} == {"leave", "append"} else None


def _a_leave_is_lost(seen: Observed) -> bool | None:
    """A LeaveGroup is lost, or what it did is not stored yet when the coordinator moves."""
    if seen.statics:
        return None
    return bool(seen.budget.get("leave")) and seen.may("crash", "break", "failover")


def _it_comes_back(seen: Observed) -> bool | None:
    """The coordinator moves away and back while the leader computes."""
    moves = seen.budget.get("failover", 0)
    return True if moves > 1 else None if moves else False


def _a_number_comes_twice(seen: Observed) -> bool | None:
    """The coordinator moves away and back, a generation is lost, and its leader's request comes late."""
    if not restarts.hands_out_all(seen):
        return None
    if seen.budget.get("failover", 0) < 2 or not seen.may("break"):
        return False
    alike = seen.meet and set(seen.kinds) == {"eager"} and len({*seen.protocols}) == 1
    return True if alike and not seen.statics and seen.max_size is None and seen.partitions > 1 else None


def _only_the_chosen_is_stored(seen: Observed) -> bool | None:
    """A client prefers a protocol that another one does not have, and is alone when the coordinator moves."""
    if not seen.meet:
        return None
    common = set(seen.protocols[0]).intersection(*seen.protocols[1:])
    prefers_another = any(names[0] not in common for names in seen.protocols)
    return prefers_another and bool(seen.budget.get("failover"))


def _somebody_is_raw(seen: Observed) -> bool:
    return "raw" in seen.kinds


def _two_obey(seen: Observed) -> bool:
    """Whether there are two clients that join and stay; strangers do neither."""
    return len(seen.kinds) - seen.kinds.count("raw") > 1


def _a_request_is_late(seen: Observed) -> bool:
    """A connection may break and its request arrive after that of the next one; or a stranger sends one."""
    return seen.may("break") or _somebody_is_raw(seen)


def _somebody_is_late(seen: Observed) -> bool | None:
    """A client may be taken for dead, or be left behind by a rebalance; another gets what it had."""
    if not seen.meet:
        return False
    if seen.may("late") or _a_client_is_busy(seen):
        return True if _two_obey(seen) else None
    return None if seen.statics or seen.may("break", "failover") else False


def _a_client_vanishes(seen: Observed) -> bool | None:
    """A member's client may be gone before it sends SyncGroup, or come back as another member."""
    if seen.may("crash"):
        return True
    return None if seen.may("break") or seen.budget.get("retry") else False


def _an_id_is_left(seen: Observed) -> bool | None:
    """An id may be handed out and not used: its client vanishes, or its answer is lost; others wait."""
    dynamic = (v for v, i in zip(seen.versions, seen.instances, strict=True) if i is None)
    if max(dynamic, default=0) < HANDSHAKE_SINCE or not seen.may("crash", "break", "failover"):
        return False
    sure = seen.meet and seen.handshake and seen.max_size is None and not _somebody_is_raw(seen)
    return True if sure and seen.may("crash") else None


def _a_stranger_removes(seen: Observed) -> bool | None:
    """Who is no member sends a LeaveGroup for the first client."""
    if not _somebody_is_raw(seen):
        return False
    return True if seen.kinds[0] != "raw" and seen.max_size is None else None


def _two_come_at_once(seen: Observed) -> bool | None:
    """A second client joins during the only window of the first one's initial delay."""
    if len(seen.kinds) < 2:
        return False
    return True if seen.meet and _two_obey(seen) and _sole(seen) and seen.one_window else None


EVERY = tuple(PROFILES)
WITH_HANDSHAKE = tuple(profile.name for profile in PROFILES.values() if profile.member_id_handshake)
WITH_STATIC_MEMBERS = tuple(
    profile.name for profile in PROFILES.values() if dict(profile.versions)["JoinGroup"][1] >= STATIC_SINCE
)
WITH_SIZE_LIMIT = tuple(profile.name for profile in PROFILES.values() if profile.size_limit)
WITHOUT_SYNC_TIMER = tuple(profile.name for profile in PROFILES.values() if not profile.sync_timer)
WAITS_AFTER_REFUSAL = tuple(
    profile.name
    for profile in PROFILES.values()
    if profile.size_limit and not profile.refusal_completes_phase
)

SYNC_TOLD_OF_LOADING = tuple(
    profile.name
    for profile in PROFILES.values()
    if profile.sync_while_loading is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
)

UNANSWERED = tuple(profile.name for profile in PROFILES.values() if not profile.answers_replaced)
REMOVED_UNANSWERED = tuple(profile.name for profile in PROFILES.values() if not profile.answers_removed)
HAUNTED = tuple(name for name in WITH_STATIC_MEMBERS if PROFILES[name].replaced_owes_sync)
UNDONE_LATE = tuple(name for name in WITH_STATIC_MEMBERS if PROFILES[name].late_failure_undoes)
REMEMBERS = tuple(profile.name for profile in PROFILES.values() if profile.newcomer_mark_stays)

SIZE = crowd.within_limit()
LOST = restarts.nothing_unowned_ever()

_SENTENCES: Mapping[str, Property | Liveness] = {
    one.name: one
    for one in (
        *shape.KNOWN_WEAKNESSES,
        *safety.KNOWN_WEAKNESSES,
        *owners.KNOWN_WEAKNESSES,
        *crowd.KNOWN_WEAKNESSES,
        SIZE,
        *static.KNOWN_WEAKNESSES,
        *restarts.KNOWN_WEAKNESSES,
        LOST,
        *moves.KNOWN_WEAKNESSES,
        *offsets.KNOWN_WEAKNESSES,
        *liveness.KNOWN_WEAKNESSES,
    )
}

_ABOUT: Mapping[str, tuple[tuple[str, ...], Cause]] = {
    "weakness.replaced-request-unanswered": (UNANSWERED, _a_request_is_late),
    "weakness.removed-request-unanswered": (REMOVED_UNANSWERED, _a_stranger_removes),
    "weakness.taken-for-dead-and-consuming": (EVERY, _somebody_is_late),
    "weakness.newcomer-remembered": (REMEMBERS, _two_come_at_once),
    "weakness.unused-id-holds-up": (WITH_HANDSHAKE, _an_id_is_left),
    "join.open-barrier-completes": (WAITS_AFTER_REFUSAL, _too_many_while_preparing),
    "weakness.absent-members-not-counted": (WITH_SIZE_LIMIT, _too_many_beside_the_absent),
    "weakness.stale-sync-debt": (HAUNTED, _a_process_restarts),
    "weakness.static-restart-refused": (WITH_STATIC_MEMBERS, _a_full_group_restarts),
    "weakness.leader-does-not-know": (WITH_STATIC_MEMBERS, _an_old_leader_restarts),
    "weakness.fenced-by-a-failed-restart": (UNDONE_LATE, _a_restart_fails),
    "weakness.fenced-by-its-own-past": (WITH_STATIC_MEMBERS, _a_late_join_replaces),
    "weakness.left-and-still-a-member": (EVERY, _a_leave_is_lost),
    "weakness.sync-while-loading-is-fatal": (SYNC_TOLD_OF_LOADING, _it_comes_back),
    LOST.name: (EVERY, _a_number_comes_twice),
    "weakness.refused-after-a-move": (EVERY, _only_the_chosen_is_stored),
    "weakness.busy-client-taken-for-dead": (EVERY, _a_client_is_busy),
    "weakness.replaced-request-waits": (UNANSWERED, _a_request_is_late),
    "weakness.sync-phase-needs-sessions": (WITHOUT_SYNC_TIMER, _a_client_vanishes),
}
"""Sentence -> (profiles whose brokers break it, its cause)."""

FOR_OTHER_REASONS = frozenset({"weakness.fenced-by-a-failed-restart"})
"""Sentences that other causes break as well: nothing is said of them where their own is not sure."""

STRONG_FORMS: Mapping[str, str] = {
    "weakness.replaced-request-unanswered": "parked.iff-waiting",
    "weakness.taken-for-dead-and-consuming": "sync.one-owner",
    "weakness.unused-id-holds-up": "join.pending-ids-end",
    "weakness.absent-members-not-counted": "join.size-within-limit",
    "weakness.leader-does-not-know": "join.one-leader-per-generation",
    "weakness.fenced-by-a-failed-restart": "static.fenced-by-another",
    "weakness.fenced-by-its-own-past": "static.fenced-by-another",
    LOST.name: "sync.nothing-unowned",
    "weakness.replaced-request-waits": "parked.answered-in-the-end",
    "weakness.sync-phase-needs-sessions": "sync.phase-ends",
}
"""Sentence -> the property that does hold and of which it is the strong form."""

WEAKNESSES: tuple[Weakness, ...] = tuple(Weakness(one, *_ABOUT[name]) for name, one in _SENTENCES.items())
"""All of them, in the order of their sentences."""


def known_weaknesses(profile: str) -> tuple[Weakness, ...]:
    """Those of a profile's brokers."""
    return tuple(one for one in WEAKNESSES if one.known_in(profile))


def judged(settings: Mapping[str, Any]) -> tuple[tuple[Weakness, bool], ...]:
    """The weaknesses that these settings of a world decide, each with whether it must be found anew."""
    seen = observed(settings)
    causes = ((one, _found_or_not(one, seen)) for one in WEAKNESSES)
    # A raw client may speak for any member, so no sentence about clients has to hold beside it: but what rota
    # has mended must hold beside anybody.
    said = (
        (one, cause)
        for one, cause in causes
        if cause or not _somebody_is_raw(seen) or (one.is_mended and seen.profile == ROTA.name)
    )
    return tuple((_fitted(one, seen), cause) for one, cause in said if cause is not None)


def _found_or_not(weakness: Weakness, seen: Observed) -> bool | None:
    """Its cause; where brokers do not have the weakness it is not found, and the sentence holds."""
    cause = weakness.cause(seen)
    if weakness.known_in(seen.profile):
        return cause
    return None if cause is None and weakness.name in FOR_OTHER_REASONS else False


def _fitted(weakness: Weakness, seen: Observed) -> Weakness:
    """With the limit or the partitions that the sentence is about, where it is about these."""
    if weakness.name == SIZE.name and seen.max_size is not None:
        return replace(weakness, sentence=crowd.within_limit(seen.max_size))
    if weakness.name == LOST.name:
        return replace(weakness, sentence=restarts.nothing_unowned_ever(seen.partitions))
    return weakness
