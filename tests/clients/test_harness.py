"""The harness itself: what it tells of libraries, and when it plays a case again."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import pytest

from rota.clients import performances
from rota.clients.performances import Case, Performances, Played


def test_a_librdkafka_that_is_closed_is_outside_of_its_group():
    """Its last callbacks may come when it has left: they are told all the same."""
    pytest.importorskip("confluent_kafka")
    from rota.clients.librdkafka_process import Librdkafka

    settings = {
        "address": "127.0.0.1:9",  # nobody is there
        "group_id": "g",
        "client_id": "c",
        "assignor": "range",
        "session_timeout_ms": 6000,
        "heartbeat_interval_ms": 1000,
        "auto_offset_reset": "earliest",
        "more": {"log_level": 0},
    }
    consumer = Librdkafka(settings)
    consumer.close()
    assert consumer.membership() == (-1, "")


@dataclass(frozen=True)
class Failing(Case):
    """One that fails so many times, and counts how often it is played."""

    times: int = 0
    again: bool = True
    plays: ClassVar[list[Case]] = []

    @property
    def second_chance(self):
        return self.again

    def play(self, address, producers):
        self.plays.append(self)
        history = SimpleNamespace(events=list)
        failure = AssertionError("a race") if self.plays.count(self) <= self.times else None
        return Played(SimpleNamespace(history=history, group_id="g"), failure)


@pytest.mark.parametrize(
    ("times", "again", "plays", "fails"),
    [(0, True, 1, False), (1, True, 2, False), (2, True, 2, True), (1, False, 1, True)],
)
def test_what_fails_on_a_server_as_it_is_is_played_once_more(times, again, plays, fails, monkeypatch):
    monkeypatch.setattr(performances, "Producers", lambda address: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(Failing, "plays", [])
    case = Failing("steps", "librdkafka", times=times, again=again)
    playing = Performances("nowhere", [case])
    if plays == 2:
        with pytest.warns(UserWarning, match="steps-librdkafka-range is played again: a race"):
            played = playing.of(case)
    else:
        played = playing.of(case)
    playing.close()
    assert (len(Failing.plays), played.failure is not None) == (plays, fails)
