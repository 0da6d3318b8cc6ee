"""What the world sees of the group's rules about offsets by itself: the words that properties rest on.

They look at the group before a step, never at what the rules make of it: a rule that lies is not believed.
"""

from __future__ import annotations

from rota.environment.clients.assignment import Metadata
from rota.environment.messages import Released, Trespass
from rota.kernel import Outcome, Send, replace
from rota.spec import Group, GroupState
from rota.spec.offset_messages import OffsetCommitRequest, TxnOffsetCommitRequest
from rota.spec.offset_state import OffsetBatch

CONSUMER = "consumer"
"""The protocol type whose members say what they subscribe to."""


def watched(outcome: Outcome, group: Group | None, request: object) -> Outcome:
    """An outcome of the coordinator, with a word to the offsets if it accepts a commit that it must not.

    group: before the request.
    """
    if not any(isinstance(send.message, OffsetBatch) for send in outcome.sends):
        return outcome
    if isinstance(request, OffsetCommitRequest):
        allowed = _may_commit(group, request)
    elif isinstance(request, TxnOffsetCommitRequest):
        allowed = _may_commit_in_a_transaction(group, request)
    else:
        return outcome
    return outcome if allowed else replace(outcome, sends=(*outcome.sends, Send("offsets", Trespass())))


def _may_commit(group: Group | None, request: OffsetCommitRequest) -> bool:
    """A member names the current generation, which it has its part of; anybody may commit without one while
    the group is Empty.
    """
    generation_id = request.generation_id_or_member_epoch
    if group is None or group.state is GroupState.EMPTY:
        return generation_id < 0
    completing = group.state is GroupState.COMPLETING_REBALANCE
    return not completing and _is_current(group, generation_id, request.member_id, request.group_instance_id)


def _may_commit_in_a_transaction(group: Group | None, request: TxnOffsetCommitRequest) -> bool:
    """The same, but for a member that has no part yet, and for a producer that names nobody (KIP-447)."""
    if group is None or group.state is GroupState.EMPTY:
        return request.generation_id < 0
    who = request.member_id, request.group_instance_id
    nobody = request.generation_id < 0 and who == ("", None)
    return nobody or _is_current(group, request.generation_id, *who)


def _is_current(group: Group, generation_id: int, member_id: str, instance: str | None) -> bool:
    """Whether the sender is a member of the current generation under the names that it gives."""
    member = group.members.get(member_id)
    named = member is not None and instance in (None, member.group_instance_id)
    return named and generation_id == group.generation_id


def released(outcome: Outcome, group: Group, unsubscribed_expire: bool) -> Outcome:
    """An outcome of the coordinator when offsets are old, after a word to them of what may expire.

    group: before it; unsubscribed_expire: whether members keep only the topics that they are subscribed to.
    In a group that rebalances, or of which nobody knows what it reads, nothing may (KIP-211).
    """
    kept: frozenset[str] | None = None
    if group.state is GroupState.EMPTY:
        kept = frozenset()
    elif unsubscribed_expire and group.state is GroupState.STABLE and group.protocol_type == CONSUMER:
        kept = _subscribed(group)
    if kept is None:
        return outcome
    return replace(outcome, sends=(Send("offsets", Released(kept)), *outcome.sends))


def _subscribed(group: Group) -> frozenset[str] | None:
    """What the members wanted when the generation began; None where that cannot be read."""
    if group.subscriptions is None:
        return None
    every = [Metadata.decode(metadata) for metadata in group.subscriptions]
    if not all(metadata.readable for metadata in every):
        return None
    return frozenset(topic for metadata in every for topic in metadata.topics)
