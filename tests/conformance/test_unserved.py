"""A target without the consumer protocol loses the cases about it at once, and no others."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from harness.own_server import own_server
from rota.conformance import unserved
from rota.conformance.catalogue import all_cases, select
from rota.conformance.rules import CONSUMER
from rota.conformance.unserved import ASKED, NOT_SERVED, without_unserved
from rota.wire import api

CASES = select(all_cases(), [f"{CONSUMER}.epochs", "heartbeat.alive", "wire"])
OWN = [case.id for case in CASES if case.part == CONSUMER]
OTHERS = [case.id for case in CASES if case.part != CONSUMER]


def test_a_target_that_serves_it_loses_none() -> None:
    assert without_unserved(CASES, own_server("rota"), 5.0) == (CASES, [])


@pytest.mark.parametrize("lacking", [(ASKED[0],), (ASKED[1],), ASKED])
def test_without_a_request_of_it_its_cases_are_left_out(
    lacking: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {api(name).key for name in lacking}
    sound = unserved.advertised

    def without(*given: object) -> Mapping[int, tuple[int, int]]:
        return {key: span for key, span in sound(*given).items() if key not in keys}  # type: ignore[arg-type]

    monkeypatch.setattr(unserved, "advertised", without)
    played, left_out = without_unserved(CASES, own_server("rota"), 5.0)
    assert [case.id for case in played] == OTHERS != []
    assert [one.case.id for one in left_out] == OWN != []
    assert {one.why for one in left_out} == {f"{NOT_SERVED}{' and '.join(lacking)} (KIP-848)"}


def test_where_there_is_none_of_them_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unserved, "advertised", None)
    classic = [case for case in CASES if case.part != CONSUMER]
    assert without_unserved(classic, own_server("rota"), 5.0) == (classic, [])
