"""A run on disk: a folder that driver and workers see, and the manifest that says what of it counts.

The manifest is written once a round is complete, under a temporary name first. What it does not name was left
behind by a round that did not come to its end; nobody reads it.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rota.explore.checkpoint import MANIFEST, identity
from rota.explore.result import CheckpointError, Limits
from rota.explore.spark.protocol import Fields, Level, Part, RunFile
from rota.kernel import System


@dataclass(frozen=True)
class Saved:
    """What is known after a round. round: the next one; sent: by partition, the files with blocks for it;
    counts: those of the run so far, by name."""

    run: str
    compiled: bool
    deciding: tuple[int, ...]
    round: int
    parts: tuple[Part, ...]
    fields: Fields | None
    sent: tuple[tuple[str, ...], ...]
    obsolete: tuple[tuple[str, ...], ...]
    counts: Mapping[str, Any]


class Commits:
    """The folder of one run.

    Parameters: folder; system; limits: `resume` says whether what is there shall be gone on with (else the
    folder must be empty); what: further options that decide which files a run writes.
    saved: what was committed last, None if nothing was; deltas: the numbers handed out until then.
    Errors: CheckpointError.
    """

    def __init__(self, folder: Path, system: System, limits: Limits, what: Mapping[str, Any]) -> None:
        self.folder = folder
        self._identity = {**identity(system, limits)[0], "engine": "spark", **what}
        self.saved: Saved | None = None
        self.deltas: list[Any] = []
        self._files: list[tuple[str, int]] = []
        self._others: dict[str, int] = {}
        folder.mkdir(parents=True, exist_ok=True)
        manifest = folder / MANIFEST
        if manifest.exists():
            if not limits.resume:
                raise CheckpointError(f"{folder} holds a search already; give --resume, or an empty folder")
            self._read(manifest)
        self._sweep()

    def commit(self, saved: Saved, deltas: Sequence[Any]) -> None:
        """What is known after a round, and the numbers that were handed out since the last time."""
        for delta in deltas:
            name, content = f"numbers-{len(self._files):05d}", pickle.dumps(delta, protocol=5)
            self._write(name, content)
            self._files.append((name, zlib.crc32(content)))
        manifest = {"numbers": self._files, "others": self._others, **asdict(saved)}
        manifest = {"identity": self._identity, "checksum": _checksum(manifest), **manifest}
        self._write(MANIFEST, json.dumps(manifest).encode())

    def keep(self, name: str, content: bytes) -> None:
        """Write a file that counts from the next commit on."""
        self._write(name, content)
        self._others[name] = zlib.crc32(content)

    def kept(self, name: str) -> bytes:
        """The content of such a file. Errors: CheckpointError."""
        try:
            return self._checked(name, self._others[name])
        except OSError as error:
            cause = error.strerror or error
            raise CheckpointError(
                f"{self.folder / name} cannot be read ({cause}); give an empty folder"
            ) from error

    def _read(self, manifest: Path) -> None:
        try:
            content = json.loads(manifest.read_bytes())
            theirs = content.pop("identity")
            self._compare(theirs)
            if content.pop("checksum") != _checksum(content):
                raise CheckpointError(f"{manifest} is not as it was written; give an empty folder")
            self._files = [(name, checksum) for name, checksum in content.pop("numbers")]
            self._others = dict(content.pop("others"))
            self.saved = _saved(content)
            self.deltas = [pickle.loads(self._checked(name, checksum)) for name, checksum in self._files]
        except CheckpointError:
            raise
        except Exception as error:  # a damaged file may break in any way
            cause = f"{type(error).__name__}: {error}"
            raise CheckpointError(f"{manifest} cannot be read ({cause}); give an empty folder") from error

    def _checked(self, name: str, checksum: int) -> bytes:
        raw = (self.folder / name).read_bytes()
        if zlib.crc32(raw) != checksum:
            raise CheckpointError(f"{self.folder / name} is not as it was written; give an empty folder")
        return raw

    def _compare(self, theirs: Mapping[str, Any]) -> None:
        what = next((key for key in self._identity if theirs.get(key) != self._identity[key]), None)
        if what is not None:
            there, here = theirs.get(what), self._identity[what]
            raise CheckpointError(
                f"{self.folder} is of another search (its {what} differs: {there!r}, here {here!r}); "
                "give another folder"
            )

    def _sweep(self) -> None:
        """Delete what rounds that do not count have left behind."""
        if self.saved is None:
            return
        for half in (
            half for name in (MANIFEST, "numbers-*", "judged-*") for half in self.folder.glob(f"{name}.*")
        ):
            half.unlink(missing_ok=True)
        for number, part in enumerate(self.saved.parts):
            place = self.folder / f"partition-{number:04d}"
            files = (*(one.file for one in part.levels), *part.runs)
            wanted = {name for file in files for name in (file.name, file.index)}
            for path in place.iterdir() if place.is_dir() else ():
                if path.is_file() and path.name not in wanted:
                    path.unlink(missing_ok=True)
                elif path.is_dir() and path.name > f"out-{self.saved.round - 1:05d}":
                    shutil.rmtree(path, ignore_errors=True)

    def _write(self, name: str, content: bytes) -> None:
        temporary = self.folder / f"{name}.{os.getpid()}"
        try:
            temporary.write_bytes(content)
            temporary.replace(self.folder / name)
        finally:
            temporary.unlink(missing_ok=True)


def _checksum(manifest: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(manifest, sort_keys=True).encode())


def _saved(content: dict[str, Any]) -> Saved:
    content["parts"] = tuple(_part(one) for one in content["parts"])
    content["fields"] = _fields(content["fields"])
    for key in ("sent", "obsolete"):
        content[key] = tuple(tuple(names) for names in content[key])
    content["deciding"] = tuple(content["deciding"])
    return Saved(**content)


def _part(raw: dict[str, Any]) -> Part:
    levels = tuple(Level(RunFile(**one["file"]), _sure(one["fields"])) for one in raw["levels"])
    return Part(levels, tuple(RunFile(**one) for one in raw["runs"]), _fields(raw["fields"]))


def _fields(raw: dict[str, Any] | None) -> Fields | None:
    return None if raw is None else _sure(raw)


def _sure(raw: dict[str, Any]) -> Fields:
    return Fields(*(tuple(raw[key]) for key in ("word", "shift", "mask")))
