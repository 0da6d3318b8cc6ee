"""From the paths that people give to opened sources, each with the reader that knows it."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby
from pathlib import Path

from rota.history import Event
from rota.reading.days import Days
from rota.reading.errors import ReadingError
from rota.reading.opening import Contents, contents, open_path
from rota.reading.options import ReadOptions
from rota.reading.reader import AddressReader, FolderReader, Reader, WholeFileReader
from rota.reading.rotation import Age, rotated
from rota.reading.source import OpenSource, Part
from rota.reading.tally import Tally

HEAD = 64 << 10
"""Bytes from which a source is recognised."""

STDIN = "-"

STILL = 1.0
"""Seconds without a byte after which a pipe is taken to stand still."""

KNOWN = "a log, a recording, a capture or the offsets topic"


@dataclass(frozen=True)
class Chosen:
    """The reader that people chose: whatever it is, it is that."""

    reader: Reader

    @property
    def name(self) -> str:
        return self.reader.name

    @property
    def rotated(self) -> bool:
        return self.reader.rotated

    def recognises(self, name: str, head: bytes) -> bool:
        return True

    def recognises_folder(self, folder: Path) -> bool:
        return isinstance(self.reader, FolderReader) and self.reader.recognises_folder(folder)

    def recognises_address(self, path: str) -> bool:
        return isinstance(self.reader, AddressReader) and self.reader.recognises_address(path)

    def read(self, source: OpenSource) -> Iterator[Event]:
        return self.reader.read(source)


@dataclass(frozen=True)
class Found:
    """A file or folder and its reader."""

    part: Part
    reader: Reader

    @property
    def family(self) -> tuple[str, Path | None, str]:
        """What it shares with other files of its rotation."""
        path = self.part.path
        if path is None or not self.reader.rotated or path.is_dir():
            return (self.reader.name, path, self.part.name)
        return (self.reader.name, path.parent, rotated(path.name)[0])

    @property
    def age(self) -> Age:
        """Among these."""
        return Age(2) if self.part.path is None else rotated(self.part.path.name)[1]


def sources(
    paths: Sequence[str], readers: Sequence[Reader], options: ReadOptions, tally: Tally
) -> list[tuple[OpenSource, Reader]]:
    """Every source below the paths. Errors: ReadingError; files of folders that are unknown are skipped."""
    wanted = _wanted(readers, options.format)
    # The same file may be given twice, by itself and with its folder.
    found = {
        one.part.path or one.part.name: one
        for path in dict.fromkeys(paths)
        for one in _found(path, _Search(wanted, options.days, tally))
    }
    order = {one.family: place for place, one in reversed([*enumerate(found.values())])}
    files = sorted(found.values(), key=lambda one: (order[one.family], one.age))
    result = []
    for _, family in groupby(files, key=lambda one: one.family):
        parts = [*family]
        name = parts[-1].part.name
        tally.sources[name] = parts[-1].reader.name
        result.append((OpenSource(name, [one.part for one in parts], options, tally), parts[-1].reader))
    return result


def _wanted(readers: Sequence[Reader], name: str | None) -> Sequence[Reader]:
    if name is None:
        return readers
    for reader in readers:
        if reader.name == name:
            return (Chosen(reader),)
    near = get_close_matches(name, _names(readers), n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    raise ReadingError(f"no format is called {name!r}; {meant}there are {', '.join(_names(readers))}")


def _names(readers: Iterable[Reader]) -> list[str]:
    return [one.name for one in readers]


@dataclass(frozen=True)
class _Search:
    """What is looked for. readers: that may know it; days: of what is partitioned so."""

    readers: Sequence[Reader]
    days: Days
    tally: Tally


def _found(path: str, search: _Search) -> Iterator[Found]:
    readers = search.readers
    if path == STDIN:
        opened = contents("standard input", sys.stdin.buffer)
        head = _head(
            opened, lambda head: _stands_still() and _recogniser(_piped(opened, head), readers) is not None
        )
        yield _file(_piped(opened, head), readers)
    elif (over_the_wire := _of_address(path, readers)) is not None:
        yield Found(Part(path, None), over_the_wire)
    elif Path(path).is_dir():
        below = [*_below(Path(path), search)]
        if not below:
            raise _nothing_below(path, search)
        yield from below
    else:
        opened = open_path(Path(path))
        part = Part(path, Path(path), opened, _head(opened))
        yield _reopened(_file(part, readers))


def _of_address(path: str, readers: Sequence[Reader]) -> Reader | None:
    known = (one for one in readers if isinstance(one, AddressReader) and one.recognises_address(path))
    return next(known, None)


def _below(folder: Path, search: _Search) -> Iterator[Found]:
    """What is known in a folder; hidden files and those that nobody knows are left out."""
    if not search.days.has(folder):
        search.tally.other_days += 1
        return
    for reader in search.readers:
        if isinstance(reader, FolderReader) and reader.recognises_folder(folder):
            yield Found(Part(str(folder), folder), reader)
            return
    try:
        entries = sorted(one for one in folder.iterdir() if not one.name.startswith("."))
    except OSError as error:
        raise ReadingError(
            f"cannot read {folder}: {error.strerror}; give a folder that can be read"
        ) from None
    for entry in entries:
        if entry.is_dir():
            yield from _below(entry, search)
            continue
        try:
            yield from _found(str(entry), search)
        except ReadingError:
            search.tally.skipped.append(str(entry))


def _piped(opened: Contents, head: bytes) -> Part:
    return Part("standard input", None, opened, head)


def _file(part: Part, readers: Sequence[Reader]) -> Found:
    """A file with the first reader that recognises it."""
    if (known := _recogniser(part, readers)) is not None:
        return Found(part, known)
    remedy = _remedy(readers)
    if not part.head:
        raise ReadingError(f"{part.name} is empty; give another, or {remedy}")
    raise ReadingError(f"{part.name} does not look like {KNOWN}; if it is one, {remedy}")


def _recogniser(part: Part, readers: Sequence[Reader]) -> Reader | None:
    name = part.name if part.path is None else part.path.name
    fitting = (one for one in readers if one.recognises(name, part.head))
    return next((one for one in fitting if _recognises_file(one, part.path)), None)


def _recognises_file(reader: Reader, path: Path | None) -> bool:
    return path is None or not isinstance(reader, WholeFileReader) or reader.recognises_file(path)


def _nothing_below(path: str, search: _Search) -> ReadingError:
    met = search.tally.skipped
    if not met and search.tally.other_days:
        return ReadingError(f"no file in {path} is of the time that is asked for; give another time")
    if not met:
        return ReadingError(f"there is no file in {path}; give a folder with {KNOWN}")
    met_there = f"{len(met):,} files, as {met[0]}" if len(met) > 1 else met[0]
    return ReadingError(
        f"nothing in {path} looks like {KNOWN} ({met_there}); if it is, {_remedy(search.readers)}"
    )


def _remedy(readers: Sequence[Reader]) -> str:
    return f"say what it is with --format: {', '.join(_names(readers))}"


def _reopened(found: Found) -> Found:
    """A file that can be opened again is closed until it is read; a pipe cannot."""
    part = found.part
    if part.path is None or part.opened is None or not part.path.is_file():
        return found
    part.opened.close()
    return Found(Part(part.name, part.path), found.reader)


def _head(opened: Contents, enough: Callable[[bytes], bool] = lambda head: False) -> bytes:
    """What a source begins with. enough: whether so much will do, as where a pipe goes on slowly."""
    head = b""
    while len(head) < HEAD and (more := opened.read(HEAD - len(head))):
        head += more
        if enough(head):
            break
    return head


def _stands_still() -> bool:
    """Whether standard input has nothing for a while; never where that cannot be asked."""
    try:
        return not select.select([sys.stdin.buffer], [], [], STILL)[0]
    except (OSError, ValueError):
        return False
