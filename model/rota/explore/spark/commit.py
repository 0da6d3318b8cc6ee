"""A run on disk: a folder that driver and workers see, and the manifest that says what of it counts.

The manifest (`rota.explore.manifest`) is written once a round is complete. What it does not name was left
behind by a round that did not come to its end; nobody reads it.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rota.explore.cache import files
from rota.explore.cache.folder import HALF
from rota.explore.cache.store import kind_named
from rota.explore.manifest import MANIFEST, NAME, SearchFolder, damaged, identity, named_kinds
from rota.explore.result import Limits
from rota.explore.spark.protocol import BlockFile, Fields, Level, Part, RunFile
from rota.explore.spark.registry import Delta, named
from rota.kernel import System

BLOCK = re.compile(r"partition-\d+/out-\d+/\w+-\d+")
"""How files of blocks are called."""


@dataclass(frozen=True)
class Saved:
    """What is known after a round.

    round: the next one; sent: by partition, the files with blocks for it; kinds: the types that values are
    made of; counts: those of the run so far, by name.
    """

    run: str
    compiled: bool
    deciding: tuple[int, ...]
    round: int
    parts: tuple[Part, ...]
    fields: Fields | None
    sent: tuple[tuple[BlockFile, ...], ...]
    obsolete: tuple[tuple[str, ...], ...]
    kinds: frozenset[type]
    counts: Mapping[str, Any]


class Commits:
    """The folder of one run.

    Parameters: folder; system; limits: `resume` says whether what is there shall be gone on with (else the
    folder must be empty); what: further options that decide which files a run writes.
    saved: what was committed last, None if nothing was; deltas: the numbers handed out until then; resumed:
    as of `SearchFolder`.
    Errors: CheckpointError.
    """

    def __init__(self, folder: Path, system: System, limits: Limits, what: Mapping[str, Any]) -> None:
        found, self._modules = identity(system, limits, "spark", **what)
        self.folder = folder
        self._files = SearchFolder(folder, found, limits)
        self.saved: Saved | None = None
        self.deltas: list[Delta] = []
        self._numbers: list[str] = []
        if self._files.kept:
            self._read(dict(self._files.kept.content))
        self.resumed = self._files.resumed

    def commit(self, saved: Saved, deltas: Sequence[Delta]) -> None:
        """What is known after a round, and the numbers that were handed out since the last time."""
        for delta in deltas:
            self._numbers.append(f"numbers-{len(self._numbers):05d}")
            self._files.write(self._numbers[-1], _packed(delta))
        kinds = named_kinds(saved.kinds, self._modules)
        content = {**asdict(saved), "kinds": kinds, "numbers": self._numbers}
        self._files.commit(saved.round - 1, sum(saved.counts["histogram"]), content)

    def keep(self, name: str, content: bytes) -> None:
        """Write a file that counts from the next commit on."""
        self._files.write(name, content)

    def kept(self, name: str, take: Callable[[bytes], None]) -> None:
        """Give away what such a file has. Errors: CheckpointError, also for a ValueError of `take`."""
        content = self._files.read(name)
        try:
            take(content)
        except ValueError as error:
            raise damaged(self.folder / name, str(error)) from error

    def sweep(self) -> None:
        """Delete what rounds that do not count have left behind."""
        if self.saved is None:
            return
        for half in self.folder.glob(f"*{HALF}"):
            half.unlink(missing_ok=True)
        for number, part in enumerate(self.saved.parts):
            place = self.folder / f"partition-{number:04d}"
            runs = (*(one.file for one in part.levels), *part.runs)
            wanted = {name for run in runs for name in (run.name, run.index)}
            for path in place.iterdir() if place.is_dir() else ():
                if path.is_file() and path.name not in wanted:
                    path.unlink(missing_ok=True)
                elif path.is_dir() and path.name > f"out-{self.saved.round - 1:05d}":
                    shutil.rmtree(path, ignore_errors=True)

    def _read(self, content: dict[str, Any]) -> None:
        try:
            self._numbers = list(content.pop("numbers"))
            self.saved = _saved(content, self._modules)
        except Exception as error:  # with a digest of its own it may say anything
            why = f"it does not say what it must: {type(error).__name__}: {error}"
            raise damaged(self.folder / MANIFEST, why) from error
        for version, name in enumerate(self._numbers, 1):
            raw = self._files.read(name)
            try:
                self.deltas.append(_unpacked(version, raw))
            except (ValueError, KeyError, TypeError) as error:
                raise damaged(self.folder / name, str(error)) from error


def _packed(delta: Delta) -> bytes:
    parts: dict[str, Any] = {"facts": delta.facts}
    for number, values in enumerate(delta.values):
        parts |= files.end_to_end(str(number), [raw for _, raw in values])
    return files.packed({"version": delta.version, "tables": len(delta.values)}, parts)


def _unpacked(version: int, raw: bytes) -> Delta:
    about, parts = files.unpacked(raw)
    if about["version"] != version:
        raise files.Damaged(f"has the numbers of version {about['version']}, not {version}")
    values = [tuple(map(named, files.apart(str(number), parts))) for number in range(about["tables"])]
    return Delta(version, tuple(values), parts["facts"])


def _saved(content: dict[str, Any], modules: Iterable[str]) -> Saved:
    content["parts"] = tuple(_part(one) for one in content["parts"])
    content["fields"] = _fields(content["fields"])
    content["sent"] = tuple(tuple(BlockFile(**one) for one in some) for some in content["sent"])
    content["obsolete"] = tuple(tuple(names) for names in content["obsolete"])
    content["deciding"] = tuple(content["deciding"])
    content["kinds"] = frozenset(kind_named(module, kind, modules) for module, kind in content["kinds"])
    saved = Saved(**content)
    runs = [run for part in saved.parts for run in (*part.runs, *(level.file for level in part.levels))]
    names = [*(run.name for run in runs), *(name for some in saved.obsolete for name in some)]
    blocks = [file.name for some in saved.sent for file in some]
    if not all(map(NAME.fullmatch, names)) or not all(map(BLOCK.fullmatch, blocks)):
        raise ValueError("it names files elsewhere")
    states = sum(level.file.states for part in saved.parts for level in part.levels)
    if states != sum(saved.counts["histogram"]):
        raise ValueError(f"its levels have {states} states, and others were counted")
    return saved


def _part(raw: dict[str, Any]) -> Part:
    levels = tuple(Level(RunFile(**one["file"]), _sure(one["fields"])) for one in raw["levels"])
    return Part(levels, tuple(RunFile(**one) for one in raw["runs"]), _fields(raw["fields"]))


def _fields(raw: dict[str, Any] | None) -> Fields | None:
    return None if raw is None else _sure(raw)


def _sure(raw: dict[str, Any]) -> Fields:
    return Fields(*(tuple(raw[key]) for key in ("word", "shift", "mask")))
