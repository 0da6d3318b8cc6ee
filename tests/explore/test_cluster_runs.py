"""Sorted runs against Python's sets: nothing lost, nothing twice, in order; wrong files are noticed."""

import re
import resource
import signal
from itertools import pairwise

import numpy as np
import pytest

from harness.thinned import but
from rota.explore.cache.digest import digest_of
from rota.explore.compiled import state_set
from rota.explore.spark.worker import visited
from rota.explore.spark.worker.visited import (
    Absorber,
    Box,
    RunDamaged,
    RunFile,
    RunMissing,
    distinct,
    merge,
    open_run,
    to_merge,
    verify,
)
from rota.kernel.encoding import GOLDEN

MEGABYTE = 1 << 20


def some(count, words, values, seed):
    """So many states, many of them more than once where `values` are few; zeros and ones among them."""
    random = np.random.default_rng(seed)
    keys = random.integers(0, values, (count, words)).astype(np.uint64)
    if count > 2:
        keys[random.integers(count)] = 0
        keys[random.integers(count)] = np.uint64(2**64 - 1)
    return keys


def as_set(*blocks):
    return {tuple(state) for block in blocks for state in block.tolist()}


def with_one_code(count, seed):
    """So many different states of two words that have the same code."""
    random = np.random.default_rng(seed)
    first = random.permutation(2**16)[:count].astype(np.uint64) << np.uint64(40)
    spread = first * np.uint64(GOLDEN)
    keys = np.stack([first, spread ^ (spread >> np.uint64(32)) ^ np.uint64(seed)], axis=1)
    assert len(set(state_set.codes(keys, (0, 0)).tolist())) == 1
    return keys


def in_order(keys):
    """Whether states are in order of (code, words), each once."""
    codes = state_set.codes(np.array(keys), (0,) * keys.shape[1]).tolist()
    ordered = [(code, *state) for code, state in zip(codes, keys.tolist(), strict=True)]
    return all(one < other for one, other in pairwise(ordered))


def written(folder, name, *blocks, known=(), memory=MEGABYTE):
    """A run of what is new in blocks, opened."""
    absorber = Absorber(folder, blocks[0].shape[1], known, memory)
    for block in blocks:
        absorber.add(block)
    run = absorber.finish(name)
    verify(folder, run)
    return open_run(folder, run)


def holds(run, states):
    """Whether a run is exactly this set, in order, and its index finds every state in its bucket."""
    assert in_order(run.keys)
    assert as_set(run.keys) == states
    assert run.file.states == len(run.keys) == len(states)
    if states:
        bits = (len(run.starts) - 1).bit_length() - 1
        buckets = state_set.codes(np.array(run.keys), (0,) * run.file.words) >> np.uint64(64 - bits)
        assert run.starts[:, 0].tolist() == np.searchsorted(buckets, np.arange(2**bits + 1)).tolist()
    return True


@pytest.mark.parametrize("words", but(("1", "3"), [1, 2, 3]))
def test_new_states_are_those_of_no_known_run(tmp_path, words):
    blocks = [some(3000, words, 40 if words > 1 else 3000, seed) for seed in range(8)]
    blocks.append(some(200, words, 2**63, 9).repeat(30, axis=0))
    blocks += [some(0, words, 9, 0), some(1, words, 9, 0)]
    first = written(tmp_path, "first", *blocks[:3])
    second = written(tmp_path, "second", *blocks[2:5], known=[first])
    third = written(tmp_path, "third", *blocks, known=[second, first], memory=1 << 14)  # pieces put aside
    assert holds(first, as_set(*blocks[:3]))
    assert holds(second, as_set(*blocks[2:5]) - as_set(*blocks[:3]))
    assert holds(third, as_set(*blocks) - as_set(*blocks[:5]))
    together = merge(tmp_path, "together", [third, first, second])
    verify(tmp_path, together)
    assert holds(open_run(tmp_path, together), as_set(*blocks))
    assert len(list(tmp_path.iterdir())) == 2 * 4


