"""What a coordinator of a group by the consumer protocol may do next.

Whoever writes is answered when the log has it, which is soon: so an answer is owed at once, and whoever only
reads may see the group as it was before what was written just now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from rota.kernel import FrozenMap, replace
from rota.linearise.consumer.answers import comparable
from rota.linearise.consumer.apart import (
    apart,
    deletes_simple,
    full,
    gives_way,
    offsets_after,
    reads,
    spec_request,
    told,
    without_topic,
)
from rota.linearise.consumer.oracle import Due, Oracle, Stepped
from rota.linearise.consumer.requests import ChangeTopic, ConsumerTerms
from rota.linearise.consumer.states import (
    Before,
    Change,
    ConsumerState,
    View,
    each_target,
    own_target,
    with_targets,
)
from rota.linearise.history import Answered, Event, Restarted
from rota.linearise.states import Owed
from rota.linearise.times import Span
from rota.spec.consumer.context import ConsumerSpec
from rota.spec.consumer.group import ClassicGroup, ConsumerGroup
from rota.spec.consumer.messages import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeatRequest,
    ErrorReply,
    Topic,
    Topics,
)
from rota.spec.consumer.messages import Call as ConsumerCall
from rota.spec.consumer.step import Arm, Timer
from rota.spec.consumer.vocabulary import ErrorCode

SEEN = "topic-seen"
"""The timer of a change of a topic that the coordinator has not seen."""

UNUSED = "look"
"""The timer of a look that takes a group away which nobody uses."""

EARLY = 0.01
"""Seconds by which clocks of whole milliseconds may be wrong."""


@dataclass(frozen=True)
class Taken:
    """A state to which something may lead, and the rules of the spec that lead there."""

    state: ConsumerState
    rules: tuple[str, ...]


@dataclass(eq=False)
class ConsumerSteps:
    """The spec, asked about states. terms, of the coordinator; late: seconds by which anything may be late;
    lost: as of `rota.linearise.steps.Steps`; oracle: who is asked, if not the spec as it is.
    """

    terms: ConsumerTerms
    late: float = 0.0
    lost: set[int] = field(default_factory=set)
    oracle: Oracle | None = None

    def __post_init__(self) -> None:
        self._oracle = self.oracle or Oracle(self.terms.config)
        self._topics = self.terms.topics
        self._answered: dict[int, float] = {}

    def empty(self) -> ConsumerState:
        """Before anything was asked."""
        return ConsumerState(topics=self._topics)

    def restarted(self, event: Restarted, lost: Iterable[int]) -> ConsumerSteps:
        """The same of the coordinator that was started then."""
        other = self.copied()
        other.lost.update(lost)
        if event.topics is not None:
            other._topics = event.topics
        return other

    @property
    def spec(self) -> ConsumerSpec:
        """What is asked."""
        return self._oracle.spec

    def asking(self, oracle: Oracle) -> ConsumerSteps:
        """The same states with somebody else who is asked about them."""
        other = self.copied()
        other.oracle = other._oracle = oracle
        return other

    def copied(self) -> ConsumerSteps:
        """The same spec, asked about others' connections."""
        other = copy(self)
        other.lost = set(self.lost)
        return other

    def comparable(self, reply: Any, version: int) -> Any:
        """An answer with its lists in one order."""
        return comparable(reply, version)

    @staticmethod
    def asks_for_an_id(call: Any) -> bool:
        """Whether whoever asks has no id yet and is given one."""
        asked = call.request
        joins = isinstance(asked, ConsumerGroupHeartbeatRequest) and asked.member_epoch == JOIN_EPOCH
        return joins and not asked.member_id and call.version == 0

    def look_ahead(self, events: Sequence[Event]) -> None:
        """Events that will be seen later: until its answer has come a request may have been taken."""
        self._answered.update((one.number, one.at) for one in events if isinstance(one, Answered))

    def also(self, before: ConsumerState, found: Iterable[Taken]) -> Iterable[Taken]:
        """Steps from a state, beside which nothing happens."""
        return found

    def acknowledged(self, state: ConsumerState, number: int) -> ConsumerState:
        """A state when an answer is seen: the log has its batch, and those before it."""
        places = [place for place, one in enumerate(state.behind) if one.number == number]
        return replace(state, behind=state.behind[places[-1] + 1 :]) if places else state

    def since(self, state: ConsumerState, past: float) -> ConsumerState:
        """A state of which nothing is forgotten: `behind` ends with the answers."""
        return state

    def take(self, state: ConsumerState, number: int, call: Any, span: Span, veil: float) -> Iterator[Taken]:
        """A request has its turn. veil: how long readers may see the group as it was before."""
        rest = replace(state, pending=state.pending - {number})
        request = call.request
        span = Span(span.earliest, max(span.latest, self._answered.get(number, span.latest)))
        if isinstance(request, ChangeTopic):
            yield Taken(self._changing(rest, number, request, span), ())
            return
        answer = apart(rest, request, call.version)
        if answer is not None:
            yield Taken(self._owing(rest, number, answer, span), ())
            if gives_way(rest, request):
                left = Before(rest.now, number, span)
                classic = View(ClassicGroup(empty=True), frozenset(), rest.now.offsets)
                rest = replace(rest, now=classic, behind=(*rest.behind, left), armed=FrozenMap())
                yield Taken(self._owing(self._looked_for(rest, span), number, answer, span), ())
            return
        crowded = None if self.terms.refuses else full(rest, request, self.terms.config.max_size)
        if crowded is not None:
            yield Taken(self._owing(rest, number, crowded, span), ())
        if deletes_simple(rest, request):
            gone = Before(rest.now, number, span)
            without = replace(rest, now=View(), behind=(*rest.behind, gone))
            yield Taken(self._owing(without, number, ErrorReply(ErrorCode.NONE), span), ())
            return
        asked = ConsumerCall(
            spec_request(request, state.topics), call.version, call.to, call.fresh_id, topics=state.topics
        )
        if reads(request):
            yield from self._read(rest, number, request, asked, span, veil)
            return
        who = self._who(request, call.fresh_id)
        for view in own_target(rest.now, who):
            here = replace(rest, now=view)
            for one in self._oracle.handle(view, asked, who, self._due(state, span)):
                message = told(request, one.step, here)
                after = self._after(here, one, span, number)
                after = replace(after, now=replace(after.now, offsets=offsets_after(request, one.step, here)))
                after = self._looked_for(after, span)
                if message is not None:
                    after = self._owing(after, number, message, span)
                yield Taken(self._with_id(after, call.fresh_id), one.rules)

    def _who(self, request: Any, fresh_id: str) -> str:
        beats = isinstance(request, ConsumerGroupHeartbeatRequest)
        return (request.member_id or fresh_id) if beats else ""

    def _due(self, state: ConsumerState, span: Span) -> Due:
        """Whether the assignment interval since the last target is over."""
        interval = self.terms.config.assignment_interval_ms / 1000
        made = state.made
        if made is None:
            return (True, False)
        over = span.latest + EARLY >= made.earliest + interval
        within = span.earliest - EARLY < made.latest + interval
        return (True,) * over + (False,) * within

    def _read(
        self, state: ConsumerState, number: int, request: Any, asked: ConsumerCall, span: Span, veil: float
    ) -> Iterator[Taken]:
        """A reader sees the group as the log has it."""
        since = span.earliest - veil
        seen = [state.now, *(one.view for one in state.behind if one.since.latest >= since)]
        for place, view in enumerate(seen):
            for each in each_target(view):
                here = replace(state, now=each)
                for one in self._oracle.handle(each, asked, "", (True,)):
                    message = told(request, one.step, here)
                    # What was read of the group as it is tells its target apart.
                    left = here if place == 0 else state
                    yield Taken(self._owing(left, number, message, span), one.rules)

    def _owing(self, state: ConsumerState, number: int, message: Any, span: Span) -> ConsumerState:
        if number in self.lost:
            return state
        return replace(state, owed=state.owed.set(number, Owed(message, span.latest)))

    def _after(self, state: ConsumerState, one: Stepped, span: Span, number: int) -> ConsumerState:
        """The state after a step. number: of the request, -1 for none."""
        step, due = one.step, dict(state.armed)
        for effect in step.timers:
            timer = effect.timer if isinstance(effect, Arm) else Timer(effect.name, effect.member_id)
            for known in [
                each for each in due if (each.name, each.member_id) == (timer.name, timer.member_id)
            ]:
                del due[known]
            if isinstance(effect, Arm):
                delay = effect.delay_ms / 1000
                due[timer] = Span(span.earliest + delay, span.latest + delay)
        behind = [each for each in state.behind if each.since.latest + self.late >= span.earliest]
        if step.records or step.stores or step.forgets is not None:
            behind.append(Before(state.now, number, span))
        view = View(step.group, frozenset(), state.now.offsets)
        if one.targets:
            view = with_targets(view, one.targets)
        made = span if one.computed else state.made
        return replace(state, now=view, armed=FrozenMap(due), behind=tuple(behind), made=made)

    def _looked_for(self, state: ConsumerState, span: Span) -> ConsumerState:
        """With the timer of a look where nobody uses the group, and without where somebody does."""
        every = self.terms.looks_every
        if every is None:
            return state
        group, timer = state.now.group, Timer(UNUSED, "")
        empty = not group.members if isinstance(group, ConsumerGroup) else group is not None and group.empty
        if not empty or state.now.offsets:
            return replace(state, armed=state.armed.without(timer))
        if timer in state.armed:
            return state
        return replace(state, armed=state.armed.set(timer, Span(span.earliest, span.latest + 2 * every)))

    @staticmethod
    def _with_id(state: ConsumerState, fresh_id: str) -> ConsumerState:
        group = state.group
        used = isinstance(group, ConsumerGroup) and fresh_id in group.members
        return replace(state, ids=state.ids | {fresh_id}) if fresh_id and used else state

    # -- topics
    def _changing(self, state: ConsumerState, number: int, change: ChangeTopic, span: Span) -> ConsumerState:
        place = 1 + max((timer.epoch for timer in state.armed if timer.name == SEEN), default=0)
        timer = Timer(SEEN, f"{change.name} {place}", place)
        within = Span(span.earliest, span.latest + self.terms.sees_within)
        coming = (*state.coming, Change(change.name, change.topic_id, change.partitions))
        state = replace(state, armed=state.armed.set(timer, within), coming=coming)
        return self._owing(state, number, told(change, None, state), span)

    def _topic_seen(self, state: ConsumerState) -> ConsumerState:
        first, *rest = state.coming
        topics, offsets = dict(state.topics), state.now.offsets
        if first.partitions:
            topics[first.name] = Topic(first.topic_id or topics[first.name].topic_id, first.partitions)
        else:
            topics.pop(first.name, None)
            offsets = without_topic(offsets, first.name)
        seen: Topics = FrozenMap(topics)
        return replace(state, topics=seen, coming=tuple(rest), now=replace(state.now, offsets=offsets))

    # -- time, and the log
    def fire(self, state: ConsumerState, timer: Timer, span: Span) -> Iterator[Taken]:
        """A timer is due."""
        disarmed = replace(state, armed=state.armed.without(timer))
        if timer.name == SEEN:
            if timer == min((one for one in state.armed if one.name == SEEN), key=lambda one: one.epoch):
                yield Taken(self._topic_seen(disarmed), ())
            return
        if timer.name == UNUSED:
            gone = Before(state.now, -1, span)
            yield Taken(replace(disarmed, now=View(), behind=(*state.behind, gone)), ())
            return
        for one in self._oracle.fire(state.now, timer, state.topics):
            yield Taken(self._looked_for(self._after(disarmed, one, span, -1), span), one.rules)

    def log_answers(self, state: ConsumerState, span: Span) -> Iterator[Taken]:
        """Nothing waits for the log by itself."""
        return iter(())

    def look(self, state: ConsumerState, span: Span) -> Iterator[Taken]:
        """What has expired is looked for: only a group that nobody uses is found."""
        if isinstance(state.group, ClassicGroup | ConsumerGroup) and not state.now.offsets:
            yield Taken(replace(state, now=View(), looked=True), ())

    def finds(self, state: ConsumerState, span: Span, unsure: float) -> Iterator[Taken]:
        """As of a classic group; here a timer says when."""
        return iter(())

    def restart(self, state: ConsumerState, span: Span) -> Iterator[Taken]:
        """The coordinator is gone, and another one has read its log."""
        for view in (state.now, *(one.view for one in state.behind)):
            step = self._oracle.loaded(view)
            lost = ConsumerState(view, ids=state.ids, topics=self._topics, made=state.made)
            one = Stepped(step, view.targets, ("consumer.timers.loaded",))
            yield Taken(self._looked_for(self._after(lost, one, span, -1), span), one.rules)
