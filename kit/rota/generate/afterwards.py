"""What is asked as soon as the target is there again: is what was told before what is told now?"""

from __future__ import annotations

from collections.abc import Sequence

from rota.generate.cast import TOPICS, Terms
from rota.generate.consumer.cast import SHARED
from rota.generate.consumer.planned import Beat, Fetching, Listing, Looking, Planned
from rota.generate.plan import CONSUMER, GROUP, Ask, Plan, Restart, Step, handed_out_by
from rota.spec.admin_messages import DescribeGroupsRequest, ListGroupsRequest
from rota.spec.classic.messages import HeartbeatRequest, JoinGroupRequest, SyncGroupRequest
from rota.spec.messages import Request
from rota.spec.offset_messages import OffsetFetchRequest, TopicPartitions

FIRST_NUMBER = 1_000_000
"""Numbers of these requests, which no plan has that was drawn."""

FIRST_LINE = 500
"""Numbers of their connections."""

MEMBERLESS_FETCH = 8
"""A version of OffsetFetch in which nobody is named."""


def afterwards(before: Sequence[Step], terms: Terms, protocol: str) -> tuple[Ask, ...]:
    """The requests, behind these steps: of each member its assignment and a heartbeat; the group; offsets.

    protocol: of the group.
    """
    asks = [step for step in before if isinstance(step, Ask)]
    if protocol == CONSUMER:
        return _of_consumers(asks, terms)
    told = {ask.client: ask.number for ask in asks if isinstance(ask.request, JoinGroupRequest)}
    number = FIRST_NUMBER + sum(ask.number >= FIRST_NUMBER for ask in asks)
    found: list[Ask] = []

    def ask(client: str, request: Request, told_by: int | None = None) -> None:
        name = type(request).__name__.removesuffix("Request")
        if spoken := terms.spoken(name):
            line, generation = FIRST_LINE + len(found), 1 if told_by is not None else -1
            found.append(Ask(number + len(found), client, line, spoken[-1], request, told_by, generation))

    for client, join in told.items():
        member = handed_out_by(join)
        ask(client, SyncGroupRequest(GROUP, 1, member, ()), join)
        ask(client, HeartbeatRequest(GROUP, 1, member), join)
    ask("operator", DescribeGroupsRequest(GROUP))
    ask("operator", ListGroupsRequest(GROUP))
    ask("operator", OffsetFetchRequest(GROUP, tuple(TopicPartitions(name, (0,)) for name in TOPICS)))
    return tuple(found)


def _of_consumers(asks: Sequence[Ask], terms: Terms) -> tuple[Ask, ...]:
    """Of each member a heartbeat; the group; offsets of the shared topics."""
    number = FIRST_NUMBER + sum(ask.number >= FIRST_NUMBER for ask in asks)
    beats = {ask.client: ask.request for ask in asks if isinstance(ask.request, Beat)}
    wanted: list[tuple[str, Planned]] = [
        (client, Beat(beat.member_id, (*beat.by, *(ask.number for ask in asks if ask.request is beat))))
        for client, beat in beats.items()
    ]
    offsets = Fetching(tuple((name, 0) for name in sorted(SHARED)))
    wanted += [("operator", one) for one in (Looking("ConsumerGroupDescribe"), offsets, Listing())]
    found = []
    for place, (client, request) in enumerate(wanted):
        if spoken := terms.spoken(request.api):
            version = MEMBERLESS_FETCH if isinstance(request, Fetching) else spoken[-1]
            found.append(Ask(number + place, client, FIRST_LINE + place, version, request))  # type: ignore[arg-type]
    return tuple(found)


def with_restart(plan: Plan, place: int, how: Restart, terms: Terms) -> Plan:
    """A plan in which the target is restarted before the step at this place, and asked what it has."""
    before, rest = plan.steps[:place], plan.steps[place:]
    return plan.of((*before, how, *afterwards(before, terms, plan.protocol), *rest))
