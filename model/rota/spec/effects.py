"""Effects of a rule: answers, timers, records and words to the offsets, whatever kind of group it is about.

Timers and records are blind effects: a rule says what it arms, cancels and appends and never reads what is
armed or in flight. Within one step the last word on a timer wins.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import Self

from rota.kernel import frozen, replace
from rota.spec.messages import ReplyMessage


@frozen(order=True)
class Timer:
    """The name of a timer; at most one of a name is armed. member_id is empty for the group's own."""

    name: str
    member_id: str = ""


@lru_cache(1 << 12)
def timer(kind: Enum, member_id: str = "") -> Timer:
    """The timer of a kind, for a member where the kind is per member."""
    return Timer(kind.value, member_id)


@frozen
class Arm:
    """(Re)start a timer. delay_ms: until it is due."""

    timer: Timer
    delay_ms: int


@frozen
class Cancel:
    """Stop a timer; no error where it is not armed."""

    timer: Timer


@frozen
class Reply:
    """An answer. to: the address that came with the request."""

    to: str
    message: ReplyMessage


class Record:
    """A record of a group for the log. Each kind of group has its own.

    kind: why it is written, which decides what the log's answer does; answer: what is answered when the log
    has stored it, None where nobody waits for it; handler: the rules that hear the log's answer.
    """

    __slots__ = ()

    kind: Enum
    answer: Reply | None

    @property
    def handler(self) -> str:
        """Name of the handler of the log's answer."""
        raise NotImplementedError

    def without_answer(self) -> Record:
        """The same record, for nobody who waits for it."""
        raise NotImplementedError


class ForOffsets:
    """What rules of a group say to the offsets: `rota.spec.offset_state` has the words."""

    __slots__ = ()


@frozen(kw_only=True)
class Effects:
    """What a rule does beside the next group, in the order given.

    offsets: what the offsets are told: to write something to the log, or to answer a question; rules: slugs
    of those that took part.
    """

    replies: tuple[Reply, ...] = ()
    timers: tuple[Arm | Cancel, ...] = ()
    records: tuple[Record, ...] = ()
    offsets: tuple[ForOffsets, ...] = ()
    rules: tuple[str, ...] = ()

    def answer(self, address: str | None, message: ReplyMessage) -> Self:
        """With one more answer; to nobody where nothing was parked."""
        return self if address is None else replace(self, replies=(*self.replies, Reply(address, message)))

    def arm(self, kind: Enum, delay_ms: int, member_id: str = "") -> Self:
        """With a timer (re)started."""
        return replace(self, timers=(*self.timers, Arm(timer(kind, member_id), delay_ms)))

    def cancel(self, kind: Enum, member_id: str = "") -> Self:
        """With a timer stopped."""
        return replace(self, timers=(*self.timers, Cancel(timer(kind, member_id))))

    def append(self, record: Record) -> Self:
        """With one more record for the log."""
        return replace(self, records=(*self.records, record))

    def tell_offsets(self, word: ForOffsets) -> Self:
        """With one more word to the offsets."""
        return replace(self, offsets=(*self.offsets, word))

    def fired(self, *slugs: str) -> Self:
        """With the rules that took part, for coverage and traces."""
        return replace(self, rules=(*self.rules, *slugs))
