"""A search on disk: what it knows after a level, so that it can go on after it was ended.

Files are written once, under a temporary name first; the manifest comes last and names all that count. What a
folder holds is of one system: its name, settings and the sources of everything that it is made of.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from rota.explore.compiled.packing import Layout
from rota.explore.result import CheckpointError, Limits
from rota.explore.tables.arrays import Words
from rota.kernel import System

MANIFEST = "manifest.json"
SCHEMA = 1


@dataclass
class Saved:
    """What a manifest says. levels: per level its files, each (name, states) and the fields of its layout."""

    levels: list[dict[str, Any]] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    counts: dict[str, Any] = field(default_factory=dict)


class Checkpoint:
    """The folder of one search.

    Parameters: folder; system; limits: `resume` says whether what is there shall be gone on with (else it
    must be empty), and those that decide which states are visited must be what they were.
    Errors: CheckpointError.
    """

    def __init__(self, folder: Path, system: System, limits: Limits) -> None:
        self._folder = folder
        self._identity = identity(system, limits)
        self.saved = Saved()
        self._known_values = [0] * len(system.machines)
        folder.mkdir(parents=True, exist_ok=True)
        manifest = folder / MANIFEST
        if not manifest.exists():
            return
        if not limits.resume:
            raise CheckpointError(f"{folder} holds a search already; give --resume, or an empty folder")
        try:
            content = json.loads(manifest.read_bytes())
            theirs = content.pop("identity")
            if theirs != self._identity:
                keys = (*self._identity, *theirs)
                what = next(key for key in keys if theirs.get(key) != self._identity.get(key))
                raise CheckpointError(
                    f"{folder} is of another system (its {what} differs); give another folder"
                )
            self.saved = Saved(**content)
        except CheckpointError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CheckpointError(f"{manifest} cannot be read ({error}); give an empty folder") from error

    def values(self) -> Iterator[list[list[Any]]]:
        """Per save, the values of each machine that were new then, in the order of their numbers."""
        for name in self.saved.values:
            parts = pickle.loads((self._folder / name).read_bytes())
            self._known_values = [
                known + len(part) for known, part in zip(self._known_values, parts, strict=True)
            ]
            yield parts

    def levels(self) -> Iterator[list[tuple[Layout, Words]]]:
        """Each level as packed states with the layout that they have."""
        for level in self.saved.levels:
            layout = Layout.of_fields(*level["layout"])
            yield [(layout, self._read(name, count, layout)) for name, count in level["files"]]

    def _read(self, name: str, count: int, layout: Layout) -> Words:
        keys = np.fromfile(self._folder / name, np.uint64)
        if len(keys) != count * layout.words:
            raise CheckpointError(f"{self._folder / name} is damaged; give an empty folder")
        return keys.reshape(count, layout.words)

    def save(
        self, layout: Layout, levels: Iterable[list[Words]], values: list[list[Any]], counts: dict[str, Any]
    ) -> None:
        """Write what is new since the last time: levels not saved yet, values, and all counts."""
        new = [items[known:] for items, known in zip(values, self._known_values, strict=True)]
        if any(new):
            name = f"values-{len(self.saved.values):05d}"
            self._write(name, pickle.dumps(new, protocol=5))
            self.saved.values.append(name)
            self._known_values = [len(items) for items in values]
        fields = [array.tolist() for array in layout.fields()]
        for arrays in levels:
            files = []
            for number, array in enumerate(arrays):
                name = f"level-{len(self.saved.levels):05d}-{number:05d}"
                self._write(name, np.ascontiguousarray(array).tobytes())
                files.append((name, len(array)))
            self.saved.levels.append({"files": files, "layout": fields})
        self.saved.counts = counts
        content = {"identity": self._identity, **vars(self.saved)}
        self._write(MANIFEST, json.dumps(content).encode())

    def _write(self, name: str, content: bytes) -> None:
        temporary = self._folder / f"{name}.{os.getpid()}"
        temporary.write_bytes(content)
        temporary.replace(self._folder / name)


def identity(system: System, limits: Limits) -> dict[str, Any]:
    """What makes a system this one: name, how it is built, and the sources that it is made of."""
    ref = system.ref
    return {
        "schema": SCHEMA,
        "system": system.name,
        "settings": repr(ref and (ref.factory, ref.settings)),
        "symmetry": limits.symmetry,
        "fingerprints": limits.fingerprints,
        "sources": _sources(system),
    }


def _sources(system: System) -> str:
    """A hash of the sources behind machines and properties, and of what these use of their packages."""
    parts: list[Any] = [type(machine) for machine in system.machines]
    for prop in system.properties:
        parts += [prop.test, *(view.of for view in prop.views)]
    waiting = {part.__module__ for part in parts}
    packages = {name.partition(".")[0] for name in waiting}
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        for value in list(vars(sys.modules[name]).values()):
            of = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if isinstance(of, str) and of.partition(".")[0] in packages and of in sys.modules:
                waiting |= {of} - seen
    hashed = blake2b(digest_size=16)
    for name in sorted(seen):
        path = getattr(sys.modules[name], "__file__", None)
        if path:
            hashed.update(name.encode() + b"\0" + Path(path).read_bytes())
    return hashed.hexdigest()
