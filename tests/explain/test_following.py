"""A log that grows, is cut or is rotated: read on, incidents told as they end, stuck groups told at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.nights import START, Night, member
from rota.explain.diagnosis import Diagnosis
from rota.explain.following import PAUSE, Following
from rota.explain.worst import Explainer, Wanted
from rota.history import line_of
from rota.reading import ReadingError, ReadOptions, read

A, B = member("worker", 1), member("worker", 2)


def lines(night: Night) -> str:
    """A night as lines."""
    return "".join(f"{line_of(event)}\n" for event in night.events)


def follow(path: Path, steps: list[Callable[[], object]]) -> list[str]:
    """The groups of what is read of a file; at its end the next step is done, then the reading ends."""
    left = iter(steps)

    def idle() -> bool:
        step = next(left, None)
        if step is not None:
            step()
        return step is None

    return [event.group for event in read([str(path)], options=ReadOptions(follow=True, idle=idle))]


def one_line(group: str) -> str:
    return lines(Night(group).prepare(0, 1, ""))


def test_what_is_written_later_is_read(tmp_path: Path) -> None:
    path = tmp_path / "night.jsonl"
    path.write_text(one_line("first"))

    def append(text: str) -> None:
        with path.open("a") as file:
            file.write(text)

    half, rest = one_line("second")[:50], one_line("second")[50:]
    assert follow(path, [lambda: append(half), lambda: append(rest)]) == ["first", "second"]


def test_a_file_that_is_cut_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "night.jsonl"
    path.write_text(one_line("first") * 3)
    assert follow(path, [lambda: path.write_text(one_line("second"))]) == ["first"] * 3 + ["second"]


def test_a_file_that_is_rotated_goes_on_in_the_new_one(tmp_path: Path) -> None:
    path, old = tmp_path / "night.jsonl", tmp_path / "night.jsonl.1"
    path.write_text(one_line("first"))

    def rotate() -> None:
        path.rename(old)
        with old.open("a") as file:
            file.write(one_line("last")[:-1])  # whoever wrote it never ended the line
        path.write_text(one_line("new"))

    assert follow(path, [lambda: None, rotate]) == ["first", "last", "new"]


def test_a_file_that_is_away_for_a_moment_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "night.jsonl"
    path.write_text(one_line("first"))
    steps = [path.unlink, lambda: None, lambda: path.write_text(one_line("second"))]
    assert follow(path, steps) == ["first", "second"]


def test_what_is_packed_does_not_grow(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "night.jsonl.gz"
    path.write_bytes(gzip.compress(one_line("first").encode()))
    with pytest.raises(ReadingError, match="packed"):
        follow(path, [])


class Time:
    """A clock that goes on when somebody sleeps."""

    now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def told() -> tuple[Explainer, Time, list[str], list[Diagnosis]]:
    """An explainer that is followed, its clock, what is said and the incidents that were heard."""
    heard: list[Diagnosis] = []
    return Explainer(Wanted(), 10, heard.append), Time(), [], heard


def test_an_incident_is_told_when_nothing_more_comes(
    told: tuple[Explainer, Time, list[str], list[Diagnosis]],
) -> None:
    explainer, clock, said, heard = told
    following = Following(explainer, 200, said.append, lambda: clock.now, clock.sleep)
    for event in Night().fail(0, A, 1, 1).events:
        explainer.take(event)
    while not following.idle():
        assert (heard == []) == (clock.now < 90.3)
    assert [one.cause.name for one in heard] == ["lost-client"]
    assert clock.now == pytest.approx(200, abs=2 * PAUSE)
    assert said == []


def test_a_group_that_is_stuck_is_told_once(told: tuple[Explainer, Time, list[str], list[Diagnosis]]) -> None:
    explainer, clock, said, _ = told
    following = Following(explainer, 100, said.append, lambda: clock.now, clock.sleep)
    for event in Night().prepare(0, 1, f"removing member {A} on heartbeat expiration.").events:
        explainer.take(event)
    while not following.idle():
        assert (said == []) == (clock.now < 30)
    (words,) = said
    assert "orders has no assignment for 30 s: the session of worker-00000001… ran out" in words
    assert "whom it waits for is not visible in this source" in words


def test_time_starts_where_the_log_is(told: tuple[Explainer, Time, list[str], list[Diagnosis]]) -> None:
    explainer, clock, said, _ = told
    following = Following(explainer, 10, said.append, lambda: clock.now, clock.sleep)
    for event in (
        Night().prepare(0, 1, "").say(40, Night().prepare(0, 1, "").events[0].kind, group="b").events
    ):
        explainer.take(event)
    while not following.idle():
        pass
    assert ["orders" in words for words in said] == [True]
    assert START
