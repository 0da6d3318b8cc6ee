"""The vocabulary of cases: members that send requests, answers that are awaited, expectations."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rota.conformance.connections.connection import Answer, Closed, Connection, Garbage, SentRequest
from rota.conformance.connections.error_codes import error_name
from rota.conformance.dialogues.entries import checked
from rota.conformance.dialogues.expectations import Wanted
from rota.conformance.dialogues.failures import Deviation, Interrupted, SetupFailed
from rota.conformance.dialogues.habits import Habits
from rota.conformance.dialogues.operator import Operator
from rota.conformance.dialogues.prerequisites import rule_of_waiting
from rota.conformance.dialogues.subscription import subscription
from rota.conformance.dialogues.transcript import Transcript
from rota.conformance.dialogues.waits import OVERTIME, PENDING, SLICE, Waits
from rota.conformance.dialogues.ways import USUAL, Way

PROMPTLY = 2.0
"""Seconds in which an answer has to come that waits for nothing; far above any target's own time."""

A_WHILE = 0.8
"""Seconds for which a silence is observed before it counts."""


class Reply:
    """An answer: `reply["generation_id"]` reads a field, `error` is the name of the error code.

    Where no answer came in time, `answer` is None and reading anything from the reply is a `Deviation`, which
    tells of the one that came too late, if one did: `late`, and `told_late` in words.
    """

    def __init__(
        self, who: str, request: SentRequest, answer: Answer | None, within: float, told_late: str = ""
    ) -> None:
        self.who = who
        self.request = request
        self.answer = answer
        self.within = within
        self.late: Reply | None = None
        self._told_late = told_late
        self._body = checked(answer.body, f"the answer to {request.api}") if answer else {}

    def __getitem__(self, field: str) -> Any:
        return self.body[field]

    @property
    def body(self) -> Mapping[str, Any]:
        """All fields."""
        if self.answer is None:
            expected = f"{self.request.api} answered within {self.within:g} s"
            raise Deviation(expected, self.silence, late=self.late is not None)
        return self._body

    @property
    def silence(self) -> str:
        """How a missing answer is described, or the one that came late."""
        return self._told_late or f"no answer in {self.within:g} s"

    @property
    def error(self) -> str:
        """The top-level error; for LeaveGroup from version 3 the first member's where the top says NONE."""
        top: int = self.body["error_code"]
        members = self.body.get("members") if self.request.api == "LeaveGroup" else None
        if top == 0 and members and self.request.version >= 3:
            return error_name(members[0]["error_code"])
        return error_name(top)

    def read(self, names: Iterable[str]) -> dict[str, Any]:
        """Fields by name; `error` stands for the error's name."""
        return {name: self.error if name == "error" else self[name] for name in names}

    @property
    def nulls(self) -> tuple[str, ...]:
        """Fields that were null although the version allows none."""
        return self.answer.nulls if self.answer else ()

    @property
    def member_ids(self) -> set[str]:
        """The ids in the answer's member list; the order in it means nothing."""
        return {member["member_id"] for member in self.body["members"]}


