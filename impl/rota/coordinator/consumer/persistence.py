"""A batch and the log's answer to it. What follows is handled at once, and answered in the order of the log.

If the log refuses, the group goes back to what it was before, and with it all that was built upon that; what
of it the log has taken nevertheless is mended by one more batch. A time-out takes nothing back, since the
records may be there. Source: upstream's CoordinatorRuntime.
"""

from collections import deque
from collections.abc import Callable

from rota.coordinator.consumer.group import ConsumerGroup, Write
from rota.coordinator.consumer.hosting import Hosted
from rota.coordinator.consumer.records import ConsumerBatch
from rota.coordinator.consumer.timers import RETRY_MS, watch
from rota.coordinator.consumer.writing import Writing
from rota.coordinator.ledger import DeferredEvent, ReplyTo
from rota.coordinator.messages import ErrorCode
from rota.coordinator.step import Step

Answered = Callable[[ReplyTo, int], None]
"""Takes the log's answer as the error code of a response."""


def unanswered(reply_to: ReplyTo, error_code: int) -> None:
    """Nobody waits for the answer."""


def write(step: Step, hosted: Hosted, writing: Writing, answered: Answered) -> None:
    """Append what was written, if anything was; `answered` is called when all before it has been answered."""
    group = writing.group
    step.memory.put(group.group_id, group.held if hosted.by_id.get(group.group_id) is group else 0)
    if not writing.entries and not group.writes:
        answered(step.reply, ErrorCode.NONE)
        return
    one = Write(tuple(writing.entries), tuple(writing.before))
    group.writes.append(one)

    def effect(reply_to: ReplyTo, error_code: int) -> None:
        group.writes.remove(one)
        if one.error:
            _note_what_is_left(hosted, group, one, error_code)
        elif error_code != ErrorCode.NONE and not entry.in_doubt:
            take_back(hosted, group, deque((one, *group.writes)), error_code)
        elif one.entries:
            group.replaced = None
        answered(reply_to, one.error or error_code)

    partitions = frozenset((step.config.partition_of(group.group_id),))
    entry = DeferredEvent(effect, None if one.entries else ErrorCode.NONE, partitions=partitions)
    hosted.store.deferred.add(entry)
    if one.entries:
        step.append_deferred(group.group_id, ConsumerBatch(one.entries), entry)


def take_back(hosted: Hosted, group: ConsumerGroup, writes: deque[Write], error_code: int) -> None:
    """The group as it was before the first of these; all of them fail."""
    while writes:
        one = writes.pop()
        one.error = error_code
        for key, value in reversed(one.before):
            group.put(key, value)
    group.seen_version = -1
    if group.is_new and hosted.by_id.get(group.group_id) is group:
        del hosted.by_id[group.group_id]
        if group.replaced is not None:
            hosted.classic.setdefault(group.group_id, group.replaced)


def _note_what_is_left(hosted: Hosted, group: ConsumerGroup, one: Write, error_code: int) -> None:
    if error_code == ErrorCode.NONE and one.entries:
        hosted.to_mend.setdefault(group.group_id, set()).update(key for key, _ in one.entries)


def mend(step: Step, hosted: Hosted) -> None:
    """After the log's answers: write what they left to be mended, and watch who is there again.

    A group that is being removed may be there again, too: what is to be done for it waits for that.
    """
    for group_id in hosted.to_mend.keys() - hosted.leaving.keys():
        keys, group = hosted.to_mend.pop(group_id), hosted.by_id.get(group_id)
        if group is not None:
            writing = Writing(group)
            for key in sorted(keys):
                writing.put(key, group.get(key))
            write(step, hosted, writing, unanswered)
    for group_id, member_id in sorted(one for one in hosted.to_watch if one[0] not in hosted.leaving):
        hosted.to_watch.remove((group_id, member_id))
        group = hosted.by_id.get(group_id)
        if group is not None and member_id in group.members:
            watch(step, group, member_id, RETRY_MS)
