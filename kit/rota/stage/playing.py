"""A dialogue that is written, played: its inputs, in order, on the spec, whatever it says came of them.

Where a rule leaves something open, what the text says is chosen, if that is allowed. What the log of another
broker has found is believed, if it can have. An input that is not possible is left out, and named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rota.spec import PROFILES, GroupRecord, Hosting, Node, RecordKind, Step, Timer
from rota.spec.classic.vocabulary import TIMER_KINDS
from rota.spec.offset_state import TransactionEnd
from rota.spec.vocabulary import AppendError
from rota.stage.happenings import GivenUp
from rota.stage.reading import Block, DialogueError, Script
from rota.stage.request_reading import NoRequest, read_request
from rota.stage.stage import Stage
from rota.stage.text import Speech, text
from rota.stage.words import record_in_words

FOLLOWS = ("nothing is before ", "no offset is left", "there are offsets, and no group")
"""How happenings begin that are no inputs: they follow from what was there."""

_NAMED = re.compile(r"(\S+)\((.*?)\)")
_ASKS = re.compile(r"(\S+) → (\S+)  (.*)")
_WHERE = re.compile(r"(?:; to a broker that is (\w+))?(?:; broker (\d+) leads the group)?$")
_TIMER = re.compile(r"timer (\w+)(?: \S*\((.*)\))? is due")
_LOG = re.compile(r"the log answers: (.*), (\w+)")
_END = re.compile(r"end of the transaction of producer (\d+), (committed|aborted)")


@dataclass(frozen=True)
class Played:
    """What the spec makes of a dialogue. text: as `rota.stage.text` has it; omitted: inputs that are not
    possible, each with its line and the cause."""

    text: str
    omitted: tuple[tuple[int, str], ...]


class _NotPossible(Exception):
    """An input that the stage does not have now."""


class Guided(Stage):
    """A stage on which what is left open is chosen as a step's text has it."""

    told: tuple[str, ...] = ()

    def _pick(self, steps: tuple[Step, ...]) -> int:
        said = " ".join(self.told)
        fits = [sum(one in said for one in self._traits(step)) for step in steps]
        return fits.index(max(fits))

    def _traits(self, step: Step) -> Iterator[str]:
        if step.group is not None and step.group.leader:
            owner = self.owners.get(step.group.leader)
            yield f"leader {owner.name if owner else '?'}({step.group.leader})"
        if step.group is not None and step.group.protocol_name:
            yield f": {step.group.protocol_name},"


def play(script: Script, profile: str | None = None) -> Played:
    """Play a dialogue, on its own broker or on one of another profile. Errors: DialogueError."""
    stage = Guided(script.config, PROFILES[profile or script.profile], beside=False, log_answers=False)
    stage.given, stage.marks = script.given, dict(script.marks)
    known = {name: stage.client(name) for name in script.clients}
    stage.owners |= {member_id: known[name] for name, member_id in _had_before(script) if name in known}
    omitted: list[tuple[int, str]] = []
    counted: dict[int, int] = {0: 0}
    for number, block in enumerate(script.blocks):
        try:
            _step(stage, block)
        except _NotPossible as cause:
            omitted.append((block.line, str(cause)))
        except AssertionError as failure:
            why = str(failure).partition("\n")[0] or "not possible here"
            raise DialogueError(block.line, f"{why}; change it") from failure
        counted[number + 1] = len(stage.happenings)
    if omitted:
        stage.given = counted[script.given]
        stage.marks = {counted[at]: mark for at, mark in script.marks}
    return Played(text(script.title, script.point, script.source, stage), tuple(omitted))


def _had_before(script: Script) -> Iterator[tuple[str, str]]:
    """Whose member ids nobody gave them: requests name them first."""
    given: set[str] = set()
    for block in script.blocks:
        yield from ((name, one) for name, one in _NAMED.findall(block.what) if one not in given)
        given.update(one for line in block.told for _, one in _NAMED.findall(line))


def _step(stage: Guided, block: Block) -> None:
    """One input. Errors: DialogueError, _NotPossible."""
    if block.what.startswith(FOLLOWS):
        return
    stage.told = block.told
    for pattern, act in _INPUTS:
        if found := pattern.fullmatch(block.what):
            act(stage, block, found)
            return
    raise DialogueError(
        block.line,
        "this is no input; write a request (A → r1  Heartbeat v4, A(m1), generation 1), `timer join is due`, "
        "or what the log answers (the log answers: assignment, generation 1, stored)",
    )


