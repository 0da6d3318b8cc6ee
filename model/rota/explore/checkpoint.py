"""The fast engine's search on disk: what it knows after a level, so that it can go on after it was ended.

What a folder holds is of one system: its name, settings and the sources of everything that it is made of, as
for tables that are kept between runs; how it holds together says `rota.explore.manifest`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rota.explore.cache import files
from rota.explore.cache.store import kind_named
from rota.explore.compiled.packing import Layout
from rota.explore.manifest import MANIFEST, SearchFolder, damaged, identity, named_kinds
from rota.explore.result import CheckpointError, Limits
from rota.explore.tables.arrays import Ints, Longs, Words
from rota.kernel import System, encode
from rota.kernel.decoding import DecodeError, Decoder, kinds_within


@dataclass
class Saved:
    """What the engine says in a manifest. levels: per level its files, each (name, states), and the fields of
    its layout; values: files of values; judged: files of what properties were judged on.
    """

    levels: list[dict[str, Any]] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    judged: list[str] = field(default_factory=list)
    counts: Mapping[str, Any] = field(default_factory=dict)


class Checkpoint:
    """The folder of one search.

    Parameters: place, the folder; system; limits: `resume` says whether what is there shall be gone on with
    (else it must be empty), and those that decide which states are visited must be what they were.
    Errors: CheckpointError.
    """

    def __init__(self, place: Path, system: System, limits: Limits) -> None:
        found, self._modules = identity(system, limits, "fast")
        self._folder = SearchFolder(place, found, limits)
        self._known_values = [0] * len(system.machines)
        kept, self.resumed = self._folder.kept, self._folder.resumed
        self.saved = self._saved(kept.content) if kept else Saved()

    def _saved(self, content: Mapping[str, Any]) -> Saved:
        try:
            saved = Saved(**content)
            counts = saved.counts
            int(counts["digest"], 16), int(counts["generated"]), list(counts["histogram"])
            dict(counts["witnesses"]), frozenset(counts["fired"])
            for level in saved.levels:
                if len(Layout.of_fields(*level["layout"]).word) != len(self._known_values):
                    raise ValueError("a layout of other machines")
                [(str(name), int(count)) for name, count in level["files"]]
            [str(name) for name in (*saved.values, *saved.judged)]
        except Exception as error:  # with a digest of its own it may say anything
            raise self.wrong(f"it does not say what it must: {type(error).__name__}") from error
        return saved

    def wrong(self, why: str) -> CheckpointError:
        """What is said where the manifest's files do not make the search that it tells of."""
        return damaged(self._folder.place / MANIFEST, why)

    def values(self) -> Iterator[list[list[Any]]]:
        """Per save, the values of each machine that were new then, in the order of their numbers."""
        for name in self.saved.values:
            about, parts = self._read(name)
            try:
                kinds = {kind_named(module, kind, self._modules) for module, kind in about["kinds"]}
                decoder = Decoder(kinds)
                machines = range(len(self._known_values))
                new = [list(map(decoder.decode, files.apart(str(number), parts))) for number in machines]
            except (ValueError, KeyError, TypeError) as error:
                raise damaged(self._folder.place / name, f"its values cannot be read: {error}") from error
            self._known_values = [
                known + len(part) for known, part in zip(self._known_values, new, strict=True)
            ]
            yield new

    def judged(self, properties: int, values: Sequence[int]) -> Iterator[list[Longs]]:
        """Per save, what each property was first judged on since the one before; see `Answers.shown`.

        values: how many each machine has.
        """
        for name in self.saved.judged:
            parts = self._read(name)[1]
            try:
                shown = [parts[str(number)].astype(np.int64).reshape(-1, 4) for number in range(properties)]
                wrong = any((each[:, 1::2] >= np.array(values)[each[:, ::2]]).any() for each in shown)
                if wrong or any((each < 0).any() for each in shown):
                    raise ValueError("values that are not there")
            except (KeyError, ValueError, IndexError, AttributeError) as error:
                why = f"it does not say on what properties were judged: {error}"
                raise damaged(self._folder.place / name, why) from error
            yield shown

    def levels(self, values: Sequence[int]) -> Iterator[Iterator[Ints]]:
        """Each level as rows of numbers of values. values: how many each machine has."""
        return (self._level(level, values) for level in self.saved.levels)

    def _level(self, level: Mapping[str, Any], values: Sequence[int]) -> Iterator[Ints]:
        layout = Layout.of_fields(*level["layout"])
        for name, count in level["files"]:
            rows = layout.unpack(self._states(name, count, layout), len(values))
            if len(rows) and (rows.astype(np.uint32).max(axis=0) >= values).any():
                raise damaged(self._folder.place / name, "it has states of values that are not there")
            yield rows

    def _states(self, name: str, count: int, layout: Layout) -> Words:
        keys: Any = self._read(name)[1].get("states")
        if not isinstance(keys, np.ndarray) or keys.dtype != "u8" or keys.shape != (count, layout.words):
            raise damaged(self._folder.place / name, f"it has no {count} states of {layout.words} words")
        return keys

    def _read(self, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """A file that the manifest names. Errors: CheckpointError."""
        try:
            return files.unpacked(self._folder.read(name))
        except files.Damaged as error:
            raise damaged(self._folder.place / name, str(error)) from error

    def save(
        self,
        layout: Layout,
        levels: Iterable[list[Words]],
        values: list[list[Any]],
        judged: list[Longs],
        counts: Mapping[str, Any],
    ) -> None:
        """Write what is new since the last time: levels not saved yet, values, and all counts.

        judged: what each property was first judged on since then. Errors: CheckpointError for values
        that could not be read back, and where nothing can be written.
        """
        with _written(self._folder.place):
            new = [items[known:] for items, known in zip(values, self._known_values, strict=True)]
            if any(new):
                name = f"values-{len(self.saved.values):05d}"
                self._folder.write(name, _packed_values(new, self._modules))
                self.saved.values.append(name)
                self._known_values = [len(items) for items in values]
            if any(map(len, judged)):
                name = f"judged-{len(self.saved.judged):05d}"
                parts = {str(number): shown.astype(np.int32) for number, shown in enumerate(judged)}
                self._folder.write(name, files.packed({}, parts))
                self.saved.judged.append(name)
            fields = [array.tolist() for array in layout.fields()]
            for arrays in levels:
                named = []
                for number, array in enumerate(arrays):
                    name = f"level-{len(self.saved.levels):05d}-{number:05d}"
                    self._folder.write(name, files.packed({}, {"states": array}))
                    named.append((name, len(array)))
                self.saved.levels.append({"files": named, "layout": fields})
            self.saved.counts = counts
            states = sum(count for level in self.saved.levels for _, count in level["files"])
            self._folder.commit(len(self.saved.levels) - 1, states, vars(self.saved))


def _packed_values(new: list[list[Any]], modules: tuple[str, ...]) -> bytes:
    try:
        kinds = named_kinds(kinds_within(value for values in new for value in values), modules)
    except DecodeError as error:
        raise CheckpointError(f"values of this system could not be read again: {error}") from error
    parts: dict[str, Any] = {}
    for number, values in enumerate(new):
        parts |= files.end_to_end(str(number), list(map(encode, values)))
    return files.packed({"kinds": kinds}, parts)


@contextmanager
def _written(place: Path) -> Iterator[None]:
    """Within, what cannot be written is a CheckpointError; what was committed is not lost."""
    try:
        yield
    except OSError as error:
        remedy = (
            "make room or give the right to write, and go on with --resume-if-any; or give another folder"
        )
        raise CheckpointError(f"{place} cannot be written ({error.strerror or error}); {remedy}") from error
