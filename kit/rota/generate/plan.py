"""A plan: who asks what, in which order and after which silence, fixed before the first byte.

What only answers can tell is said by references: a member id that is `<7>` is the one that the answer to
request 7 hands out. A generation is the one that was told to the asker last, plus what the plan wants to be
wrong with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from rota.generate.consumer import planned
from rota.generate.consumer.planned import Planned, read_planned
from rota.generate.requests import api_of, body_of, carried, request_of
from rota.spec.classic.messages import JoinGroupReply
from rota.spec.messages import ReplyMessage, Request

GROUP = planned.GROUP
"""Stands for the group's id, which each time a plan is played is another."""

CLASSIC, CONSUMER = "classic", "consumer"
"""The protocols of groups, as a broker calls them."""

_TOLD = re.compile(r"<(\d+)>")


def handed_out_by(number: int) -> str:
    """The reference to the member id that the answer to a request tells."""
    return f"<{number}>"


@dataclass(frozen=True)
class Ask:
    """Somebody sends a request.

    Parameters: number, of the request, from 0 upwards; client, who asks; line, on which connection; version;
    request, with references; told_by, the JoinGroup whose answer tells generation and members, where the
    request speaks of them; generation, the one that it tells if all goes as planned; shares, whether the
    assignments are made from the list of members that it tells; waits, whether the next step waits for the
    answer, as there should be one at once.
    """

    number: int
    client: str
    line: int
    version: int
    request: Request
    told_by: int | None = None
    generation: int = -1
    shares: bool = False
    waits: bool = True

    @property
    def api(self) -> str:
        """The name of the API."""
        return api_of(self.request)


@dataclass(frozen=True)
class Break:
    """A connection ends without ceremony."""

    line: int


@dataclass(frozen=True)
class Silence:
    """Nobody asks anything for so many seconds; then what has come is read: it is a quiet moment."""

    seconds: float


@dataclass(frozen=True)
class Restart:
    """The target is ended by this signal and started again with what it has stored.

    settings: those that are others from then on than when it was started first, where it can be set.
    """

    how: str
    settings: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Begin:
    """A producer begins a transaction in which the group's offsets are. transaction: number in the plan."""

    transaction: int


@dataclass(frozen=True)
class End:
    """A producer ends a transaction. committed: else it is aborted."""

    transaction: int
    committed: bool


Step = Ask | Break | Silence | Restart | Begin | End


@dataclass(frozen=True)
class Plan:
    """Parameters: seed of the run, number of the plan in it, steps; longest, the largest timeout that a
    member in it may have been given, in seconds; left_out, how often requests were left out of it that were
    answered wrongly, so that it comes to what is behind them; below, of some APIs the first version that
    nobody asks by, as the target cannot read it; protocol, of the group, "classic" or "consumer";
    transactional, whether there are transactions in it.
    """

    seed: int
    number: int
    steps: tuple[Step, ...]
    longest: float = 0.0
    left_out: int = 0
    below: tuple[tuple[str, int], ...] = ()
    protocol: str = CLASSIC
    transactional: bool = False

    @property
    def id(self) -> str:
        """What it is called by."""
        letter = "t" if self.transactional else "" if self.protocol == CLASSIC else self.protocol[0]
        return f"{self.seed}-{letter}{self.number}" + (f"-{self.left_out}" if self.left_out else "")

    @property
    def seconds(self) -> float:
        """How long it is silent in all."""
        return sum(step.seconds for step in self.steps if isinstance(step, Silence))

    @property
    def requests(self) -> int:
        """How many requests it has."""
        return sum(isinstance(step, Ask) for step in self.steps)

    def of(self, steps: tuple[Step, ...]) -> Plan:
        """The plan with other steps."""
        return replace(self, steps=steps)

    def without(self, places: frozenset[int]) -> Plan:
        """The plan without the steps at these places."""
        kept = (step for place, step in enumerate(self.steps) if place not in places)
        return replace(self, steps=tuple(kept))

    def as_json(self) -> dict[str, Any]:
        """As a file has it."""
        steps = [_step_object(step) for step in self.steps]
        named: dict[str, Any] = {"seed": self.seed, "number": self.number, "longest": self.longest}
        named |= {} if self.protocol == CLASSIC else {"protocol": self.protocol}
        named |= {"transactional": True} if self.transactional else {}
        return {
            **named,
            "left_out": self.left_out,
            "below": [list(one) for one in self.below],
            "steps": steps,
        }


