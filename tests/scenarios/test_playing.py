"""Dialogues that are read and played: the golden ones come out as they are, edited ones tell what changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from rota.spec import JoinGroupRequest
from rota.stage.playing import play
from rota.stage.reading import DialogueError, read
from rota.stage.request_reading import NoRequest, read_bytes, read_request
from rota.stage.words import quoted

GOLDEN = Path(__file__).parent / "golden"
NAMES = sorted(path.stem for path in GOLDEN.glob("*.txt"))


def written(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_dialogue_is_played_as_it_is(name: str) -> None:
    played = play(read(written(name)))
    assert (played.text, played.omitted) == (written(name), ())


CRASH = written("07-member-crashes")
BEAT = "Heartbeat v4, A(m1), generation 1"
STORED = "assignment, generation 1, stored"


def test_an_answer_that_was_edited_comes_back_as_the_spec_has_it() -> None:
    edited = CRASH.replace("A ← r7  NONE (0)", "A ← r7  ILLEGAL_GENERATION (22)")
    assert edited != CRASH
    assert play(read(edited)).text == CRASH


def test_a_request_that_was_edited_is_answered_anew() -> None:
    edited = CRASH.replace("r13  Heartbeat v4, B(m2), generation 1", "r13  Heartbeat v4, A(m1), generation 1")
    assert edited != CRASH
    assert "B ← r13  ILLEGAL_GENERATION (22)" in play(read(edited)).text


def test_a_setting_that_was_edited_counts() -> None:
    edited = CRASH.replace("settings as Kafka has them", "group_max_size = 1")
    assert "B ← r3  GROUP_MAX_SIZE_REACHED (81)" in play(read(edited)).text


def test_another_profile_plays_the_same_inputs() -> None:
    older = play(read(CRASH), "kafka-2.1")
    assert "broker   kafka-2.1, settings as Kafka has them" in older.text
    assert older.omitted == ((14, "nothing waits for the log"),)
    assert "timer    sync" not in older.text


def test_a_timer_that_is_not_armed_is_left_out_and_named() -> None:
    edited = CRASH.replace("timer session B(m2) is due", "timer pending B(m2) is due")
    played = play(read(edited))
    assert played.omitted[0] == (line_of(edited, "timer pending"), "the timer pending is not armed for m2")
    assert "timer pending" not in played.text


def line_of(text: str, piece: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if piece in line)


@pytest.mark.parametrize(
    ("old", "new", "cause"),
    [
        (BEAT, "Heartbeet v4, A(m1), generation 1", "no request: there is no request Heartbeet; there are"),
        (BEAT, "Heartbeat v4, A(m1)", "generation and a number is due, and the line"),
        (BEAT, f"{BEAT}, x", "nothing more is due, and ', x' is there"),
        ("A → r7", "C → r7", "there is no client C; there are A, B; name it in `clients`"),
        ("timer session B(m2) is due", "timer sesion B(m2) is due", "there is no timer sesion; there are "),
        ("timer session B(m2) is due", "B crashes", "this is no input; write a request"),
        (STORED, "assignment, generation 1, lost", "the log answers `stored` or one of"),
        ("kafka-4.x, settings", "kafka-5, settings", "there is no profile 'kafka-5'; there are kafka-4.x"),
        ("settings as Kafka has them", "group_size = 3", "'group_size = 3' is no setting; write NAME"),
        ("             A ← r7  NONE (0)", "A ← r7  NONE (0)", "neither a step, which begins with its time,"),
        ("clients  A, B", "who      A, B", "the line `clients` is missing above the steps"),
    ],
)  # fmt: skip
def test_what_is_no_dialogue_names_line_and_remedy(old: str, new: str, cause: str) -> None:
    edited = CRASH.replace(old, new, 1)
    assert edited != CRASH
    with pytest.raises(DialogueError) as failed:
        play(read(edited))
    assert cause in failed.value.cause
    assert failed.value.line == (1 if new.startswith("who") else line_of(edited, new.strip()))


@pytest.mark.parametrize("text", ["", "hello\n", "{}\n"])
def test_what_has_no_step_is_told(text: str) -> None:
    with pytest.raises(DialogueError, match="no step is here; a step begins with its time"):
        read(text)


@pytest.mark.parametrize("data", [b"plain", b"", b"\x00\x01bar", b"\xff\xfe", "ä".encode(), b"a, b; c"])
def test_bytes_are_read_as_they_are_shown(data: bytes) -> None:
    assert read_bytes(quoted(data)[2:-1]) == data
    shown = quoted(data)
    request, version = read_request(
        f"JoinGroup v9, no member id, session 10,000, rebalance 60,000, 'consumer': range{shown} sticky"
    )
    assert isinstance(request, JoinGroupRequest)
    assert version == 9
    assert [(one.name, one.metadata) for one in request.protocols] == [("range", data), ("sticky", b"")]


@pytest.mark.parametrize("words", ["", "Heartbeat", "JoinGroup v9", "LeaveGroup v5, A", "OffsetFetch v10, t"])
def test_words_that_are_no_request_are_refused(words: str) -> None:
    with pytest.raises(NoRequest):
        read_request(words)
