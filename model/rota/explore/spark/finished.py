"""What a finished exploration came to, kept in the folder of its checkpoint: so it is not made again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from rota.explore.cache import files
from rota.explore.cache import folder as writing
from rota.explore.cache.store import kind_named
from rota.explore.manifest import MANIFEST, compare, identity, refuse_unasked
from rota.explore.result import Limits, Result, Verdict
from rota.explore.spark.answers import clear_errors
from rota.kernel import System, encode
from rota.kernel.decoding import DecodeError, Decoder, kinds_within

NAME = "finished"


class Finished:
    """The record of one exploration.

    Parameters: folder; system; limits: without `resume` there may be none yet; what: further options that
    decide the answer.
    """

    def __init__(self, folder: Path, system: System, limits: Limits, what: Mapping[str, Any]) -> None:
        self._folder, self._limits = folder, limits
        self._path = folder / NAME
        self._identity, self._modules = identity(system, limits, "spark", **what)

    @property
    def by_level(self) -> bool:
        """Whether the folder has levels of a search that went by them."""
        return (self._folder / MANIFEST).exists()

    def read(self) -> Result | None:
        """What the exploration came to; None if nobody knows: it was not finished, or the record is damaged.

        Errors: CheckpointError for that of another system, and for one that nobody wants to go on with.
        """
        try:
            about, parts = files.unpacked(self._path.read_bytes())
        except (OSError, files.Damaged):
            return None
        refuse_unasked(self._folder, self._limits)
        compare(self._folder, dict(about.get("identity") or {}), self._identity)
        try:
            decoder = Decoder(kind_named(module, kind, self._modules) for module, kind in about["kinds"])
            known: Result = replace(decoder.decode(parts["result"]), **about["bare"])
        except (DecodeError, KeyError, TypeError):
            return None
        return known

    def write(self, result: Result) -> None:
        """Keep what an exploration came to, unless a bound ended it. Errors: NoSpace."""
        if result.verdict is Verdict.UNDECIDED:
            return
        bare = {one.name: getattr(result, one.name) for one in fields(result)}
        bare = {name: value for name, value in bare.items() if isinstance(value, float | Mapping)}
        without: Any = dict.fromkeys(bare)
        rest = replace(result, **without)
        try:
            kinds = sorted([kind.__module__, kind.__qualname__] for kind in kinds_within([rest]))
            Decoder(kind_named(module, kind, self._modules) for module, kind in kinds)
        except DecodeError:
            return  # it could not be read again, so it will be made again
        about = {"identity": self._identity, "kinds": kinds, "bare": bare}
        with clear_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            writing.write(self._path, files.packed(about, {"result": encode(rest)}))
