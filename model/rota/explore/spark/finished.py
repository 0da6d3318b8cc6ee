"""What a finished exploration came to, kept in the folder of its checkpoint: so it is not made again."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from rota.explore.checkpoint import MANIFEST, identity
from rota.explore.result import CheckpointError, Limits, Result, Verdict
from rota.explore.spark.answers import clear_errors
from rota.kernel import System

NAME = "finished"


class Finished:
    """The record of one exploration.

    Parameters: folder; system; limits: without `resume` there may be none yet; what: further options that
    decide the answer.
    """

    def __init__(self, folder: Path, system: System, limits: Limits, what: Mapping[str, Any]) -> None:
        self._folder, self._resume = folder, limits.resume
        self._path = folder / NAME
        self._identity = {**identity(system, limits)[0], "engine": "spark", **what}

    @property
    def by_level(self) -> bool:
        """Whether the folder has levels of a search that went by them."""
        return (self._folder / MANIFEST).exists()

    def read(self) -> Result | None:
        """What the exploration came to; None if nobody knows: it was not finished, or the record is damaged.

        Errors: CheckpointError for that of another system, and for one that nobody wants to go on with.
        """
        try:
            checksum, content = self._path.read_bytes().split(b"\n", 1)
        except (FileNotFoundError, ValueError):
            return None
        if checksum != _checksum(content):
            return None
        if not self._resume:
            raise CheckpointError(f"{self._folder} holds a search already; give --resume, or an empty folder")
        theirs, result = content.split(b"\n", 1)
        self._compare(json.loads(theirs))
        known: Result = pickle.loads(result)
        return known

    def write(self, result: Result) -> None:
        """Keep what an exploration came to, unless a bound ended it. Errors: NoSpace."""
        if result.verdict is Verdict.UNDECIDED:
            return
        content = json.dumps(self._identity).encode() + b"\n" + pickle.dumps(result, protocol=5)
        temporary = self._path.with_name(f"{NAME}.{os.getpid()}")
        with clear_errors(self._folder):
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
                temporary.write_bytes(_checksum(content) + b"\n" + content)
                temporary.replace(self._path)
            finally:
                with suppress(OSError):
                    temporary.unlink(missing_ok=True)

    def _compare(self, theirs: Mapping[str, Any]) -> None:
        here = json.loads(json.dumps(self._identity))
        for key in here:
            if theirs.get(key) != here[key]:
                raise CheckpointError(
                    f"{self._folder} is of another search (its {key} differs); give another folder"
                )


def _checksum(content: bytes) -> bytes:
    return blake2b(content, digest_size=16).hexdigest().encode()
