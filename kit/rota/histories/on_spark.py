"""Pieces of work done on Spark: a job for each kind, a task for each piece."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from rota.explore.spark import memory
from rota.explore.spark.session import portable
from rota.histories.plan import Plan
from rota.histories.tasks import done
from rota.reading import ReadingError
from rota.validate.account import Unaccounted
from rota.validate.collecting import collected_once

WORDS = {
    "digest": "what sources are",
    "read": "read sources",
    "route": "find groups",
    "judge": "judge groups",
}
"""Kinds of work, as Spark's web interface has them."""


NEEDED = {"pyarrow": "pyarrow", "google_crc32c": "google-crc32c", "msgspec": "msgspec"}
"""What workers import, for tables, checksums and events, and what it is called where packages are."""


class Missing(ValueError):
    """Workers lack packages."""


def look_at_workers(context: Any) -> None:
    """Errors: Missing."""
    slots = context.defaultParallelism
    told = context.parallelize([dict(NEEDED)] * slots, slots).map(portable(_missing)).collect()
    if missing := sorted({name for one in told for name in one}):
        raise Missing(f"the workers have no {' and no '.join(missing)}; install rota[spark] there")


def _missing(needed: dict[str, str]) -> list[str]:
    """In a worker, who may not be able to import this module: what it lacks. Imports stand within."""
    from importlib.util import find_spec

    return [package for module, package in needed.items() if find_spec(module) is None]


def answer(kind: str, plan: str, ceiling: int | None, piece: str) -> str:
    """In a worker: one piece. What it has learned stays."""
    with collected_once():
        try:
            memory.hold(ceiling)
            return json.dumps({"done": done(kind, Plan.got(plan), json.loads(piece))})
        except ReadingError as error:
            return json.dumps({"unreadable": str(error)})
        except Unaccounted as error:
            return json.dumps({"unaccounted": str(error)})
        except (MemoryError, pa.ArrowMemoryError):
            return json.dumps({"memory": True})
        finally:
            memory.hold(None)


class OnSpark:
    """A runner: what travels through Spark is the name of a piece and whether it is done; rows are in files.

    Parameters: context; ceiling: bytes that a task's process may have, None: no bound; work: what it does.
    """

    def __init__(self, context: Any, ceiling: int | None = None, work: Callable[..., str] = answer) -> None:
        self._context, self._ceiling, self._work = context, ceiling, work

    def __call__(self, kind: str, plan: Plan, pieces: Sequence[Any]) -> list[Any]:
        """Errors: ReadingError; NoMemory where a task needs more than its share; Unaccounted."""
        if not pieces:
            return []
        self._context.setJobDescription(WORDS[kind])
        work = partial(self._work, kind, plan.sent(), self._ceiling)
        told = self._context.parallelize([json.dumps(one) for one in pieces], len(pieces)).map(work).collect()
        answers = [json.loads(one) for one in told]
        for one in answers:
            if error := one.get("unreadable"):
                raise ReadingError(error)
            if error := one.get("unaccounted"):
                raise Unaccounted(error)
            if "memory" in one:
                remedy = "give more with --memory, or have fewer tasks at a time; what is done is kept"
                raise memory.NoMemory(f"a worker needs more than its share of the memory; {remedy}")
        return [one["done"] for one in answers]