class PendingRequest:
    """A request that was sent `since`, its answer not read. `retry`: sends it with the id that is given."""

    def __init__(self, member: Member, request: SentRequest) -> None:
        self._member = member
        self._request = request
        self.retry: Callable[[Reply], PendingRequest] | None = None
        self.answered: Reply | None = None
        self.since = member.dialogue.transcript.elapsed()

    def answer(self, within: float | None = None) -> Reply:
        """The answer, waited for so many seconds (the case's patience); a reply without one if none comes.

        Steps that only lead to the rule have the case's patience, whatever a caller asks for, and so has what
        is asked of a target that has just been started.
        """
        dialogue = self._member.dialogue
        seconds = dialogue.patience if within is None or dialogue.leading or dialogue.cold else within
        reply = self.waited(seconds)
        if reply is None:
            self._say("…", f"no answer to {self._request.api} in {seconds:.2g} s")
            late = self.poll(min(OVERTIME, max(dialogue.patience - seconds, 0.0)))
            told = "" if late is None else self._told(late)
            reply = Reply(self._member.name, self._request, None, seconds, told)
            reply.late = late
        return reply

    def waited(self, seconds: float, rule: str = "") -> Reply | None:
        """As `poll`, and noted. rule: by which one an answer should come, if not by the API's own."""
        dialogue, api = self._member.dialogue, self._request.api
        began = dialogue.transcript.elapsed()
        reply = self.poll(seconds)
        error = None if reply is None else reply.error if api in PENDING else ""
        dialogue.waits.note(api, began, dialogue.transcript.elapsed(), error, rule)
        return reply

    def _told(self, late: Reply) -> str:
        said = self._member.dialogue.transcript
        return f"{said.answer(self._request.api, late.body)} after {said.elapsed() - self.since:.1f} s"

    def silent(self, seconds: float = A_WHILE) -> None:
        """Observe that no answer comes for so many seconds; a `Deviation` if one does, in that time."""
        dialogue, api = self._member.dialogue, self._request.api
        since = dialogue.transcript.elapsed()
        reply = self.poll(seconds)
        if reply is not None:
            if seconds:
                dialogue.in_time(since, seconds)  # on a busy machine who looks late sees what was not early
            came = dialogue.transcript.answer(api, reply.body)
            raise Deviation(f"no answer to {api} for {seconds:.2g} s", came, rule_of_waiting(api))
        self._say("…", f"no answer to {api} in {seconds:.2g} s, as it should be")

    def poll(self, seconds: float = 0.0) -> Reply | None:
        """The answer if it comes within so many seconds, else None."""
        if self.answered is not None:
            return self.answered
        deadline = time.monotonic() + seconds
        try:
            answer = self._receive(seconds)
        except (Closed, Garbage) as trouble:
            data = trouble.data if isinstance(trouble, Garbage) else b""
            self._say("×", f"{type(trouble).__name__.lower()}: {trouble}", data)
            raise
        if answer is None:
            return None
        self._member.record_answer(self._request, answer)
        if answer.nulls:
            where = f"{self._request.api} v{self._request.version}"
            self._say("·", f"malformed: null where {where} allows none: {', '.join(answer.nulls)}")
        reply = Reply(self._member.name, self._request, answer, seconds)
        if self.retry is not None and reply.error == "MEMBER_ID_REQUIRED":
            self._request, self.retry = self.retry(reply)._request, None
            return self.poll(deadline - time.monotonic())
        return reply

    def _receive(self, seconds: float) -> Answer | None:
        """In slices, so that an interruption is noticed."""
        deadline = time.monotonic() + seconds
        while True:
            left = max(deadline - time.monotonic(), 0.0)
            answer = self._member.connection.receive(self._request, min(left, SLICE))
            if answer is not None or left <= SLICE:
                return answer
            self._member.dialogue.go_on()

    def _say(self, mark: str, text: str, data: bytes = b"") -> None:
        self._member.dialogue.transcript.add(self._member.name, mark, text, data)


