"""The steps of a conformance case that is written from a dialogue on a stage.

Time is real there. What is due on the stage is waited for; a session that runs out in the run is short, all
others are long. A timer that the run lets be due before another one, which would be due sooner with these
times, cannot be played, nor what comes after it; and a log that is asked answers before the next request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rota.cli.trace_pytest import literal
from rota.spec import (
    HeartbeatRequest,
    JoinGroupReply,
    JoinGroupRequest,
    LeaveGroupReply,
    LeaveGroupRequest,
    RecordKind,
    SyncGroupReply,
    SyncGroupRequest,
    Timer,
)
from rota.spec.classic.vocabulary import TimerKind, kind_of
from rota.spec.offset_state import OffsetBatch
from rota.stage.clients import Asked
from rota.stage.happenings import Happening
from rota.stage.of_run import Staged
from rota.stage.stage import Stage

SHORT, LONG = 6_000, 30_000
"""Session timeouts: of a client whose session runs out, and of others."""

APART = 1_000
"""Milliseconds that two timers are apart at least, so that what is asked between them is in time."""

QUIET = 0.4
"""Seconds for which an answer that has to wait is not seen."""

LATE = 2.5
"""Seconds that a timer may be late."""

OF_A_MEMBER = (TimerKind.SESSION, TimerKind.PENDING)
"""Timers as long as a session."""

PLAYABLE = (JoinGroupRequest, SyncGroupRequest, HeartbeatRequest, LeaveGroupRequest)


class Unplayable(Exception):
    """What a raw client cannot do; the message says what and why."""


class Playing:
    """Writes the steps of a dialogue as Python.

    Parameters: told, the dialogue; parts, the step of the run at which what the case is about begins.
    Attributes, when `lines` are there: omitted, what cannot be played, a sentence each; versions, of each
    API; seconds, that it takes about.
    """

    def __init__(self, told: Staged, parts: int) -> None:
        self._told, self._stage, self._parts = told, told.stage, parts
        self.omitted: list[str] = []
        self.versions: dict[str, int] = {}
        self.seconds = 1.0
        self._ids: dict[str, str] = {}
        self._members: dict[str, str] = {}
        self._waiting: dict[str, Asked] = {}
        self._due: dict[Timer, int] = {}
        self._in_flight: list[Any] = []
        self._now = 0
        self._used: set[str] = {"Dialogue"}
        self._short = {self._owner(one.what) for one in told.stage.happenings if _of_member(one.what)}

    def names(self) -> list[str]:
        """What the script needs of the vocabulary of dialogues."""
        return sorted(self._used, key=lambda name: (not name.isupper(), name[0].islower(), name))

    def lines(self) -> Iterator[str]:
        """The body of the function. Errors: Unplayable if nothing of it can be played."""
        before, rest = self._sections()
        if not any("send" in line for line in (*before, *rest)):
            raise Unplayable(self.omitted[0] if self.omitted else "nobody asks anything")
        members = (f"    {line}" for line in self._introductions())
        yield from members
        if before:
            yield f'    with d.reaching("what leads to step {self._parts}"):'
            yield from (f"        {line}" for line in before)
        yield from (f"    {line}" for line in rest)

    def _introductions(self) -> Iterator[str]:
        for name in self._stage.clients:
            if name in self._members:
                yield self._member(name)

    def _sections(self) -> tuple[list[str], list[str]]:
        before: list[str] = []
        rest: list[str] = []
        number = 0
        self._drain()
        try:
            for number, one in zip(self._told.origins, list(self._stage.happenings), strict=True):
                part = before if number < self._parts else rest
                self._remark(number, part)
                part += self._step(one)
            if self._told.end:
                raise Unplayable(self._told.end)
            rest += self._afterwards()
        except Unplayable as cause:
            self.omitted.append(f"from step {number} on: {cause}")
            rest += [f"# The run goes on, but not here: {' '.join(str(cause).split())}"]
        return before, rest

    def _remark(self, number: int, part: list[str]) -> None:
        """What clients did by themselves since."""
        for at in [at for at in self._told.notes if at < number]:
            note = self._told.notes.pop(at)
            if at in self._told.unheard:
                self.omitted.append(f"step {at}: {note}")
            part.append(f"# Step {at} of the run: {note}")

    # -- one step
    def _step(self, one: Happening) -> list[str]:
        self._in_time(one)
        if isinstance(one.what, Asked):
            lines = self._asked(one.what)
        elif isinstance(one.what, Timer):
            lines = self._fired(one)
        elif isinstance(one.what, tuple):
            lines = self._stored(one)
        else:
            raise Unplayable("a broker is not made to move its coordinator by those who ask it")
        self._arm(one)
        answered = list(self._answers(one))
        if isinstance(one.what, Asked) and one.what not in [asked for asked, _ in one.answers]:
            self._waiting[one.what.address] = one.what
            if not self._in_flight:  # for what waits for the log a broker lets nobody wait
                answered.append(f"{_pending(one.what)}.silent({QUIET})")
                self._took(int(QUIET * 1000))
        return [*lines, *answered]

    def _in_time(self, one: Happening) -> None:
        """Errors: Unplayable for what comes before the log has answered."""
        if self._in_flight and not isinstance(one.what, tuple):
            raise Unplayable("the log of a broker would have stored before the next request")
        stored = [record for record in one.step.records if record.kind is not RecordKind.CREATION]
        self._in_flight = [*self._in_flight, *stored]
        if isinstance(one.what, tuple) and one.what[0] in self._in_flight:
            self._in_flight.remove(one.what[0])

    def _stored(self, one: Happening) -> list[str]:
        assert isinstance(one.what, tuple)
        first, error = one.what
        if error is not None:
            raise Unplayable(f"the log fails with {error.name}")
        if isinstance(first, OffsetBatch):
            raise Unplayable("offsets are left to the cases about them")
        return []

    def _fired(self, one: Happening) -> list[str]:
        assert isinstance(one.what, Timer)
        timer = one.what
        due = self._due.pop(timer)
        sooner = [other for other, at in self._due.items() if at < due + APART and at > self._now]
        if sooner:
            raise Unplayable(f"the timer {sooner[0].name} would be due before or with the timer {timer.name}")
        if due <= self._now:
            raise Unplayable(f"the timer {timer.name} would be due before what was asked")
        wait = due - self._now
        self._took(wait)
        self.seconds += wait / 1000
        if one.answers:
            return []  # which come when it is due
        return [f"d.wait({wait / 1000 + LATE / 2:.1f})  # until the timer {timer.name} is due"]

    def _arm(self, one: Happening) -> None:
        for timer, delay in one.timers.items():
            if delay is None:
                self._due.pop(timer, None)
            elif kind_of(timer) in OF_A_MEMBER:
                self._due[timer] = self._now + self._session(self._owner(timer))
            else:
                self._due[timer] = self._now + delay

    def _took(self, milliseconds: int) -> None:
        self._now += milliseconds

    def _session(self, name: str) -> int:
        return SHORT if name in self._short else LONG

    def _owner(self, timer: Any) -> str:
        owner = self._stage.owners.get(timer.member_id)
        return owner.name if owner else ""

    # -- requests
    def _asked(self, asked: Asked) -> list[str]:
        if not isinstance(asked.request, PLAYABLE):
            kind = type(asked.request).__name__.removesuffix("Request")
            raise Unplayable(f"{kind} is left to the cases about it")
        api = type(asked.request).__name__.removesuffix("Request")
        if self.versions.setdefault(api, asked.version) != asked.version:
            raise Unplayable(f"{api} in two versions, and a dialogue speaks one")
        name = asked.client.name
        lines = []
        if any(one.client is asked.client for one in self._waiting.values()):
            lines.append(f"{self._member(name)}  # its connection broke: another one")
        self._members[name] = name
        return [*lines, f"{_pending(asked)} = {name}.{self._request(asked)}"]

    def _member(self, name: str) -> str:
        """A client with a connection of its own."""
        joins = [
            one.what.request
            for one in self._stage.happenings
            if isinstance(one.what, Asked)
            and one.what.client.name == name
            and isinstance(one.what.request, JoinGroupRequest)
        ]
        fields = [f"session_timeout_ms={self._session(name)}"]
        if joins:
            fields.append(f"rebalance_timeout_ms={joins[0].rebalance_timeout_ms}")
            fields.append(f"protocols={self._protocols(joins[0])}")
            if joins[0].group_instance_id is not None:
                fields.append(f"group_instance_id={literal(joins[0].group_instance_id)}")
        return f"{name} = d.member({literal(name)}, {', '.join(fields)})"

    def _protocols(self, request: JoinGroupRequest) -> str:
        """The list, with the metadata of a consumer in place of the world's, which are names."""
        self._used.add("subscription")
        entries = (
            f"({literal(one.name)}, subscription({literal(one.metadata.decode(errors='replace'))}))"
            for one in request.protocols
        )
        return f"[{', '.join(entries)}]"

    def _request(self, asked: Asked) -> str:
        request = asked.request
        if isinstance(request, JoinGroupRequest):
            return f"send_join({self._id(request.member_id)}, protocols={self._protocols(request)})"
        if isinstance(request, LeaveGroupRequest):
            members = ", ".join(
                f'{{"member_id": {self._id(one.member_id)}, "group_instance_id": '
                f'{literal(one.group_instance_id)}, "reason": None}}'
                for one in request.members
            )
            first = self._id(request.members[0].member_id) if request.members else '""'
            return f'send("LeaveGroup", {{"member_id": {first}, "members": [{members}]}})'
        who = {
            "member_id": self._id(request.member_id),
            "generation_id": str(request.generation_id),
            "group_instance_id": literal(request.group_instance_id),
        }
        if isinstance(request, HeartbeatRequest):
            return f'send("Heartbeat", {_fields(who)})'
        given = ", ".join(
            f'{{"member_id": {self._id(one.member_id)}, "assignment": {one.assignment!r}}}'
            for one in request.assignments
        )
        named = {
            "protocol_type": literal(request.protocol_type),
            "protocol_name": literal(request.protocol_name),
            "assignments": f"[{given}]",
        }
        return f'send("SyncGroup", {_fields({**who, **named})})'

    def _id(self, member_id: str) -> str:
        """A member id as the script has it: a variable for one that was told."""
        return self._ids.get(member_id, literal(member_id))

    # -- answers
    def _answers(self, one: Happening) -> Iterator[str]:
        """Read all answers first, since one names whose ids another tells."""
        for asked, reply in one.answers:
            self._waiting.pop(asked.address, None)
            self._used.add("PROMPTLY")
            within = "PROMPTLY" if not isinstance(one.what, Timer) else f"{self._wait(one):.1f} + PROMPTLY"
            yield f"{asked.address} = {_pending(asked)}.answer({within})"
            if isinstance(reply, JoinGroupReply) and reply.member_id not in ("", *self._ids):
                self._ids[reply.member_id] = reply.member_id
                yield f'{reply.member_id} = {asked.address}["member_id"]'
        for asked, reply in one.answers:
            yield from self._expected(asked, reply)

    def _wait(self, one: Happening) -> float:
        """Seconds until a timer is due, about: as long as it was armed at all."""
        before = self._stage.happenings[: self._stage.happenings.index(one)]
        armed = [each.timers[one.what] for each in before if one.what in each.timers]  # type: ignore[index]
        longest = max((delay for delay in armed if delay), default=0)
        return (SHORT if kind_of(one.what) in OF_A_MEMBER else longest) / 1000  # type: ignore[arg-type]

    def _expected(self, asked: Asked, reply: Any) -> Iterator[str]:
        fields = {"error": literal(_error(reply))}
        if isinstance(reply, JoinGroupReply) and asked.error == "NONE":
            fields["generation_id"] = str(reply.generation_id)
            fields["protocol_name"] = literal(reply.protocol_name)
            fields |= {"leader": self._ids[reply.leader]} if reply.leader in self._ids else {}
        if isinstance(reply, SyncGroupReply) and asked.error == "NONE":
            fields["assignment"] = repr(reply.assignment)
        told = ", ".join(f"{key}={value}" for key, value in fields.items())
        yield f"d.expect({asked.address}, {told})"
        if isinstance(reply, JoinGroupReply) and asked.error == "NONE":
            ids = [self._ids[one.member_id] for one in reply.members if one.member_id in self._ids]
            if len(ids) == len(reply.members):
                wanted = f"{{{', '.join(ids)}}}" if ids else "set()"
                what = literal(f"{len(ids)} members are listed")
                listed = f"{asked.address}.member_ids"
                yield f"d.require({listed} == {wanted}, {what}, str({listed}))"

    # -- afterwards
    def _afterwards(self) -> Iterator[str]:
        yield from self._heartbeats()
        armed = [timer for timer in self._due if not timer.member_id]
        if not armed:
            return
        timer = min(armed, key=lambda one: self._due[one])
        try:
            heard = len(self._stage.happenings)
            self._stage.fire(timer)
            self._drain()
            for one in self._stage.happenings[heard:]:
                yield from self._step(one)
        except Unplayable:
            return
        yield from self._heartbeats()

    def _drain(self) -> None:
        """What waits for the log at the end is stored."""
        heard = len(self._stage.happenings)
        while self._stage.appends:
            self._stage.log()
        self._told.origins += [self._told.until] * (len(self._stage.happenings) - heard)

    def _heartbeats(self) -> Iterator[str]:
        """Of everybody with an id that is not waiting for an answer."""
        stage: Stage = self._stage
        latest: dict[str, tuple[str, int]] = {}
        for one in stage.happenings:
            for asked, reply in one.answers:
                if isinstance(reply, JoinGroupReply) and reply.error_code.name == "NONE":
                    latest[asked.client.name] = reply.member_id, reply.generation_id
        waiting = {one.client.name for one in self._waiting.values()}
        for name, (member_id, generation) in latest.items():
            client = stage.clients[name]
            if name in waiting or client.instance is not None:
                continue
            heard = len(stage.happenings)
            stage.ask(client, HeartbeatRequest(stage.group_id, generation, member_id), self._heartbeat())
            for one in stage.happenings[heard:]:
                yield from self._step(one)

    def _heartbeat(self) -> int:
        return self.versions.get("Heartbeat", self._stage.version("Heartbeat"))


def _of_member(what: Any) -> bool:
    return isinstance(what, Timer) and kind_of(what) in OF_A_MEMBER


def _error(reply: Any) -> str:
    """As a dialogue has it: of a LeaveGroup without an error the first member's."""
    told = str(reply.error_code.name)
    members = reply.members if isinstance(reply, LeaveGroupReply) else ()
    return members[0].error_code.name if told == "NONE" and members else told


def _pending(asked: Asked) -> str:
    return f"p{asked.address[1:]}"


def _fields(items: Mapping[str, str]) -> str:
    shown: Sequence[str] = [f"{literal(key)}: {value}" for key, value in items.items()]
    return "{" + ", ".join(shown) + "}"
