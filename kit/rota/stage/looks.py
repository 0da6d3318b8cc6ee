"""What can be seen of a stage: state, members, leader, timers, records, what was left open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rota.spec import Group, GroupRecord, Profile, Timer
from rota.stage.clients import Client
from rota.stage.happenings import Happening


@dataclass(frozen=True)
class Written:
    """A group record with names in the place of member ids.

    kind: "assignment", "emptied", ...; leader: a client's name, None without one; parts: by name, what each
    member is assigned; instances: by name, of the static members.
    """

    kind: str
    generation: int
    protocol: str | None
    leader: str | None
    parts: dict[str, str]
    instances: dict[str, str]


class Looks:
    """A stage as its scripts see it."""

    profile: Profile
    now: int
    group: Group | None
    armed: dict[Timer, int]
    happenings: list[Happening]
    owners: dict[str, Client]

    @property
    def live(self) -> Group:
        """The group, which must exist."""
        assert self.group is not None, "there is no group"
        return self.group

    @property
    def state(self) -> str:
        """The group's state and generation, "absent" without a group."""
        return _state(self.group)

    @property
    def states(self) -> list[str]:
        """All states so far with their generations, without repeats in a row."""
        found: list[str] = []
        for one in self.happenings:
            state = _state(one.step.group)
            found += [state] if found[-1:] != [state] else []
        return found

    @property
    def leader(self) -> str | None:
        """The name of the client that leads."""
        return self._name(self.live.leader)

    @property
    def candidates(self) -> str:
        """The names of those who lead in one of the outcomes that the last step might have had."""
        return " ".join(sorted({self._name(step.live.leader) or "nobody" for step in self.last.allowed}))

    @property
    def tied(self) -> str:
        """The protocols that win in one of the outcomes that the last step might have had."""
        return " ".join(sorted({step.live.protocol_name or "nothing" for step in self.last.allowed}))

    @property
    def members(self) -> str:
        """The names of the clients that are members."""
        return " ".join(sorted(self.owners[member_id].name for member_id in self.live.members))

    @property
    def pending(self) -> str:
        """The names of the clients whose handed-out ids are not used."""
        return " ".join(sorted(self.owners[member_id].name for member_id in self.live.pending))

    @property
    def last(self) -> Happening:
        """The last step."""
        return self.happenings[-1]

    @property
    def written(self) -> list[Written]:
        """All group records so far, oldest first."""
        return [self.in_names(record) for one in self.happenings for record in one.step.records]

    def in_names(self, record: GroupRecord) -> Written:
        """A group record with names."""
        parts = {self.owners[one.member_id].name: one for one in record.members}
        return Written(
            record.kind.value,
            record.generation_id,
            record.protocol_name,
            self._name(record.leader),
            {name: one.assignment.decode() for name, one in parts.items()},
            {name: one.group_instance_id for name, one in parts.items() if one.group_instance_id is not None},
        )

    def left(self, kind: str, client: Client | None = None) -> int | None:
        """Milliseconds until a timer is due, None where it is not armed."""
        due = self.armed.get(Timer(kind, "" if client is None else client.member_id))
        return None if due is None else due - self.now

    def __repr__(self) -> str:
        members = [] if self.group is None else [self._owned(member_id) for member_id in self.group.members]
        timers = sorted((due, timer.name, timer.member_id) for timer, due in self.armed.items())
        armed = [f"{name} {self._owned(who)}".rstrip() + f" at {due:,}" for due, name, who in timers]
        told = f"{self.profile.name} at {self.now:,} ms: {self.state}"
        told += f"; members {' '.join(members)}" if members else "; no members"
        return f"<Stage {told}; {'due ' + ', '.join(armed) if armed else 'no timers'}>"

    def _name(self, member_id: str | None) -> str | None:
        return None if member_id is None else self.owners[member_id].name

    def _owned(self, member_id: str) -> str:
        owner: Any = self.owners.get(member_id)
        return f"{owner.name}({member_id})" if owner else member_id


def _state(group: Group | None) -> str:
    return "absent" if group is None else f"{group.state.value} {group.generation_id}"
