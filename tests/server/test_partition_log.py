"""A partition's log against a list of records, producers against all that they sent; and bugs planted."""

import tracemalloc

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from rota.server import partition, producers
from rota.server.errors import Refusal
from rota.server.partition import OVERHEAD, Appended, Memory, PartitionLog, TimedOffset
from rota.server.topic_configs import LogConfig
from rota.wire.records import Record, decode_batch, encode_batch, split

RETENTION = 3_000
CAPACITY = 5_000
QUICK = settings(
    max_examples=200,
    stateful_step_count=30,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)

FOUND = settings(QUICK, phases=[Phase.generate], report_multiple_bugs=False)
"""For planted bugs: the same examples, of which the first that shows one will do."""


def made(timestamps, size=0, compression="none", **producer):
    """A batch as a producer sends it, with its header."""
    records = [Record(index, each, None, bytes(size)) for index, each in enumerate(timestamps)]
    return next(split(encode_batch(records, compression=compression, **producer)))


def result(steps):
    """What a generator returns in the end."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


class AgainstAList(RuleBasedStateMachine):
    """The model: every batch that was appended, as (its size, its [(offset, timestamp)]), oldest first."""

    def __init__(self):
        super().__init__()
        self.memory = Memory(CAPACITY)
        self.log = PartitionLog(LogConfig(retention_bytes=RETENTION), self.memory, name="log")
        self.other = PartitionLog(LogConfig(), self.memory, name="other")
        self.batches = []
        self.begin = self.end = 0
        self.others = []

    def make_room(self, room):
        """The oldest batches of whoever has most go until there is room."""
        while self.held() + sum(self.others) + room > CAPACITY:
            of_log = (self.held(), "log") > (sum(self.others), "other")
            freed, wanted = 0, max(self.held() + sum(self.others) + room - CAPACITY, CAPACITY // 64)
            while freed < wanted and (self.batches if of_log else self.others):
                freed += self.forget() if of_log else self.others.pop(0)

    def forget(self):
        """The log's oldest batch goes; gives what it took."""
        room, offsets = self.batches.pop(0)
        self.begin = offsets[-1][0] + 1
        return room

    def held(self):
        return sum(room for room, _ in self.batches)

    @rule(
        timestamps=st.lists(st.integers(0, 50), min_size=1, max_size=4),
        size=st.integers(0, 700),
        compression=st.sampled_from(["none", "gzip"]),
    )
    def append(self, timestamps, size, compression):
        info, data = made(timestamps, size, compression)
        room = len(data) + OVERHEAD
        while self.batches and self.held() + room > RETENTION:
            self.forget()
        self.make_room(room)
        assert self.log.append(info, data) == Appended(self.end)
        offsets = [(self.end + index, each) for index, each in enumerate(timestamps)]
        self.batches.append((room, offsets))
        self.end += len(timestamps)

    @rule(size=st.integers(0, 1000))
    def fill_another(self, size):
        info, data = made([0], size)
        room = len(data) + OVERHEAD
        self.make_room(room)
        self.other.append(info, data)
        self.others.append(room)

    @rule(back=st.integers(-2, 12), max_bytes=st.integers(-1, 2_000), at_least_one=st.booleans())
    def read(self, back, max_bytes, at_least_one):
        offset = self.end - back
        if not self.start() <= offset <= self.end:
            with pytest.raises(Refusal) as refused:
                self.log.read(offset, max_bytes, at_least_one)
            assert refused.value.error_code == 1
            return
        expected, used, more = [], 0, False
        for room, offsets in self.batches:
            if offsets[-1][0] < offset:
                continue
            used += room - OVERHEAD
            if used > max_bytes and not (at_least_one and not expected):
                more = True
                break
            expected.append(offsets)
        found, left_over, _ = self.log.read(offset, max_bytes, at_least_one)
        records = [[(each.offset, each.timestamp) for each in decode_batch(data)] for data in found]
        assert (records, left_over) == (expected, more)

    @rule(timestamp=st.integers(0, 51))
    def offset_of_time(self, timestamp):
        later = [each for each in self.records() if each[1] >= timestamp]
        found = result(self.log.offset_of_time(timestamp))
        assert found == TimedOffset(*(later[0] if later else (-1, -1)))

    @rule()
    def offset_of_max_timestamp(self):
        newest = max(self.records(), key=lambda each: each[1], default=(-1, -1))
        assert result(self.log.offset_of_max_timestamp()) == TimedOffset(*newest)

    @invariant()
    def ends_and_bytes(self):
        assert (self.log.log_start, self.log.log_end) == (self.start(), self.end)
        assert self.log.held == sum(room for room, _ in self.batches)
        assert self.memory.held == self.log.held + sum(self.others) <= CAPACITY
        assert self.other.held == sum(self.others)

    def records(self):
        return [each for _, offsets in self.batches for each in offsets]

    def start(self):
        return self.begin


