"""Bugs that are planted by exchanging something of rota's own server, and what has to see each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

Original = Callable[..., Any]


@dataclass(frozen=True)
class Patch:
    """What is wrong, and where it is planted. plant: makes of what is there what stands there instead."""

    what: str
    owner: Any
    attribute: str
    plant: Callable[[Original], Any]

    def put_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is there until the test is over."""
        monkeypatch.setattr(self.owner, self.attribute, self.plant(getattr(self.owner, self.attribute)))


@dataclass(frozen=True)
class Bug(Patch):
    """A bug with the case of the rule that it breaks, and a case that passes all the same."""

    case: str
    bystander: str = "heartbeat.alive.stable"

    def __str__(self) -> str:
        return f"{self.what}: {self.case}"
