"""Effects: how long timers are armed for, which a state knows by name alone, and whose timeouts count.

Each is judged where a step is taken; its premise counts the coordinators of which it says something after a
step, such as those in which a timer of that kind runs.
"""

from __future__ import annotations

from collections.abc import Callable

from rota.environment.broker.coordinator import Breach, Coordinator
from rota.environment.broker.deeds import Deed, Lengths
from rota.invariants.views import present
from rota.kernel import Effect, Kind, View
from rota.spec import Group, JoinGroupRequest
from rota.spec.classic.state import Member
from rota.spec.classic.vocabulary import TimerKind


def _armed(deed: Deed, kind: TimerKind) -> Lengths:
    return deed.armed.get(kind.value, ())


def _restarted(deed: Deed, member: Member) -> Member | None:
    """Who a static member was that comes back without its member id, None for all others."""
    request, before = deed.request, deed.before
    if not isinstance(request, JoinGroupRequest) or request.member_id or before is None:
        return None
    if member.group_instance_id is None or member.group_instance_id != request.group_instance_id:
        return None
    former = before.holder(member.group_instance_id)
    return None if former is None else before.members[former]


def _session_as_asked(deed: Deed) -> bool:
    """The session of who restarts is its former one, unless a join phase that ends now begins it anew."""
    before, after = deed.before, deed.step.group
    for member_id, delay in _armed(deed, TimerKind.SESSION):
        member = after.members[member_id]
        anew = before is None or after.generation_id != before.generation_id
        former = None if anew else _restarted(deed, member)
        if delay != (former or member).session_timeout_ms:
            return False
    return True


def _new_member_as_long(deed: Deed) -> bool:
    """A heartbeat ends the broker's patience with who is new: from then on its session counts."""
    before, after = deed.before, deed.step.group
    for member_id, delay in _armed(deed, TimerKind.NEW_MEMBER):
        member = after.members[member_id]
        former = _restarted(deed, member)
        came = former is None and (before is None or member_id not in before.members)
        session = (former or member).session_timeout_ms
        if delay != (deed.config.new_member_join_timeout_ms if came else session):
            return False
    return True


def _id_kept_as_asked(deed: Deed) -> bool:
    request = deed.request
    asked = request.session_timeout_ms if isinstance(request, JoinGroupRequest) else None
    return all(delay == asked for _, delay in _armed(deed, TimerKind.PENDING))


def _longest(group: Group) -> int:
    return max((member.rebalance_timeout_ms for member in group.members.values()), default=0)


def _phase_as_longest(deed: Deed) -> bool:
    lengths = (*_armed(deed, TimerKind.JOIN), *_armed(deed, TimerKind.SYNC))
    return all(delay == _longest(deed.step.group) for _, delay in lengths)


def _delay_as_long_as_left(deed: Deed) -> bool:
    whole = deed.config.group_initial_rebalance_delay_ms
    before = None if deed.before is None else deed.before.initial_join
    most = whole if before is None else min(whole, before.remaining_ms)
    return all(delay == most for _, delay in _armed(deed, TimerKind.INITIAL_JOIN))


def _timeouts_by_own_request(deed: Deed) -> bool:
    """Who is there before and after, and has not sent the JoinGroup that is handled, has what it had."""
    request = deed.request
    joins = request.member_id if isinstance(request, JoinGroupRequest) else None
    before = {} if deed.before is None else deed.before.members
    after = {} if deed.step.group is None else deed.step.group.members
    return all(
        _timeouts(before[member_id]) == _timeouts(member)
        for member_id, member in after.items()
        if member_id in before and member_id != joins
    )


def _timeouts(member: Member) -> tuple[int, int]:
    return member.session_timeout_ms, member.rebalance_timeout_ms


Says = Callable[[Coordinator], bool]
"""Whether a sentence says anything of a coordinator."""


def _runs(*kinds: TimerKind) -> Says:
    names = frozenset(kind.value for kind in kinds)

    def runs(value: Coordinator) -> bool:
        return any(one.name in names for one in value.armed)

    return runs


def _has_members(value: Coordinator) -> bool:
    return value.group is not None and bool(value.group.members)


def _right(name: str, says: Says) -> View:
    """Whether the last step was right by a sentence, None of whom it says nothing."""

    def right(value: Coordinator) -> bool | None:
        if isinstance(value, Breach) and name in value.wrong:
            return False
        return True if says(value) else None

    return View("coordinator", right)


def _itself(right: bool) -> bool:
    return right


def _sentence(
    name: str, meaning: str, done: Callable[[Deed], bool], says: Says, source: str, rules: tuple[str, ...]
) -> Effect:
    views = (_right(name, says),)
    return Effect(name, Kind.EFFECT, meaning, views, _itself, source, rules, given=present, done=done)


EFFECTS = (
    _sentence(
        "join.timeouts-by-own-request",
        "The session and the rebalance timeout of a member that stays change only by a JoinGroup of its own.",
        _timeouts_by_own_request,
        _has_members,
        source="upstream ClassicGroup#updateMember",
        rules=("join.next-generation", "join.changed-protocols"),
    ),
    _sentence(
        "timers.session-as-asked",
        "If a session timer is armed, it runs for the session timeout that its member asked for; after the "
        "restart of a static member for its former one.",
        _session_as_asked,
        _runs(TimerKind.SESSION),
        source="upstream GroupMetadataManager#rescheduleClassicGroupMemberHeartbeat",
        rules=("heartbeat.alive", "join.next-generation", "static.replaced", "persistence.assignment-stored"),
    ),
    _sentence(
        "timers.new-member-as-long",
        "If the timer of a new member is armed, it runs as long as the broker waits for one; after a "
        "heartbeat or a restart for a session timeout.",
        _new_member_as_long,
        _runs(TimerKind.NEW_MEMBER),
        source="KAFKA-7610",
        rules=("join.new-member", "heartbeat.rebalance-in-progress", "static.replaced"),
    ),
    _sentence(
        "timers.id-kept-as-asked",
        "If the timer of an id that was handed out is armed, it runs for the session timeout of the request "
        "that the id was handed out to.",
        _id_kept_as_asked,
        _runs(TimerKind.PENDING),
        source="KIP-394",
        rules=("join.member-id-required",),
    ),
    _sentence(
        "timers.phase-as-longest",
        "If the timer of a join phase or of outstanding SyncGroups is armed, it runs for the longest "
        "rebalance timeout of the members.",
        _phase_as_longest,
        _runs(TimerKind.JOIN, TimerKind.SYNC),
        source="KIP-62; KAFKA-12890",
        rules=("join.prepare-rebalance", "join.next-generation", "static.nobody-joined"),
    ),
    _sentence(
        "timers.delay-as-long-as-left",
        "If the timer of the initial delay is armed, it runs for the broker's delay; an extension is cut to "
        "what is left of the longest rebalance timeout.",
        _delay_as_long_as_left,
        _runs(TimerKind.INITIAL_JOIN),
        source="KIP-134",
        rules=("join.prepare-rebalance", "timers.initial-delay-extended"),
    ),
)
"""Whoever waits for a timer waits as long as requests and settings say, no longer and no shorter."""
