"""The vote on the assignment protocol.

Candidates are the protocols that *every* member supports; each member votes for the first candidate in its
own list; the most votes win. Several with equally many are a tie, and which of them wins is a choice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rota.kernel.rules import rule

Lists = Sequence[Sequence[str]]
"""One list of protocol names per member, in order of preference."""


@rule("voting.candidates", source="upstream ClassicGroup#candidateProtocols", decides=True)
def candidates(lists: Lists) -> tuple[str, ...]:
    """Candidates of the vote are the protocols that every member supports.

    By intersection, not by union: with a union a protocol can win that some member does not support.
    Parameters: lists, one per member. Returns the names in alphabetical order, () without members.

    Left out: the hash order of upstream's set of candidates. It could only decide ties, and those are
    left open by `voting.tally`.
    """
    if not lists:
        return ()
    return tuple(sorted(set(lists[0]).intersection(*lists[1:])))


@rule("voting.tally", source="upstream ClassicGroup#selectProtocol, ClassicGroupMember#vote", decides=True)
def tally(lists: Lists, among: Sequence[str]) -> tuple[str, ...]:
    """Each member votes for the first candidate in its list; the most votes win.

    Returns every tied name, in alphabetical order, () where there is no candidate.

    Left out: the tie-break. Both coordinators take the first of the tied names in the iteration order of
    a hash map, and these orders differ; no KIP promises one, so a client must be ready for each.
    """
    allowed = set(among)
    ballots = [[name for name in names if name in allowed] for names in lists]
    votes = Counter(ballot[0] for ballot in ballots if ballot)
    most = max(votes.values(), default=0)
    return tuple(sorted(name for name, count in votes.items() if count == most))


def winners(lists: Lists) -> tuple[str, ...]:
    """The names that may win the vote of these members."""
    return tally(lists, candidates(lists))


@rule("voting.supports", source="upstream ClassicGroup#supportsProtocols", decides=True)
def supports(lists: Lists, names: Sequence[str]) -> bool:
    """A newcomer must list at least one protocol that every present member supports.

    The requester's own earlier list counts among the present ones. Vacuously true without members.

    Left out: upstream's count per name, by which a name that one member lists twice has one supporter
    more than there are members, and so does not count as supported by all. Here it counts once. Kafka's
    consumer refuses to start with two assignors of one name, so only a made-up request could tell.
    """
    return any(all(name in present for present in lists) for name in names)
