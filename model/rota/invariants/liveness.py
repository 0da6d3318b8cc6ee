"""Liveness: what happens in the end, and what must go on for that.

Faults are never owed: a transition that is charged to the budget (a fault, or a client's wish) is in no
class, so a property says what happens once faults have ceased. Nor is it owed that a crashed client comes
back, or that a request that a broken connection left behind is taken or lost. Each property assumes as little
as it can: that a join phase ends by its own timer, for instance, must not depend on sessions that run out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from rota.environment.broker.coordinator import Coordinator
from rota.environment.broker.member_ids import owner
from rota.environment.clients.state import ENDED, Client, Phase
from rota.environment.messages import Charge
from rota.invariants.views import GROUP, Refers, is_not, refers_to
from rota.kernel import Fairness, Liveness, LivenessKind, Transition, View
from rota.spec import Group, GroupState

GOES_ON = ("sends ", "reads ", "heartbeats", "'s ")
"""What follows the client's name in the labels of moves that a living client owes: it sends its next request,
reads an answer, heartbeats; its connection delivers a request."""

IN_THE_END = ("polls ", "notices ")
"""What a client owes however much it heartbeats meanwhile: an application that was busy polls again, a leader
notices a partition."""

GIVES_UP = "gives up "
"""A request times out on the client's side."""

OWED_TO_NOBODY = ("restarts", "left ")
"""What a client's machine may do and never has to."""


def what(transition: Transition) -> str:
    """What the machine that began a transition did, without its client's name."""
    first = transition.local_steps[0]
    return first.label.removeprefix(first.machine.removeprefix("client/")).lstrip()


def charged(transition: Transition) -> bool:
    """Whether the budget pays for a transition."""
    return any(isinstance(local_step.message, Charge) for local_step in transition.local_steps)


def _client(transition: Transition) -> tuple[str, ...]:
    machine = transition.local_steps[0].machine
    if not machine.startswith("client/") or charged(transition):
        return ()
    word = what(transition)
    late = next((start for start in IN_THE_END if word.startswith(start)), None)
    if late is not None:
        return (f"{machine} {late}",)
    return (machine,) if word.startswith(GOES_ON) else ()


def _overtaken(transition: Transition) -> tuple[str, ...]:
    machine = transition.local_steps[0].machine
    if not what(transition).startswith(GIVES_UP):
        return ()
    client = next(
        local_step.value for local_step in reversed(transition.local_steps) if local_step.machine == machine
    )
    return (machine,) if isinstance(client, Client) and client.overtaken else ()


def _log(transition: Transition) -> tuple[str, ...]:
    machine = transition.local_steps[0].machine
    return (machine,) if machine == "log" and not charged(transition) else ()


def _commits(transition: Transition) -> tuple[str, ...]:
    first = transition.local_steps[0]
    owed = first.machine == "offsets" and first.label.startswith("log ") and not charged(transition)
    return (first.machine,) if owed else ()


def _loads(transition: Transition) -> tuple[str, ...]:
    first = transition.local_steps[0]
    return (
        (first.machine,) if first.machine == "coordinator" and first.label.endswith("reads the log") else ()
    )


def timers(name: str, meaning: str, *slugs: str) -> Fairness:
    """A timer that stays armed fires, if one of these rules handles it; each timer is a class.

    Where it would take an id from a client that is alive and counts on it, that is a fault and not owed.
    """
    handled = frozenset(slugs)

    def due(transition: Transition) -> tuple[str, ...]:
        first = transition.local_steps[0]
        fires = first.machine == "coordinator" and not handled.isdisjoint(first.rules)
        return (first.label,) if fires and not charged(transition) else ()

    return Fairness(name, meaning, due)


