"""Sessions that tests play."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import ticket_office

from rota.kernel import System
from rota.mutants import system
from rota.play import Session
from rota.scopes import load


def world(name: str, mutant: str | None = None, scope: str = "small") -> System:
    """A configuration of the classic protocol."""
    return system(load(scope).configuration(name).settings_for("kafka-4.x"), mutant)


@pytest.fixture
def office() -> Session:
    """Three people who get tickets."""
    return Session.of(ticket_office.office(3))


@pytest.fixture
def core() -> Session:
    """Two clients join."""
    return Session.of(world("core"))


@pytest.fixture
def built() -> Callable[..., System]:
    return world
