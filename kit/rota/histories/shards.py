"""What tasks read: each source, or where order does not matter pieces of large files of events."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rota.reading import OpenSource, ReadingError, ReadOptions, Tally
from rota.reading.event_lines import EventLines
from rota.reading.finding import sources
from rota.reading.merging import cluster_of, skews_of
from rota.reading.opening import BUFFER, Contents, open_path
from rota.reading.reader import AddressReader
from rota.reading.readers import READERS
from rota.reading.source import Part

PIECE = 64 << 20
"""Bytes of a piece of a file."""

SIZE = 16


@dataclass(frozen=True)
class Shard:
    """A source, or a piece of one, that one task reads.

    name: as people know it; source: its number among all, in the order of reading; cluster; reader: its name;
    paths: its files, the oldest first, or a folder; skew: seconds that its clock is ahead; start, stop: bytes
    of a piece, stop 0: the whole; digest: of all its bytes.
    """

    name: str
    source: int
    cluster: str
    reader: str
    paths: tuple[str, ...]
    skew: float = 0.0
    start: int = 0
    stop: int = 0
    digest: str = ""

    @property
    def id(self) -> str:
        """What it is called among files: by what is in it, and by what it is called."""
        named = {**asdict(self), "source": 0}
        return blake2b(json.dumps(named, sort_keys=True).encode(), digest_size=SIZE).hexdigest()

    @property
    def whose(self) -> tuple[str, int]:
        """By what it is known again when its bytes have changed."""
        return self.name, self.start

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Shard:
        """From what JSON has."""
        return cls(**{**told, "paths": tuple(told["paths"])})

    def open(self, options: ReadOptions, tally: Tally) -> OpenSource:
        """What its reader reads."""
        parts = [Part(path, Path(path)) for path in self.paths]
        if self.stop:
            parts = [replace(parts[0], name=self.name, opened=Contents(_Piece(self)))]
        return OpenSource(self.name, parts, options, tally)

    def size(self) -> int:
        """Its bytes."""
        if self.stop:
            return self.stop - self.start
        return sum(path.stat().st_size for path in self.files())

    def files(self) -> Iterator[Path]:
        """Its files."""
        for path in map(Path, self.paths):
            if path.is_dir():
                yield from sorted(one for one in path.rglob("*") if one.is_file())
            else:
                yield path

    def digested(self) -> Shard:
        """With its digest. Errors: ReadingError."""
        hashed = blake2b(digest_size=SIZE)
        try:
            for path in self.files():
                with path.open("rb") as file:
                    file.seek(self.start)
                    left = self.stop - self.start if self.stop else path.stat().st_size
                    while left and (read := file.read(min(left, BUFFER))):
                        hashed.update(read)
                        left -= len(read)
        except OSError as error:
            raise ReadingError(f"cannot read {self.name}: {error.strerror}; let it be read") from None
        return replace(self, digest=hashed.hexdigest())

    def lines_before(self) -> int:
        """Lines of the file before this piece."""
        if not self.start:
            return 0
        with open(self.paths[0], "rb") as file:
            left, lines = self.start, 0
            while left and (read := file.read(min(left, BUFFER))):
                lines += read.count(b"\n")
                left -= len(read)
        return lines


class _Piece(io.BufferedIOBase):
    """The lines of a file that begin between two of its bytes."""

    def __init__(self, shard: Shard) -> None:
        super().__init__()
        self._file = Path(shard.paths[0]).open("rb")  # noqa: SIM115 - closed with the piece
        self._file.seek(shard.start)
        self._left = shard.stop - shard.start

    def read1(self, size: int = -1) -> bytes:
        """Some bytes, none at the end."""
        read = self._file.read1(min(size, self._left)) if self._left else b""
        self._left -= len(read)
        return read

    def close(self) -> None:
        self._file.close()
        super().close()


def shards_of(paths: Sequence[str], options: ReadOptions, tally: Tally, piece: int = PIECE) -> list[Shard]:
    """What is below the paths, each without a digest. Errors: ReadingError."""
    opened = sources(paths, READERS, options, tally)
    skews = skews_of(options.skews, [source for source, _ in opened])
    found: list[Shard] = []
    for number, (source, reader) in enumerate(opened):
        if source.path is None or isinstance(reader, AddressReader):
            raise ReadingError(f"{source.name} can be read once and by one process; save it to a file first")
        whole = Shard(
            source.name,
            number,
            cluster_of(source.path),
            reader.name,
            tuple(str(one.path.absolute()) for one in source.parts if one.path),
            skews.get(source.name, 0.0),
        )
        found += _pieces(whole, piece) if options.unordered else [whole]
    return found


def _pieces(whole: Shard, piece: int) -> Iterator[Shard]:
    """Files by themselves, and large files of events in pieces that end with lines."""
    names = [whole.name] if len(whole.paths) == 1 else whole.paths
    for name, path in zip(names, whole.paths, strict=True):
        alone = replace(whole, name=name, paths=(path,))
        size = 0 if Path(path).is_dir() else Path(path).stat().st_size
        if size <= piece or whole.reader != EventLines.name or _is_packed(Path(path)):
            yield alone
            continue
        start = 0
        with Path(path).open("rb") as file:
            while start < size:
                file.seek(min(start + piece, size))
                file.readline()
                stop = file.tell()
                yield replace(alone, start=start, stop=stop)
                start = stop


def _is_packed(path: Path) -> bool:
    """Whether a file has to be read from its beginning."""
    with open_path(path) as opened, path.open("rb") as raw:
        return opened.read(64) != raw.read(64)