CLIENTS = Fairness(
    "clients go on", "A client that is alive goes on, and its connection delivers what it sends.", _client
)
TIMEOUTS = Fairness(
    "replaced requests time out",
    "A client gives up a request whose place a late one of its own has taken; for others it waits for ever.",
    _overtaken,
)
LOG = Fairness("the log answers", "An append is answered in the end.", _log)
JOIN_TIMERS = timers(
    "join timers fire",
    "The initial delay and the rebalance timeout of a join phase end.",
    "timers.initial-delay-extended",
    "timers.initial-delay-over",
    "timers.join-timeout",
)
SYNC_TIMER = timers("the sync timer fires", "The time to send SyncGroup ends.", "timers.sync-timeout")
SESSIONS = timers(
    "sessions end",
    "The session of a member that is silent runs out, and so does the time of a new member.",
    "timers.session-ignored",
    "timers.session-expired",
    "timers.new-member-expired",
)
PENDING_TIMERS = timers("unused ids end", "The time to use a member id ends.", "timers.pending-expired")

COMMITS = Fairness("commits are stored", "An append of offsets is answered in the end.", _commits)
LOADS = Fairness("loading ends", "A coordinator that has moved reads the log in the end.", _loads)

PHASES = (CLIENTS, TIMEOUTS, LOG, JOIN_TIMERS, SYNC_TIMER)
EVERYTHING = (*PHASES, SESSIONS, PENDING_TIMERS, COMMITS, LOADS)


def _in(state: GroupState) -> Callable[[Group | None], bool]:
    def there(group: Group | None) -> bool:
        return group is not None and group.state is state

    return there


def _not_in(state: GroupState) -> Callable[[Group | None], bool]:
    def elsewhere(group: Group | None) -> bool:
        return group is None or group.state is not state

    return elsewhere


def _waits(client: Client) -> bool:
    """Not so if a late request of its own has overtaken it: then it may wait in vain, a known weakness."""
    return client.waits and not client.overtaken


def _waits_at_all(client: Client) -> bool:
    return client.waits


def _is(flag: bool) -> bool:
    return flag


def _pending(value: Coordinator) -> bool:
    return value.group is not None and bool(value.group.pending)


def _members(value: Coordinator) -> tuple[str, ...]:
    return () if value.group is None else tuple(value.group.members)


def _unused(members: Iterable[str], client: Refers) -> bool:
    name, held = client
    return any(owner(member_id) == name and member_id not in held for member_id in members)


def _none_unused(members: Iterable[str], client: Refers) -> bool:
    return not _unused(members, client)


def _standing(client: Client) -> tuple[Phase, int, str]:
    return client.phase, client.generation_id, client.member_id


def _settled(group: Group | None, standing: tuple[Phase, int, str]) -> bool:
    phase, generation_id, member_id = standing
    if phase in ENDED:
        return True
    if group is None or group.state is not GroupState.STABLE or phase is not Phase.STABLE:
        return False
    return generation_id == group.generation_id and member_id in group.members


