"""What the Scala coordinator does where one session of a member ends while the next one begins.

A member that waits for JoinGroup or SyncGroup keeps the end of the session that it had when it asked; that
end finds it waiting, and does nothing. Where it comes in the moment in which the answer is given and the next
session begins, it waits for the group's lock, finds the next session without a sign of life, and ends that
one: `GroupCoordinator#completeAndScheduleNextExpiration` and `#expireHeartbeat` in Apache Kafka 3.9 and
before. So does the end of a session in which a sign of life comes just then, of one that a sign of life has
begun while the member waited (upstream `#doHeartbeat` and `#doCommitOffsets`), and of the time of a new
member, which is one session where it has given such a sign or where it has taken the place of a static
member (`#updateStaticMemberAndRebalance`).
"""

from __future__ import annotations

from collections.abc import Iterator

from rota.kernel import FrozenMap, replace
from rota.linearise.states import AT_ANY_TIME, State
from rota.linearise.times import Span
from rota.spec import Group, Timer
from rota.spec.classic.vocabulary import TimerKind

TICK = 0.2
"""Seconds between two moments at which that coordinator looks which timers have run out."""


def with_ends_kept(before: State, after: State) -> State:
    """The state after a step, in which the ends of sessions are known whose members wait since then."""
    if after.group is None:
        return replace(after, ends=FrozenMap()) if after.ends else after
    had = (*after.ends.items(), *_sessions(before.armed))
    kept = ((timer, end) for timer, end in had if _waits(timer, after.group, after))
    ends = FrozenMap(kept)
    return after if ends == after.ends else replace(after, ends=ends)


def ended_by_the_last(before: State, after: State, late: float) -> Iterator[State]:
    """The states in which a session that a step has begun is ended by the one before it.

    late: seconds by which an end may come later than it is due.
    """
    for timer, due in _sessions(after.armed):
        new = Timer(TimerKind.NEW_MEMBER.value, timer.member_id)
        last = before.armed.get(timer) or before.ends.get(timer) or before.armed.get(new)
        if last is None or last == due or due == AT_ANY_TIME or after.group is None:
            continue
        length = after.group.members[timer.member_id].session_timeout_ms / 1000
        begun = Span(due.earliest - length, due.latest - length)
        if last.earliest <= begun.latest and begun.earliest <= last.latest + late:
            soon = Span(begun.earliest, begun.latest + TICK)
            yield replace(after, armed=after.armed.set(timer, soon))


def _sessions(armed: FrozenMap[Timer, Span]) -> Iterator[tuple[Timer, Span]]:
    return ((timer, due) for timer, due in armed.items() if timer.name == TimerKind.SESSION.value)


def _waits(timer: Timer, group: Group, state: State) -> bool:
    return timer.member_id in group.members and timer not in state.armed
