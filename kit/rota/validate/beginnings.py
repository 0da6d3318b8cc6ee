"""Where the state of a group becomes known to whoever begins to watch it in the middle.

When a join phase ends, its leader is told who the members are, and each of them has asked to join: so a phase
of which every member's JoinGroup was seen, with its answer, tells the whole group. What is not told is kept
open, as several states: an id that was handed out before, and whether a newcomer lengthens the next initial
delay. Offsets stay unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rota.kernel import FrozenMap, replace
from rota.linearise.history import Sent
from rota.linearise.ids import unknown_id
from rota.linearise.states import State
from rota.linearise.times import Span
from rota.spec import Group, GroupState, JoinGroupReply, JoinGroupRequest, Profile, Timer
from rota.spec.classic.state import Member
from rota.spec.classic.vocabulary import TimerKind
from rota.spec.vocabulary import ErrorCode

USUAL_SESSION = 60.0
"""Seconds for which an id may be unused that was handed out before anything was seen: clients' sessions are
45 s at most where nobody has set them."""

TOGETHER = 5.0
"""Seconds within which all members are told of a generation."""

STRANGER = unknown_id(-1)
"""The name of an id that was handed out before anything was seen."""


@dataclass(frozen=True)
class Given:
    """An id that was handed out: between two moments, for so many seconds."""

    asked: float
    told: float
    seconds: float


@dataclass
class Phase:
    """The end of a join phase, as far as it was told.

    began: when the first member was told; open: the requests that were under way then; place: how many events
    are kept from before; joins: of the members
    that were told, by id; members: of the leader's list, each with its instance id, "" where none is told;
    sound: whether it may be where a judge begins.
    """

    generation: int
    began: float
    open: Mapping[int, Sent]
    place: int = 0
    leader: str = ""
    joins: dict[str, Sent] = field(default_factory=dict)
    members: Mapping[str, str] | None = None
    sound: bool = True

    def told(self, at: float, asked: Sent, reply: JoinGroupReply) -> None:
        """A member is told of this generation."""
        in_time = at - self.began <= TOGETHER and asked.at <= self.began
        self.sound = self.sound and in_time and not reply.skip_assignment
        self.joins.setdefault(reply.member_id, asked)
        self.leader = reply.leader
        if reply.members:
            self.members = {one.member_id: one.group_instance_id or "" for one in reply.members}

    def may_be_whole(self, at: float) -> bool:
        """Whether more may be told of it."""
        return self.sound and at - self.began <= TOGETHER

    @property
    def whole(self) -> bool:
        """Whether every member was told, and so all is known."""
        return self.sound and self.members is not None and self.members.keys() == self.joins.keys()


def is_end_of_phase(reply: object) -> bool:
    """Whether an answer tells of a generation."""
    return isinstance(reply, JoinGroupReply) and reply.error_code is ErrorCode.NONE


def states_before_the_end(
    phase: Phase, profile: Profile, given: Mapping[str, Given], since: float
) -> tuple[State, ...]:
    """The states that a group may have been in when a phase was about to end.

    given: ids that were handed out and not used; since: when the source begins.
    """
    earliest = max(sent.at for sent in phase.joins.values())
    instances = phase.members or {}
    members = {id: _member(sent, instances.get(id, "")) for id, sent in phase.joins.items()}
    request = _request(next(iter(phase.joins.values())))
    group = Group(
        GroupState.PREPARING_REBALANCE,
        phase.generation - 1,
        request.protocol_type,
        leader=phase.leader,
        members=FrozenMap(members.items()),
        pending=frozenset(given),
    )
    armed = {Timer(TimerKind.JOIN.value): Span(earliest, max(earliest, phase.began))}
    for member_id, one in given.items():
        span = Span(max(earliest, one.asked + one.seconds), max(earliest, one.told + one.seconds))
        armed[Timer(TimerKind.PENDING.value, member_id)] = span
    ids = frozenset((*members, *given))
    state = State(group, armed=FrozenMap(armed.items()), ids=ids, low=earliest)
    found = [*with_strangers((state,), earliest, since)]
    if profile.newcomer_mark_stays:
        found += [replace(one, group=_marked(one.group)) for one in found]
    return tuple(found)


def first_states(since: float) -> tuple[State, ...]:
    """What a group may be before its first generation: absent, there for the sake of offsets alone, or for
    an id that nobody has used. since: when the source begins."""
    return State(), State(Group()), _with_stranger(State(Group(), low=since), since)


def with_strangers(states: Sequence[State], at: float, since: float) -> tuple[State, ...]:
    """States at some moment, and the same with an id that was handed out before the source begins, if it may
    still be unused then."""
    if at >= since + USUAL_SESSION:
        return tuple(states)
    return *states, *(_with_stranger(one, since) for one in states)


def _with_stranger(state: State, since: float) -> State:
    group = state.group
    assert group is not None, "a phase that ends has a group"
    timer = Timer(TimerKind.PENDING.value, STRANGER)
    return replace(
        state,
        group=replace(group, pending=group.pending | {STRANGER}),
        armed=state.armed.set(timer, Span(state.low, since + USUAL_SESSION)),
        ids=state.ids | {STRANGER},
    )


def _marked(group: Group | None) -> Group:
    assert group is not None, "a phase that ends has a group"
    return replace(group, new_member_added=True)


def _member(sent: Sent, instance: str) -> Member:
    """A member that has joined. instance: as its leader is told; it may join by its member id alone."""
    request = _request(sent)
    rebalance = request.rebalance_timeout_ms
    return Member(
        rebalance if rebalance >= 0 else request.session_timeout_ms,
        request.session_timeout_ms,
        request.protocols,
        awaiting_join=str(sent.number),
        group_instance_id=instance or request.group_instance_id,
    )


def _request(sent: Sent) -> JoinGroupRequest:
    request = sent.call.request
    assert isinstance(request, JoinGroupRequest), "only JoinGroups are told of a generation"
    return request


def parked(phase: Phase) -> Sequence[Sent]:
    """The JoinGroups that wait for the end of the phase, in the order in which they were sent."""
    return sorted(phase.joins.values(), key=lambda sent: sent.number)
