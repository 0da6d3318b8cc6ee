"""One group's recorded requests and answers: waited for until its state is known, judged from there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from rota.generate.replies import NotInTheSpec
from rota.generate.requests import Body
from rota.generate.verdicts import WIRE, rule_of
from rota.linearise import Answered, Broken, Judgement, Over, Sent, Verdict
from rota.linearise.times import FOREVER
from rota.record.dialogue import BROKER
from rota.spec import ErrorCode, JoinGroupReply, JoinGroupRequest
from rota.spec.admin_messages import DescribeGroupsRequest
from rota.spec.classic.messages import SyncGroupReply
from rota.spec.messages import ReplyMessage, Request
from rota.spec.offset_messages import OffsetDeleteRequest, OffsetFetchRequest
from rota.validate import reasons
from rota.validate.account import Account, Violation
from rota.validate.asked import Asked
from rota.validate.dropped import AT_ONCE, Connections, Dropped
from rota.validate.frames import MOVED, codes_of, reply_from, reply_heard, without_refused
from rota.validate.rosters import Roster
from rota.validate.routing import FRAMES
from rota.validate.said import Recent, by_difference, in_brief, near_in_brief
from rota.validate.settings import MAX_REAUTH, behind, untold
from rota.validate.stretches import Stretch, handed_out, strangers
from rota.validate.terms import Terms
from rota.validate.waiting import Beginning, Waiting


@dataclass
class _Suspect:
    """A violation that an unseen member might explain. known: ids that are explained; weight: its events."""

    violation: Violation
    known: set[str]
    weight: int


class Watched:
    """One group. Parameters: group; terms; account; since: when the source begins."""

    def __init__(self, group: str, terms: Terms, account: Account, since: float) -> None:
        self.group = group
        self._terms, self._account, self._since = terms, account, since
        self._open: dict[int, Asked] = {}
        self._left_out: dict[int, str] = {}
        self._messages = Recent(group)
        self._waiting = Waiting(terms, since)
        self._assigned = True
        self._until: tuple[type[Request], ...] = ()
        self._stretch: Stretch | None = None
        self._why, self._cause = reasons.BEFORE, ""
        self._suspect: _Suspect | None = None
        self._connections = Connections()
        self._sources: set[str] = set()
        self._ended: deque[float] = deque(maxlen=2)
        self._restarted = self._changed = self._offsets_deleted = False
        self.last = since
        if terms.fresh:
            self._waiting.drop()
            self._begin(Beginning(Stretch(terms, offsets_known=True, began=since)))

    def asked(self, asked: Asked, body: Body) -> None:
        """A request was sent."""
        self.last = asked.at
        self._connections.asked(asked)
        self._sources.add(asked.origin.rpartition("#")[0])
        self._open[asked.number] = asked
        if isinstance(asked.request, self._until):
            self._stop(asked.at)
        self._waiting.asked(asked.request, asked.at)
        self._messages.asked(asked, body)
        self._take(asked.sent(), asked.weight, asked.origin)

    def answered(self, number: int, at: float, body: Body, weight: int, origin: str) -> None:
        """A request was answered. Errors: Unreadable, where the answer has no such body."""
        asked, codes = self._open[number], codes_of(body)
        if (dropped := self._connections.answered(asked)) is not None:
            self._not_answered(dropped)
        try:
            reply = reply_heard(asked.request, asked.version, body, codes, self._left_out.get(number))
        except NotInTheSpec as odd:
            self._closed(asked, at, body, origin)
            self._left_out.pop(number, None)
            whose = f"the answer to {asked.api} v{asked.version} of {asked.client}"
            self.odd(f"{whose} says {odd}, which no rule gives", at, weight, (asked.origin, origin))
            return
        self._closed(asked, at, body, origin)
        if self._has_moved(asked, codes):
            self._moved(asked, weight)
        elif reply is None:
            self._refused(asked, at, body, weight, origin)
        else:
            self._read(asked, at, reply, weight, origin)

    def listed(self, asked: Asked, at: float, body: Body, reply: ReplyMessage) -> None:
        """The group's coordinator has it on a list, and nothing else was said since that was asked for."""
        if self._stretch is None or asked.at < self._stretch.last or not self._connections.lead_to(asked):
            return
        self._messages.answered(asked, at, body, asked.origin)
        for event in (asked.sent(), Answered(at, asked.number, reply), Broken(at, asked.connection)):
            self._stretch.take(event, 0, asked.origin)
        self._see()

    def _read(self, asked: Asked, at: float, reply: ReplyMessage, weight: int, origin: str) -> None:
        sent = asked.sent()
        self._waiting.note(sent, at, reply)
        if self._stretch is None:
            open_ones = {number: one.sent() for number, one in self._open.items()}
            self._skip(self._waiting.look_for_a_phase(at, reply, open_ones))
        self._assigned |= isinstance(reply, SyncGroupReply) and reply.error_code is ErrorCode.NONE
        self._take(Answered(at, asked.number, reply), weight, origin)
        self._look_for_a_beginning(asked, at, reply)
        self._waiting.note_generation(sent, reply)

    def _closed(self, asked: Asked, at: float, body: Body, origin: str) -> None:
        self.last = at
        del self._open[asked.number]
        self._messages.answered(asked, at, body, origin)

    def ended(self, connection: int, at: float, by: str = "", origin: str = "") -> None:
        """A connection has ended. by: whose doing that is, if it is told; origin: where that stands."""
        if connection not in self._connections:
            return
        waiting = [one for one in self._open.values() if one.connection == connection]
        self._connections.ended(connection, at, origin, waiting if by == BROKER else [])
        self._ended.append(at)
        at_once = len(self._ended) == 2 and at - self._ended[0] <= AT_ONCE
        self._messages.ended(connection, at)
        for one in waiting:
            del self._open[one.number]
        self._take(Broken(at, connection), 0, "")
        if not self._connections and (by == BROKER or (not by and at_once)):
            self._changed = True
            self._restarted |= self._stretch is None or not self._stretch.may_be_gone(at)

    def may_end(self, asked: Asked, body: Body) -> None:
        """A transaction in which the group may have offsets ends by this, or never does."""
        self.last = asked.at
        self._messages.asked(asked, body)
        if self._stretch is not None:
            self._stretch.take(asked.sent(until=FOREVER), 0, asked.origin)
            self._see()

    def ends(self, number: int, granted: bool) -> None:
        """What was asked for is granted, and so it will end; or it is refused."""
        if self._stretch is not None:
            (self._stretch.settle if granted else self._stretch.withdraw)(number)

    def has_ended(self, number: int, at: float) -> None:
        """It has ended by then."""
        if self._stretch is not None:
            self._stretch.take(Over(at, number), 0, "")

    def told(self, roster: Roster | None, at: float) -> None:
        """A source beside the frames tells who is in the group; None: that nobody is."""
        self._waiting.told(roster, at)

    def gap(self, connection: int | None, cause: str) -> None:
        """Frames are missing. connection: where, None: everywhere."""
        if connection is not None and connection not in self._connections:
            return
        self._connections.missed()
        if self._stretch is not None:
            self._lose(cause)
        self._drop_kept()

    def close(self, at: float) -> None:
        """Nothing more comes; what is unanswered is open."""
        if self._stretch is not None:
            self._stretch.end(at if self.waits else self.last)  # of what is answered time tells nothing
            self._see()
        if self._stretch is not None:
            self._account.reached |= self._stretch.reached()
            self._settle()
        self._drop_kept()
        self._convict()

    @property
    def waits(self) -> bool:
        """Whether something is judged that waits for an answer: time alone may tell more of it."""
        return self._stretch is not None and bool(self._open)

    def silence(self, at: float) -> None:
        """Time has passed without a word of this group."""
        if self._stretch is not None:
            self._stretch.look(at)
            self._see()

    def size(self) -> int:
        """How many things are kept of the group."""
        own = len(self._open) + len(self._left_out) + len(self._messages) + self._connections.size()
        own += self._waiting.size()
        return own if self._stretch is None else own + self._stretch.judge.size() + len(self._stretch.known)

    # What becomes of an event.

    def _take(self, event: Sent | Answered | Broken, weight: int, origin: str) -> None:
        if why := self._is_left_out(event):
            self._account.leave(why, FRAMES, weight, self.group)
        elif self._stretch is not None:
            self._stretch.take(event, weight, origin)
            self._see()
        elif self._waiting.keeps:
            self._skip(self._waiting.keep(event, weight, origin))
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
            self._left_out[event.number] = reasons.OFFSETS
            self._offsets_deleted |= isinstance(event.call.request, OffsetDeleteRequest)
        if isinstance(event.call.request, DescribeGroupsRequest) and not self._assigned:
            self._left_out[event.number] = reasons.ASSIGNMENTS
        return self._left_out.get(event.number, "")

    def _skip(self, weight: int) -> None:
        if self._cause:
            self._account.give_up(self.group, self._cause, weight)
        else:
            self._account.leave(self._why, FRAMES, weight, self.group)

    def _drop_kept(self) -> None:
        self._waiting.told(None, self.last)
        self._skip(self._waiting.drop())

    # Where a judge begins.

    def _look_for_a_beginning(self, asked: Asked, at: float, reply: ReplyMessage) -> None:
        if self._suspect is not None:
            self._suspect.known |= handed_out(reply)
            if unseen := strangers([reply], self._suspect.known):
                self._convict(unseen)
            elif isinstance(reply, JoinGroupReply) and reply.members:
                self._convict()
        if self._stretch is None:
            begins = self._waiting.beginning(asked.sent(), at, reply, self._open)
            if begins is not None:
                self._begin(begins)

    def _begin(self, begins: Beginning) -> None:
        self._skip(begins.passed)
        self._stretch, self._assigned = begins.stretch, begins.assigned
        self._until = begins.until
        self._cause, self._restarted = "", False
        for number in begins.under_way:
            self._left_out.setdefault(number, reasons.UNDER_WAY)
        for event, weight, origin in begins.events:
            self._take(event, weight, origin)

    # How a stretch ends.

    def _stop(self, at: float) -> None:
        """A request comes that cannot be judged by what is known of the group."""
        self.silence(at)
        if self._stretch is not None:
            self._abandon(reasons.UNTOLD)
        self._until = ()

    def _see(self) -> None:
        """What the judge says by now."""
        if self._stretch is None:
            return
        self._settle()
        found = self._stretch.found
        if found is None:
            return
        if found.verdict is Verdict.UNDECIDED and self._until:
            self._abandon(reasons.UNTOLD)
        elif found.verdict is Verdict.UNDECIDED:
            self._lose(found.why)
        elif self._restarted:
            self._lose(reasons.RESTARTED)
        elif self._offsets_deleted and not self._stretch.offsets_known:
            self._lose(reasons.DELETED)
        elif len(self._sources) > 1:
            self._lose(reasons.SEVERAL)
        elif why := behind(found, self._stretch.states, self._stretch.unanswered, self._terms, self._changed):
            self._lose(why)
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
        self._waiting.told(None, self.last)
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
            self._abandon(reasons.MOVING)
        self._why, self._cause = reasons.MOVING, ""
        self._drop_kept()
        self._account.leave(reasons.MOVING, FRAMES, weight, self.group)

    def _abandon(self, why: str) -> None:
        """What could be judged ends here, and what the judge has not judged never will be."""
        assert self._stretch is not None, "only a stretch can be abandoned"
        self._settle()
        self._account.leave(why, FRAMES, self._stretch.doubtful + self._stretch.queued, self.group)
        self._stretch, self._why, self._cause = None, why, ""

    def _refused(self, asked: Asked, at: float, body: Body, weight: int, origin: str) -> None:
        """An answer that (partly) came before a coordinator was asked."""
        why = self._left_out.pop(asked.number, reasons.REFUSED)
        left = without_refused(asked.request, body)
        if why is not reasons.REFUSED:
            self._account.leave(why, FRAMES, weight, self.group)
        elif self._stretch is None:
            self._drop_kept()
            self._skip(weight)
        elif left is not None and self._stretch.exchange(asked.sent(left[0])):
            self._take(
                Answered(at, asked.number, reply_from(left[0], asked.version, left[1])), weight, origin
            )
        else:
            own = self._stretch.withdraw(asked.number)
            if own is None:
                self._lose("a request was refused before a coordinator was asked, and late")
            self._account.leave(why, FRAMES, weight + (own or 0), self.group)

    def odd(self, told: str, at: float, weight: int, lines: tuple[str, ...]) -> None:
        """An answer has come that no rule can give."""
        self._account.judge(self.group, weight)
        said = self._messages.said(at, lines)
        self._account.violate(Violation(self.group, WIRE, told, lines[-1], lines, said=said, at=at))
        if self._stretch is not None:
            self._abandon(reasons.AFTER)
        self._why, self._cause = reasons.AFTER, ""
        self._drop_kept()

    def _not_answered(self, dropped: Dropped) -> None:
        """A request is not answered, and the broker has ended its connection for it."""
        if MAX_REAUTH in self._terms.assumed:
            self._account.give_up(self.group, f"{dropped.told}; {untold(MAX_REAUTH)}", 0)
        elif not self._terms.reauthenticates:
            self.odd(dropped.told, dropped.at, 0, (dropped.asked.origin, dropped.origin))

    def _violated(self, stretch: Stretch, found: Judgement) -> None:
        event = found.at
        at = self.last if event is None else event.at
        lines = tuple(stretch.origins.get(getattr(event, "number", -1), ()))
        recent = self._messages.origins(at)
        violation = Violation(
            self.group,
            rule_of(found),
            found.why,
            (lines or recent or ("",))[-1],
            tuple(dict.fromkeys((*lines[:1], *recent[-6:], *lines))),
            nearest=tuple(map(near_in_brief, by_difference(found.nearest))),
            states=len(stretch.states),
            said=self._messages.said(at, lines),
            at=at,
            **in_brief(found, stretch.judge.run.about),
        )
        self._account.judge(self.group, weight := min(1, stretch.doubtful))  # 0: it counts with another group
        stretch.doubtful -= weight
        self._account.reached |= found.reached
        self._abandon(reasons.AFTER)
        self._waiting.told(None, at)
        self._convict()
        self._suspect = _Suspect(violation, stretch.known, weight)
        answers = [event.reply] if isinstance(event, Answered) else []
        if self._terms.fresh or (unseen := strangers(answers, stretch.known)):
            self._convict(() if self._terms.fresh else unseen)

    def _convict(self, unseen: Iterable[str] = ()) -> None:
        """What was suspected is a violation, unless there are members who are not in the source."""
        suspect, self._suspect = self._suspect, None
        if suspect is not None and any(unseen):
            self._account.pardon(reasons.UNSEEN, FRAMES, suspect.weight, self.group)
        elif suspect is not None:
            self._account.violate(suspect.violation)
