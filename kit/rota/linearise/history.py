"""A history: what the clients of one group sent and got, and when, by the clock of whoever watched them.

A request takes effect at one moment between its sending and its answer. Those of one connection take effect
in the order in which they were sent; those of different connections in any order that their times allow.
Where an id was handed out the answer alone says which: calls of a history carry none.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field

from rota.kernel import frozen
from rota.linearise.consumer.requests import ConsumerTerms
from rota.linearise.looks import Looks, looks_of
from rota.linearise.times import Span
from rota.spec.consumer.messages import Topics
from rota.spec.messages import Call, ReplyMessage, Request
from rota.spec.profiles import BrokerConfig, Profile


class HistoryError(ValueError):
    """A history that cannot be. The message says what is wrong with it, and where."""


@frozen
class EndTransaction(Request):
    """A producer's transaction is ended in which the group has offsets. Nobody asks the group's coordinator
    for this: it hears of it when the log has the marker, and answers nothing.
    """

    group_id: str
    producer_id: int
    committed: bool


@frozen
class Sent:
    """A request has left its client.

    at: seconds; number: of the request, from 0 upwards in the history; connection: on which; client: who
    asks, for people who read it; call: with the address `str(number)`, its version and an empty `fresh_id`;
    until: of what is never answered, seconds by which it has been taken, None where answers tell it.
    """

    at: float
    number: int
    connection: int
    client: str
    call: Call
    until: float | None = None

    @property
    def in_words(self) -> str:
        """The request as a judge tells of it."""
        name = type(self.call.request).__name__.removesuffix("Request")
        return f"request {self.number} ({name} v{self.call.version} of {self.client})"


@frozen
class Answered:
    """The whole answer to a request has come. number: of the request."""

    at: float
    number: int
    reply: ReplyMessage


@frozen
class Broken:
    """A connection has ended: what was sent on it may have been taken or not, and is answered no more."""

    at: float
    connection: int


@frozen
class Quiet:
    """Everything that had come until now was read: what is unanswered here was not answered by then."""

    at: float


@frozen
class Restarted:
    """The coordinator was ended and is there again with what its log has; every connection was broken before.

    since: it was told to end, and whether timers still ran out from then on nobody knows; down: it was gone;
    at: it had read its log; config: what it is set to from then on, None: as before; topics, that there are
    then, where they are followed; sure: whether it was started again at all, for else all may have gone on as
    it was.
    """

    at: float
    since: float
    down: float
    config: BrokerConfig | None = None
    topics: Topics | None = None
    sure: bool = True

    @property
    def started(self) -> Span:
        """When it was started."""
        return Span(self.down, self.at)


@frozen
class Over:
    """A request that is never answered was taken before, as somebody was told. number: of the request."""

    at: float
    number: int


Event = Sent | Answered | Broken | Quiet | Restarted | Over


def refuse(event: Answered, sent: Container[int], lost: Container[int]) -> None:
    """Errors: HistoryError for an answer that cannot be. sent, lost: numbers of requests."""
    if event.number not in sent:
        raise HistoryError(f"request {event.number} is answered at {event.at} and was never sent")
    if event.number in lost:
        raise HistoryError(f"request {event.number} is answered at {event.at}, its connection had ended")


@dataclass(frozen=True)
class History:
    """What was seen of one group.

    Parameters: group_id; events, in the order of their times; profile and config, of the coordinator as far
    as they are known; lateness, how many seconds late the watcher itself was at most, measured while it
    watched; existed, whether the group may have been there before the first event (else it was not); looks,
    whether the coordinator may have looked for what has expired meanwhile, as Kafka does every ten minutes;
    looks_every, seconds between two such looks at most, where that is known, None where it is not; started,
    when the coordinator was, from when on it looks so often, None where nobody knows; consumer: of a group
    by the consumer protocol what is known of its coordinator, None of a classic one.
    """

    group_id: str
    events: tuple[Event, ...]
    profile: Profile
    config: BrokerConfig = field(default_factory=BrokerConfig)
    lateness: float = 0.05
    existed: bool = False
    looks: bool = False
    looks_every: float | None = None
    started: Span | None = None
    consumer: ConsumerTerms | None = None

    @property
    def looking(self) -> Looks | None:
        """When it looks for what has expired, None where that is not followed."""
        return looks_of(self.profile, self.looks_every, self.started)

    @property
    def restarts(self) -> bool:
        """Whether the coordinator was restarted."""
        return any(isinstance(event, Restarted) for event in self.events)
