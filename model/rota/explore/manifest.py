"""The folder of a search that can be gone on with: files, and the manifest that says which of them count.

Files are written once, under a temporary name first. The manifest comes last: it binds together what belongs
to one level of one run, each file by its digest, and replaces the one of the level before. What it does not
name was left behind by a level that did not come to its end; nobody reads it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from rota.explore.cache import folder
from rota.explore.cache.digest import digest_of
from rota.explore.cache.store import NotKept, identity_of, kind_named
from rota.explore.result import CheckpointError, Limits
from rota.kernel import System
from rota.kernel.decoding import DecodeError, Decoder

MANIFEST = "manifest.json"
SCHEMA = 3

NAME = re.compile(r"\w[\w.-]*")
"""How files are called, so that no manifest leads out of its folder."""


@dataclass(frozen=True)
class Kept:
    """What a manifest says.

    identity: what it is a search of; run: a name that no other run has; level: the last one that is known,
    counted from 0, and whose states are still to be judged and expanded unless the engine says otherwise;
    states: of all levels; digests: of the files by name; content: the engine's own.
    """

    identity: Mapping[str, Any]
    run: str
    level: int
    states: int
    digests: Mapping[str, str]
    content: Mapping[str, Any]


def kept_in(place: Path) -> Kept | None:
    """What a folder has; None if it has no manifest. Errors: CheckpointError for one that is damaged."""
    path = place / MANIFEST
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CheckpointError(
            f"{path} cannot be read ({error.strerror}); make it readable, or give an empty folder"
        ) from error
    try:
        said = json.loads(raw)
        digest = said.pop("digest")
        kept = Kept(**said)
        names = all(NAME.fullmatch(name) for name in kept.digests)
    except Exception as error:  # what is in a file may break in any way
        raise damaged(path, f"it cannot be read: {type(error).__name__}") from error
    if digest != digest_of(_line(said)) or not names:
        raise damaged(path, "it is not as it was written")
    return kept


def damaged(path: Path, why: str) -> CheckpointError:
    """What is said of a file that is not what the manifest says."""
    return CheckpointError(f"{path} is damaged ({why}); put it back as it was, or give an empty folder")


def compare(place: Path, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> None:
    """Errors: CheckpointError where a folder is of another search than this one."""
    for key in {**ours, **theirs}:
        if theirs.get(key) != ours.get(key):
            raise CheckpointError(f"{place} is of another search (its {key} differs); give another folder")


def refuse_unasked(place: Path, limits: Limits) -> None:
    """Errors: CheckpointError where nobody wants to go on with the search that is there."""
    if not limits.resume:
        raise CheckpointError(f"{place} holds a search already; give --resume, or an empty folder")


def identity(
    system: System, limits: Limits, engine: str, **what: Any
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """What makes a search this one: the system's parts, the engine, and options; the modules of its sources.

    what: further options that decide what is written. Errors: CheckpointError where sources cannot be read.
    """
    try:
        found = identity_of(system)
    except NotKept as why:
        raise CheckpointError(f"a checkpoint cannot say what it is of: {why}") from why
    chosen = {"schema": SCHEMA, "symmetry": limits.symmetry, "fingerprints": limits.fingerprints, **what}
    return {"engine": engine, **found.parts, **chosen}, found.modules


def named_kinds(kinds: Iterable[type], modules: tuple[str, ...]) -> list[list[str]]:
    """Types of values by their modules and names.

    Errors: CheckpointError where these would not be found again.
    """
    found = sorted([kind.__module__, kind.__qualname__] for kind in kinds)
    try:
        Decoder(kind_named(module, name, modules) for module, name in found)
    except DecodeError as error:
        raise CheckpointError(f"values of this system could not be read again: {error}") from error
    return found


@dataclass
class SearchFolder:
    """The folder of one search.

    identity: as of `identity`; kept: what it had when the search began, None if that was nothing; resumed:
    the same in a result's statistics. Errors: CheckpointError; those of `write` and `commit` are OSErrors.
    """

    place: Path
    identity: Mapping[str, Any]
    limits: Limits
    kept: Kept | None = field(init=False)

    def __post_init__(self) -> None:
        self.kept = kept_in(self.place)
        if self.kept:
            refuse_unasked(self.place, self.limits)
            compare(self.place, self.kept.identity, self.identity)
        self._run = self.kept.run if self.kept else uuid4().hex
        self._digests = dict(self.kept.digests) if self.kept else {}
        try:
            self.place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(
                f"{self.place} cannot be made ({error.strerror}); give another folder"
            ) from error

    @property
    def resumed(self) -> dict[str, Any]:
        """What statistics say of it."""
        return {"resumed": {"level": self.kept.level, "states": self.kept.states}} if self.kept else {}

    def read(self, name: str) -> bytes:
        """The content of a file that counts."""
        path = self.place / name
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise damaged(path, f"it cannot be read: {error.strerror}") from error
        if digest_of(raw) != self._digests.get(name):
            raise damaged(path, "it is not as it was written, or of another level or run")
        return raw

    def write(self, name: str, content: bytes) -> None:
        """Write a file, which counts from the next commit on."""
        self._digests[name] = digest_of(content)
        folder.write(self.place / name, content)

    def commit(self, level: int, states: int, content: Mapping[str, Any]) -> None:
        """Make all that was written count, with what the engine says of it (what JSON can say)."""
        said = vars(Kept(self.identity, self._run, level, states, self._digests, content))
        manifest = {"digest": digest_of(_line(said)), **said}
        folder.write(self.place / MANIFEST, json.dumps(manifest).encode())


def _line(said: Mapping[str, Any]) -> bytes:
    return json.dumps(said, sort_keys=True).encode()