def test_log_against_a_list():
    run_state_machine_as_test(AgainstAList, settings=QUICK)


def _newest_of_last_batch(self):
    return (yield from partition._first_since(self._batches[-1], 0)) if self._batches else TimedOffset()


def _by_batch(self, timestamp):
    yield
    found = (each for each in self._batches if each.max_timestamp >= timestamp)
    return next((TimedOffset(each.base_offset, each.max_timestamp) for each in found), TimedOffset())


@pytest.mark.parametrize(
    ("target", "name", "bug"),
    [
        (partition, "bisect_left", lambda last, offset: max(0, partition_bisect(last, offset) - 1)),
        (partition, "rebased", lambda data, base, epoch: data),
        (PartitionLog, "offset_of_time", _by_batch),
        (PartitionLog, "offset_of_max_timestamp", _newest_of_last_batch),
        (PartitionLog, "_make_room", lambda self, size: None),
        (PartitionLog, "_count", lambda self, size: setattr(self, "held", self.held + size)),
    ],
)
def test_the_list_finds_planted_bugs(target, name, bug, monkeypatch):
    monkeypatch.setattr(target, name, bug)
    with pytest.raises((AssertionError, Refusal, pytest.fail.Exception)):
        run_state_machine_as_test(AgainstAList, settings=FOUND)


partition_bisect = partition.bisect_left


def test_a_batch_of_another_compression_is_taken_as_a_whole():
    log = PartitionLog(LogConfig(), Memory(CAPACITY))
    for codec in (2, 3, 4):
        _, data = made([codec, codec + 5])
        coded = data[:22] + bytes([codec]) + data[23:]
        coded = coded[:17] + crc(coded[21:]) + coded[21:]
        log.append(*next(split(coded)))
    assert result(log.offset_of_time(3)) == TimedOffset(0, 7)
    assert result(log.offset_of_time(8)) == TimedOffset(2, 8)
    assert result(log.offset_of_max_timestamp()) == TimedOffset(4, 9)


def crc(data):
    import google_crc32c

    return google_crc32c.value(data).to_bytes(4, "big")


def test_a_batch_larger_than_the_retention_stays_until_the_next():
    log = PartitionLog(LogConfig(retention_bytes=100), Memory(10_000))
    log.append(*made([1], 500))
    assert (log.log_start, log.log_end) == (0, 1)
    assert len(log.read(0, 10, True)[0]) == 1
    log.append(*made([1], 500))
    assert (log.log_start, log.log_end) == (1, 2)


def test_negative_retention_is_none():
    log = PartitionLog(LogConfig(), Memory(10_000_000))
    for _ in range(1000):
        log.append(*made([1], 10))
    assert (log.log_start, log.log_end) == (0, 1000)


