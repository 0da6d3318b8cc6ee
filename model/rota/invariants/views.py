"""The views that properties share."""

from __future__ import annotations

from rota.environment.broker import Coordinator
from rota.kernel import View
from rota.spec import Group


def _group(value: Coordinator) -> Group | None:
    return value.group


def _itself(value: object) -> object:
    return value


GROUP = View("coordinator", _group)
COORDINATOR = View("coordinator", _itself)
CLIENT = View("client", _itself)


def labels(group: Group) -> list[str]:
    """Who is in a group: a static member by its instance id, for its member id may change."""
    return [member.group_instance_id or member_id for member_id, member in group.members.items()]
