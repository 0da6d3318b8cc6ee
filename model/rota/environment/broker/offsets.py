"""The offsets of the group as a machine: what is stored, what waits for the log, and what readers are told.

Beside the coordinator and not in it, so that their values do not multiply: the coordinator decides who may
commit and forwards what its rules say to the offsets (`Step.offsets`), this machine does the rest.

Simplified, and why that is safe:
- The log answers offsets and group records in two lines, each in its order. A real log has one line, so there
  is more here than any broker does. Where both must agree they do: the removal of a group waits in both
  lines, and a creation that fails takes along the offsets that were written after it.
- The log fails one batch at a time, where the Java coordinator may fail all that it has gathered into one.
- Transactions end at any time, one way or the other: there is no transaction coordinator.
- The clock stands still: every commit is made at time 0, and the retention has passed or it has not.
- A fail-over keeps a prefix of what is in flight. Whoever waits is told NOT_COORDINATOR.

Two history variables carry what properties ask: the offsets that were promised to a client (acknowledged, and
not replaced, deleted or put in doubt since, nor old enough to expire), and whether a promise or the right to
commit was broken. Neither believes the rules: `rota.environment.broker.observers` looks at the group itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as rebuilt

from rota.environment.broker.log import owed
from rota.environment.messages import (
    NOBODY,
    Charge,
    Moved,
    OffsetsThere,
    Owed,
    Read,
    Released,
    RetentionDue,
    Reverted,
    Trespass,
    Unreachable,
    Unused,
)
from rota.kernel import Attempt, FrozenMap, Message, Outcome, Refusal, Send, Value, frozen, replace
from rota.spec import Spec
from rota.spec.effects import Reply
from rota.spec.offset_messages import (
    OffsetFetchReply,
    OffsetFetchRequest,
    refused_offsets,
)
from rota.spec.offset_state import (
    NO_PRODUCER,
    Expire,
    GroupForgotten,
    GroupForgottenAnswer,
    InLine,
    OffsetBatch,
    OffsetRead,
    Offsets,
    OffsetStep,
    OffsetTombstone,
    RetentionCheck,
    TransactionEnd,
)
from rota.spec.vocabulary import AppendError, ErrorCode

Key = tuple[str, int]


@frozen
class OffsetsKept:
    """The offsets' part of the state.

    line: what waits for the log, oldest first. History variables: promised, the offset by topic and partition
    that was acknowledged last; broken: a fetch has told something else; trespassed: a commit was accepted
    that should not have been.
    """

    offsets: Offsets = field(default_factory=Offsets)
    line: tuple[InLine, ...] = ()
    promised: FrozenMap[Key, int] = field(default_factory=FrozenMap)
    broken: bool = False
    trespassed: bool = False


@dataclass(frozen=True, eq=False)
class OffsetsKeeper:
    """The machine. Parameters: spec, the rules; failure: how an append fails when it does."""

    spec: Spec
    failure: AppendError
    name: str = "offsets"
    role: str = "offsets"

    def initial(self) -> Sequence[Value]:
        """Nobody has committed anything."""
        return (OffsetsKept(),)

    def actions(self, value: OffsetsKept) -> Sequence[Outcome]:
        """The log answers the oldest append; a transaction ends; the retention time passes."""
        check = RetentionCheck(self.spec.config.offsets_retention_ms, since_ms=0)
        sends = (Send("budget", Charge("retention")), Send("coordinator", RetentionDue(check)))
        passes = Outcome(value, sends, "the retention time of offsets passes")
        return [*self._answers(value), *self._ends(value), passes]

    def _ends(self, value: OffsetsKept) -> list[Outcome]:
        """A producer ends its transaction, one way or the other: a marker is written."""
        open_ones = {one.record.producer_id for one in value.offsets.pending}
        ended = {item.producer_id for item in value.line if isinstance(item, TransactionEnd)}
        return [
            Outcome(
                replace(value, line=(*value.line, TransactionEnd(producer, committed))),
                label=f"producer {producer} {'commits' if committed else 'aborts'} its transaction",
            )
            for producer in sorted(open_ones - ended)
            for committed in (True, False)
        ]

    def _answers(self, value: OffsetsKept) -> list[Outcome]:
        """The oldest append is stored, or fails, which is a fault. The log answers a group's tombstone."""
        if not value.line:
            return []
        first, rest = value.line[0], replace(value, line=value.line[1:])
        if isinstance(first, TransactionEnd):
            after = _without(rest, (one.record.key for one in value.offsets.pending))
            what = f"the transaction of producer {first.producer_id} ends"
            return [
                self._fold(after, step, what) for step in self.spec.transaction_ended(value.offsets, first)
            ]
        if not isinstance(first, OffsetBatch):
            return []
        stored = self.spec.offsets_appended(value.offsets, first, None)
        failed = self.spec.offsets_appended(value.offsets, first, self.failure)
        doubted = _without(rest, _doubted(first)) if self._in_doubt else rest
        price = Send("budget", Charge("append"))
        return [
            *(_found(self._fold(self._promised(rest, first), step, "log stores offsets")) for step in stored),
            *(self._fold(doubted, step, "log fails to store offsets", price) for step in failed),
        ]

    @property
    def _in_doubt(self) -> bool:
        return self.failure is AppendError.REQUEST_TIMED_OUT

    def receive(self, value: OffsetsKept, sender: str, message: Message) -> Sequence[Outcome]:
        """What the coordinator forwards, and news of connections and fail-overs."""
        if isinstance(message, Trespass):
            return (Outcome(replace(value, trespassed=True)),)
        if isinstance(message, Released):
            return (Outcome(_without(value, (key for key in value.promised if key[0] not in message.kept))),)
        if isinstance(message, Unreachable):
            return (Outcome(replace(value, line=_without_waiting(value.line, message.client))),)
        if isinstance(message, Owed):
            return () if any(_address(item) == message.client for item in value.line) else (Outcome(value),)
        if isinstance(message, Read):
            return (_found(Outcome(value)),)
        if isinstance(message, Reverted):
            return self._reverted(value)
        if isinstance(message, Moved):
            return [self._moved(value, survive) for survive in range(len(value.line) + 1)]
        return self._told(value, message)

    def refusals(self, value: OffsetsKept) -> Sequence[Refusal]:
        """Nothing to store, nothing to end, or a tombstone that another line answers."""
        refused = []
        if not value.line or isinstance(value.line[0], GroupForgotten):
            why = "the group's tombstone is first in line" if value.line else "no append is in flight"
            refused.append(Refusal("log stores offsets, or fails to", why))
        if not value.offsets.pending:
            refused.append(Refusal("a producer ends its transaction", "no transaction is open"))
        return refused

    def why_refused(self, value: OffsetsKept, sender: str, message: Message) -> str | None:
        """A client gives up waiting only where no answer comes, and a tombstone is answered in its turn."""
        if isinstance(message, GroupForgottenAnswer):
            return "offsets that were written before the group's tombstone are still in flight"
        return owed(message)

    def tried(self, value: OffsetsKept, sender: str | None, message: Message) -> Sequence[Attempt]:
        """The rules that a message makes the handlers ask."""
        spec = self.spec.listened()
        if sender is not None:
            rebuilt(self, spec=spec).receive(value, sender, message)
        return spec.attempts

    def _told(self, value: OffsetsKept, message: Message) -> Sequence[Outcome]:
        """A word of the coordinator's rules. What they ask to have deleted is promised no more; of what may
        expire they are not believed (`Released`).
        """
        offsets = value.offsets
        if isinstance(message, OffsetBatch):
            deleted = (r.key for r in message.records if isinstance(r, OffsetTombstone))
            after = _without(value, deleted)
            return [self._fold(after, step) for step in self.spec.offsets_begin(offsets, message)]
        if isinstance(message, Expire):
            return [self._fold(value, step) for step in self.spec.offsets_expire(offsets, message)]
        if isinstance(message, GroupForgotten):
            after = _promised_after(value, message)
            return [self._fold(after, step) for step in self.spec.offsets_forget(offsets, message)]
        if isinstance(message, GroupForgottenAnswer):
            return self._forgotten(value, message)
        if isinstance(message, OffsetRead | TransactionEnd):
            waits = isinstance(message, TransactionEnd) or message.waits
            line = (*value.line, message) if waits else (message, *value.line)
            return (self._fold(replace(value, line=line), OffsetStep(offsets)),)
        raise TypeError(f"the offsets do not take {message!r}")

    def _forgotten(self, value: OffsetsKept, message: GroupForgottenAnswer) -> Sequence[Outcome]:
        """The log has answered the group's tombstone: not before all offsets that were written earlier."""
        first = value.line[0] if value.line else None
        if not isinstance(first, GroupForgotten):
            return ()
        rest = replace(value, line=value.line[1:])
        after = _promised_after(rest, first) if message.stored else rest
        steps = self.spec.offsets_forgotten(value.offsets, first, message.stored)
        return [self._fold(after, step) for step in steps]

    def _fold(self, value: OffsetsKept, step: OffsetStep, label: str = "", *first: Send) -> Outcome:
        """One step of the spec becomes one value, and whoever is at the front of the line reads."""
        line = _without_waiting((*value.line, *step.line), NOBODY)
        after = replace(value, offsets=step.offsets, line=line)
        replies, rules = list(step.replies), list(step.rules)
        while after.line and isinstance(after.line[0], OffsetRead):
            read = after.line[0]
            (answer,) = self.spec.offsets_read(after.offsets, read)
            replies += answer.replies
            rules += answer.rules
            kept = all(_keeps(after.promised, read, reply) for reply in answer.replies)
            after = replace(after, line=after.line[1:], broken=after.broken or not kept)
        sends = [*first, *_sends(replies)]
        if step.removes_group:
            sends.append(Send("coordinator", Unused()))
        return Outcome(after, tuple(sends), label, tuple(rules))

    def _promised(self, value: OffsetsKept, batch: OffsetBatch) -> OffsetsKept:
        """A batch is stored. Where deletions do not wait, one may have come between."""
        after = value
        for record in batch.records:
            if isinstance(record, OffsetTombstone):
                after = after if record.expired else _without(after, (record.key,))
            elif record.producer_id == NO_PRODUCER and (
                self.spec.profile.deletion_waits_for_record or value.offsets.is_appended(*record.key)
            ):
                promised = after.promised.set(record.key, record.value.committed_offset)
                after = replace(after, promised=promised)
        return after

    def _reverted(self, value: OffsetsKept) -> Sequence[Outcome]:
        """What came after a creation that failed was in one batch with it; so none of it can be stored.

        But for the group's tombstone: the log of group records answers that one.
        """
        if value.offsets.committed or value.offsets.pending:
            return ()
        markers = tuple(item for item in value.line if isinstance(item, TransactionEnd | GroupForgotten))
        offsets = replace(value.offsets, appended=FrozenMap())
        replies = [r for item in value.line for r in self._unstored(value.offsets, item, self.failure)]
        return (Outcome(replace(value, offsets=offsets, line=markers), _sends(replies)),)

    def _moved(self, value: OffsetsKept, survive: int) -> Outcome:
        """Another broker reads what has reached it. Markers of transactions are sent again until they do."""
        offsets = replace(value.offsets, appended=FrozenMap(), leaving=0)
        after = value
        for item in value.line[:survive]:
            if isinstance(item, OffsetBatch):
                after = _without(after, _doubted(item))
                for record in item.records:
                    offsets = offsets.stored(record)
            elif isinstance(item, TransactionEnd):
                after = _without(after, (one.record.key for one in offsets.pending))
                offsets = self.spec.transaction_ended(offsets, item)[0].offsets
            elif isinstance(item, GroupForgotten):
                pending = offsets.pending if item.expired else ()
                offsets, after = Offsets(pending=pending), _promised_after(after, item)
        markers = tuple(item for item in value.line[survive:] if isinstance(item, TransactionEnd))
        lost = AppendError.NOT_LEADER_OR_FOLLOWER
        replies = [reply for item in value.line for reply in self._unstored(value.offsets, item, lost)]
        return Outcome(replace(after, offsets=offsets, line=markers), _sends(replies))

    def _unstored(self, offsets: Offsets, item: InLine, error: AppendError) -> tuple[Reply, ...]:
        """What is told to whoever waits for what will not be stored."""
        if isinstance(item, OffsetBatch):
            return self.spec.offsets_appended(offsets, item, error)[0].replies
        if isinstance(item, OffsetRead):
            request = item.call.request
            assert isinstance(request, OffsetFetchRequest)
            return (Reply(item.call.to, refused_offsets(request, ErrorCode.NOT_COORDINATOR)),)
        return ()


