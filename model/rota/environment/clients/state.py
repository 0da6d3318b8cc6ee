"""What a client is: its state and its connection."""

from __future__ import annotations

from rota.environment.clients.assignment import Assignment, Claim
from rota.environment.clients.retry_rules import Answer
from rota.environment.messages import Evicted
from rota.kernel import Word, frozen, replace
from rota.spec import Call, JoinGroupReply, LeaveGroupRequest
from rota.spec.messages import Request


class Phase(Word):
    """Where a client stands. Source: upstream AbstractCoordinator.MemberState, and the ends of a process.

    PREPARING: it commits before it joins again; COMMITTING, FETCHING, PROCESSING: stable, and it waits for
    the answer to a commit, for its offsets, or for the application to poll again; DROPPING: it leaves
    because the application did not poll in time, and comes back; CRASHED: no process runs, one may start.
    """

    UNJOINED = "unjoined"
    JOINING = "joining"
    SYNCING = "syncing"
    STABLE = "stable"
    PREPARING = "preparing"
    COMMITTING = "committing"
    FETCHING = "fetching"
    PROCESSING = "processing"
    LEAVING = "leaving"
    DROPPING = "dropping"
    GONE = "gone"
    CRASHED = "crashed"
    FAILED = "failed"


ENDED = frozenset({Phase.GONE, Phase.CRASHED, Phase.FAILED})

IN_GENERATION = frozenset({Phase.STABLE, Phase.PREPARING, Phase.COMMITTING, Phase.FETCHING, Phase.PROCESSING})
"""Where a client holds the assignment of its generation."""

ASKING = frozenset(
    {
        Phase.JOINING,
        Phase.SYNCING,
        Phase.PREPARING,
        Phase.COMMITTING,
        Phase.FETCHING,
        Phase.LEAVING,
        Phase.DROPPING,
    }
)
"""Where a client waits for an answer."""


@frozen
class Client:
    """A client with its connection.

    name: the same for ever, and the address of its connection; member_id, generation_id: what it would
    name in a request ("" and -1: none); changed: it subscribes to something else than at first; leads: the
    last join answer named it leader; assignment: what it consumes, None where it has none: an eager client
    only in its generation, a cooperative one also while it joins the next; outbox: a request on the wire
    that the broker has not taken; inbox: an answer on the wire; orphan: a request of a broken connection
    that the broker may still take; broker: the number under which it found the coordinator (see
    `rota.environment.messages`).
    Only some variants use these: group_instance_id of a static member, the same for ever; grown: how many
    further partitions it has noticed; remembered: what a sticky assignor claims; position: where it reads
    on in partition 0, -1 where it does not know.
    History variables for properties: unasked: it was sent an answer that it did not wait for;
    overtaken: the last request of its own that the broker took came late, from a connection that is gone;
    epoch: the number of the coordinator that told it its generation, 0 where it has none.
    """

    name: str
    phase: Phase = Phase.UNJOINED
    member_id: str = ""
    generation_id: int = -1
    changed: bool = False
    leads: bool = False
    assignment: bytes | None = None
    outbox: Call | None = None
    inbox: Answer | None = None
    orphan: Call | None = None
    broker: int = 0
    unasked: bool = False
    overtaken: bool = False
    epoch: int = 0
    group_instance_id: str | None = None
    grown: int = 0
    remembered: Claim | None = None
    position: int = -1

    @property
    def waits(self) -> bool:
        """Whether the broker holds a request of this connection unanswered."""
        return self.phase in ASKING and self.outbox is None and self.inbox is None

    @property
    def partitions(self) -> tuple[int, ...]:
        """What it consumes."""
        return Assignment.decode(self.assignment).partitions if self.assignment else ()

    @property
    def label(self) -> str:
        """The name that assignments for it carry: its instance id if it has one, else its member id."""
        return self.group_instance_id or self.member_id

    @property
    def held(self) -> tuple[str, ...]:
        """Every member id that this client still refers to, sorted."""
        ids = {self.member_id}
        if isinstance(self.inbox, JoinGroupReply):
            ids.add(self.inbox.member_id)
        for call in (self.outbox, self.orphan):
            if call is not None:
                ids.update(_named(call.request))
        return tuple(sorted(ids - {""}))

    def suffers(self, loss: Evicted) -> bool:
        """Whether it is alive and would go on using an id, or waits for an answer under it."""
        promised = isinstance(self.inbox, JoinGroupReply) and self.inbox.member_id == loss.member_id
        return self.phase not in ENDED and (self.member_id == loss.member_id or promised or loss.answered)

    def forget(self) -> Client:
        """A full reset: neither id nor generation. Source: upstream resetStateOnResponseError."""
        return replace(self.outdated(), member_id="")

    def outdated(self) -> Client:
        """A soft reset: the id is kept, the generation is not, and what was owned is lost."""
        return replace(self, generation_id=-1, epoch=0, leads=False, assignment=None, position=-1)


def _named(request: Request) -> tuple[str, ...]:
    if isinstance(request, LeaveGroupRequest):
        return tuple(identity.member_id for identity in request.members)
    return (getattr(request, "member_id", ""),)
