"""A state that a coordinator may be in, as far as a judge has to know it, and how a step changes it.

Times are seconds. The moment of a step is known as an interval: from when it was possible until when it must
have happened. So a timer that a step arms is due in an interval too, and what this forgives is that two steps
of one interval might be told apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from rota.kernel import FrozenMap, frozen, replace
from rota.linearise.history import EndTransaction, Sent
from rota.linearise.ids import is_unknown, renamed
from rota.linearise.looks import Look
from rota.linearise.times import FOREVER, NEVER, Span
from rota.oracle.offsets_follow import Kept, Told, Waiting
from rota.spec import Arm, Group, GroupRecord, RecordKind, Spec, Timer
from rota.spec.classic.vocabulary import TimerKind
from rota.spec.messages import ReplyMessage
from rota.spec.offset_state import GroupForgotten, InLine, OffsetBatch, Offsets, TransactionEnd

ANY_DELAY = -(2**63)
"""The delay of a timer that may be due at any moment or never. As the session timeout of a member whose own
nobody told: its session may run out so, and a join phase that waits for it end."""

AT_ANY_TIME = Span(NEVER, FOREVER)
"""When such a timer is due."""


@frozen
class InLog:
    """What waits for the log. item: of the offsets, None where it is a record of the group; record: of the
    group, with its tombstone's item too; since: when it was appended.
    """

    item: InLine | None
    record: GroupRecord | None
    since: Span

    def waiting(self, answered: bool = False) -> Waiting:
        """As whoever follows the offsets has it; a record of the group has its place there and no more."""
        return Waiting(OffsetBatch(()) if self.item is None else self.item, self.record, answered)


@frozen
class Owed:
    """An answer that was given and not seen yet. by: when it was given at the latest."""

    message: ReplyMessage
    by: float


@frozen
class Dead:
    """A group that was removed, as those have it who found it before. until: when it was so at the latest."""

    group: Group
    until: float


@frozen
class State:
    """What a coordinator has at some moment, and what is on the way.

    armed: timers, and when they are due; pending: numbers of the requests that were not taken; owed: answers
    by the number of the request; line: for the log, oldest first; ids: all that were handed out; low: the
    moment until which the coordinator has come at least; veiled: until when the group may not be there for
    readers, since the log may not have it, or others may find it just made (see `older_races`); dead: the
    group that was removed last, where requests may have found it before; looked: whether what has expired
    was looked for; stored: what the log has of the group, where it is followed; look: the next one for
    what has expired that finds something or passes it over, where such looks are followed; ends: of the
    sessions that members had who wait now, where these may end the next ones (see `older_sessions`).
    """

    group: Group | None = None
    offsets: Offsets = Offsets()
    armed: FrozenMap[Timer, Span] = FrozenMap()
    pending: frozenset[int] = frozenset()
    owed: FrozenMap[int, Owed] = FrozenMap()
    line: tuple[InLog, ...] = ()
    ids: frozenset[str] = frozenset()
    low: float = NEVER
    veiled: float = NEVER
    dead: Dead | None = None
    looked: bool = False
    stored: GroupRecord | None = None
    look: Look | None = None
    ends: FrozenMap[Timer, Span] = FrozenMap()

    @property
    def name(self) -> str:
        """The group's state, "absent" without a group."""
        return "absent" if self.group is None else self.group.state.value

    @property
    def due(self) -> Iterator[Span]:
        """When that is due which time alone brings about."""
        yield from self.armed.values()
        if self.look is not None and not self.look.passes:
            yield self.look.due

    def passed_over(self, before: float) -> frozenset[tuple[str, str]]:
        """The rule by which a look before then has left what has expired, with the group's state."""
        look = self.look
        passed = look is not None and look.passes and look.due.latest < before
        return frozenset({(look.passes, self.name)}) if passed and look is not None else frozenset()

    @property
    def kept(self) -> Kept:
        """The offsets and the line as whoever follows them has them."""
        return Kept(self.offsets, [one.waiting() for one in self.line])


