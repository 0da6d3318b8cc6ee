"""One group's recorded requests and answers: waited for until its state is known, judged from there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rota.generate.player import Message
from rota.generate.replies import NotInTheSpec, reply_of
from rota.generate.requests import Body
from rota.generate.told import dialogue
from rota.generate.verdicts import WIRE, rule_of
from rota.linearise import Answered, Broken, Judgement, Sent, Verdict
from rota.spec import Call, ErrorCode, JoinGroupReply, JoinGroupRequest
from rota.spec.admin_messages import DeleteGroupsRequest, DescribeGroupsReply, DescribeGroupsRequest
from rota.spec.classic.messages import LeaveGroupRequest, SyncGroupReply
from rota.spec.messages import ReplyMessage, Request
from rota.spec.offset_messages import OffsetDeleteRequest, OffsetFetchRequest
from rota.validate.account import Account, Violation
from rota.validate.beginnings import (
    Given,
    Phase,
    first_states,
    is_end_of_phase,
    parked,
    states_before_the_end,
)
from rota.validate.frames import BESIDE, MOVED, codes_of, without_refused
from rota.validate.stretches import Stretch, handed_out, strangers
from rota.validate.terms import Terms

FRAMES = "frames"
BEFORE = "what came before the group's state was told: a join phase all of whose members were seen"
AFTER = "what came after a violation, until the group's state was told again"
MOVING = "what came while the coordinator moved or loaded, until the group's state was told again"
UNSEEN = "what is told of members whose requests are not in this source"
OFFSETS = "offsets that were asked for, where what was committed before is not known"
ASSIGNMENTS = "descriptions of a group before its first assignment that was seen"
UNDER_WAY = "requests that were under way when the group's state was told"
REFUSED = "requests that were refused before a coordinator was asked"
RESTARTED = "all connections of the group ended at once: the coordinator may have been started anew"

MOST_BUFFERED = 5_000
MOST_MESSAGES = 100
SHOWN = 30
"""Messages that are kept of a group, and those that a violation shows."""

AT_ONCE = 2.0
"""Seconds within which connections end that end at once."""


@dataclass(frozen=True)
class Asked:
    """A request about a group. weight: whether it counts as an event, or another group's part of it does."""

    number: int
    at: float
    connection: int
    client: str
    api: str
    version: int
    request: Request
    weight: int
    origin: str

    def sent(self, request: Request | None = None) -> Sent:
        """As the judge has it."""
        call = Call(request or self.request, str(self.number), self.version)
        return Sent(self.at, self.number, self.connection, self.client, call)


@dataclass
class _Buffered:
    """What was seen since a phase ended, until it is known whether a judge may begin there."""

    events: list[tuple[Any, int, str]] = field(default_factory=list)
    weight: int = 0

    def add(self, event: Any, weight: int, origin: str) -> None:
        self.events.append((event, weight, origin))
        self.weight += weight


@dataclass
class _Suspect:
    """A violation that a member might explain who is not in the source. known: the ids that are explained."""

    violation: Violation
    known: set[str]


