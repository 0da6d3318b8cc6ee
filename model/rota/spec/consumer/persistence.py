"""What is on its way to the log, and who waits for it. Rules change the group at once; answers come later.

Source: upstream CoordinatorRuntime.CoordinatorContext#append, #updateLastCommittedOffset, #unload.
"""

from __future__ import annotations

from rota.kernel import frozen, replace
from rota.kernel.rules import rule
from rota.spec.consumer.context import ConsumerSpec
from rota.spec.consumer.group import AnyGroup
from rota.spec.consumer.messages import ConsumerGroupHeartbeatReply, ErrorReply
from rota.spec.consumer.records import Written
from rota.spec.consumer.step import Reply, Step, Timer
from rota.spec.consumer.vocabulary import ErrorCode

RUNTIME = "upstream CoordinatorRuntime.CoordinatorContext#"


@frozen
class Batch:
    """What one request wrote, offsets without records of the group too.

    before: the group that it found; replies: who waits; timer: the one that was due, which is due again
    where the log refuses the batch (upstream CoordinatorRuntime.EventBasedCoordinatorTimer).
    """

    records: tuple[Written, ...]
    before: AnyGroup | None
    replies: tuple[Reply, ...]
    timer: Timer | None = None


@frozen
class Shard:
    """A group in memory, and its batches on their way to the log, oldest first."""

    group: AnyGroup | None = None
    batches: tuple[Batch, ...] = ()

    @property
    def committed(self) -> AnyGroup | None:
        """The group as far as the log has it, which descriptions and lists are made of."""
        return self.batches[0].before if self.batches else self.group


Answered = tuple[Shard, tuple[Reply, ...]]
"""What becomes of a shard, and the answers that go out."""


@rule("persistence.written", source=RUNTIME + "append", decides=True)
def written(spec: ConsumerSpec, shard: Shard, step: Step) -> Answered:
    """A step's records are one batch, and so are the offsets that it stores; its answer waits for the log.

    An answer without records waits for the batch before it; it may tell what that has changed. An error that
    ends a request does not wait, whatever it rests on: upstream throws it out of the write
    (CoordinatorWriteEvent#run). Nor does what is only read.

    Left out: a deletion of offsets, which is a batch where there are any.
    """
    if step.at_once:
        return replace(shard, group=step.group), step.replies
    if step.records or step.stores:
        batch = Batch(step.records, shard.group, step.replies)
        return Shard(step.group, (*shard.batches, batch)), ()
    if not shard.batches:
        return Shard(step.group), step.replies
    *older, last = shard.batches
    last = replace(last, replies=(*last.replies, *step.replies))
    return Shard(step.group, (*older, last)), ()


@rule("persistence.stored", source=RUNTIME + "updateLastCommittedOffset", decides=True)
def stored(spec: ConsumerSpec, shard: Shard) -> Answered:
    """The log has the oldest batch: who waits for it is answered."""
    first, *rest = shard.batches
    return replace(shard, batches=tuple(rest)), first.replies


@rule("persistence.failed", source=RUNTIME + "failCurrentBatch", decides=True)
def failed(spec: ConsumerSpec, shard: Shard, count: int, error: ErrorCode) -> Answered:
    """The log refuses the newest batches: the group is again what it was before them, in all that is told.

    Timers that their steps have armed or stopped stay so.
    """
    kept, lost = shard.batches[:-count], shard.batches[-count:]
    return Shard(lost[0].before, kept), tuple(_refused(one, error) for batch in lost for one in batch.replies)


@rule("persistence.moved", source=RUNTIME + "unload", decides=True)
def moved(spec: ConsumerSpec, shard: Shard) -> Answered:
    """Another broker becomes the coordinator: who waits is told so, whether the log gets the batch or not."""
    waiting = [one for batch in shard.batches for one in batch.replies]
    return Shard(), tuple(_refused(one, ErrorCode.NOT_COORDINATOR) for one in waiting)


def _refused(reply: Reply, error: ErrorCode) -> Reply:
    """The same answer as an error. What the other requests are told of it is one error as well."""
    if isinstance(reply.message, ConsumerGroupHeartbeatReply):
        return Reply(reply.to, ConsumerGroupHeartbeatReply(error))
    return Reply(reply.to, ErrorReply(error))
