"""Requests of plans: what depends on answers is said by words, and filled in while a plan is played.

A member's epoch is the one that it was told last, plus what the plan wants to be wrong with it; what it owns,
what it was assigned last. Ids that a server hands out are references, as in plans of the classic protocol.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, ClassVar
from uuid import UUID

from rota.generate.consumer.wire import body_of
from rota.linearise.consumer.requests import (
    ChangeTopic,
    Commit,
    DeleteOffsets,
    Fetch,
    Offset,
)
from rota.spec.consumer import messages as spec
from rota.spec.consumer.state import Partition

GROUP = "the group"
"""Stands for the group's id, which each time a plan is played is another; also within names of topics."""

FOREIGN = Partition(str(UUID(int=7)), 0)
"""A partition of a topic that never was."""

LEAST, GREATEST = -(2**31), 2**31 - 1

_TOLD = re.compile(r"<(\d+)>")

Answers = Mapping[int, Any]


@dataclass(frozen=True)
class Told:
    """What a member has been told until now: its epoch, what it was assigned last and before that."""

    epoch: int = 0
    assigned: frozenset[Partition] = frozenset()
    before: frozenset[Partition] = frozenset()
    member_id: str = ""


def told(by: Iterable[int], answers: Answers) -> Told:
    """What the answers to these requests, heartbeats of one member, have told."""
    found = Told()
    for number in by:
        answer = answers.get(number)
        if not isinstance(answer, spec.ConsumerGroupHeartbeatReply) or answer.error_code.value:
            continue
        found = replace(found, epoch=answer.member_epoch, member_id=answer.member_id or "")
        if answer.assignment is not None:
            found = replace(found, assigned=answer.assignment, before=found.assigned)
    return found


class Planned:
    """What all requests of plans have in common: they are filled in, and kept in files."""

    api: ClassVar[str]
    kinds: ClassVar[dict[str, type[Any]]] = {}

    def __init_subclass__(cls) -> None:
        Planned.kinds[cls.__name__] = cls

    def filled(self, answers: Answers, group_id: str) -> Any:
        """The request itself."""
        raise NotImplementedError

    def as_json(self) -> dict[str, Any]:
        """As a file has it."""
        return {"kind": type(self).__name__, **asdict(self)}  # type: ignore[call-overload]

    def body(self, version: int, answers: Answers | None = None) -> dict[str, Any]:
        """The body; as if nothing had been answered, where no answers are given."""
        return body_of(self.filled({} if answers is None else answers, GROUP), version)


def read_planned(found: Mapping[str, Any]) -> Any:
    """A request from a file. Errors: KeyError, TypeError."""
    kind = Planned.kinds[found["kind"]]
    known = {one.name for one in fields(kind)}
    return kind(**{name: _read(value) for name, value in found.items() if name in known})


def _read(value: Any) -> Any:
    return tuple(map(_read, value)) if isinstance(value, list) else value


@dataclass(frozen=True)
class Beat(Planned):
    """ConsumerGroupHeartbeat.

    by: requests of the same member before it, whose answers count; since: "told", the epoch that it was told
    last, "zero" or "at" for `ahead` alone; ahead: added to it; owns: a word of `_OWNED`, None for nothing
    said.
    """

    member_id: str
    by: tuple[int, ...] = ()
    since: str = "told"
    ahead: int = 0
    timeout_ms: int = spec.UNCHANGED
    names: tuple[str, ...] | None = None
    owns: str | None = None
    assignor: str | None = None
    instance_id: str | None = None
    rack_id: str | None = None
    regex: str | None = None
    group_id: str = GROUP
    api: ClassVar[str] = "ConsumerGroupHeartbeat"

    def filled(self, answers: Answers, group_id: str) -> spec.ConsumerGroupHeartbeatRequest:
        """As of `Planned`."""
        now = told(self.by, answers)
        epoch = max(LEAST, min((now.epoch if self.since == "told" else 0) + self.ahead, GREATEST))
        return spec.ConsumerGroupHeartbeatRequest(
            resolved(self.group_id, answers, group_id),
            resolved(self.member_id, answers, group_id),
            epoch,
            self.instance_id,
            self.rack_id,
            self.timeout_ms,
            None if self.names is None else frozenset(resolved(one, answers, group_id) for one in self.names),
            self.regex,
            self.assignor,
            _owned(self.owns, now),
        )


def _owned(word: str | None, now: Told) -> frozenset[Partition] | None:
    assigned = now.assigned
    return {
        "assigned": assigned,
        "held": assigned | now.before,
        "part": frozenset(sorted(assigned)[:-1]),
        "one": frozenset(sorted(assigned)[:1]),
        "nothing": frozenset(),
        "foreign": assigned | {FOREIGN},
    }.get(word or "")


OWNED = ("assigned", "held", "part", "one", "nothing", "foreign")
"""What a member may say that it owns."""


