"""A search on disk: what it knows after a level, so that it can go on after it was ended.

Files are written once, under a temporary name first; the manifest comes last and names all that count, each
with its digest. What a folder holds is of one system: its name, settings and the sources of everything that
it is made of, as for tables that are kept between runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from rota.explore.cache import files, folder
from rota.explore.cache.store import NotKept, identity_of, kind_named
from rota.explore.compiled.packing import Layout
from rota.explore.result import CheckpointError, Limits
from rota.explore.tables.arrays import Longs, Words
from rota.kernel import System, encode
from rota.kernel.decoding import DecodeError, Decoder, kinds_within

MANIFEST = "manifest.json"
SCHEMA = 3


@dataclass
class Saved:
    """What a manifest says. levels: per level its files, each (name, states), and the fields of its layout;
    values: files of values; judged: of what properties were judged on; digests: by name, of all these files.
    """

    levels: list[dict[str, Any]] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    judged: list[str] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)
    counts: dict[str, Any] = field(default_factory=dict)


class Checkpoint:
    """The folder of one search.

    Parameters: place, the folder; system; limits: `resume` says whether what is there shall be gone on with
    (else it must be empty), and those that decide which states are visited must be what they were.
    Errors: CheckpointError.
    """

    def __init__(self, place: Path, system: System, limits: Limits) -> None:
        self._folder = place
        self._identity, self._modules = identity(system, limits)
        self.saved = Saved()
        self._known_values = [0] * len(system.machines)
        place.mkdir(parents=True, exist_ok=True)
        manifest = place / MANIFEST
        if not manifest.exists():
            return
        if not limits.resume:
            raise CheckpointError(f"{place} holds a search already; give --resume, or an empty folder")
        try:
            content = json.loads(manifest.read_bytes())
            self._compare(content.pop("identity"))
            if content.pop("digest") != files.digest_of(_line(content)):
                raise CheckpointError(f"{manifest} is damaged; give an empty folder")
            self.saved = Saved(**content)
        except CheckpointError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(f"{manifest} cannot be read ({error}); give an empty folder") from error

    def _compare(self, theirs: dict[str, Any]) -> None:
        if theirs != self._identity:
            keys = (*self._identity, *theirs)
            what = next(key for key in keys if theirs.get(key) != self._identity.get(key))
            raise CheckpointError(
                f"{self._folder} is of another system (its {what} differs); give another folder"
            )

    def values(self) -> Iterator[list[list[Any]]]:
        """Per save, the values of each machine that were new then, in the order of their numbers."""
        for name in self.saved.values:
            about, parts = self._read(name)
            try:
                kinds = {kind_named(module, kind, self._modules) for module, kind in about["kinds"]}
                decoder = Decoder(kinds)
                new = [_decoded(decoder, parts, number) for number in range(len(self._known_values))]
            except (DecodeError, KeyError) as error:
                raise CheckpointError(f"{self._folder / name} cannot be read ({error})") from error
            self._known_values = [
                known + len(part) for known, part in zip(self._known_values, new, strict=True)
            ]
            yield new

    def judged(self) -> Iterator[list[Longs]]:
        """Per save, what each property was first judged on since the one before; see `Answers.shown`."""
        for name in self.saved.judged:
            parts = self._read(name)[1]
            yield [parts[f"{number}"].reshape(-1, 4) for number in range(len(parts))]

    def levels(self) -> Iterator[list[tuple[Layout, Words]]]:
        """Each level as packed states with the layout that they have."""
        for level in self.saved.levels:
            layout = Layout.of_fields(*level["layout"])
            yield [(layout, self._states(name, count, layout)) for name, count in level["files"]]

    def _states(self, name: str, count: int, layout: Layout) -> Words:
        keys: Words = self._read(name)[1]["states"]
        return keys.reshape(count, layout.words)

    def _read(self, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """A file that the manifest names. Errors: CheckpointError."""
        try:
            raw = (self._folder / name).read_bytes()
            if files.digest_of(raw) != self.saved.digests[name]:
                raise files.Damaged("it is not as it was written")
            return files.unpacked(raw)
        except (OSError, files.Damaged) as error:
            raise CheckpointError(
                f"{self._folder / name} is damaged ({error}); give an empty folder"
            ) from error

    def save(
        self,
        layout: Layout,
        levels: Iterable[list[Words]],
        values: list[list[Any]],
        judged: list[Longs],
        counts: dict[str, Any],
    ) -> None:
        """Write what is new since the last time: levels not saved yet, values, and all counts.

        judged: what each property was first judged on since then. Errors: CheckpointError for values
        that could not be read back.
        """
        new = [items[known:] for items, known in zip(values, self._known_values, strict=True)]
        if any(new):
            name = f"values-{len(self.saved.values):05d}"
            self._write_values(name, new)
            self.saved.values.append(name)
            self._known_values = [len(items) for items in values]
        if any(map(len, judged)):
            name = f"judged-{len(self.saved.judged):05d}"
            parts = {f"{number}": shown.astype(np.int32) for number, shown in enumerate(judged)}
            self._write(name, files.packed({}, parts))
            self.saved.judged.append(name)
        fields = [array.tolist() for array in layout.fields()]
        for arrays in levels:
            named = []
            for number, array in enumerate(arrays):
                name = f"level-{len(self.saved.levels):05d}-{number:05d}"
                self._write(name, files.packed({}, {"states": array}))
                named.append((name, len(array)))
            self.saved.levels.append({"files": named, "layout": fields})
        self.saved.counts = counts
        content = vars(self.saved)
        manifest = {"identity": self._identity, "digest": files.digest_of(_line(content)), **content}
        folder.write(self._folder / MANIFEST, json.dumps(manifest).encode())

    def _write_values(self, name: str, new: list[list[Any]]) -> None:
        try:
            kinds = kinds_within(value for values in new for value in values)
            named = sorted([kind.__module__, kind.__qualname__] for kind in kinds)
            Decoder(kind_named(module, kind, self._modules) for module, kind in named)
        except DecodeError as error:
            raise CheckpointError(f"values of this system could not be read again: {error}") from error
        parts: dict[str, Any] = {}
        for number, values in enumerate(new):
            raws = list(map(encode, values))
            parts[f"{number}"] = b"".join(raws)
            parts[f"{number} ends"] = np.cumsum([len(raw) for raw in raws], dtype=np.int64)
        self._write(name, files.packed({"kinds": named}, parts))

    def _write(self, name: str, content: bytes) -> None:
        self.saved.digests[name] = files.digest_of(content)
        folder.write(self._folder / name, content)


def _decoded(decoder: Decoder, parts: dict[str, Any], number: int) -> list[Any]:
    raw, ends = parts[f"{number}"], [0, *parts[f"{number} ends"].tolist()]
    return [decoder.decode(raw[start:end]) for start, end in pairwise(ends)]


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True).encode()


def identity(system: System, limits: Limits) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What makes a search this one: the system's parts and limits; and the modules of the system's sources.

    Errors: CheckpointError where the sources cannot be read.
    """
    try:
        found = identity_of(system)
    except NotKept as why:
        raise CheckpointError(f"a checkpoint cannot say what it is of: {why}") from why
    chosen = {"schema": SCHEMA, "symmetry": limits.symmetry, "fingerprints": limits.fingerprints}
    return {**found.parts, **chosen}, found.modules
