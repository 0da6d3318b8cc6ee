"""A run of the world on a stage: the same requests, timers and answers of the log, in virtual time.

The world knows no times, only what may come before what; the stage has a clock, which a timer that is due
moves to its deadline. So a timer may be due later than another one that is still armed: such a run is one of
the world's, but of no broker with one clock. What a client does by itself is a heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rota.environment.broker.coordinator import Broker, Coordinator
from rota.environment.messages import Appended, Deliver, Loaded, Moved
from rota.kernel import LocalStep, State, Transition
from rota.kernel.structs import replace
from rota.spec import Group, GroupRecord, LeaveGroupRequest, SyncGroupRequest, Timer
from rota.spec.messages import Request
from rota.stage.playing import Guided
from rota.stage.stage import Stage
from rota.stage.text import Speech
from rota.trace import Run
from rota.trace.reach import Named

SILENT = (" sends ", " reads ")
"""What a client does that is told when it reaches the coordinator, or was told when that answered."""

_LOST = re.compile(r"(\d+) appends are lost")
_ENDS = re.compile(r"producer (\d+) (commits|aborts) its transaction")


class CannotTell(ValueError):
    """A run that a stage has no words for; the message says which, and why."""


@dataclass
class Staged:
    """A run on a stage.

    end: why it stops before the run's end, empty where it does not; until: how many steps of the run are
    told; origins: which step of the run (from 1) each happening belongs to; notes: what is told of a step
    that is no happening; unheard: of these steps those in which the coordinator takes part: a connection
    breaks, for instance.
    """

    stage: Stage
    end: str = ""
    until: int = 0
    origins: list[int] = field(default_factory=list)
    notes: dict[int, str] = field(default_factory=dict)
    unheard: set[int] = field(default_factory=set)


def staged(run: Run, *, sound: bool = False) -> Staged:
    """Put a run of the world on a stage. sound: by the rules of the spec, though a mutant is in the run.

    Errors: CannotTell for a run of another system.
    """
    return _Following(run, sound).follow()


class _Following:
    """Follows a run, step by step; knows which member id of the world is which one on the stage."""

    def __init__(self, run: Run, sound: bool) -> None:
        broker = _plain(run.system.machines[0])
        if not isinstance(broker, Broker):
            raise CannotTell(f"a dialogue is told of rota's own world, and this is {run.system.name}")
        spec = broker.spec
        table = None if sound else spec.rules
        self._run, self._broker = run, broker
        self._stage = Guided(spec.config, spec.profile, beside=False, log_answers=False, table=table)
        self._told = Staged(self._stage)
        self._ids: dict[str, str] = {}
        for one in run.system.machines:
            if one.name.startswith("client/"):
                self._stage.client(one.name.removeprefix("client/"))

    def follow(self) -> Staged:
        before = self._run.states[0]
        for number, transition in enumerate(self._run.path, 1):
            try:
                self._step(number, before, transition)
            except (_Untold, AssertionError) as why:
                cause = str(why).partition("\n")[0]
                self._told.end = f"step {number}, {transition.label}: {cause}"
                break
            self._told.until = number
            before = transition.target
        return self._told

    def _step(self, number: int, before: State, transition: Transition) -> None:
        heard = len(self._stage.happenings)
        after: Any = transition.target[0]
        self._stage.told = tuple(self._traits(after.group))
        for one in transition.local_steps:
            self._local_step(one, before, after, transition.label)
        self._store(transition.target[1])
        count = len(self._stage.happenings) - heard
        self._told.origins += [number] * count
        if not count and not any(word in transition.label for word in SILENT):
            self._note(number, transition.label)
            if any(one.machine == "coordinator" for one in transition.local_steps):
                self._told.unheard.add(number)

    def _store(self, log: Any) -> None:
        """What the world's log does not wait for, as nothing depends on the answer, is stored at once."""
        awaited = {record.kind for record in log.appends}
        while self._stage.appends:
            first = self._stage.appends[0]
            if not isinstance(first, GroupRecord) or first.kind in awaited:
                return
            self._stage.log()

    def _note(self, number: int, label: str) -> None:
        at = len(self._stage.happenings)
        self._told.notes[number] = label
        known = self._stage.marks.get(at)
        self._stage.marks[at] = f"{known}; {label}" if known else label

    def _local_step(self, one: LocalStep, before: State, after: Coordinator, label: str) -> None:
        stage, message = self._stage, one.message
        if one.sender is None and one.machine == "coordinator" and label != "the coordinator reads the log":
            self._fire(before, one.label)
        elif one.sender is None and one.machine == "offsets":
            self._offsets(one.label)
        elif one.machine != "coordinator":
            return
        elif isinstance(message, Deliver):
            self._ask(one, message, before[0], after)
        elif isinstance(message, Appended):
            if not stage.appends or not isinstance(stage.appends[0], GroupRecord):
                raise _Untold("the log answers in another order than on a stage")
            stage.log(message.error)
        elif isinstance(message, Moved):
            lost = _LOST.search(label)
            stage.give_up(len(message.unanswered) - (int(lost[1]) if lost else 0))
        elif isinstance(message, Loaded):
            stage.load()

    def _fire(self, before: State, label: str) -> None:
        coordinator: Any = before[0]
        text = self._broker.spec.groups.timer_text
        timer = next(one for one in coordinator.armed if text(one) == label)
        wanted = Timer(timer.name, self._ids.get(timer.member_id, timer.member_id))
        if wanted not in self._stage.armed:
            raise _Untold(f"the timer {wanted.name} is not armed on the stage")
        self._stage.fire(wanted)

    def _offsets(self, label: str) -> None:
        stage = self._stage
        if found := _ENDS.fullmatch(label):
            stage.end_transaction(int(found[1]), committed=found[2] == "commits")
        elif "log stores offsets" in label or label.startswith("the transaction of producer"):
            self._offsets_answered(None)
        elif "log fails to store offsets" in label:
            self._offsets_answered(_plain(self._run.system.machines[2]).failure)
        else:
            raise _Untold("how long it takes is not said")

    def _offsets_answered(self, error: Any) -> None:
        if not self._stage.appends or isinstance(self._stage.appends[0], GroupRecord):
            raise _Untold("the log answers in another order than on a stage")
        self._stage.log(error)

    def _ask(self, one: LocalStep, message: Deliver, before: Any, after: Coordinator) -> None:
        client = self._stage.clients[one.sender.removeprefix("client/") if one.sender else message.call.to]
        known = set(self._stage.owners)
        self._stage.ask(client, self._renamed(message.call.request), message.call.version)
        fresh = list(set(self._stage.owners) - known)
        minted = _ids(after.group) - _ids(before.group)
        if len(fresh) == len(minted) == 1:
            self._ids[minted.pop()] = fresh[0]

    def _renamed(self, request: Request) -> Request:
        """A request with the stage's member ids."""
        changes: dict[str, Any] = {}
        if hasattr(request, "member_id"):
            changes["member_id"] = self._ids.get(request.member_id, request.member_id)
        if isinstance(request, SyncGroupRequest):
            changes["assignments"] = tuple(
                replace(given, member_id=self._ids.get(given.member_id, given.member_id))
                for given in request.assignments
            )
        if isinstance(request, LeaveGroupRequest):
            changes["members"] = tuple(
                replace(member, member_id=self._ids.get(member.member_id, member.member_id))
                for member in request.members
            )
        changed: Any = request
        return replace(changed, **changes)  # type: ignore[no-any-return]  # of the same kind

    def _traits(self, group: Any) -> Iterator[str]:
        """What is chosen where a rule leaves something open: as in the run."""
        if isinstance(group, Group) and group.leader:
            yield f"leader {Speech(self._stage.owners).name(self._ids.get(group.leader, group.leader))}"
        if isinstance(group, Group) and group.protocol_name:
            yield f": {group.protocol_name},"


def _plain(machine: Any) -> Any:
    """A machine, whatever it is named for."""
    return machine.machine if isinstance(machine, Named) else machine


class _Untold(Exception):
    """A step that a stage has no words for."""


def _ids(group: Any) -> set[str]:
    return {*group.members, *group.pending} if isinstance(group, Group) else set()
