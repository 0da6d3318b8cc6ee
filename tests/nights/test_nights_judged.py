"""How the nights are judged, and that there are enough of them; the nights themselves take minutes."""

from __future__ import annotations

import pytest

from nights.judged import Judged, Verdict, table, verdict
from nights.night import SESSION_MS, lasting
from nights.scenes import LONG_SESSION_MS, NIGHTS
from rota.explain.causes import CAUSES, UNKNOWN

CRASH = next(one for one in NIGHTS if one.name == "crash")


def test_there_are_twenty_nights_and_their_causes_are_known() -> None:
    names = [one.name for one in NIGHTS]
    assert len(names) == len({*names}) >= 20
    known = {cause.name for cause in (*CAUSES, UNKNOWN)}
    assert {name for one in NIGHTS for name in one.cause | one.less} <= known
    assert all(not one.cause & one.less for one in NIGHTS)


@pytest.mark.parametrize("session_ms", [SESSION_MS, LONG_SESSION_MS])
def test_librdkafka_takes_the_settings_of_every_night(session_ms: int) -> None:
    consumer = pytest.importorskip("confluent_kafka").Consumer
    consumer({"group.id": "orders", **lasting(session_ms)}).close()


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        (("lost-client",), Verdict.RIGHT),
        (("lost-client", "gone"), Verdict.RIGHT),
        (("gone",), Verdict.NOT_VISIBLE),
        ((), Verdict.NOT_VISIBLE),
        (("slow-poll",), Verdict.WRONG),
        (("lost-client", "slow-poll"), Verdict.WRONG),
        (("lost-client", "came"), Verdict.WRONG),
        (("gone", "coordinator-moved"), Verdict.WRONG),
    ],
)
def test_what_an_account_is_worth(named: tuple[str, ...], expected: Verdict) -> None:
    assert verdict(CRASH, named) is expected


def test_the_table() -> None:
    found = [
        Judged("crash", "log", Verdict.RIGHT, ("lost-client",)),
        Judged("crash", "offsets", Verdict.NOT_VISIBLE, ("gone",)),
        Judged("slow-poll", "log", Verdict.WRONG, ("lost-client", "left")),
    ]
    assert table(found).splitlines() == [
        "night      log                      offsets",
        "crash      right                    not visible: gone",
        "slow-poll  WRONG: lost-client+left  -",
        "1 right, 1 not visible, 1 WRONG, 0 FAILED",
    ]
