"""Which protocol a generation uses, whether a member's list fits the group, and who leads.

Source: the group's protocol selection and election in Kafka's Java coordinator (classic group), KIP-62 and
the rebalance protocol guide for the vote.
"""

from collections import Counter
from collections.abc import Iterable

from rota.coordinator.effects import Choices
from rota.coordinator.group import Group, GroupState
from rota.coordinator.messages import JoinGroup


def candidate_protocols(group: Group) -> frozenset[str]:
    """Names that every member lists, from the supporters' counts."""
    return frozenset(name for name, count in group.supporters.items() if count == len(group.members))


def supports_protocols(group: Group, request: JoinGroup) -> bool:
    """Whether a JoinGroup's protocol type and list may enter the group.

    An Empty group takes any type and list that are not empty. Otherwise the type has to be the group's, and
    one listed name has to be supported by all current members, the sender's own earlier list included. So the
    members always have a name in common, and a vote always has a candidate.
    """
    if group.state is GroupState.EMPTY:
        return bool(request.protocol_type and request.protocols)
    if group.protocol_type == request.protocol_type:
        for entry in request.protocols:
            if group.supporters[entry.name] == len(group.members):
                return True
    return False


def select_protocol(group: Group, choices: Choices) -> str:
    """The next generation's protocol: each member votes for the first candidate in its list, most votes win.

    Needs a member. A tie is decided from outside, since no order that the protocol shows decides it.
    """
    candidates = candidate_protocols(group)
    votes: Counter[str] = Counter()
    for names, members in group.ballots.items():
        votes[next(name for name in names if name in candidates)] += members
    most = max(votes.values())
    tied = tuple(sorted(name for name, count in votes.items() if count == most))
    return tied[0] if len(tied) == 1 else choices.protocol(tied)


def elect_leader(group: Group, choices: Choices) -> None:
    """Give the group a leader among its members after some were removed; a leader that is there stays.

    The broker elects a successor at each single removal, from its hash map's order. Here there is one
    election after all removals of a step: the members that can be elected are the same.
    """
    if group.leader not in group.members:
        _elect(group, choices, group.members)


def elect_joined_leader(group: Group, choices: Choices) -> None:
    """At the end of a join phase a leader that has not rejoined is replaced by a member that has."""
    if group.leader not in group.parked_joins:
        _elect(group, choices, group.parked_joins)


def _elect(group: Group, choices: Choices, members: Iterable[str]) -> None:
    candidates = tuple(sorted(members))
    if len(candidates) > 1:
        group.leader = choices.leader(candidates)
    else:
        group.leader = candidates[0] if candidates else None