def _found(outcome: Outcome) -> Outcome:
    """With a word to the coordinator that there are offsets, unless their end is under way."""
    kept = outcome.value
    assert isinstance(kept, OffsetsKept)
    there = kept.offsets.committed or kept.offsets.pending
    if not there or any(isinstance(item, GroupForgotten) for item in kept.line):
        return outcome
    return replace(outcome, sends=(*outcome.sends, Send("coordinator", OffsetsThere())))


def _sends(replies: Iterable[Reply]) -> tuple[Send, ...]:
    return tuple(Send(f"client/{reply.to}", reply.message) for reply in replies if reply.to != NOBODY)


def _without(value: OffsetsKept, keys: Iterable[Key]) -> OffsetsKept:
    """Without promises for these partitions."""
    return replace(value, promised=value.promised.without(*keys))


def _doubted(batch: OffsetBatch) -> Iterable[Key]:
    """Of which partitions nobody knows what is stored, if the batch may be: not of what expires by it."""
    return (r.key for r in batch.records if not (isinstance(r, OffsetTombstone) and r.expired))


def _promised_after(value: OffsetsKept, gone: GroupForgotten) -> OffsetsKept:
    """An operator takes all promises along with a group; that it has expired breaks them."""
    return value if gone.expired else replace(value, promised=FrozenMap())


def _keeps(promised: FrozenMap[Key, int], read: OffsetRead, reply: Reply) -> bool:
    """Whether a fetch was told what was promised; UNSTABLE_OFFSET_COMMIT breaks no promise."""
    request, message = read.call.request, reply.message
    assert isinstance(request, OffsetFetchRequest)
    assert isinstance(message, OffsetFetchReply)
    fetched = {(topic.name, one.partition_index): one for topic in message.topics for one in topic.partitions}
    asked = set(promised) if request.topics is None else set(fetched)
    return all(
        key in fetched
        and (fetched[key].error_code is not ErrorCode.NONE or fetched[key].committed_offset == promised[key])
        for key in asked & set(promised)
    )


def _address(item: InLine) -> str | None:
    if isinstance(item, OffsetBatch):
        return None if item.answer is None else item.answer.to
    return item.call.to if isinstance(item, OffsetRead) else None


def _without_waiting(line: Iterable[InLine], client: str) -> tuple[InLine, ...]:
    """The line when this client waits for nothing any more."""
    kept: list[InLine] = []
    for item in line:
        if _address(item) != client:
            kept.append(item)
        elif isinstance(item, OffsetBatch):
            kept.append(replace(item, answer=None))
    return tuple(kept)