class Member:
    """Someone with a connection of its own to the coordinator, who remembers its last join answer."""

    def __init__(self, dialogue: Dialogue, name: str, **settings: Any) -> None:
        self.dialogue = dialogue
        self.name = name
        self.connection = dialogue.connect(name)
        dialogue.members.append(self)
        self.member_id = ""
        self.generation_id = -1
        self.protocol_name: str | None = None
        self.settings: dict[str, Any] = {
            "session_timeout_ms": 6000,
            "rebalance_timeout_ms": 60_000,
            "protocol_type": "consumer",
            "protocols": [("range", subscription(name))],
            **settings,
        }

    def second_connection(self) -> Member:
        """The same member on a second connection: a broker serves one request a connection at a time."""
        twin = Member(self.dialogue, self.name, **self.settings)
        twin.member_id, twin.generation_id = self.member_id, self.generation_id
        twin.protocol_name = self.protocol_name
        return twin

    def send_join(self, member_id: str | None = None, **changes: Any) -> PendingRequest:
        """Send JoinGroup with the member's id (or the one given); changed settings stay changed."""
        self.settings.update(changes)
        own = self.member_id if member_id is None else member_id
        protocols = [{"name": name, "metadata": data} for name, data in self.settings["protocols"]]
        return self.send("JoinGroup", {**self.settings, "protocols": protocols, "member_id": own})

    def send_sync(self, assignments: Mapping[str, bytes] | None = None, **fields: Any) -> PendingRequest:
        """Send SyncGroup; `assignments` maps member ids to bytes; `fields` replace what would be sent."""
        given = [{"member_id": who, "assignment": data} for who, data in (assignments or {}).items()]
        named = {"protocol_type": self.settings["protocol_type"], "protocol_name": self.protocol_name}
        return self.send("SyncGroup", {**self._identity(), **named, "assignments": given, **fields})

    def send_leave(self, *member_ids: str) -> PendingRequest:
        """Send LeaveGroup for the member itself or, from version 3, for the ids given."""
        ids = member_ids or (self.member_id,)
        members = [{"member_id": member_id, "reason": None} for member_id in ids]
        return self.send("LeaveGroup", {"member_id": ids[0], "members": members})

    def join(self, member_id: str | None = None, within: float | None = None, **changes: Any) -> Reply:
        """JoinGroup and its answer."""
        return self.send_join(member_id, **changes).answer(within)

    def sync(
        self, assignments: Mapping[str, bytes] | None = None, within: float = PROMPTLY, **fields: Any
    ) -> Reply:
        """SyncGroup and its answer."""
        return self.send_sync(assignments, **fields).answer(within)

    def heartbeat(self, **fields: Any) -> Reply:
        """Heartbeat and its answer."""
        return self.send("Heartbeat", {**self._identity(), **fields}).answer(PROMPTLY)

    def leave(self, *member_ids: str) -> Reply:
        """LeaveGroup and its answer."""
        return self.send_leave(*member_ids).answer(PROMPTLY)

    def enter(self, **changes: Any) -> PendingRequest:
        """Send the JoinGroup of a newcomer, by way of MEMBER_ID_REQUIRED where the target takes it."""
        first = self.send_join("", **changes)
        if self._is_handed_one(self.dialogue.versions["JoinGroup"]):
            rule, waits = "join.member-id-required", self.dialogue.hands_out_ids
            seconds = PROMPTLY if self.dialogue.habits.hands_out_ids else A_WHILE
            if waits and (reply := first.waited(seconds, rule)) is not None:
                if reply.error != "NONE":
                    return self.enter_after(reply)
                first.answered = reply
            first.retry = self.enter_after
        return first

    def enter_after(self, reply: Reply) -> PendingRequest:
        """Use the id that was handed out; a `Deviation` where the answer is something else."""
        self.dialogue.expect(reply, error="MEMBER_ID_REQUIRED")
        return self.send_join()

    def send(self, api: str, body: Mapping[str, Any]) -> PendingRequest:
        """Send a request about one group, the group of the dialogue unless the body names one."""
        return self.send_whole(api, {"group_id": self.dialogue.group_id, **body})

    def send_whole(self, api: str, body: Mapping[str, Any]) -> PendingRequest:
        """Send any request in the version of this dialogue, with nothing but the body given."""
        version = self.dialogue.versions[api]
        full = dict(body)
        transcript = self.dialogue.transcript
        line = transcript.add(self.name, "→", transcript.request(api, version, full))
        if api == "LeaveGroup":
            full.pop("member_id" if version >= 3 else "members", None)
        try:
            request = self.connection.send(api, version, full)
        except Closed as trouble:
            transcript.add(self.name, "×", f"closed: {trouble}")
            raise
        transcript.carried(line, request.data)
        return PendingRequest(self, request)

    def record_answer(self, request: SentRequest, answer: Answer) -> None:
        """Note an answer in the transcript and keep what a member keeps of it."""
        transcript, body = self.dialogue.transcript, answer.body
        if request.api == "JoinGroup":
            if body["error_code"] == 0 and not self.member_id and self._is_handed_one(request.version):
                self.dialogue.hands_out_ids = False
            self.dialogue.habits.joined(error := error_name(body["error_code"]))
            if error in ("NONE", "MEMBER_ID_REQUIRED"):
                transcript.learn(self.name, body["member_id"])
                self.member_id = body["member_id"]
            if body["error_code"] == 0:
                self.generation_id = body["generation_id"]
                self.protocol_name = body["protocol_name"]
        transcript.add(self.name, "←", transcript.answer(request.api, body), answer.data)

    def _is_handed_one(self, version: int) -> bool:
        """Whether a JoinGroup of this version, with an empty id, is answered with one first (KIP-394)."""
        return version >= 4 and not self.settings.get("group_instance_id")

    def _identity(self) -> dict[str, Any]:
        static = {key: self.settings[key] for key in ("group_instance_id",) if key in self.settings}
        return {"generation_id": self.generation_id, "member_id": self.member_id, **static}