@st.composite
def sends(draw):
    """What producers try: (producer, epoch, sequence, count).

    Mostly they go on where they were, or send one of their last batches again.
    """
    steps = []
    place, sent = {}, {0: [], 1: []}
    for _ in range(draw(st.integers(1, 25))):
        producer = draw(st.sampled_from([0, 0, 0, 1]))
        back = draw(st.sampled_from([0, 0, 0, 0, 1, 2, 5, 6]))
        if 0 < back <= len(sent[producer]):
            steps.append(sent[producer][-back])
            continue
        epoch, following = place.get(producer, (0, draw(st.sampled_from([0, 7, 2**31 - 2]))))
        epoch = max(0, epoch + draw(st.sampled_from([*[0] * 14, 1, -1])))
        odd = producer in place and epoch != place[producer][0]
        if odd or draw(st.integers(0, 9)) == 9:
            odd = True
            following = draw(st.sampled_from([0, 0, (following - 1) % 2**31, (following - 3) % 2**31]))
        count = draw(st.integers(1, 3))
        steps.append((producer, epoch, following, count))
        if not odd or draw(st.booleans()):
            place[producer] = (epoch, (following + count) % 2**31)
            sent[producer].append(steps[-1])
    return steps


def against_all_that_was_sent(steps):
    """The model keeps every batch that was taken, by producer, and counts sequence numbers one by one."""
    log = PartitionLog(LogConfig(), Memory(10**7))
    taken, end = {}, 0
    for producer, epoch, sequence, count in steps:
        numbers = [(sequence + index) % 2**31 for index in range(count)]
        mine = taken.setdefault(producer, [])
        current = [each for each in mine if each[0] == mine[-1][0]]
        again = [offset for e, sent, offset in current[-5:] if (e, sent) == (epoch, numbers)]
        info, data = made([9] * count, producer_id=producer, producer_epoch=epoch, base_sequence=sequence)
        if again:
            assert log.append(info, data) == Appended(again[0], 9)
        elif mine and epoch < mine[-1][0]:
            assert refusal(log, info, data) == 47
        elif mine and sequence != ((mine[-1][1][-1] + 1) % 2**31 if epoch == mine[-1][0] else 0):
            assert refusal(log, info, data) == 45
        else:
            assert log.append(info, data) == Appended(end)
            mine.append((epoch, numbers, end))
            end += count
        assert log.log_end == end


def refusal(log, info, data):
    with pytest.raises(Refusal) as refused:
        log.append(info, data)
    return refused.value.error_code


def producers_against_all_that_was_sent(how):
    how(given(sends())(against_all_that_was_sent))()


def test_producers_against_all_that_was_sent():
    producers_against_all_that_was_sent(QUICK)


@pytest.mark.parametrize(
    ("target", "name", "bug"),
    [
        (producers, "REMEMBERED", 4),
        (producers, "REMEMBERED", 6),
        (producers, "_SEQUENCES", 2**32),
        (producers, "_last_sequence", lambda info: info.base_sequence),
        (producers.Producers, "duplicate", lambda self, info: None),
        (producers.Producers, "check", lambda self, info: None),
    ],
)
def test_producers_with_planted_bugs(target, name, bug, monkeypatch):
    monkeypatch.setattr(target, name, bug)
    with pytest.raises((AssertionError, Refusal, pytest.fail.Exception)):
        producers_against_all_that_was_sent(FOUND)


@pytest.mark.parametrize("size", [0, 1000])
def test_what_is_counted_is_no_less_than_what_it_takes(size):
    """The dearest batches: small ones, each of a producer of its own."""
    tracemalloc.start()
    log = PartitionLog(LogConfig(), Memory(10**9))
    before = tracemalloc.get_traced_memory()[0]
    for producer in range(2000):
        log.append(*made([1], size, producer_id=producer + 1000, producer_epoch=0, base_sequence=0))
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 0.5 * log.held < taken < log.held


def test_a_producer_is_forgotten_with_its_last_batch():
    log = PartitionLog(LogConfig(retention_bytes=2 * (OVERHEAD + 100)), Memory(10**6))
    for sequence in range(3):
        log.append(*made([1], producer_id=1, producer_epoch=0, base_sequence=sequence))
    assert refusal(log, *made([1], producer_id=1, producer_epoch=0, base_sequence=9)) == 45
    for producer in range(2, 40):
        log.append(*made([1], producer_id=producer, producer_epoch=0, base_sequence=0))
    assert len(log.producers) == 2
    log.append(*made([1], producer_id=1, producer_epoch=0, base_sequence=9))
