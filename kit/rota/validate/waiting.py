"""What is kept of a group while its state is not known, and the stretch that begins when it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rota.linearise import Answered, Broken, Sent
from rota.linearise.times import NEVER
from rota.spec import ErrorCode, JoinGroupReply, JoinGroupRequest
from rota.spec.admin_messages import DeleteGroupsRequest, DescribeGroupsReply, DescribeGroupsRequest
from rota.spec.classic.messages import HeartbeatRequest, LeaveGroupRequest, SyncGroupReply, SyncGroupRequest
from rota.spec.messages import ReplyMessage, Request
from rota.validate.beginnings import (
    Given,
    Phase,
    first_states,
    is_end_of_phase,
    parked,
    states_before_the_end,
    with_strangers,
)
from rota.validate.rosters import Beat, Roster, described, state_at
from rota.validate.stretches import Stretch
from rota.validate.terms import Terms

MOST_KEPT = 5_000

CHANGING = (JoinGroupRequest, LeaveGroupRequest, DeleteGroupsRequest)
"""Requests that may change who is in a group."""

UNTIL: tuple[type[Request], ...] = (JoinGroupRequest,)
"""Requests that cannot be judged where all that is known of a group is who its members are."""

UNTIL_OF_RECORDS = (*UNTIL, SyncGroupRequest, DescribeGroupsRequest)
"""The same where a record tells it: by a clock that is ahead the group may be about to store it only now."""

Seen = Sent | Answered | Broken
Kept = list[tuple[Seen, int, str]]
"""Events with what each counts, and where it stands."""


@dataclass
class Beginning:
    """A stretch that begins. events: that it is given first; passed: how many events came too early for it;
    under_way: numbers of requests that are not judged; assigned: whether members' assignments are known;
    until: requests before which it ends.
    """

    stretch: Stretch
    events: Kept = field(default_factory=list)
    passed: int = 0
    under_way: tuple[int, ...] = ()
    assigned: bool = True
    until: tuple[type[Request], ...] = ()


class Waiting:
    """What is known of a group. since: when the source begins."""

    def __init__(self, terms: Terms, since: float) -> None:
        self._terms, self._since = terms, since
        self._given: dict[str, Given] = {}
        self._phase: Phase | None = None
        self._kept: Kept = []
        self._whole = True
        self._latest = 0
        self._roster: Roster | None = None
        self._told_at = self._unsettled = NEVER
        self._slack = terms.lateness + terms.limits.grace
        self._synced: set[str] = set()

    def size(self) -> int:
        """How many things are kept."""
        return len(self._given) + len(self._kept)

    @property
    def keeps(self) -> bool:
        """Whether what comes may be judged later."""
        return self._whole or self._phase is not None

    def keep(self, event: Seen, weight: int, origin: str) -> int:
        """An event that may be judged later. Returns how many events are given up for it."""
        self._kept.append((event, weight, origin))
        return self.drop() if len(self._kept) > MOST_KEPT else 0

    def drop(self) -> int:
        """Nothing of what is kept will be judged. Returns how many events that is."""
        dropped = _weight(self._kept)
        self._kept, self._phase, self._whole = [], None, False
        return dropped

    def told(self, roster: Roster | None, since: float) -> None:
        """Somebody tells who is in the group; None: that it may be others from now on. since: when it was
        asked for, or stored."""
        if roster is None:
            self._synced.clear()
        elif since <= self._unsettled:
            return
        self._roster, self._told_at = roster, since

    def asked(self, request: Request, at: float) -> None:
        """A request was sent, which may change who is in the group."""
        if isinstance(request, CHANGING):
            self.told(None, at)
            self._unsettled = at + self._slack

    def note(self, sent: Sent, at: float, reply: ReplyMessage) -> None:
        """Ids that are handed out, used and given back; and the generation that members are in."""
        request: Any = sent.call.request
        if isinstance(request, CHANGING):
            self._unsettled = max(self._unsettled, at)
        if isinstance(reply, SyncGroupReply) and reply.error_code is ErrorCode.NONE:
            self._synced.add(request.member_id)
        if isinstance(request, JoinGroupRequest) and isinstance(reply, JoinGroupReply):
            self._given.pop(request.member_id, None)
            if _requires_id(reply):
                self._given[reply.member_id] = Given(sent.at, at, request.session_timeout_ms / 1000)
        if isinstance(request, LeaveGroupRequest):
            for one in request.members:
                self._given.pop(one.member_id, None)
        for gone in [id for id, one in self._given.items() if one.told + one.seconds + self._slack < at]:
            del self._given[gone]

    def note_generation(self, sent: Sent, reply: Any) -> None:
        """The generation that members are in: who is told of it again has only joined again."""
        if getattr(reply, "error_code", None) is ErrorCode.NONE:
            request = sent.call.request
            self._latest = getattr(reply, "generation_id", getattr(request, "generation_id", self._latest))

    def look_for_a_phase(self, at: float, reply: ReplyMessage, open_ones: Mapping[int, Sent]) -> int:
        """Keep what follows if an answer tells of a generation that is not known yet. Returns how many events
        are given up."""
        if not isinstance(reply, JoinGroupReply) or not is_end_of_phase(reply):
            return 0
        if self._phase is not None and self._phase.generation == reply.generation_id:
            return 0
        first = reply.generation_id == 1 and self._whole and self._phase is None
        dropped = 0 if first else self.drop()
        removing = any(
            isinstance(one.call.request, LeaveGroupRequest | DeleteGroupsRequest)
            for one in open_ones.values()
        )
        self._phase = Phase(reply.generation_id, at, dict(open_ones), len(self._kept))
        self._phase.sound = not removing and reply.generation_id != self._latest
        return dropped

    def beginning(
        self, sent: Sent, at: float, reply: ReplyMessage, open_ones: Iterable[int]
    ) -> Beginning | None:
        """The stretch that begins with an answer, if all is known now."""
        open_ones = frozenset(open_ones)
        if isinstance(reply, DescribeGroupsReply) and reply.group_state == "Dead" and not open_ones:
            passed = self.drop()
            return Beginning(Stretch(self._terms), passed=passed)
        is_late = sent.at > self._since + self._slack  # nothing of before is under way any more
        if is_late and not open_ones and (roster := described(reply)) is not None:
            self.told(roster, sent.at)
        if begins := self._from_a_roster(sent, at, reply, open_ones):
            return begins
        phase = self._phase
        if phase is None or not isinstance(reply, JoinGroupReply) or not is_end_of_phase(reply):
            return None
        phase.told(at, sent, reply)
        if not phase.whole:
            return None
        whole, kept = self._whole and _all_seen_to_come(phase, self._kept), self._kept
        self._kept = []
        self.drop()
        if whole:
            return Beginning(Stretch(self._terms, first_states(self._since)), kept)
        return self._from_the_end_of(phase, kept, open_ones)

    def _from_a_roster(
        self, sent: Sent, at: float, reply: ReplyMessage, open_ones: frozenset[int]
    ) -> Beginning | None:
        """The stretch that begins with a heartbeat which is answered while the members are known."""
        request, roster, phase = sent.call.request, self._roster, self._phase
        if roster is None or not isinstance(request, HeartbeatRequest) or sent.at <= self._told_at:
            return None
        if open_ones or self._given or getattr(reply, "error_code", None) is not ErrorCode.NONE:
            return None
        if phase is not None and phase.may_be_whole(at):
            return None
        beat = Beat(request.member_id, request.generation_id, sent.at, at)
        state = state_at(roster, beat, self._synced)
        if state is None:
            return None
        states = with_strangers((state,), at, self._since)
        until = UNTIL_OF_RECORDS if roster.stored else UNTIL
        return Beginning(Stretch(self._terms, states), passed=self.drop(), until=until)

    def _from_the_end_of(self, phase: Phase, kept: Kept, open_ones: frozenset[int]) -> Beginning:
        early, events = kept[: phase.place], kept[phase.place :]
        given = {id: one for id, one in self._given.items() if id not in phase.joins}
        states = states_before_the_end(phase, self._terms.profile, given, self._since)
        stretch = Stretch(self._terms, states, parked(phase))
        joined = {one.number for one in phase.joins.values()}
        answered = {event.number for event, _, _ in events if isinstance(event, Answered)}
        under_way = []
        for number, sent in sorted(phase.open.items()):
            if number in joined:
                continue
            if isinstance(sent.call.request, JoinGroupRequest) and sent.at >= phase.began - self._slack:
                stretch.ask(sent, 0, "")
            elif number in answered or number in open_ones:
                under_way.append(number)
        return Beginning(stretch, events, _weight(early), tuple(under_way), assigned=False)


def _weight(kept: Kept) -> int:
    return sum(weight for _, weight, _ in kept)


def _all_seen_to_come(phase: Phase, kept: Kept) -> bool:
    """Whether no member of the first generation had its id before."""
    answers = [event.reply for event, _, _ in kept if isinstance(event, Answered)]
    handed = {
        "",
        *(one.member_id for one in answers if isinstance(one, JoinGroupReply) and _requires_id(one)),
    }
    requests: list[Any] = [sent.call.request for sent in phase.joins.values()]
    return all(request.member_id in handed for request in requests)


def _requires_id(reply: JoinGroupReply) -> bool:
    return reply.error_code is ErrorCode.MEMBER_ID_REQUIRED