class Watched:
    """One group. Parameters: group; terms; account; since: when the source begins."""

    def __init__(self, group: str, terms: Terms, account: Account, since: float) -> None:
        self.group = group
        self._terms, self._account, self._since = terms, account, since
        self._open: dict[int, Asked] = {}
        self._left_out: dict[int, str] = {}
        self._given: dict[str, Given] = {}
        self._messages: deque[tuple[Message, str]] = deque(maxlen=MOST_MESSAGES)
        self._phase: Phase | None = None
        self._buffer = _Buffered()
        self._whole = self._assigned = True
        self._stretch: Stretch | None = None
        self._why, self._cause = BEFORE, ""
        self._suspect: _Suspect | None = None
        self._connections: set[int] = set()
        self._ended: deque[float] = deque(maxlen=2)
        self._restarted = False
        self._latest = 0
        self.last = since
        if terms.fresh:
            self._begin(Stretch(terms, offsets_known=True))

    def asked(self, asked: Asked, body: Body) -> None:
        """A request was sent."""
        self.last = asked.at
        self._connections.add(asked.connection)
        self._open[asked.number] = asked
        message = Message(asked.at, asked.client, True, asked.api, asked.version, body)
        self._messages.append((message, asked.origin))
        self._take(asked.sent(), asked.weight, asked.origin)

    def answered(self, number: int, at: float, body: Body, weight: int, origin: str) -> None:
        """A request was answered. Errors: KeyError and the like where the answer has no such body."""
        asked = self._open[number]
        codes = codes_of(body)
        try:
            reply = None if codes & BESIDE else reply_of(asked.request, asked.version, body)
        except NotInTheSpec as odd:
            self._closed(asked, at, body, origin)
            self._odd(asked, str(odd), at, weight, origin)
            return
        self._closed(asked, at, body, origin)
        if self._has_moved(asked, codes):
            self._moved(asked, weight)
        elif reply is None:
            self._refused(asked, at, body, weight, origin)
        else:
            self._note(asked, at, reply)
            self._assigned |= isinstance(reply, SyncGroupReply) and reply.error_code is ErrorCode.NONE
            self._look_for_a_phase(at, reply)
            self._take(Answered(at, number, reply), weight, origin)
            self._look_for_a_beginning(asked, at, reply)
            self._note_generation(asked.request, reply)

    def _closed(self, asked: Asked, at: float, body: Body, origin: str) -> None:
        self.last = at
        del self._open[asked.number]
        self._messages.append((Message(at, asked.client, False, asked.api, asked.version, body), origin))

    def ended(self, connection: int, at: float) -> None:
        """A connection has ended."""
        if connection not in self._connections:
            return
        self._connections.discard(connection)
        self._ended.append(at)
        self._restarted |= not self._connections and len(self._ended) == 2 and at - self._ended[0] <= AT_ONCE
        self._messages.append((Message(at, "", False, "", connection, {}), ""))
        for number in [one.number for one in self._open.values() if one.connection == connection]:
            del self._open[number]
        self._take(Broken(at, connection), 0, "")

    def gap(self, connection: int | None, cause: str) -> None:
        """Frames are missing. connection: where, None: everywhere."""
        if connection is not None and connection not in self._connections:
            return
        self._whole = False
        if self._stretch is not None:
            self._lose(cause)
        self._drop_buffer()

    def close(self, at: float) -> None:
        """Nothing more comes; what is unanswered is open."""
        if self._stretch is not None:
            self._stretch.end(at)
            self._see()
        if self._stretch is not None:
            self._account.reached |= self._stretch.reached()
            self._settle()
        self._drop_buffer()
        self._convict()

    def silence(self, at: float) -> None:
        """Time has passed without a word of this group."""
        if self._stretch is not None:
            self._stretch.look(at)
            self._see()

    def size(self) -> int:
        """How many things are kept of the group."""
        own = len(self._open) + len(self._left_out) + len(self._given) + len(self._messages)
        own += len(self._buffer.events) + len(self._connections)
        return own if self._stretch is None else own + self._stretch.judge.size() + len(self._stretch.known)

    # What becomes of an event.

    def _take(self, event: Sent | Answered | Broken, weight: int, origin: str) -> None:
        if why := self._is_left_out(event):
            self._account.leave(why, FRAMES, weight)
        elif self._stretch is not None:
            _give(self._stretch, event, weight, origin)
            self._see()
        elif self._phase is not None or self._whole:
            self._buffer.add(event, weight, origin)
            if len(self._buffer.events) > MOST_BUFFERED:
                self._drop_buffer()
        else:
            self._skip(weight)

    def _is_left_out(self, event: Sent | Answered | Broken) -> str:
        """Why an event is not judged, if it is not."""
        if isinstance(event, Answered):
            return self._left_out.pop(event.number, "")
        known = self._stretch is not None and self._stretch.offsets_known
        if known or not isinstance(event, Sent):
            return ""
        if isinstance(event.call.request, OffsetFetchRequest | OffsetDeleteRequest):
            self._left_out[event.number] = OFFSETS
        if isinstance(event.call.request, DescribeGroupsRequest) and not self._assigned:
            self._left_out[event.number] = ASSIGNMENTS
        return self._left_out.get(event.number, "")

    def _skip(self, weight: int) -> None:
        if self._cause:
            self._account.give_up(self.group, self._cause, weight)
        else:
            self._account.leave(self._why, FRAMES, weight)

    def _drop_buffer(self) -> None:
        self._skip(self._buffer.weight)
        self._buffer, self._phase, self._whole = _Buffered(), None, False

    # Where a judge begins.

    def _note(self, asked: Asked, at: float, reply: ReplyMessage) -> None:
        """Ids that are handed out, used and given back."""
        if isinstance(reply, JoinGroupReply) and isinstance(request := asked.request, JoinGroupRequest):
            if reply.error_code is ErrorCode.MEMBER_ID_REQUIRED:
                self._given[reply.member_id] = Given(asked.at, at, request.session_timeout_ms / 1000)
            else:
                self._given.pop(request.member_id, None)
        if isinstance(request := asked.request, LeaveGroupRequest):
            for one in request.members:
                self._given.pop(one.member_id, None)
        patience = self._terms.lateness + self._terms.limits.grace
        self._given = {id: one for id, one in self._given.items() if one.told + one.seconds + patience >= at}

    def _look_for_a_beginning(self, asked: Asked, at: float, reply: ReplyMessage) -> None:
        if self._suspect is not None:
            self._suspect.known |= handed_out(reply)
            if unseen := strangers([reply], self._suspect.known):
                self._convict(unseen)
            elif isinstance(reply, JoinGroupReply) and reply.members:
                self._convict()
        if self._stretch is not None:
            return
        if isinstance(reply, DescribeGroupsReply) and reply.group_state == "Dead" and not self._open:
            self._drop_buffer()
            self._assigned = True
            self._begin(Stretch(self._terms))
            return
        if self._phase is None or not isinstance(reply, JoinGroupReply) or not is_end_of_phase(reply):
            return
        self._phase.told(at, asked.sent(), reply)
        if self._phase.whole:
            self._begin_here(self._phase)

    def _note_generation(self, request: Any, reply: Any) -> None:
        """The generation that members are in by now: who is told of it again has only joined again."""
        if getattr(reply, "error_code", None) is ErrorCode.NONE:
            self._latest = getattr(reply, "generation_id", getattr(request, "generation_id", self._latest))

    def _look_for_a_phase(self, at: float, reply: ReplyMessage) -> None:
        """Keep what follows if an answer tells of a generation that is not known yet."""
        if self._stretch is not None or not isinstance(reply, JoinGroupReply) or not is_end_of_phase(reply):
            return
        if self._phase is not None and self._phase.generation == reply.generation_id:
            return
        if not (reply.generation_id == 1 and self._whole and self._phase is None):
            self._drop_buffer()
        under_way = {number: one.sent() for number, one in self._open.items()}
        self._phase = Phase(reply.generation_id, at, under_way, len(self._buffer.events))
        removing = (LeaveGroupRequest, DeleteGroupsRequest)
        rejoins = reply.generation_id == self._latest
        self._phase.sound = not (
            rejoins or any(isinstance(one.request, removing) for one in self._open.values())
        )

    def _begin_here(self, phase: Phase) -> None:
        buffer, self._buffer = self._buffer, _Buffered()
        self._begin(
            Stretch(self._terms, first_states(self._since))
            if self._whole
            else self._from_the_end_of(phase, buffer)
        )
        for event, weight, origin in buffer.events:
            self._take(event, weight, origin)

    def _from_the_end_of(self, phase: Phase, buffer: _Buffered) -> Stretch:
        given = {id: one for id, one in self._given.items() if id not in phase.joins}
        states = states_before_the_end(phase, self._terms.profile, given, self._since)
        stretch = Stretch(self._terms, states, parked(phase))
        joined = {one.number for one in phase.joins.values()}
        answered = {event.number for event, _, _ in buffer.events if isinstance(event, Answered)}
        slack = self._terms.lateness + self._terms.limits.grace
        for number, sent in sorted(phase.open.items()):
            if number in joined:
                continue
            if isinstance(sent.call.request, JoinGroupRequest) and sent.at >= phase.began - slack:
                stretch.ask(sent, 0, "")
            elif number in answered or number in self._open:
                self._left_out.setdefault(number, UNDER_WAY)
        return stretch

    def _begin(self, stretch: Stretch) -> None:
        self._stretch, self._phase, self._whole = stretch, None, False
        self._cause, self._restarted = "", False

    # How a stretch ends.

    def _see(self) -> None:
        """What the judge says by now."""
        if self._stretch is None:
            return
        self._settle()
        found = self._stretch.found
        if found is None:
            return
        if found.verdict is Verdict.UNDECIDED:
            self._lose(found.why)
        elif self._restarted:
            self._lose(RESTARTED)
        else:
            self._violated(self._stretch, found)

    def _settle(self) -> None:
        assert self._stretch is not None, "only a stretch has judged something"
        self._account.judge(self.group, self._stretch.judged)
        self._stretch.judged = 0
        for one in self._stretch.judge.late:
            self._account.forgive(self.group, one.what, one.seconds)
        self._stretch.judge.late.clear()

    def _lose(self, cause: str) -> None:
        """What could have been judged is not, from the last judged event on."""
        assert self._stretch is not None, "only a stretch can be lost"
        self._settle()
        self._account.give_up(self.group, cause, self._stretch.doubtful + self._stretch.queued)
        self._cause, self._stretch = cause, None

    def _has_moved(self, asked: Asked, codes: frozenset[int]) -> bool:
        """Whether an answer says that the coordinator is another one, or reads the group anew."""
        if self._terms.profile.answers_replaced and isinstance(asked.request, JoinGroupRequest):
            codes -= {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS.value}
        return not codes.isdisjoint(MOVED)

    def _moved(self, asked: Asked, weight: int) -> None:
        self._left_out.pop(asked.number, None)
        if self._stretch is not None:
            self._abandon(MOVING)
        self._why, self._cause = MOVING, ""
        self._drop_buffer()
        self._account.leave(MOVING, FRAMES, weight)

    def _abandon(self, why: str) -> None:
        """What could be judged ends here, and what the judge has not judged never will be."""
        assert self._stretch is not None, "only a stretch can be abandoned"
        self._settle()
        self._account.leave(why, FRAMES, self._stretch.doubtful + self._stretch.queued)
        self._stretch, self._why, self._cause = None, why, ""

    def _refused(self, asked: Asked, at: float, body: Body, weight: int, origin: str) -> None:
        """An answer that (partly) came before a coordinator was asked."""
        why = self._left_out.pop(asked.number, REFUSED)
        left = without_refused(asked.request, body)
        if why is not REFUSED:
            self._account.leave(why, FRAMES, weight)
        elif self._stretch is None:
            self._drop_buffer()
            self._skip(weight)
        elif left is not None and self._stretch.exchange(asked.sent(left[0])):
            self._take(Answered(at, asked.number, reply_of(left[0], asked.version, left[1])), weight, origin)
        else:
            own = self._stretch.withdraw(asked.number)
            if own is None:
                self._lose("a request was refused before a coordinator was asked, and late")
            self._account.leave(why, FRAMES, weight + (own or 0))

    def _odd(self, asked: Asked, why: str, at: float, weight: int, origin: str) -> None:
        """An answer that no rule can give."""
        self._account.judge(self.group, weight)
        told = f"the answer to {asked.api} v{asked.version} of {asked.client} says {why}, which no rule gives"
        lines = (asked.origin, origin)
        self._account.violate(
            Violation(self.group, WIRE, told, origin, lines, dialogue=self._dialogue(at), at=at)
        )
        self._left_out.pop(asked.number, None)
        if self._stretch is not None:
            self._abandon(AFTER)
        self._why, self._cause = AFTER, ""
        self._drop_buffer()

    def _violated(self, stretch: Stretch, found: Judgement) -> None:
        event = found.at
        number = getattr(event, "number", -1)
        at = self.last if event is None else event.at
        lines = tuple(stretch.origins.get(number, ()))
        recent = tuple(origin for message, origin in self._messages if origin and message.at <= at)
        violation = Violation(
            self.group,
            rule_of(found),
            found.why,
            (lines or recent or ("",))[-1],
            tuple(dict.fromkeys((*recent[-6:], *lines))),
            nearest=tuple(map(str, found.nearest)),
            states=len(stretch.judge.run.before_last),
            dialogue=self._dialogue(at),
            at=at,
        )
        self._account.judge(self.group, 1)
        stretch.doubtful -= 1
        self._account.reached |= found.reached
        self._abandon(AFTER)
        self._convict()
        self._suspect = _Suspect(violation, stretch.known)
        answers = [event.reply] if isinstance(event, Answered) else []
        if self._terms.fresh or (unseen := strangers(answers, stretch.known)):
            self._convict(() if self._terms.fresh else unseen)

    def _convict(self, unseen: Iterable[str] = ()) -> None:
        """What was suspected is a violation, unless there are members who are not in the source."""
        suspect, self._suspect = self._suspect, None
        if suspect is not None and any(unseen):
            self._account.pardon(UNSEEN, FRAMES)
        elif suspect is not None:
            self._account.violate(suspect.violation)

    def _dialogue(self, at: float) -> tuple[str, ...]:
        messages = [message for message, _ in self._messages if message.at <= at][-SHOWN:]
        return tuple(dialogue(messages, self.group))


def _all_handed_out(phase: Phase, buffer: _Buffered) -> bool:
    """Whether the members of the first generation were all seen to come."""
    answers = [event.reply for event, _, _ in buffer.events if isinstance(event, Answered)]
    handed = {"", *(one.member_id for one in answers if isinstance(one, JoinGroupReply) and _requires(one))}
    requests: list[Any] = [sent.call.request for sent in phase.joins.values()]
    return all(request.member_id in handed for request in requests)


def _requires(reply: JoinGroupReply) -> bool:
    return reply.error_code is ErrorCode.MEMBER_ID_REQUIRED


def _give(stretch: Stretch, event: Sent | Answered | Broken, weight: int, origin: str) -> None:
    if isinstance(event, Sent):
        stretch.ask(event, weight, origin)
    elif isinstance(event, Answered):
        stretch.answer(event, weight, origin)
    else:
        stretch.ends(event)
