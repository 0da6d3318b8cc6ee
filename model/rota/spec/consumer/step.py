"""What a rule of the consumer protocol returns: the next group, and what is written, answered and timed."""

from __future__ import annotations

from rota.kernel import frozen, replace
from rota.spec.consumer.group import AnyGroup, ConsumerGroup
from rota.spec.consumer.messages import ReplyMessage
from rota.spec.consumer.records import Written
from rota.spec.consumer.records import replay as replayed
from rota.spec.consumer.state import Partition
from rota.spec.consumer.vocabulary import TimerKind


@frozen(order=True)
class Timer:
    """A timer; at most one of a name and member is armed. epoch: the member's when it was armed."""

    name: str
    member_id: str
    epoch: int = 0


@frozen
class Arm:
    """(Re)start a timer. delay_ms: until it is due."""

    timer: Timer
    delay_ms: int


@frozen
class Cancel:
    """Stop a timer of this name and member; no error where none is armed."""

    name: str
    member_id: str


@frozen
class Reply:
    """An answer, which waits for the log if its step wrote something or something is on its way there."""

    to: str
    message: ReplyMessage


@frozen
class Step:
    """One allowed outcome.

    records: one atomic batch; stores: partitions whose offsets are stored with it; forgets: what of the
    offsets is deleted, None for nothing, "" for all, else a topic's; at_once: the answer waits for no batch,
    since it is an error that ends the request, or what was only read.
    """

    group: AnyGroup | None
    records: tuple[Written, ...] = ()
    replies: tuple[Reply, ...] = ()
    timers: tuple[Arm | Cancel, ...] = ()
    stores: tuple[Partition, ...] = ()
    forgets: str | None = None
    at_once: bool = False
    rules: tuple[str, ...] = ()

    @property
    def live(self) -> ConsumerGroup:
        """The group, which this step knows to be of this protocol."""
        if not isinstance(self.group, ConsumerGroup):
            raise AssertionError("a step of the consumer protocol on another group must not touch it")
        return self.group

    def write(self, *records: Written) -> Step:
        """With more records, and the group as they make it."""
        group = self.group
        for one in records:
            group = replayed(group, one)
        return replace(self, group=group, records=(*self.records, *records))

    def answer(self, address: str, message: ReplyMessage) -> Step:
        """With one more answer."""
        return replace(self, replies=(*self.replies, Reply(address, message)))

    def arm(self, kind: TimerKind, member_id: str, delay_ms: int, epoch: int = 0) -> Step:
        """With a timer (re)started."""
        return replace(self, timers=(*self.timers, Arm(Timer(kind.value, member_id, epoch), delay_ms)))

    def cancel(self, kind: TimerKind, member_id: str) -> Step:
        """With a timer stopped."""
        return replace(self, timers=(*self.timers, Cancel(kind.value, member_id)))

    def fired(self, slug: str) -> Step:
        """With one more rule that took part."""
        return replace(self, rules=(*self.rules, slug))


Steps = tuple[Step, ...]
