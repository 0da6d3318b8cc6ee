"""A shadow that judges offsets, transactions of offsets, administration and expiry too, of one group each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rota import coordinator as core
from rota.oracle.follow import AppendedRecord, Followed
from rota.oracle.offsets_follow import Kept, Told, completed, outcomes
from rota.oracle.offsets_translate import (
    GONE,
    Delete,
    Describe,
    Fetch,
    Listing,
    Question,
    core_answer,
    core_append,
    core_loaded,
    core_offsets,
    spec_answer,
    spec_offsets,
    to_spec,
)
from rota.oracle.report import differences, headline
from rota.oracle.shadow import Make, Shadow
from rota.oracle.translate import (
    Fields,
    Observation,
    core_group,
    core_timer_effects,
    observed,
    spec_group,
    spec_timer_effects,
)
from rota.server.offset_bodies import subscribed_topics
from rota.spec import Call, Hosting, Reply, Spec
from rota.spec.offset_state import (
    GroupForgotten,
    OffsetBatch,
    OffsetRead,
    OffsetStep,
    RetentionCheck,
    TransactionEnd,
)
from rota.spec.versions import as_sent
from rota.spec.vocabulary import AppendError


@dataclass(frozen=True)
class Asked:
    """A request that waits, as the spec has it, and the group that it is about."""

    call: Call
    group_id: str


class OffsetsShadow(Shadow):
    """As `Shadow`, with everything about offsets and administration held to the spec.

    Each request is about one group. Attributes: kept, the offsets as the spec has them, by group.
    """

    def __init__(
        self,
        config: core.CoordinatorConfig,
        choices: core.Choices,
        make: Make = core.GroupCoordinator,
        clock: Callable[[], int] = lambda: 0,
    ) -> None:
        super().__init__(config, choices, make, clock)
        self.kept: dict[str, Kept] = {}
        self._asked: dict[Hashable, Asked] = {}
        self._lines: dict[int, str] = {}

    def keep(self, group_id: str) -> Kept:
        """The offsets of a group."""
        return self.kept.setdefault(group_id, Kept())

    def ask(self, request: Question, version: int, token: Hashable) -> core.Effects:
        """A request about a group's offsets, or of the administration."""
        self.requests += 1
        address = f"r{self.requests}"
        call = Call(to_spec(request), address, version, now_ms=self.now)
        self._asked[token] = Asked(call, request.group_id)
        event = f"{address}: {type(request).__name__} v{version} {_brief(request)}"

        def allowed(spec: Spec, kept: Kept, followed: Followed) -> tuple[Told, ...]:
            return outcomes(spec, kept, followed.group, spec.handle(followed.group, call))

        return self._judged(request.group_id, event, partial(self._of_core, request, version, token), allowed)

    def read_behind_a_tombstone(self, group_id: str) -> bool:
        """Whether a fetch waits behind the tombstone of its group."""
        items = [one.item for one in self.keep(group_id).line]
        gone = [place for place, item in enumerate(items) if isinstance(item, GroupForgotten)]
        return bool(gone) and any(isinstance(item, OffsetRead) for item in items[gone[0] :])

    def _of_core(self, request: Question, version: int, token: Hashable) -> core.Effects:
        """The core's method for a request."""
        if isinstance(request, core.OffsetCommit):
            return self.core.offset_commit(request, version, token, self.now)
        if isinstance(request, core.TxnOffsetCommit):
            return self.core.txn_offset_commit(request, version, token, self.now)
        if isinstance(request, core.OffsetDelete):
            return self.core.offset_delete(request, version, token, subscribed_topics)
        if isinstance(request, Fetch):
            asked = core.OffsetFetchGroup(request.group_id, request.topics)
            return self.core.offset_fetch(core.OffsetFetch((asked,), request.require_stable), version, token)
        if isinstance(request, Describe):
            return self.core.describe_groups([request.group_id], version, token)
        if isinstance(request, Delete):
            return self.core.delete_groups([request.group_id], version, token)
        assert isinstance(request, Listing)
        return self.core.list_groups(request.filters, version, token)

    def end(self, producer_id: int, committed: bool, group_id: str) -> core.Effects:
        """A producer's transaction, which has committed to this group only, ends."""
        word = TransactionEnd(producer_id, committed)

        def allowed(spec: Spec, kept: Kept, followed: Followed) -> tuple[Told, ...]:
            return (Told(followed.group, kept.offsets).after(OffsetStep(kept.offsets, line=(word,))),)

        event = f"producer {producer_id} {'commits' if committed else 'aborts'}"
        ask = partial(self.core.end_transaction, producer_id, committed)
        return self._judged(group_id, event, ask, allowed)

    def clean_group(self, group_id: str) -> core.Effects:
        """It is time to look what has expired; while the log has not answered offsets the core does not look.

        Since when the group is in its state the core says itself: the spec has no clock.
        """
        group = self.core.groups.get(group_id)
        since = None if group is None or group.state_since_ms == -1 else group.state_since_ms

        def allowed(spec: Spec, kept: Kept, followed: Followed) -> tuple[Told, ...]:
            if followed.group is None or any(isinstance(one.item, OffsetBatch) for one in kept.line):
                return (Told(followed.group, kept.offsets),)
            steps = spec.retention(followed.group, RetentionCheck(self.now, since))
            return outcomes(spec, kept, followed.group, steps)

        ask = partial(self.core.clean, self.now, subscribed_topics, (group_id,))
        return self._judged(group_id, "what has expired is looked for", ask, allowed)

    def appended(self, append_id: int, error_code: int = 0) -> core.Effects:
        """As of the core."""
        group_id = self._lines.pop(append_id, None)
        if group_id is None:
            return super().appended(append_id, error_code)
        kept, error = self.keep(group_id), AppendError(error_code) if error_code else None
        ids = sorted((*(key for key, name in self._lines.items() if name == group_id), append_id))
        unanswered = [one for one in kept.line if not (one.answered or isinstance(one.item, OffsetRead))]
        one = unanswered[ids.index(append_id)]  # ids grow in the order of the log
        one.answered, one.error, one.append_id = True, error, append_id
        counts: dict[int, int] = {}

        def allowed(spec: Spec, kept: Kept, followed: Followed) -> tuple[Told, ...]:
            found = completed(spec, kept, followed.group)
            counts.update((id(told), done) for told, done in found)
            return tuple(told for told, _ in found)

        event = f"the log answers {type(one.item).__name__}: {error.name if error else 'stored'}"
        ask = partial(self.core.appended, append_id, error_code)
        return self._judged(group_id, event, ask, allowed, lambda told: counts[id(told)])

    def _unload(self, line: str) -> core.Effects:
        """As of `Shadow`; who waits for the log is sent elsewhere, and offsets are forgotten."""
        effects = super()._unload(line)
        self._lines.clear()
        for group_id, kept in self.kept.items():
            followed = self.follow(group_id)
            if followed.divergence is None:
                self._sent_elsewhere(followed, effects)
            kept.give_up()
        self._asked.clear()
        return effects

    def _sent_elsewhere(self, followed: Followed, effects: core.Effects) -> None:
        """Whoever waits is answered as if the coordinator had not been this one from the beginning."""
        waiting = {
            token: asked for token, asked in self._asked.items() if asked.group_id == followed.group_id
        }
        calls = [replace(asked.call, hosting=Hosting.ELSEWHERE) for asked in waiting.values()]
        steps = self.oracle.outcomes(lambda spec: tuple(s for call in calls for s in spec.handle(None, call)))
        versions = {call.to: call.version for call in calls}
        wanted = _answers(versions, (reply for step in steps for reply in step.replies))
        mine = {
            f"answer to {waiting[token].call.to}": core_answer(reply, followed.group_id)
            for token, reply in effects.replies
            if token in waiting
        }
        if mine != wanted:
            differing = differences(wanted, mine)
            raise self._recorded(
                followed.differs(headline(differing, steps[-1].rules[-1]), steps[-1], differing, 1)
            )

    def move(self, config: core.CoordinatorConfig) -> None:
        """As of `Shadow`; the next coordinator finds what was stored of the offsets, too."""
        super().move(config)
        for group_id, kept in self.kept.items():
            if kept.given_up is not None:
                self._load_offsets(self.follow(group_id), kept)

    def _load(self, followed: Followed, one: AppendedRecord) -> None:
        kept = self.keep(followed.group_id)
        kept.load()
        load = partial(self.core.load, followed.group_id, one.core, *core_loaded(kept.offsets))
        self._step(followed, "", "", load, lambda spec, _: spec.load(one.spec))

    def _load_offsets(self, followed: Followed, kept: Kept) -> None:
        """Of this group the log has offsets alone, or nothing."""
        kept.load()
        offsets = kept.offsets
        if offsets.committed or offsets.pending:
            load = partial(self.core.load, followed.group_id, None, *core_loaded(offsets))
            self._step(followed, "", "", load, lambda spec, _: spec.offsets_found(None))

    def _forget_records(self, followed: Followed) -> None:
        """The log has what it has until it has the tombstone."""
        stored = followed.stored
        super()._forget_records(followed)
        followed.stored = stored

    def _judged(
        self,
        group_id: str,
        event: str,
        ask: Callable[[], core.Effects],
        allowed: Callable[[Spec, Kept, Followed], tuple[Told, ...]],
        done: Callable[[Told], int] = lambda told: 0,
    ) -> core.Effects:
        """One step of the core must be one that is allowed, and the spec follows it."""
        followed, kept = self.follow(group_id), self.keep(group_id)
        if followed.divergence is not None:
            return ask()
        found = self.oracle.outcomes(lambda spec: allowed(spec, kept, followed))
        try:
            effects = ask()
        except Exception as failure:
            what = f"the coordinator raised {failure!r} [{self._rule(found)}]"
            raise self._recorded(followed.broken(what, self.now, event)) from failure
        mine = self._done(followed, kept, effects)
        followed.add_line(self.now, event)
        seen = [(self._allowed(followed, kept, told), told) for told in found]
        told = next((told for observation, told in seen if observation == mine), None)
        if told is None:
            differing, nearest = min(
                ((differences(one, mine), told) for one, told in seen), key=lambda pair: len(pair[0])
            )
            rule = nearest.rules[-1] if nearest.rules else "nothing to do"
            raise self._recorded(followed.differs(headline(differing, rule), nearest, differing, len(seen)))
        self._follow(followed, kept, effects, told, done(told))
        return effects

    @staticmethod
    def _rule(found: Iterable[Told]) -> str:
        return next((told.rules[-1] for told in found if told.rules), "no rule")

    def _follow(self, followed: Followed, kept: Kept, effects: core.Effects, told: Told, done: int) -> None:
        self.oracle.count(told, followed.state)
        followed.take_timers(effects, self.now)
        followed.group = told.group
        for one in kept.line[:done]:
            if isinstance(one.item, GroupForgotten) and one.error is None:
                followed.erase(one.append_id)
        kept.offsets, kept.line = told.offsets, [*kept.line[done:], *told.queued]
        self._lines.update((append.append_id, followed.group_id) for append in effects.appends)
        for token, _ in effects.replies:
            self._asked.pop(token, None)
        self._forget_records(followed)

    def _done(self, followed: Followed, kept: Kept, effects: core.Effects) -> Observation:
        group_id = followed.group_id
        records = [_needed(kept, core_append(append)) for append in effects.appends]
        step = observed(
            (),
            core_timer_effects(effects, group_id),
            followed.armed,
            records,
            core_group(self.core.groups.get(group_id)),
        )
        answers = {
            f"answer to {self._to(token)}": core_answer(reply, group_id) for token, reply in effects.replies
        }
        return {**answers, **step, "offsets": core_offsets(self.core, group_id)}

    def _to(self, token: Hashable) -> str:
        return self._asked[token].call.to if token in self._asked else "a request that waits no more"

    def _allowed(self, followed: Followed, kept: Kept, told: Told) -> Observation:
        versions = {one.call.to: one.call.version for one in self._asked.values()}
        records = [_needed(kept, record) for record in told.appends]
        step = observed(
            (),
            spec_timer_effects(told),
            followed.armed,
            records,
            spec_group(told.group),
        )
        return {**_answers(versions, told.replies), **step, "offsets": spec_offsets(told.offsets)}


def _answers(versions: Mapping[str, int], replies: Iterable[Reply]) -> Observation:
    """Answers of the spec, as they are sent to requests of these versions."""
    return {
        f"answer to {reply.to}": spec_answer(as_sent(reply.message, versions[reply.to])) for reply in replies
    }


def _needed(kept: Kept, record: Fields) -> Fields:
    """A record without tombstones of what is not there; of those that are the order does not matter."""
    entries = record.get("records", ())
    if not entries or not all(entry.endswith(GONE) for entry in entries):
        return record
    offsets = kept.offsets
    pending = [one.record.key for one in offsets.pending]
    there = {
        f"{topic}-{index} {GONE}" for topic, index, *_ in (*offsets.committed, *pending, *offsets.appended)
    }
    return {**record, "records": tuple(sorted(there.intersection(entries)))}


def _brief(request: Question) -> str:
    """A request's fields in one line."""
    parts = (f"{name}={value!r}" for name, value in vars_of(request) if name != "group_id")
    return " ".join(parts)


def vars_of(request: Question) -> Iterable[tuple[str, Any]]:
    """Names and values of a request's fields."""
    return ((name, getattr(request, name)) for name in request.__dataclass_fields__)