class Dialogue:
    """One case being played against one target.

    `versions` is the version of each API that is spoken here; `initial_delay` the target's initial rebalance
    delay and `patience` how long an answer is awaited that may take its time, both in seconds; setting `stop`
    ends the case with `Interrupted`. `operator` is there where the dialogue may restart the target, which is
    `cold` then: it may take its time for any answer.
    """

    def __init__(
        self,
        address: tuple[str, int],
        group_id: str,
        versions: Mapping[str, int],
        initial_delay: float,
        patience: float,
        stop: threading.Event,
        way: Way = USUAL,
    ) -> None:
        self._stop, self.leading = stop, 0  # in so many steps that only lead to the rule: see `reaching`
        self.way, self.versions = way, versions
        self.address, self.group_id = address, group_id
        self.initial_delay, self.patience = initial_delay, patience
        self.transcript = Transcript(group_id)
        self.waits = Waits()
        self.operator: Operator | None = None
        self.cold, self.hands_out_ids, self.habits = False, True, Habits()
        self.members: list[Member] = []
        self.connections: list[Connection] = []

    def member(self, name: str, **settings: Any) -> Member:
        """Someone new, who has sent nothing yet."""
        return Member(self, name, **settings)

    def connect(self, name: str, address: tuple[str, int] | None = None) -> Connection:
        """A new connection to the coordinator, or to another address; closed when the case is over."""
        connection = Connection(address or self.address, client_id=name)
        self.connections.append(connection)
        return connection

    def close(self) -> None:
        """Close every connection of the case."""
        for connection in self.connections:
            connection.close()

    def expect(self, reply: Reply, *, rule: str = "", **fields: Any) -> None:
        """Hold fields of an answer against what the rule says; `error` stands for the error's name.

        rule: the slug of the rule that is broken otherwise, where the answer does not tell that itself.
        """
        wanted = Wanted(reply.request.api, fields, self.transcript, rule)
        if reply.answer is None:
            late = reply.late is not None and reply.late.read(fields) == fields
            raise wanted.missing(reply.silence, late)
        if (actual := reply.read(fields)) != fields:
            raise wanted.differs(actual, reply.body)

    def require(self, holds: bool, expected: str, actual: str) -> None:
        """Any other expectation, in words."""
        if not holds:
            raise Deviation(expected, actual)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        if seconds > 0:
            self.remark(f"{seconds:.1f} s pass")
            self._stop.wait(seconds)
            self.go_on()

    def go_on(self) -> None:
        """Raise `Interrupted` if the run is to stop."""
        if self._stop.is_set():
            raise Interrupted

    def remark(self, text: str) -> None:
        """A line of the transcript that is neither request nor answer."""
        self.transcript.add("", "·", text)

    def in_time(self, since: float, limit: float) -> None:
        """Raise `Late` if more than `limit` seconds passed since `since`."""
        self.waits.in_time(since, self.transcript.elapsed(), limit)

    @contextmanager
    def reaching(self, wanted: str, rule: str = "") -> Iterator[None]:
        """Steps that only lead to the rule: what goes wrong in them is not this rule's failure.

        rule: the slug of the rule that they rest on, if it is another than the failing step tells itself.
        """
        first = len(self.transcript.lines)
        self.leading += 1
        try:
            yield
        except Deviation as deviation:
            seen = deviation.expected, deviation.actual, rule or deviation.rule, deviation.late
            raise SetupFailed(wanted, *seen) from deviation
        finally:
            self.leading -= 1
        self.transcript.fold(first, ("", "·", f"reached {wanted}"))