def after(
    spec: Spec,
    state: State,
    told: Told,
    span: Span,
    lost: Collection[int],
    follows: bool = False,
) -> State:
    """The state after a step. span: its moment; lost: numbers of requests that nobody can answer any more;
    follows: whether what the log has is followed.
    """
    due = dict(state.armed)
    for effect in told.timers:
        if isinstance(effect, Arm):
            due[effect.timer] = _due(effect, state.group, span)
        else:
            due.pop(effect.timer, None)
    counting = spec.groups.settled_timers(told.group, due)
    owed = state.owed
    for reply in told.replies:
        if int(reply.to) not in lost:
            owed = owed.set(int(reply.to), Owed(reply.message, span.latest))
    return replace(
        state,
        group=told.group,
        offsets=told.offsets,
        armed=FrozenMap((timer, due[timer]) for timer in counting),
        owed=owed,
        line=(*state.line, *_appended(spec, told, span, follows)),
        veiled=max(state.veiled, _veiled(told, span)),
    )


def _due(effect: Arm, group: Group | None, span: Span) -> Span:
    """When a timer is due that is armed in the group as it was."""
    waits_for_all = effect.timer.name == TimerKind.JOIN.value
    if effect.delay_ms == ANY_DELAY or (waits_for_all and _has_unknown(group)):
        return AT_ANY_TIME
    delay = effect.delay_ms / 1000
    return Span(span.earliest + delay, span.latest + delay)


def _has_unknown(group: Group | None) -> bool:
    return group is not None and any(one.session_timeout_ms == ANY_DELAY for one in group.members.values())


def _appended(spec: Spec, told: Told, span: Span, follows: bool) -> Iterable[InLog]:
    """What a step has put into the line; records whose answer does nothing only where the log is followed."""
    tombstone = any(isinstance(one.item, GroupForgotten) for one in told.queued)
    for record in told.records:
        with_offsets = tombstone and record.kind is RecordKind.DELETION
        if not with_offsets and (follows or spec.groups.answer_counts(record, False)):
            yield InLog(None, record, span)
    for one in told.queued:
        yield InLog(one.item, one.record, span)


def _veiled(told: Told, span: Span) -> float:
    """Readers of the Java coordinator see a group when the log has what made it (see `admin.describe`)."""
    made = any(record.kind is RecordKind.CREATION for record in told.records)
    simple = told.group is not None and told.group.protocol_type is None
    stores = any(isinstance(one.item, OffsetBatch) for one in told.queued)
    return span.latest if made or (simple and stores) else NEVER


def unended(state: State, sent: Mapping[int, Sent]) -> frozenset[int]:
    """Requests to end a transaction whose end the log does not have: another coordinator hears of it as well.

    sent: all requests, by number.
    """
    producers = {one.item.producer_id for one in state.line if isinstance(one.item, TransactionEnd)}
    ends = ((number, one.call.request) for number, one in sent.items())
    return frozenset(
        number
        for number, request in ends
        if isinstance(request, EndTransaction)
        and (number in state.pending or request.producer_id in producers)
    )


def without_the_past(state: State, past: float) -> State:
    """A state in which is forgotten what was over before then, and makes a difference to nobody later."""
    dead = state.dead if state.dead is not None and state.dead.until >= past else None
    veiled = state.veiled if state.veiled >= past else NEVER
    kept = [(timer, end) for timer, end in state.ends.items() if end.latest >= past]
    ends = state.ends if len(kept) == len(state.ends) else FrozenMap(kept)
    return replace(state, dead=dead, veiled=veiled, ends=ends)


def with_ids_in_use(state: State) -> State:
    """A state in which ids that nobody has any more are forgotten, but for those whose name is not known."""
    group = state.group
    used = frozenset() if group is None else group.pending.union(group.members)
    return replace(state, ids=frozenset(one for one in state.ids if one in used or is_unknown(one)))


def with_names(state: State, names: Mapping[str, str]) -> State:
    """A state in which ids are known now; one that somebody has already stays unknown, and will not agree."""
    new = {name: known for name, known in names.items() if name in state.ids and known not in state.ids}
    return renamed(state, new) if new else state