def test_memory_for_a_few_states_only(tmp_path, monkeypatch):
    monkeypatch.setattr(visited, "BLOCK", 1)  # so every state is a block by itself, with its repeats
    blocks = [some(60, 2, 8, seed) for seed in range(5)]
    known = written(tmp_path, "known", blocks[0], memory=1)
    assert holds(known, as_set(blocks[0]))
    new = written(tmp_path, "new", *blocks, known=[known], memory=128)
    assert holds(new, as_set(*blocks) - as_set(blocks[0]))
    assert holds(open_run(tmp_path, merge(tmp_path, "all", [new, known])), as_set(*blocks))


def test_no_code_decides_anything(tmp_path, monkeypatch):
    keys = np.concatenate([with_one_code(40, seed) for seed in range(50)])
    np.random.default_rng(1).shuffle(keys)
    known = written(tmp_path, "known", keys[:1000], keys[500:1000])
    assert holds(known, as_set(keys[:1000]))
    new = written(tmp_path, "new", keys, keys[900:], known=[known])
    assert holds(new, as_set(keys[1000:]))
    monkeypatch.setattr(visited, "BLOCK", 10 * 16)  # less than the states with one code
    assert holds(written(tmp_path, "aside", keys, keys, known=[known], memory=1 << 12), as_set(keys[1000:]))
    assert holds(open_run(tmp_path, merge(tmp_path, "all", [new, known])), as_set(keys))
    box = Box(2, 1 << 12)
    assert as_set(*filter(len, [box.add(keys), box.add(keys), box.flush()])) == as_set(keys)


def test_the_memory_given_is_kept(tmp_path):
    absorber = Absorber(tmp_path, 2, (), 1 << 16)
    held = absorber._held.nbytes + absorber._spare.nbytes
    for seed in range(20):
        absorber.add(some(5000, 2, 2**60, seed))
    assert held <= 1 << 16
    assert len(absorber._aside) > 20
    assert list(tmp_path.iterdir()) == []  # what is aside has no name that could outlive the process
    assert absorber.finish("run").states == 20 * 5000 - 20 * 2 + 2


def test_one_state_many_times(tmp_path):
    """A bucket that is far larger than the others, with a few other states in it."""
    hot = np.concatenate([some(2, 2, 2**60, 1).repeat(60_000, axis=0), some(5000, 2, 2**60, 2)])
    np.random.default_rng(3).shuffle(hot)
    assert holds(written(tmp_path, "hot", hot, memory=8 * MEGABYTE), as_set(hot))
    few = some(5000, 1, 2, 1)
    assert as_set(distinct(few)) == as_set(few)
    crowded = np.concatenate([with_one_code(3000, 1), with_one_code(3000, 1)])
    np.random.default_rng(3).shuffle(crowded)
    assert holds(written(tmp_path, "crowded", crowded), as_set(crowded))


@pytest.mark.parametrize("states", [0, 1, 7, 100_000])
def test_what_a_run_has_is_found_and_nothing_else(tmp_path, states):
    unordered = some(states, 2, 2**62, 5)
    before = unordered.copy()
    keys = distinct(unordered)
    assert (unordered == before).all()
    other = some(states + 10, 2, 2**62, 6)
    run = written(tmp_path, "run", keys)
    assert holds(run, as_set(keys))
    assert written(tmp_path, "none", keys, known=[run]).file == RunFile("none", 0, 2, digest_of())
    assert holds(written(tmp_path, "other", other, keys, known=[run]), as_set(other) - as_set(keys))
    assert (tmp_path / "run").exists() == (states > 0)
    assert not (tmp_path / "none").exists()


def test_nothing_at_all(tmp_path):
    empty = written(tmp_path, "empty", some(0, 3, 9, 0))
    assert merge(tmp_path, "both", [empty, empty]) == RunFile("both", 0, 3, digest_of())
    assert len(distinct(some(0, 3, 9, 0))) == 0
    assert Box(3, 1000).flush().shape == (0, 3)
    assert to_merge([]) == () == to_merge([empty.file])
    assert list(tmp_path.iterdir()) == []