LIVENESS = (
    Liveness(
        "join.phase-ends",
        LivenessKind.LEADS_TO,
        "A join phase ends, whether or not sessions run out.",
        (GROUP,),
        _not_in(GroupState.PREPARING_REBALANCE),
        fairness=(CLIENTS, TIMEOUTS, JOIN_TIMERS, COMMITS),
        given=_in(GroupState.PREPARING_REBALANCE),
        source="upstream GroupMetadataManager#maybeCompleteJoinElseSchedule",
        rules=("timers.initial-delay-over", "timers.join-timeout"),
    ),
    Liveness(
        "sync.phase-ends",
        LivenessKind.LEADS_TO,
        "CompletingRebalance ends.",
        (GROUP,),
        _not_in(GroupState.COMPLETING_REBALANCE),
        fairness=(CLIENTS, TIMEOUTS, LOG, SYNC_TIMER, COMMITS),
        given=_in(GroupState.COMPLETING_REBALANCE),
        source="KAFKA-12890; upstream GroupMetadataManager#expirePendingSync",
        rules=("timers.sync-timeout", "join.next-generation", "persistence.assignment-failed"),
    ),
    Liveness(
        "parked.answered-in-the-end",
        LivenessKind.LEADS_TO,
        "A client that waits is answered, unless an earlier request of its own has overtaken this one.",
        (View("client", _waits),),
        is_not,
        fairness=(*PHASES, COMMITS),
        given=_is,
        source="upstream GroupMetadataManager#completeClassicGroupJoin, #propagateAssignment",
        rules=("join.next-generation", "persistence.assignment-stored", "persistence.assignment-failed"),
    ),
    Liveness(
        "join.pending-ids-end",
        LivenessKind.LEADS_TO,
        "An id that was handed out is used or forgotten.",
        (View("coordinator", _pending),),
        is_not,
        fairness=(CLIENTS, PENDING_TIMERS),
        given=_is,
        source="KIP-394; upstream GroupMetadataManager#removePendingMemberAndUpdateClassicGroup",
        rules=("join.member-id-required", "join.pending-member", "timers.pending-expired"),
    ),
    Liveness(
        "timers.unused-members-go",
        LivenessKind.LEADS_TO,
        "No member stays whose client does not use its id any more, be it gone or known by another id.",
        (View("coordinator", _members), View("client", refers_to)),
        _none_unused,
        fairness=(CLIENTS, TIMEOUTS, LOG, JOIN_TIMERS, SESSIONS, COMMITS),
        given=_unused,
        source="upstream GroupMetadataManager#expireClassicGroupMemberHeartbeat",
        rules=("timers.session-expired", "heartbeat.alive", "join.complete-phase"),
    ),
    Liveness(
        "group.settles",
        LivenessKind.EVENTUALLY_ALWAYS,
        "In the end every client that has not ended is a stable member of the current generation, for good.",
        (GROUP, View("client", _standing)),
        _settled,
        fairness=(*PHASES, COMMITS, LOADS),
        source="upstream AbstractCoordinator#joinGroupIfNeeded",
        rules=("join.rebalance-or-complete", "join.complete-phase", "persistence.assignment-stored"),
    ),
)
"""The liveness properties of the classic protocol, for `rota.explore.liveness.check.check`."""

KNOWN_WEAKNESSES = (
    Liveness(
        "weakness.replaced-request-waits",
        LivenessKind.LEADS_TO,
        "Every client that waits is answered.",
        (View("client", _waits_at_all),),
        is_not,
        fairness=tuple(one for one in EVERYTHING if one is not TIMEOUTS),
        given=_is,
        source="upstream ClassicGroup#updateMember: a second JoinGroup takes the first one's place",
        rules=("join.while-preparing",),
    ),
    Liveness(
        "weakness.sync-phase-needs-sessions",
        LivenessKind.LEADS_TO,
        "CompletingRebalance ends, even if no session runs out.",
        (GROUP,),
        _not_in(GroupState.COMPLETING_REBALANCE),
        fairness=(CLIENTS, TIMEOUTS, LOG, SYNC_TIMER, COMMITS),
        given=_in(GroupState.COMPLETING_REBALANCE),
        source="KAFKA-12890: before it a member that did not send SyncGroup was waited for until its session "
        "was over, for ever if it had heartbeats",
        rules=("timers.sync-timeout", "join.next-generation"),
    ),
)
"""Sentences that brokers break, as in `rota.invariants.safety`. The first is broken by all: the client waits
for ever, were it not for its own request timeout."""


def without_sync_timer(sentence: Liveness) -> Liveness:
    """For brokers before KAFKA-12890, which set no time for SyncGroup: sessions must end instead."""
    assumed = (SESSIONS if one is SYNC_TIMER else one for one in sentence.fairness)
    return replace(sentence, fairness=tuple(dict.fromkeys(assumed)))


def with_static_members(sentence: Liveness) -> Liveness:
    """Where members may be static: a join phase in which only absent ones are left ends with their sessions.

    Its timer finds nobody who joined and starts again, see the rule `static.nobody-joined`.
    """
    if sentence.name != "join.phase-ends":
        return sentence
    meaning = "A join phase ends, if the sessions of absent static members run out."
    return replace(sentence, meaning=meaning, fairness=(*sentence.fairness, SESSIONS))
