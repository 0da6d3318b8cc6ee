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
