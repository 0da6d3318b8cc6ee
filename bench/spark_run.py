"""One exploration of `bench.spark` in a process of its own: prints a line of JSON per event.

    python -m bench.spark_run MEASUREMENT.json FOLDER

Events: `begin` when the engine starts (Spark is up by then), `round` after each round, `end` with the counts.
Each has the time of the clock, so that the program that watches can tell what was used between them.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.kgroup import kgroup
from bench.spark_naive import Counted, explore

from rota.cli.check_plan import plan
from rota.cli.options import Selection
from rota.explore import Result
from rota.explore.fast import search
from rota.explore.result import Limits
from rota.explore.spark.exchange import Files, Shuffle
from rota.explore.spark.protocol import Report
from rota.kernel import System


def emit(event: str, **more: Any) -> None:
    """Print an event."""
    print(json.dumps({"event": event, "at": time.time(), **more}), flush=True)


def build(subject: dict[str, Any]) -> System:
    """The system of a measurement."""
    if subject["kgroup"]:
        return kgroup(*subject["kgroup"])
    scope, configuration = subject["spec"]
    selection = Selection(scope, (configuration,), settings=tuple(subject["settings"]))
    return plan(selection).jobs[0].build()


class Rounds:
    """Follows the rounds of the Spark engine: what each sent, and how long Spark was at it.

    It stands in for the `put` of both exchanges, so it sees each task's report.
    """

    def __init__(self) -> None:
        self.last = time.perf_counter()
        self.exchanged: dict[str, Any] = {}

    def watch(self, kind: type[Shuffle] | type[Files]) -> None:
        """From now on see what the exchange is given."""
        original: Callable[..., list[Any]] = kind.put

        def put(exchange: Any, round_: int, inbox: Any, task: Any) -> list[Any]:
            started = time.perf_counter()
            answers = original(exchange, round_, inbox, task)
            reports = [answer for answer in answers if isinstance(answer, Report)]
            self.exchanged = {
                "in_spark": time.perf_counter() - started,
                "sent_bytes": sum(report.sent_bytes for report in reports),
                "expanded": sum(report.states for report in reports),
                "most": max((report.states for report in reports), default=0),
                "generated": sum(report.generated for report in reports),
            }
            return answers

        kind.put = put  # type: ignore[method-assign, assignment]

    def done(self, round_: int, distinct: int, level: int, generated: int, seconds: float) -> None:
        """What the engine calls after a round."""
        now = time.perf_counter()
        figures = {"round": round_, "distinct": distinct, "level": level, "seconds": now - self.last}
        emit("round", **{**figures, **self.exchanged})
        self.last = now


def on_spark(system: System, options: dict[str, Any], folder: Path) -> Result:
    """The Spark engine. options: master, files, local_levels, partitions, memory, max_states."""
    from rota.explore.spark import engine as spark
    from rota.explore.spark.session import spark_context

    rounds = Rounds()
    for kind in (Shuffle, Files):
        rounds.watch(kind)
    checkpoint = folder / "checkpoint" if options.get("files") else None
    limits = Limits(checkpoint=checkpoint, memory=options.get("memory"), max_states=options.get("max_states"))
    with spark_context(options["master"]) as context:
        emit("begin", partitions=options.get("partitions") or context.defaultParallelism)
        rounds.last = time.perf_counter()
        return spark.explore(
            system,
            limits,
            context=context,
            progress=rounds.done,
            partitions=options.get("partitions"),
            local_levels=options.get("local_levels", 1),
            say=lambda line: emit("note", text=line),
        )


def on_threads(system: System, options: dict[str, Any]) -> Result:
    """The fast engine. options: threads, max_states."""
    emit("begin")
    limits = Limits(workers=options["threads"], max_states=options.get("max_states"))
    return search.explore(system, limits, progress=_level)


def naively(system: System, options: dict[str, Any], folder: Path) -> Counted:
    """The naive design. options: master."""
    from rota.explore.spark.session import spark_context

    with spark_context(options["master"]) as context:
        context.setCheckpointDir(str(folder / "rdd"))
        emit("begin", partitions=context.defaultParallelism)
        return explore(context, system, _level)


def _level(round_: int, distinct: int, level: int, generated: int, seconds: float) -> None:
    emit("round", round=round_, distinct=distinct, level=level, seconds_so_far=seconds)


def main(measurement: str, folder: str) -> None:
    """Run it."""
    asked = json.loads(Path(measurement).read_text(encoding="utf-8"))
    options, system = asked["way"]["options"], build(asked["subject"])
    result: Result | Counted
    if asked["way"]["engine"] == "spark":
        result = on_spark(system, options, Path(folder))
    elif asked["way"]["engine"] == "fast":
        result = on_threads(system, options)
    else:
        result = naively(system, options, Path(folder))
    figures = {"distinct": result.distinct, "generated": result.generated, "seconds": result.seconds}
    if isinstance(result, Result):
        strict = options.get("local_levels", 1) == 1
        figures |= {"verdict": result.verdict.value, "digest": result.digest, "stats": dict(result.stats)}
        figures["depth"] = result.depth if strict else None
    else:
        figures["depth"] = result.depth
    emit("end", **figures)


if __name__ == "__main__":
    main(*sys.argv[1:])
