"""Compaction against a dict: of each key the last value stays, where it was; tombstones, lags, segments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.server import compaction
from rota.server.compaction import compact
from rota.server.partition import OVERHEAD, Memory, PartitionLog, TimedOffset
from rota.server.topic_configs import LogConfig
from rota.wire.records import Record, decode_batch, encode_batch, split

POLICY = {"is_compacted": True, "is_deleted": False, "min_cleanable_dirty_ratio": 0.0, "segment_ms": 1}


def result(steps):
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


class Stage:
    """A log with a clock that is put forward by hand; each batch is newer than the one before."""

    def __init__(self, **config):
        self.now = 1_000
        self.memory = Memory(10**7)
        self.log = PartitionLog(LogConfig(**POLICY | config), self.memory, lambda: self.now, "t-0")
        self.sent = []

    def append(self, *pairs, compression="none", **header):
        self.now += 10
        records = [Record(index, self.now, key, value) for index, (key, value) in enumerate(pairs)]
        base = self.log.log_end
        self.log.append(*next(split(encode_batch(records, compression=compression, **header))))
        self.sent += [(base + index, key, value) for index, (key, value) in enumerate(pairs)]

    def compact(self, after=0):
        self.now += after
        for _ in compact(self.log):
            pass

    def records(self):
        batches = self.log.read(self.log.log_start, 10**9, True).batches
        return [(each.offset, each.key, each.value) for data in batches for each in decode_batch(data)]

    def held(self):
        batches = self.log.read(self.log.log_start, 10**9, True).batches
        return sum(len(data) + OVERHEAD for data in batches)


KEYS = st.sampled_from([b"a", b"b", b"k" * 40])
BATCHES = st.lists(
    st.tuples(
        st.lists(st.tuples(KEYS, st.sampled_from([b"1", b"2", None])), min_size=1, max_size=4),
        st.sampled_from(["none", "gzip"]),
        st.booleans(),
    ),
    min_size=2,
    max_size=8,
)


def against_a_dict(batches):
    """What is in the log after compaction here and there, if tombstones stay: each key's last record of those
    in older segments, and all of the newest one."""
    stage = Stage()
    done = 0
    for pairs, compression, and_compact in batches:
        stage.append(*pairs, compression=compression)
        if and_compact:
            stage.compact()
            done = stage.log.active_start
    last = {key: offset for offset, key, _ in stage.sent if offset < done}
    expected = [each for each in stage.sent if each[0] >= done or last[each[1]] == each[0]]
    assert stage.records() == expected
    assert stage.log.held == stage.memory.held == stage.held()
    assert stage.log.log_end == len(stage.sent)


@given(BATCHES)
def test_against_a_dict(batches):
    against_a_dict(batches)


@pytest.mark.parametrize(
    ("name", "bug"),
    [
        ("_digest", lambda key: key[:1]),
        ("_cleanable_end", lambda log, now: log.log_end),
        ("_stays", lambda place, info, latest, batch, now: place.offset == 0),
        ("_look_through", lambda dirty, latest: (yield) or 10**6),
    ],
)
def test_the_dict_finds_planted_bugs(name, bug, monkeypatch):
    monkeypatch.setattr(compaction, name, bug)
    several = [([(b"a", b"1"), (b"b", b"1")], "none", False), ([(b"a", b"2"), (b"bb", b"3")], "gzip", False)]
    with pytest.raises((AssertionError, KeyError)):
        against_a_dict([*several, ([(b"b", b"2")], "none", True), ([(b"a", b"4")], "none", True)])


def test_tombstones_go_when_their_time_is_over():
    stage = Stage(delete_retention_ms=1_000)
    stage.append((b"a", b"1"))
    stage.append((b"a", None), (b"b", b"1"))
    stage.append((b"c", b"1"))
    stage.compact()
    assert stage.records() == [(1, b"a", None), (2, b"b", b"1"), (3, b"c", b"1")]
    stage.compact(after=1_000)
    assert len(stage.records()) == 3
    stage.compact(after=1)
    assert stage.records() == [(2, b"b", b"1"), (3, b"c", b"1")]
    assert [stage.log.read(offset, 10**6, True).batches != () for offset in (0, 1, 2, 3, 4)] == [True] * 4 + [
        False
    ]


def test_what_is_young_or_hardly_dirty_is_left():
    young = Stage(min_compaction_lag_ms=1_000)
    for _ in range(3):
        young.append((b"a", b"1"))
    young.compact()
    assert len(young.records()) == 3
    young.compact(after=2_000)
    assert [offset for offset, *_ in young.records()] == [1, 2]
    clean = Stage(min_cleanable_dirty_ratio=0.5)
    clean.append(*((b"%d" % index, bytes(100)) for index in range(50)))
    clean.append((b"x", b"1"))
    clean.compact()
    clean.append((b"x", b"2"))
    clean.append((b"x", b"3"))
    clean.compact()
    assert len(clean.records()) == 53, "a fiftieth of it is dirty"
    clean.log.config = LogConfig(**POLICY)
    clean.compact()
    assert [value for _, key, value in clean.records() if key == b"x"] == [b"2", b"3"]


def test_a_producers_last_batch_stays_empty_so_that_it_is_known():
    stage = Stage()
    stage.append((b"a", b"1"), producer_id=7, producer_epoch=0, base_sequence=0)
    stage.append((b"a", b"2"))
    stage.append((b"z", b"2"))
    stage.compact()
    assert [offset for offset, *_ in stage.records()] == [1, 2]
    info, _ = next(split(stage.log.read(0, 1, True).batches[0]))
    assert (info.base_offset, info.last_offset, info.count, info.producer_id) == (0, 0, 0, 7)
    again = encode_batch([Record(0, 1, b"a", b"1")], producer_id=7, producer_epoch=0, base_sequence=0)
    assert stage.log.append(*next(split(again))).base_offset == 0


def test_times_are_found_between_gaps():
    stage = Stage()
    stage.append((b"a", b"1"), (b"b", b"1"), (b"a", b"2"))
    stage.append((b"a", b"3"))
    stage.append((b"z", b"1"))
    stage.compact()
    assert [offset for offset, *_ in stage.records()] == [1, 3, 4]
    assert result(stage.log.offset_of_time(1_000)) == TimedOffset(1, 1_010)


def test_transactions_are_left_as_they_are_and_hide_nothing():
    stage = Stage()
    stage.append((b"a", b"1"))
    stage.append((b"a", b"2"), is_transactional=True, producer_id=1, producer_epoch=0, base_sequence=0)
    stage.append((b"z", b"2"))
    stage.compact()
    assert len(stage.records()) == 3


def test_damaged_records_of_another_compression_stay():
    stage = Stage()
    stage.append((b"a", b"1"))
    _info, data = next(split(encode_batch([Record(0, 2_000, b"a", b"2")])))
    data = data[:22] + bytes([4]) + data[23:]
    from google_crc32c import value

    data = data[:17] + value(data[21:]).to_bytes(4, "big") + data[21:]
    stage.log.append(*next(split(data)))
    stage.append((b"z", b"2"))
    stage.compact()
    batches = stage.log.read(0, 10**6, True).batches
    assert len(batches) == 3


def test_it_takes_short_steps():
    """Of 20,000 records no step looks at more than a few hundred."""
    stage = Stage()
    stage.append(*((b"%d" % (index % 5_000), b"v") for index in range(20_000)))
    stage.append((b"z", b"1"))
    assert sum(1 for _ in compact(stage.log)) > 100
    assert len(stage.records()) == 5_001


def test_more_keys_than_are_looked_for_at_once_take_several_times(monkeypatch):
    monkeypatch.setattr(compaction, "MAX_KEYS", 3)
    stage = Stage()
    for number in range(12):
        stage.append((b"%d" % (number % 6), b"v"))
    stage.append((b"z", b"1"))
    for _ in range(6):
        stage.compact()
    assert [offset for offset, *_ in stage.records()] == [6, 7, 8, 9, 10, 11, 12]