@dataclass(frozen=True)
class Committing(Planned):
    """OffsetCommit of a member, as of `Beat`. offsets: topic, index, offset and metadata of each."""

    member_id: str
    offsets: tuple[tuple[str, int, int, str], ...]
    by: tuple[int, ...] = ()
    since: str = "told"
    ahead: int = 0
    api: ClassVar[str] = "OffsetCommit"

    def filled(self, answers: Answers, group_id: str) -> Commit:
        """As of `Planned`."""
        epoch = _epoch(self.by, self.since, self.ahead, answers)
        some = (
            Offset(resolved(name, answers, group_id), index, offset, text)
            for name, index, offset, text in self.offsets
        )
        return Commit(group_id, resolved(self.member_id, answers, group_id), epoch, tuple(some))


@dataclass(frozen=True)
class Fetching(Planned):
    """OffsetFetch, of a member as of `Beat` or of nobody, which is at epoch -1."""

    partitions: tuple[tuple[str, int], ...]
    member_id: str | None = None
    by: tuple[int, ...] = ()
    since: str = "zero"
    ahead: int = -1
    api: ClassVar[str] = "OffsetFetch"

    def filled(self, answers: Answers, group_id: str) -> Fetch:
        """As of `Planned`."""
        some = tuple((resolved(name, answers, group_id), index) for name, index in self.partitions)
        epoch = _epoch(self.by, self.since, self.ahead, answers)
        name = None if self.member_id is None else resolved(self.member_id, answers, group_id)
        return Fetch(group_id, some, name, epoch)


@dataclass(frozen=True)
class Deleting(Planned):
    """OffsetDelete."""

    topic: str
    indexes: tuple[int, ...]
    api: ClassVar[str] = "OffsetDelete"

    def filled(self, answers: Answers, group_id: str) -> DeleteOffsets:
        """As of `Planned`."""
        return DeleteOffsets(group_id, resolved(self.topic, answers, group_id), self.indexes)


@dataclass(frozen=True)
class Leaving(Planned):
    """LeaveGroup of an administrator."""

    member_ids: tuple[str, ...]
    api: ClassVar[str] = "LeaveGroup"

    def filled(self, answers: Answers, group_id: str) -> spec.LeaveGroupRequest:
        """As of `Planned`."""
        return spec.LeaveGroupRequest(
            group_id, tuple(resolved(one, answers, group_id) for one in self.member_ids)
        )


@dataclass(frozen=True)
class Looking(Planned):
    """A request that only names the group: its API says which."""

    said: str
    group_id: str = GROUP

    @property
    def api(self) -> str:  # type: ignore[override]
        """The name of the API."""
        return self.said

    def filled(self, answers: Answers, group_id: str) -> Any:
        """As of `Planned`."""
        group_id = resolved(self.group_id, answers, group_id)
        if self.said in CLASSIC:
            return spec.ClassicRequest(group_id, self.said)
        return _LOOKS[self.said](group_id)


@dataclass(frozen=True)
class Listing(Planned):
    """ListGroups."""

    states: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    api: ClassVar[str] = "ListGroups"

    def filled(self, answers: Answers, group_id: str) -> spec.ListGroupsRequest:
        """As of `Planned`."""
        return spec.ListGroupsRequest(group_id, frozenset(self.states), frozenset(self.types))


@dataclass(frozen=True)
class Changing(Planned):
    """A topic is changed. topic_id: as a plan calls it, until the target tells."""

    how: str
    name: str
    partitions: int = 0
    topic_id: str = ""

    @property
    def api(self) -> str:  # type: ignore[override]
        """The name of the API."""
        return self.how

    def filled(self, answers: Answers, group_id: str) -> ChangeTopic:
        """As of `Planned`."""
        return ChangeTopic(self.how, resolved(self.name, answers, group_id), self.partitions, self.topic_id)


CLASSIC = ("JoinGroup", "SyncGroup", "Heartbeat")
"""Requests of the classic protocol, which such a group refuses."""

_LOOKS = {
    "ConsumerGroupDescribe": spec.ConsumerGroupDescribeRequest,
    "DescribeGroups": spec.DescribeGroupsRequest,
    "DeleteGroups": spec.DeleteGroupsRequest,
}


def _epoch(by: tuple[int, ...], since: str, ahead: int, answers: Answers) -> int:
    now = told(by, answers).epoch if since == "told" else 0
    return max(LEAST, min(now + ahead, GREATEST))


def resolved(text: str, answers: Answers, group_id: str) -> str:
    """A text with the group's id, or the member id that an answer tells."""
    reference = _TOLD.fullmatch(text)
    if reference is None:
        return text.replace(GROUP, group_id)
    return told((int(reference[1]),), answers).member_id or f"nobody-{reference[1]}"
