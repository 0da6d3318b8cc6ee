"""Fetches that wait, with any order of appends, time-outs and losses: each is answered once or dropped."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rota.server import Settings
from rota.server.endpoints import Endpoint
from rota.server.fetch import Fetches, _last, _Parked
from rota.server.settings import NODE_ID
from rota.server.topics import Topics
from rota.wire.records import Record, encode_batch, split

QUICK = settings(
    max_examples=150,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
FOUND = settings(QUICK, phases=[Phase.generate], report_multiple_bugs=False)
"""For planted bugs: the same examples, of which the first that shows one will do."""

INFO, DATA = next(split(encode_batch([Record(0, 1, None, b"x")])))


class Handle:
    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments
        self.armed = True

    def fire(self):
        self.armed = False
        self.function(*self.arguments)

    def cancel(self):
        self.armed = False


class Loop:
    def __init__(self):
        self.handles = []

    def time(self):
        return 0.0

    def call_later(self, delay, function, *arguments):
        self.handles.append(Handle(function, arguments))
        return self.handles[-1]


class AtOnce:
    """Turns of which everything that is to be done takes one."""

    def clock(self):
        return 0.0

    def go_on(self, worker):
        while worker.work(float("inf")):
            pass


class Context:
    version = 12
    is_lost = False
    endpoint = Endpoint(NODE_ID, "PLAINTEXT", "127.0.0.1", 9092)

    def __init__(self):
        self.replies = []
        self.lost = lambda: None

    def reply(self, body):
        (topic,) = body["responses"]
        self.replies.append(sum(len(each["records"]) for each in topic["partitions"]) // len(DATA))

    def when_lost(self, callback):
        self.lost = callback


def fetch_body(partitions, at_least):
    wanted = [{"partition": each, "fetch_offset": 0, "partition_max_bytes": 2**20} for each in partitions]
    body = {"max_wait_ms": 1000, "min_bytes": at_least * len(DATA), "isolation_level": 0}
    return body | {"topics": [{"topic": "t", "partitions": wanted}]}


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("fetch"), st.sets(st.integers(0, 2), min_size=1), st.integers(1, 4)),
        st.tuples(st.just("append"), st.integers(0, 2)),
        st.tuples(st.sampled_from(["lose", "expire"]), st.integers(0, 9)),
    ),
    max_size=25,
)


def against_counts(steps):
    """The model: how many batches each partition has, and which calls wait for how many."""
    loop, topics = Loop(), Topics(Settings())
    fetches = Fetches(topics, 2**30, loop, AtOnce())
    logs = topics.create("t", 3).partitions
    counts = [0, 0, 0]
    calls, waiting, expected = [], {}, {}
    for kind, *arguments in steps:
        if kind == "fetch":
            wanted, at_least = arguments
            call = Context()
            calls.append(call)
            fetches(fetch_body(sorted(wanted), at_least), call)
            waiting[call] = (wanted, at_least, len(loop.handles) - 1)
        elif kind == "append":
            logs[arguments[0]].append(INFO, DATA)
            counts[arguments[0]] += 1
            fetches.appended(logs[arguments[0]])
        elif calls:
            call = calls[arguments[0] % len(calls)]
            if kind == "lose":
                call.lost()
                waiting.pop(call, None)
            elif call in waiting:
                loop.handles[waiting[call][2]].fire()
                wanted, _, _ = waiting.pop(call)
                expected[call] = [sum(counts[each] for each in wanted)]
        for call, (wanted, at_least, _) in tuple(waiting.items()):
            if (found := sum(counts[each] for each in wanted)) >= at_least:
                expected[call] = [found]
                del waiting[call]
        assert [call.replies for call in calls] == [expected.get(call, []) for call in calls]
        assert len(fetches) == len(waiting) == sum(handle.armed for handle in loop.handles)
    fetches.end_all()
    assert [len(call.replies) for call in calls] == [call in expected or call in waiting for call in calls]
    assert not fetches._watching


def fetches_against_counts(how):
    how(given(STEPS)(against_counts))()


def test_every_fetch_is_answered_once():
    fetches_against_counts(QUICK)


def _forgetful(self, call):
    return self._parked.take(call)


def _deaf(self, log):
    pass


def _repeating(self, log):
    for call, parked in tuple(self._watching.get(log, {}).items()):
        self._later.add(_last(call, parked.fetch))


def _late(self, log, size):
    self.missing -= size
    return self.missing < 0


@pytest.mark.parametrize(
    ("kind", "name", "bug"),
    [
        (Fetches, "_take", _forgetful),
        (Fetches, "appended", _repeating),
        (Fetches, "appended", _deaf),
        (_Parked, "has_grown", _late),
    ],
)
def test_planted_bugs(kind, name, bug, monkeypatch):
    monkeypatch.setattr(kind, name, bug)
    with pytest.raises(AssertionError):
        fetches_against_counts(FOUND)
