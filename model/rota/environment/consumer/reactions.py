"""What a client makes of an answer: by its phase and the error, a partial function.

An answer for which there is no reaction is one that a coordinator must not give; the client remembers it.

Source: upstream AbstractMembershipManager#onHeartbeatSuccess, #transitionToFenced;
AbstractHeartbeatRequestManager#onErrorResponse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rota.environment.consumer.messages import Partitions
from rota.environment.consumer.state import Consumer, Owed, Phase
from rota.kernel import replace
from rota.spec.consumer.messages import ConsumerGroupHeartbeatReply
from rota.spec.consumer.vocabulary import ErrorCode

Reaction = Callable[[Consumer, ConsumerGroupHeartbeatReply], Consumer]


def _news(client: Consumer, reply: ConsumerGroupHeartbeatReply) -> Consumer:
    """It takes the epoch, and an assignment if there is one that it was not told last."""
    client = replace(client, phase=Phase.MEMBER, epoch=reply.member_epoch)
    return client if reply.assignment is None else _told(client, reply.assignment)


def _told(client: Consumer, assignment: Partitions) -> Consumer:
    if assignment == client.target:
        return client
    return replace(client, target=assignment, newer=True)


def _only_epoch(client: Consumer, reply: ConsumerGroupHeartbeatReply) -> Consumer:
    """Who is about to leave applies nothing any more."""
    return replace(client, epoch=reply.member_epoch)


def _again(client: Consumer, reply: ConsumerGroupHeartbeatReply) -> Consumer:
    """It asks the coordinator that there is now, and says everything."""
    return replace(client, owed=Owed.ALL)


def _fenced(client: Consumer, reply: ConsumerGroupHeartbeatReply) -> Consumer:
    """All is lost; without partitions there is no callback to wait for. What is being applied is dropped."""
    lost = replace(client, target=None, newer=False, applying=None, owed=Owed.ALL, epoch=0)
    return replace(lost, phase=Phase.LOSING if client.uses else Phase.JOINING)


def _gone(client: Consumer, reply: ConsumerGroupHeartbeatReply) -> Consumer:
    """Who is about to leave and is fenced has left."""
    return gone(client)


def gone(client: Consumer) -> Consumer:
    """Out of the group, by its own view, with nothing in use."""
    return replace(
        client,
        phase=Phase.LEFT,
        epoch=0,
        target=None,
        newer=False,
        applying=None,
        uses=frozenset(),
        owed=Owed.NOTHING,
        request=None,
        waits=False,
        answer=None,
        commit=None,
        unsaid=False,
    )


_RETRIED = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
_FENCED = (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID)

REACTIONS: Mapping[tuple[Phase, ErrorCode], Reaction] = {
    (Phase.JOINING, ErrorCode.NONE): _news,
    (Phase.MEMBER, ErrorCode.NONE): _news,
    (Phase.CLOSING, ErrorCode.NONE): _only_epoch,
    **{
        (phase, error): _again for phase in (Phase.JOINING, Phase.MEMBER, Phase.CLOSING) for error in _RETRIED
    },
    **{(phase, error): _fenced for phase in (Phase.JOINING, Phase.MEMBER) for error in _FENCED},
    **{(Phase.CLOSING, error): _gone for error in _FENCED},
}
"""What is done in a phase about an error; of other pairs there is none."""


def react(client: Consumer) -> Consumer:
    """The client once it has read its answer."""
    reply = client.answer
    assert reply is not None
    read = replace(client, answer=None, term=client.found, found=0)
    reaction = REACTIONS.get((client.phase, reply.error_code))
    if reaction is None:
        return replace(read, wrong=f"{client.phase.value}: {reply.error_code.name}")
    return reaction(read, reply)
