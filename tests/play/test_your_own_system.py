"""docs/your-own-system.md: its system is played, and says why not."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from rota.kernel import SystemRef
from rota.play import Session
from rota.play.desk import Desk
from rota.play.saving import saved
from rota.trace import Origin, reaching, replay

PAGE = Path(__file__).parents[2] / "docs" / "your-own-system.md"
PYTHON = re.findall(
    r"^```python file=two_phase\.py\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
)


@pytest.fixture
def two_phase(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The page's Python."""
    module = ModuleType("two_phase_of_the_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec("\n".join(PYTHON), vars(module))
    return module


def refused(session: Session) -> dict[str, str]:
    return {one.label: one.said for offer in session.offers for one in offer.refused}


def test_a_system_that_says_nothing_is_played(two_phase: ModuleType) -> None:
    session = Session.of(two_phase.system())
    assert refused(session) == {}
    prepared = session.jumped('rm/1 == "prepared"')
    assert refused(prepared) == {"rm/1 asks": "refused by tm"}
    shown = Desk(prepared, Origin(), {}).ask({"do": "graph", "around": "start"})
    assert shown["said"].startswith("all 99 states")
    assert len(saved(prepared, Origin()).steps) == 1


def test_a_machine_that_talks_is_quoted(two_phase: ModuleType) -> None:
    system = replace(two_phase.talking(), ref=SystemRef("two_phase:talking"))
    session = Session.of(system)
    assert refused(session) == {"tm commits": "tm: 3 have not prepared yet"}
    prepared = session.jumped('rm/1 == "prepared"')
    assert refused(prepared) == {
        "tm commits": "tm: 2 have not prepared yet",
        "rm/1 asks": "tm: nothing is decided that rm/1 could be told",
    }
    trace = saved(prepared, Origin())
    assert trace.origin.reach is not None
    assert replay(trace, reaching(system, trace.origin.reach)).states == prepared.states
