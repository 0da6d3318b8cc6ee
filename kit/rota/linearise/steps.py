"""What a coordinator in some state may do next: take a request, hear the log's answer, have a timer due."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, partial

from rota.kernel import replace
from rota.linearise.answers import comparable
from rota.linearise.asked import OLDER
from rota.linearise.history import EndTransaction, Event, Restarted
from rota.linearise.ids import asks_for_an_id
from rota.linearise.looks import Looks, finds_from, moments, next_look, passes_from
from rota.linearise.older_races import (
    OF_MEMBERS,
    empty_before,
    just_made,
    listed_later,
    made_or_removed,
    offsets_alone,
    taken_for_anothers,
)
from rota.linearise.older_sessions import ended_by_the_last, with_ends_kept
from rota.linearise.states import State, after, without_the_past
from rota.linearise.times import Span
from rota.oracle.follow import Oracle
from rota.oracle.offsets_follow import Kept, Told, completed, outcomes
from rota.spec import (
    BrokerConfig,
    Call,
    Group,
    GroupRecord,
    GroupState,
    Hosting,
    Profile,
    RecordKind,
    Spec,
    Step,
    Timer,
)
from rota.spec.admin_messages import DescribeGroupsRequest, ListGroupsRequest
from rota.spec.messages import ReplyMessage
from rota.spec.offset_state import GroupForgotten, Offsets, OffsetStep, RetentionCheck, TransactionEnd

REMEMBERED = 100_000
"""Steps of the spec that are kept, for the next state in which the same is asked."""

Rules = tuple[str, ...]
Known = tuple[tuple[Step, Rules], ...]


@dataclass(frozen=True)
class Taken:
    """A state to which something may lead, and the rules of the spec that lead there."""

    state: State
    rules: Rules


@dataclass(eq=False)
class Steps:
    """The spec, asked about states. follows: whether what the log has is followed, for a restart; looking:
    when is looked for what has expired, None where that is not followed; late: seconds by which each look may
    be late; lost: numbers of the requests whose connection has ended; oracle: who is asked, if not the spec
    as it is.
    """

    profile: Profile
    config: BrokerConfig
    follows: bool = False
    looking: Looks | None = None
    late: float = 0.0
    lost: set[int] = field(default_factory=set)
    oracle: Oracle | None = None

    def __post_init__(self) -> None:
        self._known: dict[Hashable, Known] = {}
        self._expiring: dict[Hashable, tuple[int, str] | None] = {}
        vars(self).pop("_oracle", None)

    @cached_property
    def _oracle(self) -> Oracle:
        """Who is asked. Of most histories nobody is: what they have was learned of others."""
        return self.oracle or Oracle(self.config, self.profile)

    def empty(self) -> State:
        """Before anything was asked."""
        return State()

    def comparable(self, reply: ReplyMessage, version: int) -> ReplyMessage:
        """An answer with what its version carries, lists in one order."""
        return comparable(reply, version)

    @staticmethod
    def asks_for_an_id(call: Call) -> bool:
        """Whether whoever asks has no id yet and is given one."""
        return asks_for_an_id(call)

    def look_ahead(self, events: Sequence[Event]) -> None:
        """Events that will be seen later, which say nothing here."""

    def acknowledged(self, state: State, number: int) -> State:
        """A state when an answer is seen, which says nothing here beside what is in it."""
        return state

    def restarted(self, event: Restarted, lost: Iterable[int]) -> Steps:
        """The same of the coordinator that was started then, if it was: else nobody knows when."""
        other, config = self.copied(), event.config
        other.lost.update(lost)
        if self.looking is not None:
            other.looking = replace(self.looking, started=event.started if event.sure else None)
        if config is not None and config != self.config:
            other.oracle, other.config = self._oracle.set_to(config), config
            other.__post_init__()
        return other

    def asking(self, oracle: Oracle) -> Steps:
        """The same states with somebody else who is asked about them."""
        other = self.copied()
        other.oracle = oracle
        other.__post_init__()
        return other

    def copied(self) -> Steps:
        """The same spec, asked about others' connections; what is remembered of it is shared."""
        other = copy(self)
        other.lost = set(self.lost)
        return other

    @property
    def spec(self) -> Spec:
        """What is asked."""
        return self._oracle.spec

    def take(self, state: State, number: int, call: Call, span: Span, veil: float) -> Iterator[Taken]:
        """A request has its turn. veil: how long readers may see the group as it was before."""
        if call.fresh_id in state.ids:
            return
        if isinstance(call.request, EndTransaction):
            yield self._transaction_ends(state, number, call.request, span)
            return
        for group in self._groups_seen(state, call, span, veil):
            seen = replace(state, group=group, pending=state.pending - {number})
            for one in self._grouped(seen, (group, call), partial(_handled, group, call), span):
                left = one.state.group if group is state.group else state.group  # a reader changes nothing
                then = _with_id(replace(one.state, group=left), call.fresh_id)
                yield Taken(then, one.rules)
        yield from self._finding_it_dead(state, number, call, span, veil)

    def _transaction_ends(self, state: State, number: int, end: EndTransaction, span: Span) -> Taken:
        """The marker of a transaction's end is on its way into the log."""
        seen = replace(state, pending=state.pending - {number})
        word = TransactionEnd(end.producer_id, end.committed)
        told = Told(state.group, state.offsets).after(OffsetStep(state.offsets, line=(word,)))
        return Taken(self._after(seen, told, span), ())

    def _finding_it_dead(
        self, state: State, number: int, call: Call, span: Span, veil: float
    ) -> Iterator[Taken]:
        """A request had found the group before it was removed, and has its turn afterwards; or it had found
        none before one was made.
        """
        if self.profile.name in OLDER and (other := taken_for_anothers(state, call, span.earliest - veil)):
            seen = replace(state, group=None, pending=state.pending - {number})
            for one in self._grouped(seen, (None, other), partial(_handled, None, other), span):
                yield Taken(replace(one.state, group=state.group), one.rules)
        if self.profile.name in OLDER and (was := empty_before(state, call, span.earliest - veil)):
            seen = replace(state, group=was, pending=state.pending - {number})
            for one in self._grouped(seen, (was, call), partial(_handled, was, call), span):
                yield Taken(offsets_alone(state, one.state), one.rules)
        if self._dead(state, span, veil) and isinstance(call.request, OF_MEMBERS):
            seen = replace(state, pending=state.pending - {number})
            told = replace(call, hosting=Hosting.INACTIVE)
            yield from self._grouped(seen, (None, told), partial(_handled, None, told), span)

    def _dead(self, state: State, span: Span, veil: float) -> Group | None:
        """The group as whoever has found it before it was removed may still have it."""
        dead = state.dead if state.group is None else None
        return None if dead is None or span.earliest > dead.until + veil else dead.group

    def _groups_seen(self, state: State, call: Call, span: Span, veil: float) -> Iterator[Group | None]:
        """The group; a reader may not see yet that it was made, or that it was removed."""
        yield state.group
        if self.profile.name in OLDER:
            yield from just_made(state, call, span.earliest - veil)
        if not isinstance(call.request, DescribeGroupsRequest | ListGroupsRequest):
            return
        if dead := self._dead(state, span, veil):
            yield dead
        if not self.profile.creation_recorded:
            return
        if state.group is not None and span.earliest <= state.veiled + veil:
            yield None
        leaving = [one.record for one in state.line if isinstance(one.item, GroupForgotten)]
        if state.group is None and leaving and leaving[-1] is not None:
            yield Group(GroupState.EMPTY, leaving[-1].generation_id, leaving[-1].protocol_type)

    def fire(self, state: State, timer: Timer, span: Span) -> Iterator[Taken]:
        """A timer is due."""
        group = state.group
        disarmed = replace(state, armed=state.armed.without(timer))
        if group is None:
            yield Taken(disarmed, ())
            return
        yield from self._grouped(disarmed, (group, timer), lambda spec: spec.fire(group, timer), span)

    def look(self, state: State, span: Span) -> Iterator[Taken]:
        """What has expired is looked for; that may be the group itself, if it is Empty and has no offsets."""
        group, check = state.group, RetentionCheck(int(span.latest * 1000))
        if group is not None:
            steps = self._grouped(state, (group, check), lambda spec: spec.retention(group, check), span)
            yield from (Taken(replace(one.state, looked=True), one.rules) for one in steps)

    def finds(self, state: State, span: Span, unsure: float) -> Iterator[Taken]:
        """What has expired is looked for, and something is found. unsure: as of `moments`."""
        group = state.group
        if group is None:
            return
        for now_ms in moments(state.offsets, span, unsure):
            check = RetentionCheck(now_ms)
            for one in self._grouped(state, (group, check), partial(_looked, group, check), span):
                after, before = ((each.group, each.line, each.offsets) for each in (one.state, state))
                if after != before:
                    yield one

    def also(self, before: State, found: Iterable[Taken]) -> Iterable[Taken]:
        """Steps from a state, and where they lead by a mistake of the Scala coordinator's."""
        return self._by_mistake(before, found) if self.profile.name in OLDER else found

    def _by_mistake(self, before: State, found: Iterable[Taken]) -> Iterator[Taken]:
        for one in found:
            then = with_ends_kept(before, one.state)
            ended = ended_by_the_last(before, then, self.late)
            for state in (then, *ended, *listed_later(before, then)):
                yield Taken(state, one.rules)

    def restart(self, state: State, span: Span) -> Iterator[Taken]:
        """The coordinator is gone, and another one has read its log; transactions may be aborted then that
        were open, as by one that keeps nothing of them.
        """
        kept = state.kept
        kept.give_up()
        kept.load()
        for taken in self._read(state, kept.offsets, span):
            yield taken
            if kept.offsets.pending:
                aborted = Told(taken.state.group, replace(kept.offsets, pending=()))
                yield Taken(self._after(taken.state, aborted, span), taken.rules)

    def _read(self, state: State, offsets: Offsets, span: Span) -> Iterator[Taken]:
        """Another coordinator has read the log, which has these offsets."""
        stored = state.stored
        lost = State(ids=state.ids, stored=stored)
        for step, rules in self._asked(("load", stored), lambda spec: spec.load(stored)):
            told = Told(step.group, offsets, (), (), step.timers, step.rules)
            if step.group is None and (offsets.committed or offsets.pending):
                for found, more in self._asked(("found", None), lambda spec: spec.offsets_found(None)):
                    with_offsets = Told(found.group, offsets, (), (), found.timers, found.rules)
                    yield Taken(self._after(lost, with_offsets, span), more)
                continue
            yield Taken(self._after(lost, told, span), rules)

    def since(self, state: State, past: float) -> State:
        """A state without what matters to nobody any more who comes later than this."""
        return without_the_past(state, past)

    def log_answers(self, state: State, span: Span) -> Iterator[Taken]:
        """The log has stored what is first in the line; those who only waited for it are answered, too."""
        first, rest = state.line[0], replace(state, line=state.line[1:])
        if first.item is not None:
            yield from self._flushed(Taken(replace(rest, line=state.line), ()), span, stored=True)
            return
        assert first.record is not None
        record = first.record
        if self.follows:
            rest = replace(rest, stored=_in_log(record))
        steps = self._grouped(
            rest, (state.group, record), lambda spec: spec.appended(state.group, record, None), span
        )
        for one in steps:
            yield from self._flushed(one, span, stored=False)

    def _flushed(self, one: Taken, span: Span, stored: bool) -> Iterator[Taken]:
        """What comes of the front of the line. stored: whether the log has it; else it only may not wait."""
        state = one.state
        if not state.line or (state.line[0].item is None and not stored):
            yield one
            return
        waiting = [each.waiting() for each in state.line]
        waiting[0].answered = stored
        kept = Kept(state.offsets, waiting)
        found: list[tuple[Told, int]] = []

        def ask(spec: Spec) -> tuple[Told, ...]:
            found.extend(completed(spec, kept, state.group))
            return tuple(told for told, _ in found)

        self._oracle.outcomes(ask)
        for told, done in found:
            rest = replace(state, line=state.line[done:])
            if any(each.record is not None for each in state.line[:done]):
                rest = replace(rest, stored=None)  # the group's end is stored with its offsets'
            rules = (*one.rules, *self._rules(told)) if told.rules else one.rules
            yield Taken(self._after(rest, told, span), rules)

    def _grouped(
        self, state: State, key: Hashable, ask: Callable[[Spec], tuple[Step, ...]], span: Span
    ) -> Iterator[Taken]:
        """What comes of steps of the group, with all that they say to the offsets."""
        for step, rules in self._asked(key, ask):
            if not step.offsets:
                told = Told(step.group, state.offsets).grouped(step)
                yield Taken(self._after(state, told, span), rules)
                continue
            kept, one = state.kept, step
            found = self._oracle.outcomes(lambda spec: outcomes(spec, kept, state.group, (one,)))  # noqa: B023
            for told in found:
                more = tuple(dict.fromkeys((*rules, *self._rules(told))))
                yield Taken(self._after(state, told, span), more)

    def _after(self, state: State, told: Told, span: Span) -> State:
        found = after(self.spec, state, told, span, self.lost, self.follows)
        if self.profile.name in OLDER:
            found = made_or_removed(state.group, found, span.latest)
        if self.looking is None:
            return found
        since = self._found_from(found.group, found.offsets)
        line = [one.item for one in found.line]
        look = since and next_look(state.look, *since, span, self.looking, self.late, line)
        return replace(found, look=look)

    def _found_from(self, group: Group | None, offsets: Offsets) -> tuple[int, str] | None:
        """From when on a look finds something, and by which rule it passes it over, if it does."""
        key = (group, offsets)
        if key not in self._expiring:
            if len(self._expiring) >= REMEMBERED:
                self._expiring.clear()
            since = finds_from(self.spec, group, offsets)
            passed = passes_from(self.spec, group, offsets) if since is None else None
            self._expiring[key] = passed if since is None else (since, "")
        return self._expiring[key]

    def _asked(self, key: Hashable, ask: Callable[[Spec], tuple[Step, ...]]) -> Known:
        if key not in self._known:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            found = self._oracle.recalled(key)
            if found is None:
                steps = self._oracle.outcomes(ask)
                found = tuple((step, self._rules(step)) for step in steps)
                self._oracle.keep(key, found)
            self._known[key] = found
        return self._known[key]

    def alone(self) -> Steps:
        """The same spec, asked for nobody's connections, with nothing remembered."""
        other = self.copied()
        other.lost = set()
        other.forget()
        return other

    def forget(self) -> None:
        """From now on the spec is asked anew."""
        self._known = {}

    def known(self, group: Group | None, asked: Hashable) -> Known:
        """What came of what was just asked of a group; nothing where nobody knows any more."""
        return self._known.get((group, asked), ())

    def told(self, ask: Callable[[Spec], tuple[Told, ...]]) -> list[tuple[Told, Rules]]:
        """What the spec says to something, each outcome with its rules."""
        return [(one, self._rules(one)) for one in self._oracle.outcomes(ask)]

    def _rules(self, step: Step | Told) -> Rules:
        return tuple(rule.slug for rule in self._oracle.used(step))


def _in_log(record: GroupRecord) -> GroupRecord | None:
    """A record without what only its answer needs; None where it says that the group is deleted."""
    kept = replace(record, kind=RecordKind.ASSIGNMENT, answer=None, replacement=None)
    return None if record.kind is RecordKind.DELETION else kept


def _handled(group: Group | None, call: Call, spec: Spec) -> tuple[Step, ...]:
    return spec.handle(group, call)


def _looked(group: Group, check: RetentionCheck, spec: Spec) -> tuple[Step, ...]:
    return spec.retention(group, check)


def _with_id(state: State, fresh_id: str) -> State:
    """With an id that was handed out if it was used."""
    group = state.group
    used = group is not None and (fresh_id in group.members or fresh_id in group.pending)
    return replace(state, ids=state.ids | {fresh_id}) if used else state
