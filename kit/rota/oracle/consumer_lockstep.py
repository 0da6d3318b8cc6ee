"""A core and the spec of the consumer protocol, driven side by side in virtual time, one group.

After each input the answers, the records, the armed timers, the group and what descriptions and lists say of
it must be the same, and of which partitions there are offsets. Two things are the core's own. Where the log
refuses what removed a member, it looks after the member again (`timers.RETRY_MS`). An answer that writes
nothing waits for what is of the group, and not for offsets alone that are on their way to the log.

Left out: what the log takes behind a batch that it has refused, appends that time out (in a broker neither
comes alone); what the classic protocol does; a log that refuses the commit that made a classic group
(`offsets.commit-without-membership` leaves out that it is gone again); and more members than the spec's
assignor puts in all orders.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rota import coordinator as core
from rota.coordinator.consumer.records import Entry, GroupEpoch
from rota.coordinator.consumer.timers import RETRY_MS
from rota.kernel import replace
from rota.oracle import consumer_inputs as happens
from rota.oracle.consumer_inputs import Input, brief
from rota.oracle.consumer_log import Logged, entries_of
from rota.oracle.consumer_requests import (
    CLIENT,
    GROUP_ID,
    HOST,
    JOIN,
    Asked,
    asked,
)
from rota.oracle.consumer_sides import TIMERS, ConsumerSides, Pending
from rota.oracle.consumer_translate import TwoHashesError
from rota.oracle.report import Divergence
from rota.spec.consumer.assignors import MOST_ORDERS
from rota.spec.consumer.group import ClassicGroup, ConsumerGroup
from rota.spec.consumer.messages import Call
from rota.spec.consumer.persistence import Answered, Batch, Shard
from rota.spec.consumer.records import NotLoaded
from rota.spec.consumer.step import Step, Timer
from rota.spec.consumer.vocabulary import ErrorCode, RecordKind

BESIDE = happens.Commit | happens.DeleteGroup | happens.Fetch
"""What is left out while the group is gone and the log has not said so: it would be about a classic one, or,
of a fetch, about the group as the log has it, which is still there to the core and to brokers."""


class ConsumerLockstep(ConsumerSides):
    """Parameters: make, builds the core. Attributes: as of `ConsumerSides`."""

    def _begun(self, settings: happens.Settings) -> None:
        self._begin(settings)
        self.spec.begin(None)

    # ---- what happens

    def do(self, one: Input) -> bool:
        """One input. Returns whether it was possible. Errors: Divergence."""
        self.spec.begin(self.group)
        act = self._action(one)
        if act is None:
            return False
        self.inputs.append(one)
        self._dialogue.append(brief(one))
        try:
            act()
            self._same_view()
        except (Divergence, AssertionError):
            raise
        except (TwoHashesError, NotLoaded) as failure:
            raise self._diverged(str(failure)) from failure
        except Exception as failure:
            raise self._diverged(f"{type(failure).__name__}: {failure}") from failure
        return True

    def _action(self, one: Input) -> Callable[[], None] | None:
        match one:
            case happens.Settings():
                return None if self.inputs else lambda: self._begun(one)
            case happens.TopicIs():
                return lambda: self.cluster.change(one)
            case happens.Waited():
                return lambda: self._wait(one.ms)
            case happens.Due():
                return self._fire(one)
            case happens.Stored():
                return self._stored if self._pending else None
            case happens.Failed():
                return (lambda: self._failed(one)) if self._may_fail(one.count) else None
            case happens.Moved():
                return lambda: self._move(one)
            case happens.Read():
                return lambda: self._read(one)
            case happens.ClassicMember():
                return self._classic_member(one.comes)
        if self.appends and not isinstance(self.group, ConsumerGroup) and isinstance(one, BESIDE):
            return None
        if isinstance(one, happens.Beat) and self._is_one_too_many(one):
            return None
        request = asked(one, self.group, self.cluster, self._serial + 1)
        return None if request is None else lambda: self._ask(request)

    def _is_one_too_many(self, one: happens.Beat) -> bool:
        """Whether somebody comes to a group of so many that the spec does not go through all their orders."""
        members = self.group.members if isinstance(self.group, ConsumerGroup) else {}
        return len(members) >= MOST_ORDERS and one.member_id not in members

    def _wait(self, ms: int) -> None:
        self.now += ms

    def _ask(self, request: Asked) -> None:
        self._serial += 1
        to = f"r{self._serial}"
        self._picks.fresh = request.fresh_id
        effects = request.send(self.core, to)
        call = Call(request.request, request.version, to, request.fresh_id, topics=self.cluster.known())
        (step,) = self.spec.handle(self.group, call)
        self._take(effects, step, request.commits)

    def _fire(self, one: happens.Due) -> Callable[[], None] | None:
        if (one.name, one.member_id) not in self.armed:
            return None
        due, timer = self.armed[one.name, one.member_id]

        def fire() -> None:
            self.now = max(self.now, due)
            del self.armed[one.name, one.member_id], self._due[one.name, one.member_id]
            effects = self.core.fire(core.TimerId(TIMERS[one.name], GROUP_ID, one.member_id))
            (step,) = self.spec.fire(self.group, timer, self.cluster.known())
            self._take(effects, step)

        return fire

    def _take(self, effects: core.Effects, step: Step, commits: tuple[str, int] | None = None) -> None:
        """A step of both."""
        self._meet(effects, step)
        mine, answers = self._written(step)
        stores = (commits,) if step.stores and commits is not None else ()
        logged = Logged(step.records, self._entries(effects), stores, step.forgets)
        if effects.appends and not step.records and step.forgets is not None:
            # There were offsets to forget, which is a batch of its own.
            batch = Batch((), self.shard.group, step.replies)
            mine, answers = Shard(step.group, (*self.shard.batches, batch)), ()
        self.shard = mine
        self._pending += [Pending(each.append_id, logged) for each in effects.appends[:1]]
        self._note_target(step)
        self._arm(effects, step)
        self._compare(effects, answers, step.records, stores)

    def _written(self, step: Step) -> Answered:
        """What becomes of a step; behind offsets alone who writes nothing does not wait."""
        nothing = not step.records and not step.stores
        if nothing and not any(one.records for one in self.shard.batches):
            return replace(self.shard, group=step.group), step.replies
        found: Answered = self.spec.ask("persistence.written", self.shard, step)
        return found

    def _entries(self, effects: core.Effects) -> tuple[Entry, ...]:
        return tuple(one for each in effects.appends for one in entries_of(each.record))

    def _meet(self, effects: core.Effects, step: Step) -> None:
        """Hashes that stand for the same topics in both."""
        given = [one for one in step.records if one.kind is RecordKind.GROUP and one.value is not None]
        for append in effects.appends:
            for _, value in entries_of(append.record):
                if isinstance(value, GroupEpoch) and given:
                    self._words.meet(value.metadata_hash, given[0].value[1])

    def _note_target(self, step: Step) -> None:
        for one in step.records:
            if one.kind is RecordKind.TARGET and one.value is not None and one.value[1]:
                self._made_at[one.value[0]] = self.now

    # ---- the log

    def _stored(self) -> None:
        one = self._pending.pop(0)
        self._log.batches.append(one.logged)
        effects = self.core.appended(one.append_id)
        self.shard, answers = self.spec.ask("persistence.stored", self.shard)
        self._arm_core(effects)
        self._compare(effects, answers)
        self._same_offsets(self.batches)

    def _may_fail(self, count: int) -> bool:
        """Whether there are so many batches, none of them a commit that found no group."""
        lost = self.shard.batches[-count:] if 0 < count <= self.appends else ()
        return bool(lost) and all(one.records or one.before is not None for one in lost)

    def _failed(self, one: happens.Failed) -> None:
        """A batch that fails takes all behind it along. Those before it are stored first."""
        while self.appends > one.count:
            self._stored()
        lost = self._pending[-one.count :]
        del self._pending[-one.count :]
        error = ErrorCode(core.persistence.response_error(one.error.value))
        self.shard, answers = self.spec.ask("persistence.failed", self.shard, len(lost), error)
        replies: list[Any] = []
        appends: list[core.Append] = []
        for each in lost:
            effects = self.core.appended(each.append_id, one.error.value)
            replies += effects.replies
            appends += effects.appends
            self._arm_core(effects)
        self._watched_again(lost)
        self._compare(core.Effects(replies, (), tuple(appends)), answers)

    def _watched_again(self, lost: Sequence[Pending]) -> None:
        """Who was removed by what the log refused has a short session."""
        members = self.group.members if isinstance(self.group, ConsumerGroup) else {}
        gone = {
            one.member_id
            for each in lost
            for one in each.logged.records
            if one.kind is RecordKind.MEMBER and one.value is None
        }
        for member_id in gone & members.keys():
            self.armed["session", member_id] = (self.now + RETRY_MS, Timer("session", member_id))

    def _move(self, one: happens.Moved) -> None:
        self._log.batches += [each.logged for each in self._pending[: one.stored]]
        self._pending.clear()
        effects = self.core.unload()
        self.shard, answers = self.spec.ask("persistence.moved", self.shard)
        self.armed.clear()
        self._due.clear()
        self._classic_due.clear()
        self._compare(core.Effects(effects.replies), answers)
        self.core = self._made()
        self._load(self.core, self.batches, one.kept, one.tombstones)

    def _read(self, one: happens.Read) -> None:
        """The log up to somewhere, read by a coordinator of its own."""
        before = self.core, self.shard, dict(self.armed), dict(self._due)
        self.core, self.armed, self._due = self._made(), {}, {}
        self._load(self.core, min(one.upto, self.batches), one.kept, one.tombstones)
        self._same_view()
        self.core, self.shard, self.armed, self._due = before

    def _load(self, made: core.GroupCoordinator, upto: int, kept: int, tombstones: bool) -> None:
        group = self._log.group(upto, kept, tombstones)
        entries = self._log.entries(upto, tombstones)
        offsets = self._log.offsets(upto)
        effects = core.Effects()
        if any(value is not None for _, value in entries):
            effects = made.load(GROUP_ID, None, offsets, entries=entries)
        elif offsets or self._log.classic(upto) is not None:
            effects = made.load(GROUP_ID, self._log.classic(upto), offsets)
            group = ClassicGroup(True)
        self.shard = Shard(group)
        self._arm(effects, self.spec.ask("timers.loaded", group))
        self._compare(effects, ())
        self._same_offsets(upto)

    # ---- the classic protocol

    def _classic_member(self, comes: bool) -> Callable[[], None] | None:
        """Only what it makes of the group is looked at."""
        if isinstance(self.group, ConsumerGroup) or self.appends:
            return None
        if comes == (isinstance(self.group, ClassicGroup) and not self.group.empty):
            return None
        return lambda: self._classic_comes() if comes else self._classic_goes()

    def _classic_comes(self) -> None:
        self._serial += 1
        self._picks.fresh = f"c{self._serial}"
        self._beside(self.core.join_group(JOIN, 3, CLIENT, HOST, "c"))
        self.shard = Shard(ClassicGroup(empty=False))

    def _classic_goes(self) -> None:
        members = tuple(map(core.MemberIdentity, self.core.groups[GROUP_ID].members))
        self._beside(self.core.leave_group(core.LeaveGroup(GROUP_ID, members), 5, "c"))
        for timer in [each for each in self._classic_due if each.kind in ("initial_join", "join")]:
            self._classic_due.discard(timer)
            self._beside(self.core.fire(timer))
        self.shard = Shard(ClassicGroup(empty=True))

    def _beside(self, effects: core.Effects) -> None:
        """What the other protocol writes is stored at once."""
        self._arm_core(effects)
        for each in effects.appends:
            self._log.batches.append(Logged(classic=each.record))
            self._beside(self.core.appended(each.append_id))
