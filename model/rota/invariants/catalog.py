"""All properties of a configuration of the classic protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from rota.environment.world import Observed, observed
from rota.invariants.answers import answers
from rota.invariants.crowd import joiners_within_limit, no_pile_up
from rota.invariants.effects import EFFECTS
from rota.invariants.liveness import LIVENESS, with_static_members, without_sync_timer
from rota.invariants.manners import COOPERATIVE, MANNERS, READING
from rota.invariants.offsets import CAN_COMMIT, OFFSETS
from rota.invariants.owners import EAGER, OWNERS
from rota.invariants.restarts import restarts
from rota.invariants.safety import SAFETY
from rota.invariants.shape import SHAPE
from rota.invariants.static import STATIC
from rota.invariants.steps import STEPS
from rota.invariants.weaknesses import (
    WITH_HANDSHAKE,
    WITH_SIZE_LIMIT,
    WITH_STATIC_MEMBERS,
    WITHOUT_SYNC_TIMER,
    judged,
)
from rota.invariants.witnesses import ENDS, witnesses
from rota.kernel import Kind, Liveness, Property
from rota.spec import PROFILES

BROKEN_BY_STRANGERS = frozenset(
    {
        "join.no-bystander",
        "parked.iff-waiting",
        "sync.as-stored",
        "sync.own-assignment",
        "timers.parked-member-stays",
    }
)
"""What does not hold where a client uses ids of others: the coordinator takes whoever sends an id for its
member.

A request under a member's id takes the place of the one that the member waits for, its LeaveGroup takes the
member out, its SyncGroup brings assignments. Kafka leaves that to authorisation, and to ids that are hard to
guess.
"""


PAST_A_GROUPS_END = frozenset({"generation.client-not-ahead"})
"""What does not hold where a group may be deleted: one of the same name begins again with generation 1."""


OUTLIVED = frozenset({"join.one-leader-per-generation", "sync.one-owner"})
"""What does not hold either where a client may be removed and not hear of it until a new group of the same
name has begun: it takes that group's generation 1 for its own. Fail-overs give numbers out twice as well, but
what a client believes says of which coordinator (`epoch`); nothing says of which of two groups with one name.
"""


SEVERAL_PHASES_AT_ONCE = frozenset({"generation.grows-by-completed-joins"})
"""What does not hold where a batch of members leaves one by one: each may complete a join phase."""


_BEYOND = (
    (
        WITH_HANDSHAKE,
        "no id is handed out before a client joins",
        (
            "join.pending-are-no-members",
            "client.given-id-is-used",
            "timers.id-kept-as-asked",
            "weakness.unused-id-holds-up",
        ),
    ),
    (
        tuple(name for name, profile in PROFILES.items() if profile.new_member_timer),
        "a new member has no timer of its own",
        ("timers.new-member-as-long",),
    ),
    (
        WITH_STATIC_MEMBERS,
        "there are no static members",
        ("static.one-member-per-instance", "static.absent-members-stay", "client.fence-is-final"),
    ),
    (WITH_SIZE_LIMIT, "a group has no greatest size", ("weakness.static-restart-refused",)),
    (
        tuple(name for name in PROFILES if name not in WITHOUT_SYNC_TIMER),
        "nobody keeps account of who has sent SyncGroup",
        ("weakness.stale-sync-debt",),
    ),
)
"""(Profiles that have something, what is said of those that do not, sentences about it)."""


def beyond(profile: str) -> dict[str, str]:
    """The sentences about what a profile's brokers do not have, each with what that is.

    They are judged all the same, in case a broker has it after all.
    """
    lacking = ((why, some) for profiles, why, some in _BEYOND if profile not in profiles)
    return {name: why for why, some in lacking for name in some}


def classic(settings: Mapping[str, Any], *, strict: bool = False) -> tuple[Property, ...]:
    """The properties for these settings of `rota.environment.world`.

    strict: known weaknesses are properties like all others, and violated; else they must be found anew.
    """
    seen = observed(settings)
    profile = PROFILES[seen.profile]
    claims = (
        *SHAPE,
        *SAFETY,
        no_pile_up(_vanishings(seen)),
        *OWNERS,
        *(() if "cooperative" in seen.kinds else EAGER),
        *MANNERS,
        *(READING if {"fault", "break"}.isdisjoint(seen.budget) else ()),
        *(COOPERATIVE if "cooperative" in seen.kinds else ()),
        *STATIC,
        *restarts(seen),
        *answers(seen),
        *(() if seen.max_size is None else (joiners_within_limit(seen.max_size),)),
        *(OFFSETS if seen.offsets else ()),
        *STEPS,
        *EFFECTS,
    )
    left_out = frozenset[str]()
    if "raw" in seen.kinds:
        left_out = BROKEN_BY_STRANGERS | PAST_A_GROUPS_END
        if profile.leaves_one_by_one:
            left_out |= SEVERAL_PHASES_AT_ONCE
    if seen.budget.get("retention"):
        left_out |= PAST_A_GROUPS_END
    if left_out >= PAST_A_GROUPS_END and may_outlive(seen):
        left_out |= OUTLIVED
    claims = tuple(claim for claim in claims if claim.name not in left_out)
    return (
        *claims,
        *_weak(settings, strict),
        *witnesses(seen),
        *((CAN_COMMIT,) if seen.offsets and seen.budget.get("commit") else ()),
        *ENDS,
    )


def _vanishings(seen: Observed) -> int:
    """How many processes may crash and connections may break."""
    return sum(seen.budget.get(kind, 0) for kind in ("fault", "crash", "break"))


def may_outlive(seen: Observed) -> bool:
    """Whether a client may be removed and not know it while another one makes a new group of that name."""
    return len(seen.kinds) - seen.kinds.count("raw") > 1 and seen.may("late", "process")


def endless(settings: Mapping[str, Any], *, strict: bool = False) -> tuple[Liveness, ...]:
    """The sentences about endless runs for these settings; strict as in `classic`.

    None beside a raw client: it may take anybody's place, and nothing that it does is owed.
    """
    seen = observed(settings)
    if "raw" in seen.kinds:
        return ()
    timed = PROFILES[seen.profile].sync_timer
    lively = LIVENESS if timed else tuple(without_sync_timer(one) for one in LIVENESS)
    if seen.statics:
        lively = tuple(with_static_members(one) for one in lively)
    weak = (
        replace(one.sentence, broken=known and not strict)
        for one, known in judged(settings)
        if isinstance(one.sentence, Liveness)
    )
    return (*lively, *weak)


def _weak(settings: Mapping[str, Any], strict: bool) -> Iterator[Property]:
    """The weak sentences about states and steps."""
    for one, known in judged(settings):
        if isinstance(one.sentence, Property):
            yield found_anew(one.sentence) if known and not strict else one.sentence


def found_anew(weakness: Property) -> Property:
    """A known weakness as a witness: some state that breaks it must be reachable."""

    def broken(*views: Any) -> bool:
        return not weakness.holds(*views)

    return replace(weakness, kind=Kind.WITNESS, test=broken, given=None)