def read_plan(found: Mapping[str, Any]) -> Plan:
    """A plan from a file. Errors: KeyError, TypeError, ValueError for what is none."""
    steps = tuple(map(_read_step, found["steps"]))
    below = tuple((api, version) for api, version in found.get("below", ()))
    rest = found["longest"], found.get("left_out", 0), below, found.get("protocol", CLASSIC)
    return Plan(found["seed"], found["number"], steps, *rest, found.get("transactional", False))


def _step_object(step: Step) -> dict[str, Any]:
    if not isinstance(step, Ask):
        return {"step": type(step).__name__, **asdict(step)}
    rest = {
        name: getattr(step, name)
        for name in ("number", "client", "line", "version", "told_by", "generation", "shares", "waits")
    }
    if isinstance(step.request, Planned):
        return {"step": "Ask", **rest, "planned": step.request.as_json()}
    body = json.loads(json.dumps(body_of(step.request, step.version), default=_hex))
    return {"step": "Ask", "api": step.api, **rest, "body": body}


def _hex(value: object) -> dict[str, str]:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    raise TypeError(f"{value!r} is nothing that a plan has")


_SIMPLE: Mapping[str, Callable[..., Step]] = {one.__name__: one for one in (Break, Silence, Begin, End)}
"""Steps whose fields are as a file has them."""


def _read_step(found: Mapping[str, Any]) -> Step:
    fields = {name: value for name, value in found.items() if name not in ("step", "api", "body")}
    if found["step"] == "Restart":
        return Restart(fields["how"], tuple((name, value) for name, value in fields.get("settings", ())))
    if (kind := _SIMPLE.get(found["step"])) is not None:
        return kind(**fields)
    if "planned" in fields:
        return Ask(request=read_planned(fields.pop("planned")), **fields)
    body = _unhexed(found["body"])
    return Ask(request=request_of(found["api"], found["version"], body), **fields)


def _unhexed(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"hex"}:
            return bytes.fromhex(value["hex"])
        return {name: _unhexed(each) for name, each in value.items()}
    return [_unhexed(each) for each in value] if isinstance(value, list) else value


def filled(ask: Ask, answers: Mapping[int, ReplyMessage], group_id: str) -> Request:
    """The request with what the answers so far tell in place of references."""
    if isinstance(ask.request, Planned):
        request: Request = ask.request.filled(answers, group_id)
        return request
    told = answers.get(-1 if ask.told_by is None else ask.told_by)
    known = told if isinstance(told, JoinGroupReply) and told.generation_id >= 0 else None
    body = body_of(ask.request, ask.version)
    if known is not None:
        for name in ("generation_id", "generation_id_or_member_epoch"):
            if name in body:
                moved = body[name] + known.generation_id - ask.generation
                body[name] = max(-(2**31), min(moved, 2**31 - 1))
        if ask.shares:
            body["assignments"] = shares_of(known)
    return carried(request_of(ask.api, ask.version, _resolved(body, answers, group_id)), ask.version)


def shares_of(told: JoinGroupReply) -> list[dict[str, Any]]:
    """What a leader gives to each member that it was told of; nothing by whoever does not lead."""
    ids = [each.member_id for each in told.members]
    return [
        {"member_id": each, "assignment": f"share {n} of {len(ids)}".encode()} for n, each in enumerate(ids)
    ]


def _resolved(value: Any, answers: Mapping[int, ReplyMessage], group_id: str) -> Any:
    if isinstance(value, dict):
        return {name: _resolved(each, answers, group_id) for name, each in value.items()}
    if isinstance(value, list):
        return [_resolved(each, answers, group_id) for each in value]
    if not isinstance(value, str):
        return value
    if value == GROUP:
        return group_id
    reference = _TOLD.fullmatch(value)
    if reference is None:
        return value
    told = answers.get(int(reference[1]))
    known = told.member_id if isinstance(told, JoinGroupReply) else ""
    return known or f"nobody-{reference[1]}"
