"""Fetch sessions are bounded, in number and in what they know, and give their room back."""

import pytest

from rota.server import fetch_sessions
from rota.server.errors import Refusal
from rota.server.fetch_sessions import EVICTED_AFTER, Sessions


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def topics(*indexes, topic="t", offset=0):
    items = [{"partition": each, "fetch_offset": offset, "partition_max_bytes": 1} for each in indexes]
    return [{"topic": topic, "partitions": items}]


def result(steps):
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


class Stage:
    def __init__(self, slots=3):
        self.clock = Clock()
        self.sessions = Sessions(slots, self.clock, lambda topic_id: None)

    def open(self, session_id=0, epoch=0, asked=(), forgotten=(), version=12):
        body = {"session_id": session_id, "session_epoch": epoch, "topics": list(asked)}
        return result(self.sessions.open(body | {"forgotten_topics_data": list(forgotten)}, version))

    def refused(self, *arguments):
        body = {"session_id": arguments[0], "session_epoch": arguments[1], "topics": []}
        with pytest.raises(Refusal) as refused:
            for _ in self.sessions.open(body, 12):
                pass
        return refused.value.error_code


def test_there_are_so_many_and_old_ones_give_way():
    stage = Stage(slots=2)
    first, second = (stage.open(asked=topics(0)).session for _ in range(2))
    assert stage.open(asked=topics(0)).session is None
    stage.clock.now = EVICTED_AFTER - 1
    stage.open(first.session_id, 1)
    assert stage.open(asked=topics(0)).session is None
    stage.clock.now = EVICTED_AFTER
    third = stage.open(asked=topics(0)).session
    assert third is not None
    assert len(stage.sessions) == 2
    assert stage.refused(second.session_id, 1) == 70
    assert stage.open(first.session_id, 2).session is first


def test_no_sessions_at_all():
    opened = Stage(slots=0).open(asked=topics(0))
    assert (opened.session, len(opened.topics), opened.is_whole) == (None, 1, True)


def test_what_all_know_together_is_bounded(monkeypatch):
    monkeypatch.setattr(fetch_sessions, "MAX_PARTITIONS", 5)
    stage = Stage()
    first = stage.open(asked=topics(0, 1, 2)).session
    assert stage.open(asked=topics(0, 1, 2)).session is None, "there is room for two"
    second = stage.open(asked=topics(0, 1)).session
    stage.open(first.session_id, 1, forgotten=[{"topic": "t", "partitions": [0, 9]}])
    stage.open(second.session_id, 1, topics(2))
    body = {"session_id": first.session_id, "session_epoch": 2, "topics": topics(7)}
    with pytest.raises(Refusal) as refused:
        result(stage.sessions.open(body, 12))
    assert refused.value.error_code == 70
    assert stage.open(asked=topics(0, 1)).session is not None, "what it knew is given back"


def test_a_session_that_has_forgotten_everything_is_over():
    stage = Stage()
    session = stage.open(asked=topics(0)).session
    opened = stage.open(session.session_id, 1, forgotten=[{"topic": "t", "partitions": [0]}])
    assert (opened.session, opened.topics) == (None, [])
    assert stage.refused(session.session_id, 2) == 70


def test_epochs_begin_again_at_one():
    stage = Stage()
    session = stage.open(asked=topics(0)).session
    session.epoch = 2**31 - 1
    stage.open(session.session_id, 2**31 - 1)
    assert session.epoch == 1


def test_who_was_told_something_comes_last():
    stage = Stage()
    session = stage.open(asked=topics(0, 1)).session
    answers = [
        {"partition_index": index, "high_watermark": 0, "log_start_offset": 0, "records": ()}
        for index in (0, 1)
    ]
    result(session.told([{"topic": "t", "partitions": answers}]))
    news = [answers[0] | {"records": (b"x",)}, answers[1]]
    assert [
        each["partition_index"]
        for each in result(session.told([{"topic": "t", "partitions": news}]))[0]["partitions"]
    ] == [0]
    assert [index for _, index in session.partitions] == [1, 0]


def test_more_sessions_than_slots_are_not_kept(user, start):
    client = user(start(max_incremental_fetch_session_cache_slots=5))
    client.create()
    asked = [{"topic": "t", "partitions": [{"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1}]}]
    ids = [
        client.call("Fetch", 12, max_wait_ms=0, min_bytes=0, session_id=0, session_epoch=0, topics=asked)[
            "session_id"
        ]
        for _ in range(8)
    ]
    assert [bool(each) for each in ids] == [True] * 5 + [False] * 3
    assert len(set(ids[:5])) == 5


def test_planted_bug_room_is_not_given_back(monkeypatch):
    monkeypatch.setattr(Sessions, "_close", lambda self, session_id: self._sessions.pop(session_id, None))
    with pytest.raises((AssertionError, AttributeError)):
        test_what_all_know_together_is_bounded(monkeypatch)
