"""Runs of a log on a disk whose power may go off at any call, and what must be true after each of them.

A run is a list of lives of a process: what it does, the call at which it ends, and what of the unsynced
survives. `shortest_first` lists all small runs, short ones first, so that the first which violates
something is a shortest one; `random_run` makes longer ones and `shrunk` makes one of them as short as it
gets.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from errno import EIO, ENOSPC, EROFS, errorcode
from itertools import product

from harness.crashing_disk import CrashingDisk, PowerCut, Survival
from rota.log import DamagedLog, Fsync, LogError, LogOptions, PartitionFiles
from rota.wire.records import Record, RecordsError, decode_batch, encode_batch

OPTIONS = LogOptions(segment_bytes=700, max_batch_bytes=600)
FOLDER = "/data/topic-0"
SOON, LATE = 1_000_000, 1_000_000_000_000

DOES = {
    "one": "one batch, acknowledged",
    "three": "three batches in one turn, acknowledged",
    "roll": "a new segment",
    "compact": "a compaction",
    "late": "a compaction, tombstones may go",
    "reopen": "an orderly stop and start",
    "full": "the disk is full in a moment",
    "freed": "there is room again",
    "between": "a compaction, with a batch acknowledged between its pieces",
}
"""What a process may do, and what may happen to it."""

ORDERLY = tuple(DOES)[:6]


ALL = Survival()


@dataclass(frozen=True, slots=True)
class Life:
    """One process: it opens the log, does this, and at its call `at` (None: after all) it ends.

    `by` is "power" or "kill"; `survival` is what a power failure leaves. `fails` are calls that fail, and
    how.
    """

    does: tuple[str, ...]
    at: int | None = None
    by: str = "power"
    survival: Survival = ALL
    fails: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """Lives, one after the other on one disk, under one policy."""

    lives: tuple[Life, ...]
    fsync: Fsync = Fsync.ALWAYS

    def __str__(self) -> str:
        lines = [f"fsync {self.fsync.value}"]
        for number, life in enumerate(self.lives, 1):
            end = f"{life.by} at call {life.at}" if life.at is not None else f"{life.by} after all"
            left = f", survives: {life.survival.kind} {life.survival.number}" if life.by == "power" else ""
            fails = "".join(f", call {call} fails with {errorcode[code]}" for call, code in life.fails)
            does = ", ".join(life.does) or "nothing"
            lines.append(f"  life {number}: open, {does}{fails}; {end}{left}")
        return "\n".join(lines)

    @property
    def length(self) -> int:
        """What a shortest run has the least of."""
        return sum(1 + len(life.does) for life in self.lives)


class Violation(AssertionError):
    """What was promised is not so; the text has the run and the calls of its last life."""


@dataclass(slots=True)
class Sent:
    """What the users of the log know: what they sent, and how much of it they were told is safe.

    `entries` is key and value by offset; `doubtful` follows them and may be there or not. `safe` is the end
    of what survives a power failure, `written` of what survives a kill. From `compacted_to` on every record
    is to be there, before it the last one of each key.
    """

    entries: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    doubtful: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    safe: int = 0
    written: int = 0
    compacted_to: int = 0
    serial: int = 0

    def batches(self, count: int) -> tuple[list[tuple[bytes, bytes | None]], list[bytes]]:
        """New records and the batches that they are in."""
        entries: list[tuple[bytes, bytes | None]] = []
        batches = []
        for _ in range(count):
            records = []
            for delta in range(1 + self.serial % 2):
                number = self.serial + delta
                value = b"%d:" % number + b"v" * (number * 97 % 230) if number % 5 != 3 else None
                records.append(Record(delta, 1000 + number, b"k%d" % (number % 3), value))
            self.serial += len(records)
            entries += [(record.key or b"", record.value) for record in records]
            batches.append(encode_batch(records))
        return entries, batches


Wrap = Callable[[CrashingDisk], CrashingDisk]


def play(run: Run, wrap: Wrap = lambda disk: disk) -> int:
    """Plays a run, and what is left of it after a last start; `wrap` plants a mistake. How many calls.

    Errors: Violation.
    """
    disk, sent = CrashingDisk(), Sent()
    calls = 0
    for life in (*run.lives, Life((), by="kill"), Life(())):
        disk.cut_at, disk.fail = life.at, dict(life.fails)
        try:
            _live(life, wrap(disk), sent, run.fsync)
        except PowerCut:
            pass
        except LogError:
            if not life.fails and disk.room is None:
                raise
        except (Violation, DamagedLog, RecordsError) as error:
            told = f"{error}\n{run}\n  calls of the last life: {', '.join(disk.calls)}"
            raise Violation(told) from error
        calls += len(disk.calls)
        if life.by == "power":
            disk = disk.powered_again(life.survival)
            sent.written = min(sent.written, sent.safe)
        else:
            disk = disk.killed()
    return calls


def _live(life: Life, disk: CrashingDisk, sent: Sent, fsync: Fsync) -> None:
    """One life. Errors: LogError if the log cannot be opened, PowerCut, Violation."""
    options = replace(OPTIONS, fsync=fsync)
    log = _opened(disk, sent, options)
    for what in life.does:
        if what == "full":
            disk.room = 100
        elif what == "freed":
            disk.room = None
        else:
            try:
                log = _done(what, log, disk, sent, options)
            except LogError:
                if not life.fails and disk.room is None and not log.in_doubt:
                    raise


def _done(
    what: str, log: PartitionFiles, disk: CrashingDisk, sent: Sent, options: LogOptions
) -> PartitionFiles:
    if what == "reopen":
        try:
            log.close()
            sent.safe = sent.written
        finally:
            log = _opened(disk, sent, options)
    elif what == "roll":
        log.roll()
        sent.safe = sent.written
    elif what in ("compact", "late"):
        sent.compacted_to = log.segment_bases[-1]
        log.compact(SOON if what == "compact" else LATE)
    elif what == "between":
        sent.compacted_to = log.segment_bases[-1]
        for _ in log.compacting(SOON):
            turn(log, sent, 1)
    else:
        turn(log, sent, 1 if what == "one" else 3)
    return log


def turn(log: PartitionFiles, sent: Sent, count: int) -> None:
    """Appends and acknowledges. Errors: LogError, after which nothing is acknowledged."""
    sent.doubtful, batches = sent.batches(count)
    active = log.segment_bases[-1]
    try:
        offsets = log.append_all(batches)
        if offsets[0] != len(sent.entries):
            raise Violation(f"offset {offsets[0]} was given, {len(sent.entries)} was due")
        if log.segment_bases[-1] != active:
            sent.safe = sent.written
        sent.entries += sent.doubtful
        sent.doubtful = []
        sent.written = len(sent.entries)
        if log.sync_if_due(0):
            sent.safe = sent.written
    except LogError:
        if not log.in_doubt:
            sent.doubtful = []
        raise


def _opened(disk: CrashingDisk, sent: Sent, options: LogOptions) -> PartitionFiles:
    log, recovered = PartitionFiles.open(disk, FOLDER, options)
    check(log, sent)
    if recovered.next_offset != log.next_offset:
        raise Violation(f"{recovered} tells another end than {log.next_offset}")
    # Whoever reads the log now acts on it, so it must not be lost any more.
    sent.safe = sent.written = log.next_offset
    return log


def check(log: PartitionFiles, sent: Sent) -> None:
    """Nothing acknowledged is lost, nothing appears that nobody sent, order is kept. Errors: Violation."""
    end = log.next_offset
    possible = sent.entries + sent.doubtful
    if end < sent.written:
        raise Violation(f"the log ends at {end}, but {sent.written} records were promised")
    if end > len(possible):
        raise Violation(f"the log ends at {end}, but {len(possible)} records were sent")
    sent.entries, sent.doubtful = possible[:end], []
    last = -1
    found: dict[int, tuple[bytes, bytes | None]] = {}
    for batch in log.batches():
        for record in decode_batch(batch):
            if not last < record.offset < end:
                raise Violation(f"offset {record.offset} after {last}, the log's end is {end}")
            last = record.offset
            found[last] = (record.key or b"", record.value)
            if found[last] != sent.entries[last]:
                raise Violation(f"offset {last} has {found[last]}, sent was {sent.entries[last]}")
    lost = [offset for offset in range(min(end, sent.compacted_to), end) if offset not in found]
    if lost:
        raise Violation(f"offsets {lost} are gone")
    if _last_values(found.values()) != _last_values(sent.entries):
        raise Violation("compaction lost a last value, or brought one back")


def _last_values(entries: Iterable[tuple[bytes, bytes | None]]) -> dict[bytes, bytes]:
    values: dict[bytes, bytes] = {}
    for key, value in entries:
        values.pop(key, None)
        if value is not None:
            values[key] = value
    return values


def calls_of(life: Life, wrap: Wrap = lambda disk: disk) -> int:
    """How many calls a first life makes if nothing ends it."""
    disk = wrap(CrashingDisk())
    _live(life, disk, Sent(), Fsync.ALWAYS)
    return len(disk.calls)


SURVIVALS = (
    Survival("none"),
    Survival("all"),
    *(Survival(kind, number) for number in range(6) for kind in ("keep", "lose")),
    *(Survival("seed", number) for number in range(2)),
)


def shortest_first(
    most: int, before: tuple[str, ...] = (), of: tuple[str, ...] = ORDERLY, wrap: Wrap = lambda disk: disk
) -> Iterator[Run]:
    """All runs of one life with at most so many things done, ended at each call, with each survival.

    They begin with what is done `before`, during which nothing ends.
    """
    whole = calls_of(Life(before), wrap) if before else 0
    for length in range(most + 1):
        for does in product(of, repeat=length):
            if does and not before and does[0] not in ("one", "three"):
                continue  # it would do nothing, or what opening does
            for at in range(whole, calls_of(Life(before + does), wrap) + 1):
                for survival in SURVIVALS:
                    yield Run((Life(before + does, at, "power", survival),))


def killed_first(does: tuple[str, ...]) -> Iterator[Run]:
    """A process is killed at each of its calls; the next one acknowledges a batch, then the power is cut."""
    for at in range(calls_of(Life(does)) + 1):
        for survival in SURVIVALS:
            yield Run((Life(does, at, "kill"), Life(("one",), None, "power", survival)))


def torn_first() -> Iterator[Run]:
    """The power goes off at each call; what is acknowledged after that is not put behind torn bytes."""
    does = ("one", "three", "three")
    for at in range(calls_of(Life(("one",))), calls_of(Life(does)) + 1):
        for survival in SURVIVALS:
            yield Run((Life(does, at, "power", survival), Life(("one",), None, "power", Survival("none"))))


def recovery_cut() -> Iterator[Run]:
    """The power goes off in a roll or a compaction, and again at every other call of the recovery."""
    does = ("three", "three", "roll", "compact")
    survivals = (Survival("none"), Survival("seed", 3))
    for at in range(calls_of(Life(does[:2])), calls_of(Life(does)) + 1):
        for first, second in product(survivals, survivals):
            before = Life(does, at, "power", first)
            for again in range(0, 40, 2):
                yield Run((before, Life((), again, "power", second), Life(("one",), 45, "power", first)))


def killed_then_cut() -> Iterator[Run]:
    """A process is killed in a compaction; the power goes off at each call of the recovery."""
    does = ("three", "three", "roll", "compact")
    for at in range(calls_of(Life(does[:3])), calls_of(Life(does)) + 1):
        for again in range(44):
            for survival in (Survival("none"), *(Survival("seed", number) for number in range(3))):
                yield Run((Life(does, at, "kill"), Life((), again, "power", survival)))


FAMILIES: dict[str, Callable[[], Iterator[Run]]] = {
    "anything": lambda: shortest_first(2),
    "compaction": lambda: shortest_first(1, ("three", "three", "roll")),
    "appends between": lambda: shortest_first(2, ("three", "three", "roll"), ("between", "one")),
    "full disk": lambda: shortest_first(3, ("full",), ("three", "freed")),
    "full in rewriting": lambda: shortest_first(
        2, ("three", "roll", "full", "compact"), ("compact", "freed")
    ),
    "full in listing": lambda: shortest_first(
        2, ("three", "three", "roll", "full", "compact"), ("compact", "freed")
    ),
    "torn": torn_first,
    "recovery": recovery_cut,
    "killed, recovery cut": killed_then_cut,
    "killed": lambda: killed_first(("three", "three")),
    "killed in compaction": lambda: killed_first(("three", "three", "roll", "compact")),
}
"""Small runs that are tried without leaving one out."""


def random_run(generator: random.Random, failing: bool = False) -> Run:
    """Up to four lives of up to six things each, ended anywhere; with failing calls or without."""
    lives = []
    for _ in range(generator.randint(1, 4)):
        weights = (6, 4, 1, 2, 1, 1, 2 * failing, 2 * failing, 1)
        does = tuple(generator.choices(tuple(DOES), weights, k=generator.randint(0, 6)))
        most = generator.choice((12, 40, 40 + 25 * len(does)))
        kind = generator.choice(("none", "all", "keep", "lose", "seed", "seed", "seed"))
        survival = Survival(kind, generator.randrange(1 << 16) if kind == "seed" else generator.randrange(8))
        at = generator.randrange(most) if generator.random() < 0.9 else None
        fails = tuple(
            (generator.randrange(most), generator.choice((EIO, ENOSPC, EROFS)))
            for _ in range(generator.randint(0, 2) if failing else 0)
        )
        lives.append(Life(does, at, generator.choice(("power", "power", "kill")), survival, fails))
    return Run(tuple(lives), generator.choice((Fsync.ALWAYS, Fsync.ALWAYS, Fsync.INTERVAL, Fsync.NEVER)))


def violates(run: Run, wrap: Wrap = lambda disk: disk) -> Violation | None:
    """What a run violates."""
    try:
        play(run, wrap)
    except Violation as violation:
        return violation
    return None


def shrunk(run: Run, wrap: Wrap = lambda disk: disk) -> Run:
    """The run without whatever it violates something without."""
    while True:
        for smaller in _smaller(run):
            if violates(smaller, wrap):
                run = smaller
                break
        else:
            return run


def _smaller(run: Run) -> Iterator[Run]:
    for index, life in enumerate(run.lives):
        before, after = run.lives[:index], run.lives[index + 1 :]
        if len(run.lives) > 1:
            yield replace(run, lives=before + after)
        for gone in range(len(life.does)):
            does = life.does[:gone] + life.does[gone + 1 :]
            for at in range(life.at + 1) if life.at is not None else (None,):
                yield replace(run, lives=(*before, replace(life, does=does, at=at), *after))
        for gone in range(len(life.fails)):
            fails = life.fails[:gone] + life.fails[gone + 1 :]
            yield replace(run, lives=(*before, replace(life, fails=fails), *after))
        for survival in SURVIVALS[:2]:
            if life.survival.kind not in ("none", "all") and life.by == "power":
                yield replace(run, lives=(*before, replace(life, survival=survival), *after))
