"""Cases of the kit as tests: one each, called as the case, with marks by part, rule and level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pytest

from rota.conformance.catalogue import UnknownCase, all_cases, select
from rota.conformance.dialogues.script import Case
from rota.conformance.known_failures import KnownError
from rota.conformance.results import KnownFailure
from rota.pytest_plugin.judging import CaseDeviates, Judge, KnownDeviation, known_of

NODE = "rota"
"""What the tests are below, in their ids: rota::join.barrier…"""


class CasePlugin:
    """Adds the cases that `--rota-cases` names to what is collected. Errors: pytest.UsageError."""

    def __init__(self, config: pytest.Config) -> None:
        asked = [name for text in config.getoption("rota_cases") for name in text.split(",")]
        try:
            self._cases = select(all_cases(), [] if "all" in asked else asked)
            self._known = known_of(config)
        except (UnknownCase, KnownError) as error:
            raise pytest.UsageError(f"rota: {error}") from error
        config.addinivalue_line("markers", "rota: a case of rota's conformance kit")
        for mark in dict.fromkeys(mark for case in self._cases for mark in _marks(case)):
            config.addinivalue_line("markers", f"{mark}: what rota's cases are about")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Before tests are deselected: -k, -m and --lf apply to cases as to all others."""
        collector = Cases.from_parent(session, name=NODE, cases=self._cases, known=self._known)
        items.extend(session.genitems(collector))


def cases_of(session: pytest.Session) -> list[Case]:
    """The cases that this process is going to play: none ahead where others play some of them."""
    if hasattr(session.config, "workerinput"):
        return []
    return [item.case for item in session.items if isinstance(item, CaseItem)]


class Cases(pytest.Collector):
    """All cases that were asked for."""

    def __init__(self, cases: Sequence[Case], known: dict[str, KnownFailure], **more: Any) -> None:
        super().__init__(nodeid=NODE, **more)
        self._cases = cases
        self._known = known

    def collect(self) -> Iterator[pytest.Item]:
        """A test for each."""
        for case in self._cases:
            item = CaseItem.from_parent(self, name=case.id, callobj=partial(_judged, case))
            for mark in ("rota", *_marks(case)):
                item.add_marker(getattr(pytest.mark, mark))
            if (known := self._known.get(case.id)) is not None:
                # Of a family that is known to fail some cases may pass, however strict the session is.
                strict = {"strict": False} if known.family else {}
                item.add_marker(pytest.mark.xfail(reason=known.words, raises=KnownDeviation, **strict))
            yield item


class CaseItem(pytest.Function):
    """One case; a failure is told by its dialogue."""

    @property
    def case(self) -> Case:
        """What is played."""
        case: Case = self.obj.args[0]
        return case

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What was required and what came, with the dialogue, instead of a traceback."""
        if isinstance(excinfo.value, CaseDeviates):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[str, int | None, str]:
        """Where it stands: nowhere but in the catalogue."""
        return NODE, None, self.name


def _judged(case: Case, rota_judge: Judge) -> None:
    rota_judge.judge(case)


def _marks(case: Case) -> tuple[str, ...]:
    """Part, rule, family, level: what -m may name."""
    return tuple(dict.fromkeys((case.part, case.rule, case.family or case.rule, case.level.value)))