def _pass_time(stage: Guided, block: Block) -> None:
    """Until the time of an input, unless it is later already."""
    stage.now = max(stage.now, block.now)


def _ask(stage: Guided, block: Block, found: re.Match[str]) -> None:
    name, _, words = found.groups()
    if name not in stage.clients:
        there = ", ".join(stage.clients)
        raise DialogueError(block.line, f"there is no client {name}; there are {there}; name it in `clients`")
    where = _WHERE.search(words)
    assert where is not None  # it may be empty
    try:
        request, version = read_request(words[: where.start()])
        hosting = Hosting(where[1]) if where[1] else Hosting.ACTIVE
    except ValueError as error:
        kind = "request" if isinstance(error, NoRequest) else "broker"
        raise DialogueError(block.line, f"no {kind}: {error}; write it as in the other steps") from None
    group = stage.group_id
    _pass_time(stage, block)
    stage.hosting, stage.led_by = hosting, Node(int(where[2])) if where[2] else None
    wanted = getattr(request, "group_id", group)
    if wanted != group and any(one.startswith("group ") and "absent" not in one for one in block.told):
        stage.group_id = wanted  # of which the text tells that it is there
    stage.ask(stage.clients[name], request, version)
    stage.group_id = group


def _fire(stage: Guided, block: Block, found: re.Match[str]) -> None:
    if found[1] not in TIMER_KINDS:
        raise DialogueError(block.line, f"there is no timer {found[1]}; there are {', '.join(TIMER_KINDS)}")
    timer = Timer(found[1], found[2] or "")
    if timer not in stage.armed:
        raise _NotPossible(f"the timer {found[1]} is not armed{f' for {found[2]}' if found[2] else ''}")
    stage.fire(timer)


def _answer(stage: Guided, block: Block, found: re.Match[str]) -> None:
    subject, outcome = found.groups()
    if outcome != "stored" and outcome not in AppendError.__members__:
        there = ", ".join(AppendError.__members__)
        raise DialogueError(block.line, f"the log answers `stored` or one of {there}, not {outcome}")
    _pass_time(stage, block)
    if end := _END.fullmatch(subject):
        marker = TransactionEnd(int(end[1]), end[2] == "committed")
        if marker not in stage.appends:
            stage.end_transaction(marker.producer_id, committed=marker.committed)
    if not stage.appends:
        raise _NotPossible("nothing waits for the log")
    stage.log(None if outcome == "stored" else AppendError[outcome])


def _give_up(stage: Guided, block: Block, found: re.Match[str]) -> None:
    _pass_time(stage, block)
    stage.give_up()


def _load(stage: Guided, block: Block, found: re.Match[str]) -> None:
    _pass_time(stage, block)
    unanswered = next(
        (one.what.unanswered for one in reversed(stage.happenings) if isinstance(one.what, GivenUp)), ()
    )
    possible = (stage.stored, *unanswered)
    stage.stored = next((one for one in possible if _told(stage, one) == found[1]), stage.stored)
    stage.load()


def _told(stage: Guided, record: GroupRecord | None) -> str:
    if record is None or record.kind is RecordKind.DELETION:
        return "nothing"
    return record_in_words(record, Speech(stage.owners).name)


def _look(stage: Guided, block: Block, found: re.Match[str]) -> None:
    _pass_time(stage, block)
    if stage.group is None:
        raise _NotPossible("there is no group whose offsets could expire")
    stage.look_for_expired()


Act = Callable[[Guided, Block, "re.Match[str]"], None]

_INPUTS: tuple[tuple[re.Pattern[str], Act], ...] = (
    (_ASKS, _ask),
    (_TIMER, _fire),
    (_LOG, _answer),
    (re.compile("another broker becomes the coordinator; this one gives the group up"), _give_up),
    (re.compile("a coordinator has read the log and found: (.*)"), _load),
    (re.compile("the broker looks what has expired; .*"), _look),
)
"""What an input looks like, and what is done with it."""