def test_two_tries_at_once_and_one_killed_before(tmp_path):
    keys = some(4000, 2, 2**60, 1)
    (tmp_path / "level.of-a-killed-try.part").write_bytes(b"half of")
    one, other = Absorber(tmp_path, 2, (), 1 << 14), Absorber(tmp_path, 2, (), MEGABYTE)
    for begin in range(0, 4000, 500):
        one.add(keys[begin : begin + 500])
        other.add(keys[3500 - begin : 4000 - begin])
    with visited._Writer(tmp_path, "level", 2) as never_committed:
        never_committed.append(keys)
        first = one.finish("level")
    opened = open_run(tmp_path, first)
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert other.finish("level") == first
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files
    assert holds(opened, as_set(keys))
    assert sorted(path.name for path in files) == ["level", "level.index", "level.of-a-killed-try.part"]


def flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


DAMAGES = {
    "cut off": (lambda path: path.write_bytes(path.read_bytes()[:-8]), RunDamaged),
    "too long": (lambda path: path.write_bytes(path.read_bytes() + b"12345678"), RunDamaged),
    "empty": (lambda path: path.write_bytes(b""), RunDamaged),
    "one bit": (flipped, RunDamaged),
    "gone": (lambda path: path.unlink(), RunMissing),
}


@pytest.mark.parametrize("name", ["run", "run.index"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_noticed(tmp_path, name, damage):
    run = written(tmp_path, "run", some(1000, 2, 2**60, 1)).file
    damaged, error = DAMAGES[damage]
    damaged(tmp_path / name)
    with pytest.raises(error, match=re.escape(f"{tmp_path / name} ")):
        verify(tmp_path, run)
    if damage != "one bit":
        with pytest.raises(error, match=re.escape(f"{tmp_path / name} ")):
            open_run(tmp_path, run)


def test_the_index_of_another_run_is_noticed(tmp_path):
    one = written(tmp_path, "one", some(1000, 1, 2**60, 1)).file
    written(tmp_path, "two", some(1001, 1, 2**60, 2))
    (tmp_path / "two.index").replace(tmp_path / "one.index")
    with pytest.raises(RunDamaged, match=r"one[.]index is not the index of 1000 states"):
        open_run(tmp_path, one)


def test_a_full_disk_leaves_nothing_behind(tmp_path):
    """Files may not grow beyond a limit, which the system tells as it tells a full disk."""
    run = written(tmp_path, "small", some(10, 2, 2**60, 1))
    aside = Absorber(tmp_path, 2, (), 16 * MEGABYTE)
    absorber = Absorber(tmp_path, 2, [run], 16 * MEGABYTE)
    absorber.add(some(100_000, 2, 2**60, 2))
    large = written(tmp_path, "large", some(100_000, 2, 2**60, 3))
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MEGABYTE, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            absorber.finish("level")
        with pytest.raises(OSError, match="File too large"):
            merge(tmp_path, "merged", [run, large])
        with pytest.raises(OSError, match="File too large"):
            aside.add(some(10 * MEGABYTE // 16, 2, 2**60, 4))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files


def test_few_runs_and_few_rewrites():
    random = np.random.default_rng(1)
    for widest in (1, 1000, 10**6):
        live, rewritten, total = [], 0, 0
        for level in range(200):
            states = int(random.integers(widest)) if level % 2 else widest
            total += states
            live.append(RunFile(f"level-{level}", states, 2, ""))
            if merged := to_merge(live):
                assert len(merged) > 1
                rewritten += sum(run.states for run in merged)
                live = [run for run in live if run not in merged]
                live.append(RunFile(f"merged-{level}", sum(run.states for run in merged), 2, ""))
                assert to_merge(live) == ()
            assert len([run for run in live if run.states]) <= total.bit_length()
        assert sum(run.states for run in live) == total
        assert rewritten <= total * 9  # log2 of the levels, and one


@pytest.mark.parametrize("words", but(("1", "3"), [1, 2, 3]))
def test_a_box_loses_nothing(words):
    blocks = [some(700, words, 12 if words > 1 else 900, seed) for seed in range(12)]
    for memory in (1, 1 << 12, MEGABYTE):
        box = Box(words, memory)
        sent = []
        for block in blocks:
            before = block.copy()
            full = box.add(block)
            assert (block == before).all()
            block[:] = 7  # the caller uses it again
            sent += [] if full is None else [full]
            block[:] = before
        sent.append(box.flush())
        assert as_set(*sent) == as_set(*blocks)
        assert all(map(in_order, sent))
        assert len(box.flush()) == 0
    assert len(sent) == 1
