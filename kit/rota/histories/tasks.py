"""Pieces of work, as they are sent to whoever does them: in this process one after the other, or on Spark."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from rota.histories.judging import Bucket, judge
from rota.histories.plan import Plan
from rota.histories.reading import read
from rota.histories.routing import Part, route
from rota.histories.shards import Shard
from rota.validate.collecting import collected_once

DIGEST, READ, ROUTE, JUDGE = "digest", "read", "route", "judge"


class Runner(Protocol):
    """Does pieces of work of one kind, in any order and any number at a time."""

    def __call__(self, kind: str, plan: Plan, pieces: Sequence[Any]) -> list[Any]:
        """What each comes to, in their order. pieces: as JSON has them."""


def done(kind: str, plan: Plan, piece: Any) -> Any:
    """One piece. Returns what JSON has; of what leaves files nothing. Errors: ReadingError."""
    return _KINDS[kind](plan, piece)


def here(kind: str, plan: Plan, pieces: Sequence[Any]) -> list[Any]:
    """A runner in this process."""
    found = []
    gc.freeze()  # what was there before is not looked through for each piece
    try:
        for piece in pieces:
            with collected_once():
                found.append(done(kind, plan, json.loads(json.dumps(piece))))
    finally:
        gc.unfreeze()
    return found


def _digested(plan: Plan, piece: Mapping[str, Any]) -> Any:
    return asdict(Shard.of(piece).digested())


_KINDS: Mapping[str, Callable[[Plan, Any], Any]] = {
    DIGEST: _digested,
    READ: lambda plan, piece: read(plan, Shard.of(piece)),
    ROUTE: lambda plan, piece: route(plan, Part.of(piece)),
    JUDGE: lambda plan, piece: judge(plan, Bucket.of(piece)),
}
