"""What clients are told of themselves is so: nobody starts anew, or ends, for a mistake of the coordinator.

A client believes an error and forgets what it held, so nothing that it does afterwards shows whether the
error was deserved. What shows it is the group while the answer is on its way, as long as the coordinator that
gave it has not moved: an id that it has forgotten is handed out to nobody while its client refers to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rota.environment.broker.coordinator import Coordinator
from rota.environment.clients.state import Client
from rota.environment.world import Observed
from rota.invariants.views import error_answered
from rota.kernel import Kind, Property, View
from rota.spec import ErrorCode

Known = tuple[int, frozenset[str]]
"""(epoch, the ids that the coordinator knows: of members, and those that it has handed out)."""


def _known(value: Coordinator) -> Known | None:
    group = value.group
    return None if group is None else (value.epoch, group.pending.union(group.members))


Places = tuple[int, frozenset[tuple[str, str]]]
"""(epoch, the instance ids with the member ids that hold them)."""


def _places(value: Coordinator) -> Places | None:
    if value.group is None:
        return None
    held = ((m.group_instance_id, member_id) for member_id, m in value.group.members.items())
    return value.epoch, frozenset((instance, one) for instance, one in held if instance is not None)


Told = tuple[int, str, str | None]
"""(the number of the coordinator that answers, the client's member id, its instance id)."""


def _told(error: ErrorCode) -> Callable[[Client], Told | None]:
    """What is seen of clients that have a member id and to which this error is on its way."""

    def told(client: Client) -> Told | None:
        if error_answered(client) is not error or not client.member_id:
            return None
        return client.broker, client.member_id, client.group_instance_id

    return told


def _by_this_coordinator(seen: Known | Places | None, told: Told | None) -> bool:
    """Whether there is a group, and its coordinator is the one that gave the answer."""
    return seen is not None and told is not None and seen[0] == told[0]


def _is_unknown(known: Known, told: Told) -> bool:
    return told[1] not in known[1]


def _names_another(places: Places, told: Told) -> bool:
    return (told[2], told[1]) not in places[1]


_UNKNOWN = Property(
    "answers.unknown-is-no-member",
    Kind.SAFETY,
    "A client with a member id that is told UNKNOWN_MEMBER_ID by the coordinator of a group is no member of "
    "it, nor is its id one that was handed out.",
    (View("coordinator", _known), View("client", _told(ErrorCode.UNKNOWN_MEMBER_ID))),
    _is_unknown,
    given=_by_this_coordinator,
    source="KIP-394; upstream ClassicGroup#validateMember, GroupMetadataManager"
    "#classicGroupJoinExistingMember",
    rules=(
        "join.unknown-member",
        "sync.unknown-member",
        "heartbeat.unknown-member",
        "heartbeat.rebalance-in-progress",
        "offsets.unknown-member",
    ),
)

_FENCED = Property(
    "answers.fenced-holds-no-place",
    Kind.SAFETY,
    "A client with a member id that is told FENCED_INSTANCE_ID by the coordinator of a group does not hold "
    "the place of its instance id.",
    (View("coordinator", _places), View("client", _told(ErrorCode.FENCED_INSTANCE_ID))),
    _names_another,
    given=_by_this_coordinator,
    source="KIP-345; upstream ClassicGroup#validateMember",
    rules=("static.validate", "join.fenced-instance-id", "sync.fenced-instance-id"),
)


def answers(seen: Observed) -> Iterator[Property]:
    """The sentences for a configuration.

    A restart whose record could not be stored is undone, also after the former process was rightly fenced;
    so where appends may fail nothing is claimed of those who are.
    """
    yield _UNKNOWN
    if seen.statics and not seen.may("append"):
        yield _FENCED
