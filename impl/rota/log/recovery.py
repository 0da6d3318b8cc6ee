"""What is done to a folder before it is a log again: unfinished work ended, torn tails cut, damage refused.

Everything here may itself be cut short, and is then done again from the beginning: each step leaves a
folder that the next recovery understands.
"""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass

from rota.log.errors import DamagedLog
from rota.log.files import OpenFile
from rota.log.folder import CLEANED, SWAP, Folder, segment_name
from rota.log.frames import (
    WINDOW,
    BadBatch,
    Scan,
    content_crc,
    frames,
    good_batch_behind,
    lost_a_sector,
    scan,
    spans,
)
from rota.log.sidecars import (
    NEW_SEGMENTS,
    SYNCED,
    Sealed,
    Segments,
    Synced,
    read_segments,
    read_synced,
    write_segments,
)

_REMEDY = (
    "Put back a copy of the file; or, to give up all from that offset on, cut the file there, delete the "
    "segments behind it and the two files rota-* of the folder."
)


@dataclass(frozen=True, slots=True)
class Cut:
    """A torn tail: `bytes_cut` from `position` on in `segment`; `offset` is given again to the next batch."""

    segment: str
    position: int
    offset: int
    bytes_cut: int
    reason: str


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a log held when it was opened, and what was done to it.

    `start_offset` is the first one that there may be a record of, `next_offset` the one that the next append
    gets. `adopted` says that the folder was another broker's, of which nothing is known but its batches.
    `finished` names what an earlier process had left half done, one line each.
    """

    start_offset: int
    next_offset: int
    cut: Cut | None = None
    adopted: bool = False
    finished: tuple[str, ...] = ()


@dataclass(slots=True)
class Active:
    """The segment that is appended to: `size` bytes with the checksum `crc`."""

    base: int
    file: OpenFile
    size: int
    crc: int
    next_offset: int


class Recovery:
    """One recovery of one folder; `segments` and `active` are what it found."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._finished: list[str] = []
        self._cut: Cut | None = None
        self.segments = Segments(0)
        self.active: Active
        self.synced: OpenFile

    def run(self) -> Recovered:
        """Makes the folder a log. Errors: DamagedLog; OSError."""
        self.folder.make()
        # A list that a killed process put in place may be seen and not be on the disk; it is acted on now.
        self.folder.sync()
        segments = read_segments(self.folder)
        adopted = segments is None and any(map(self._size, self.folder.bases()))
        self.synced = self.folder.open(SYNCED, create=True)
        try:
            self.segments = self._adopted() if segments is None else segments
            self._drop_unfinished()
            for sealed in self.segments.sealed:
                self._check_sealed(sealed)
            self._drop_strangers()
            start = min(self.folder.bases(), default=self.segments.active)
            self.active = self._open_active()
        except BaseException:
            self.synced.close()
            raise
        return Recovered(start, self.active.next_offset, self._cut, adopted, tuple(self._finished))

    def _drop_unfinished(self) -> None:
        """What was being written when it ended, and had not taken anything's place."""
        for base in self.folder.bases(CLEANED):
            self._drop(segment_name(base, CLEANED), "a compaction that had not ended")
        if self.folder.exists(NEW_SEGMENTS):
            self._drop(NEW_SEGMENTS, "a list of segments that had not taken its place")

    def _drop(self, name: str, what: str) -> None:
        self.folder.unlink(name)
        self._finished.append(f"{name} deleted: {what}")

    def _check_sealed(self, sealed: Sealed) -> None:
        """Whether a segment is what it was when it ended, to the bit; finishes a swap that was decided."""
        name, swap = segment_name(sealed.base), segment_name(sealed.base, SWAP)
        swapping = self.folder.exists(swap)
        if self._is(name, sealed):
            if swapping:
                self._drop(swap, "a compaction that had not been decided")
            return
        if swapping and self._is(swap, sealed):
            self.folder.drop_indexes(sealed.base)
            self.folder.rename(swap, name)
            self._finished.append(f"{name}: the compacted segment took its place")
            return
        raise self._damage(name, sealed)

    def _is(self, name: str, sealed: Sealed) -> bool:
        if not self.folder.exists(name):
            return False
        with closing(self.folder.open(name)) as file:
            return file.size() == sealed.size and content_crc(file, sealed.size) == sealed.crc

    def _damage(self, name: str, sealed: Sealed) -> DamagedLog:
        """Where a segment stopped being what it was."""
        path = self.folder.of(name)
        if not self.folder.exists(name):
            return DamagedLog(path, 0, sealed.base, "the file is missing", _REMEDY)
        with closing(self.folder.open(name)) as file:
            size = file.size()
            found = scan(file, Scan(0, sealed.base, 0), min(size, sealed.size), gaps=True)
        wrong = found.wrong or f"{size} bytes that are not the {sealed.size} which were written"
        return DamagedLog(path, found.position, found.next_offset, wrong, _REMEDY)

    def _drop_strangers(self) -> None:
        """Segments that the list does not have: compacted away, or begun and not yet used."""
        known = {self.segments.active, *(sealed.base for sealed in self.segments.sealed)}
        for base in self.folder.bases():
            if base in known:
                continue
            name = segment_name(base)
            if base > self.segments.active and self._size(base):
                wrong = "a segment that is not in the list of segments, from another broker perhaps"
                remedy = "Delete the two files rota-* of the folder if its segments are what you want."
                raise DamagedLog(self.folder.of(name), 0, base, wrong, remedy)
            self.folder.drop_indexes(base)
            self._drop(name, "a segment that had been compacted away or not been begun")
        for base in self.folder.bases(SWAP):
            self._drop(segment_name(base, SWAP), "a compaction that had not been decided")

    def _size(self, base: int) -> int:
        with closing(self.folder.open(segment_name(base))) as file:
            return file.size()

    def _open_active(self) -> Active:
        """Opens the active segment, cuts its torn tail, and sees to it that the rest is on the disk."""
        base = self.segments.active
        name = segment_name(base)
        if not self.folder.exists(name):
            raise DamagedLog(self.folder.of(name), 0, base, "the active segment is missing", _REMEDY)
        file = self.folder.open(name)
        try:
            known = self._synced_part(name, file)
            found = self._tail(name, file, known)
            _write_again(file, known.position, found.position)
            file.sync()
            self.folder.sync()
        except BaseException:
            file.close()
            raise
        return Active(base, file, found.position, found.crc, found.next_offset)

    def _synced_part(self, name: str, file: OpenFile) -> Scan:
        """What is known of the active segment. Errors: DamagedLog if it is not so any more."""
        noted = read_synced(self.synced)
        if noted is None and self.synced.size() and any(self.synced.read_at(0, self.synced.size())):
            self._finished.append(f"{SYNCED} cannot be read: nothing is known of how far {name} was synced")
        if noted is None or noted.base != self.segments.active:
            return Scan(0, self.segments.active, 0)
        size = file.size()
        if size < noted.position or content_crc(file, noted.position) != noted.crc:
            found = scan(file, Scan(0, noted.base, 0), min(size, noted.position), gaps=False)
            wrong = (
                found.wrong or f"{size} bytes, of which {noted.position} were synced, are not what they were"
            )
            raise DamagedLog(self.folder.of(name), found.position, found.next_offset, wrong, _REMEDY)
        return Scan(noted.position, noted.next_offset, noted.crc)

    def _tail(self, name: str, file: OpenFile, known: Scan) -> Scan:
        """What follows the part that is known to be synced, after what is torn has been cut."""
        size = file.size()
        found = scan(file, known, size, gaps=False)
        if found.wrong:
            self._judge(name, file, found, torn_within=True)
            self._cut_off(name, file, found)
        return found

    def _cut_off(self, name: str, file: OpenFile, found: Scan) -> None:
        """What is cut; it is on the disk when `file` has been synced."""
        self._cut = Cut(name, found.position, found.next_offset, file.size() - found.position, found.wrong)
        file.truncate(found.position)

    def _judge(self, name: str, file: OpenFile, found: Scan, torn_within: bool) -> None:
        """Whether bytes that are no batch are a torn tail. Errors: DamagedLog for good batches behind them.

        Power that fails between two syncs may leave a later sector of a write and lose an earlier one; with
        `torn_within` such a gap is torn too.
        """
        behind = good_batch_behind(file, found.position, file.size(), found.next_offset)
        if behind is not None and not (torn_within and lost_a_sector(file, found.position, behind)):
            wrong = f"{found.wrong}, and a good batch follows at byte {behind}"
            raise DamagedLog(self.folder.of(name), found.position, found.next_offset, wrong, _REMEDY)

    def _adopted(self) -> Segments:
        """A new folder, or one that Kafka wrote: all of its segments are ended, and a new one is begun."""
        for base in self.folder.bases(SWAP):
            self._finish_kafkas_swap(base)
        sealed: list[Sealed] = []
        bases = self.folder.bases()
        active = bases[0] if bases else 0
        for base in bases:
            name = segment_name(base)
            with closing(self.folder.open(name)) as file:
                found = self._adopted_part(name, file, max(base, active), base == bases[-1])
                file.sync()
            if found.position:
                sealed.append(Sealed(base, found.position, found.crc))
            active = found.next_offset
            self.folder.drop_indexes(base)
        self.folder.open(segment_name(active), create=True).close()
        self.folder.sync()
        segments = Segments(active, tuple(sealed))
        write_segments(self.folder, segments)
        return segments

    def _adopted_part(self, name: str, file: OpenFile, base: int, is_last: bool) -> Scan:
        found = scan(file, Scan(0, base, 0), file.size(), gaps=True)
        if found.wrong:
            if not is_last:
                raise DamagedLog(
                    self.folder.of(name), found.position, found.next_offset, found.wrong, _REMEDY
                )
            self._judge(name, file, found, torn_within=False)
            self._cut_off(name, file, found)
        return found

    def _finish_kafkas_swap(self, base: int) -> None:
        """Kafka's own rule: a swap file is whole, and what it was made of may go."""
        name, swap = segment_name(base), segment_name(base, SWAP)
        end = base
        with closing(self.folder.open(swap)) as file, suppress(BadBatch):
            for _, batch in frames(file, 0, file.size()):
                end = spans(batch)
        for other in self.folder.bases():
            if base < other < end:
                self._drop(segment_name(other), f"compacted into {swap}")
        self.folder.rename(swap, name)
        self._finished.append(f"{name}: the compacted segment took its place")


def _write_again(file: OpenFile, start: int, end: int) -> None:
    """Writes over a part of a file what is in it.

    After a sync that failed, in a process before this one, the system may hold it in memory only and think
    that it is on the disk; the next sync would then do nothing.
    """
    for position in range(start, end, WINDOW):
        data = file.read_at(position, min(WINDOW, end - position))
        done = 0
        while done < len(data):
            done += file.write_at(position + done, data[done:])


def noted(active: Active) -> Synced:
    """What is to be noted of an active segment all of which is synced."""
    return Synced(active.base, active.size, active.crc, active.next_offset)
