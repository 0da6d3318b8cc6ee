"""Messages between the machines of the world.

Brokers and epochs: the coordinator moves between two brokers. A *broker* is named by the epoch in which it
was found to be the coordinator (0 at first, one more with every fail-over), so the number that a client keeps
also says how old its knowledge is. Two such numbers name the same broker if both are even or both odd
(`same_broker`).

What a client does about it: it keeps the number and sends every request with it (`Deliver.broker`). Told
NOT_COORDINATOR or COORDINATOR_NOT_AVAILABLE, and when its process starts again, it looks the coordinator up:
a FindCoordinatorRequest, delivered like any request and answered by a FindCoordinatorReply in the same
transition, whose node_id is the number to keep. `Renumbered` gives it a new number for the same broker.
"""

from __future__ import annotations

from enum import Enum

from rota.kernel import frozen
from rota.spec import Call
from rota.spec.effects import Record
from rota.spec.offset_state import RetentionCheck
from rota.spec.vocabulary import AppendError

NOBODY = ""
"""The address of a request whose connection is gone: its answer reaches nobody."""

BROKERS = 2
"""The coordinator moves to and fro between two brokers: all that a third would add is a move on which it does
not come back to the one that it left before.
"""


def same_broker(one: int, other: int) -> bool:
    """Whether two numbers name the same broker."""
    return (one - other) % BROKERS == 0


@frozen
class Deliver:
    """A broker takes a request from a connection.

    held: member ids that its client still refers to; broker: the number under which its client found it.
    """

    call: Call
    held: tuple[str, ...]
    broker: int = 0


@frozen
class Disconnected:
    """A client's connection is gone; what it had parked will be answered to nobody."""


@frozen
class GaveUp:
    """A client's request timed out and it closes the connection; only where no answer will ever come."""


@frozen
class Evicted:
    """A timer took this id from its owner, or began a generation without it.

    An owner that is alive and counts on the id was late, which is charged as a fault. answered: the owner's
    connection has a request parked under this id.
    """

    member_id: str
    answered: bool


@frozen
class Append:
    """A record goes to the log."""

    record: Record


@frozen
class ForgetAppends:
    """No answer to an append of these kinds can do anything any more (see `settled_appends`)."""

    kinds: frozenset[Enum]


@frozen
class Unreachable:
    """A client's connection is gone: an answer to it that waits for a record will reach nobody."""

    client: str


@frozen
class Owed:
    """A question: whether an answer to this client waits for a record. If so the log refuses the message."""

    client: str


@frozen
class Recall:
    """A question: which ids do records still name? A newcomer gets none of them.

    With such a record its members may come back, and a newcomer must not be taken for one of them.

    request: what the coordinator was delivered; client: by whom.
    """

    request: Deliver
    client: str


@frozen
class Recalled:
    """The log's answer to `Recall`: the same request, its `held` with the ids that records name."""

    request: Deliver
    client: str


@frozen
class Moved:
    """Another broker leads the log, so it is the coordinator. unanswered: the appends in flight until now.

    A prefix of them survives; the old coordinator learns of none.
    """

    unanswered: tuple[Record, ...]


@frozen
class Read:
    """The coordinator reads the log from its beginning."""


@frozen
class Loaded:
    """What the log says of the group: its last record, None where there is none."""

    record: Record | None


@frozen
class Renumbered:
    """To a client: the broker that it talks to lost the group and has it again, so it has a new number."""

    broker: int


@frozen
class Appended:
    """The log answers: stored, or failed with an error."""

    record: Record
    error: AppendError | None


@frozen
class Charge:
    """Something that the budget must allow: a kind of fault, a leave, an enforced rejoin, a fail-over."""

    kind: str


@frozen
class Trespass:
    """To the offsets: a commit was accepted from somebody who must not commit. Nobody should ever say so."""


@frozen
class Released:
    """To the offsets, when their time is over: which are promised no more, whatever the rules say of them.

    kept: the topics whose offsets are, as members are subscribed to them.
    """

    kept: frozenset[str] = frozenset()


@frozen
class RetentionDue:
    """From the offsets: it is time for the coordinator to say what may expire."""

    check: RetentionCheck


@frozen
class Reverted:
    """To the offsets: the group's creation could not be stored, so what was written after it fails, too."""


@frozen
class OffsetsThere:
    """From the offsets: some are stored, so there must be a group that they belong to."""


@frozen
class Unused:
    """From the offsets: none is left, and the group may go."""


@frozen
class Known:
    """A client learns of something that has happened; refused if the budget has not paid for it that often.

    kind: one with a pool of its own; times: how often it must have happened.
    """

    kind: str
    times: int
