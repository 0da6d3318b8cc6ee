"""`rota check --engine spark`: options, one Spark context for all configurations, errors in one line."""

from __future__ import annotations

import logging
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rota.cli import completing
from rota.cli.errors import UNDECIDED, UsageError, one_line
from rota.cli.options import Search
from rota.explore import Limits, MissingExtra, Result, engines
from rota.explore.result import Progress
from rota.explore.spark import memory
from rota.kernel import System
from rota.report.check_model import Plan

if TYPE_CHECKING:
    from rota.explore.spark.finished import Finished
    from rota.explore.spark.suite import Tasks

ENGINE = "spark"

LEVELS = 4
"""How many levels a task goes by itself in a round where only the verdict is asked for."""

PATIENCE = 30.0
"""Seconds to wait for executors before saying that there are none."""

QUIET = 1.0
"""Seconds without another executor after which those that are there are taken for all."""

REACH = 5.0
"""Seconds to wait for a master to answer."""

LONGEST = 300
"""Characters of what Spark says."""

MASTERS = ("local", "spark://", "yarn", "k8s://")
"""How masters begin. Another one would be refused with Java's stack."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class SparkOptions:
    """What Spark alone is asked for. master: as Spark writes it; None: not given."""

    master: str | None = None
    partitions: int | None = None
    verdict_only: bool = False
    by_level: bool = False
    py_files: tuple[str, ...] = ()

    def first(self) -> str | None:
        """The first option that is given."""
        given = {
            "--master": self.master,
            "--partitions": self.partitions,
            "--verdict-only": self.verdict_only,
            "--by-level": self.by_level,
            "--py-files": self.py_files,
        }
        return next((name for name, value in given.items() if value), None)


SPARK = (
    click.option("--master", metavar="URL", shell_complete=completing.spark_masters,
                 help="Where it runs, as spark://HOST:PORT.  [default: spark-submit's, else "
                      "local with all cores]"),
    click.option("--partitions", type=click.IntRange(min=1), metavar="N",
                 help="Parts that states are divided into.  [default: the cores]"),
    click.option("--verdict-only", is_flag=True,
                 help=f"{LEVELS} levels a round. Faster; depths are no longer exact."),
    click.option("--by-level", is_flag=True,
                 help="A level a round, also where tasks could explore configurations whole."),
    click.option("--py-files", multiple=True, metavar="FILE",
                 type=click.Path(exists=True, dir_okay=False),
                 help="A module or archive that workers need, as for --system; repeatable."),
)  # fmt: skip
"""The options of `SparkOptions`."""


@dataclass(frozen=True)
class OnSpark:
    """How this exploration uses Spark. memory: bytes, of all processes; None: no limit."""

    options: SparkOptions
    memory: int | None = None


def on_spark(search: Search, options: SparkOptions) -> OnSpark | None:
    """How Spark is used; None for another engine. Errors: UsageError."""
    if search.engine != ENGINE:
        if option := options.first():
            raise UsageError(f"{option} is for Spark; add --engine spark")
        return None
    if search.workers:
        raise UsageError("--workers is not for engine spark; say --master 'local[N]'")
    refuse_no_master(options.master)
    return OnSpark(options, search.limits.memory)


def refuse_no_master(master: str | None) -> None:
    """Errors: UsageError for what Spark would refuse with Java's stack."""
    if master and not master.startswith(MASTERS):
        raise UsageError(
            f"there is no Spark master {master!r}; name one as local[2], spark://HOST:PORT, yarn"
        )


def fitted(plan: Plan, limits: Limits, wanted: OnSpark) -> tuple[Plan, Limits]:
    """What Spark is given: a folder that every worker finds, no exact depth where none will be known."""
    limits = replace(limits, checkpoint=limits.checkpoint and limits.checkpoint.absolute())
    if not wanted.options.verdict_only:
        return plan, limits
    jobs = (
        replace(job, expected=job.expected and {k: v for k, v in job.expected.items() if k != "depth"})
        for job in plan.jobs
    )
    return replace(plan, jobs=tuple(jobs)), limits


class Session:
    """The engine on Spark, level by level, for several systems; with tasks it explores many of them whole.

    Parameters: engine, that of `rota.explore.spark.engine`; context; wanted; shares, of the memory; say.
    """

    def __init__(
        self, engine: engines.Engine, context: Any, wanted: OnSpark, shares: memory.Shares, say: Say
    ) -> None:
        self.wanted = wanted
        self._context, self._shares, self._say = context, shares, say
        self._engine = partial(
            engine,  # type: ignore[call-arg]  # Spark's takes more than every engine does
            context=context,
            partitions=wanted.options.partitions,
            local_levels=self._levels,
            ceiling=shares.worker,
            say=say,
        )

    @property
    def _levels(self) -> int:
        return LEVELS if self.wanted.options.verdict_only else 1

    def __call__(
        self, system: System, limits: Limits | None = None, *, progress: Progress | None = None
    ) -> Result:
        """By levels, unless a record says what that came to. Errors: as of the engine."""
        limits = replace(limits or Limits(), memory=self._shares.states)
        record = self.record(system, limits)
        result = record.read() if record else None
        if result is None:
            result = self._engine(system, limits, progress=progress)
            if record:
                record.write(result)
        return result

    def record(self, system: System, limits: Limits) -> Finished | None:
        """What is kept of a finished exploration, where there is a checkpoint."""
        from rota.explore.spark.finished import Finished

        folder = limits.checkpoint
        return Finished(folder, system, limits, {"local levels": self._levels}) if folder else None

    def tasks(self) -> Tasks:
        """For whole systems, many at a time."""
        from rota.explore.spark.session import look_at
        from rota.explore.spark.suite import Tasks

        states = self._shares.states
        share = states and states // max(1, self._context.defaultParallelism)
        return Tasks(self._context, look_at(self._context, self._say), share, self._shares.worker)


@contextmanager
def at_hand(engine: engines.Engine, wanted: OnSpark | None, say: Say) -> Iterator[engines.Engine]:
    """An engine that can be called several times; for Spark with one context, stopped at the end.

    Parameters: wanted, None for another engine; say, takes lines for people, each once.
    Errors: UsageError.
    """
    if wanted is None:
        yield engine
        return
    once = _once(say)
    if wanted.options.verdict_only:
        once(
            f"verdict only: up to {LEVELS} levels a round, so depths are at most what is shown, and the "
            "histogram is one of rounds; a violation is looked for anew, in rounds of one level"
        )
    with context_at_hand(wanted, once) as (context, shares):
        yield Session(engine, context, wanted, shares, once)


@contextmanager
def context_at_hand(wanted: OnSpark, say: Say) -> Iterator[tuple[Any, memory.Shares]]:
    """A Spark context, stopped at the end, and how memory is divided. Errors: UsageError."""
    _refuse_too_little(wanted)
    with _errors_in_a_line(), ExitStack() as stack:
        context = stack.enter_context(_context(wanted))
        stack.enter_context(_quiet_interrupts())
        _wait_for_executors(context, say)
        shares = _shares(context.master, context.defaultParallelism, wanted)
        stack.enter_context(memory.held(shares.driver))
        yield context, shares


def _refuse_too_little(wanted: OnSpark) -> None:
    """What is too little for as many tasks as the master's name says; Spark takes seconds to start."""
    from rota.explore.spark.session import chosen_master, tasks_of

    master = chosen_master(wanted.options.master)
    if master and (tasks := tasks_of(master)):
        _shares(master, tasks, wanted)


def _shares(master: str, tasks: int, wanted: OnSpark) -> memory.Shares:
    """How --memory is divided. Errors: UsageError if it is too little."""
    from rota.explore.spark.session import is_local, is_submitted

    if wanted.memory is None:
        return memory.Shares()
    try:
        return memory.divide(wanted.memory, tasks, java=is_local(master) and not is_submitted())
    except memory.TooLittle as error:
        fewer = "as --master 'local[1]'" if is_local(master) else "by fewer cores of executors"
        raise UsageError(f"--memory: {error}, {fewer}") from error


@contextmanager
def _context(wanted: OnSpark) -> Iterator[Any]:
    from rota.explore.spark.session import MissingJava, spark_context

    master, files = wanted.options.master, wanted.options.py_files
    _reach(master or "")
    with ExitStack() as stack:
        try:
            heap = wanted.memory and memory.heap(wanted.memory)
            context = stack.enter_context(spark_context(master, files, ui=True, memory=heap))
        except (MissingJava, MissingExtra):
            raise
        except Exception as error:
            where = f"--master {master}" if master else "this master"
            remedy = "name one that Spark knows, as local[2] or spark://HOST:PORT"
            raise UsageError(f"Spark does not start with {where} ({cause(error)}); {remedy}") from error
        yield context


@contextmanager
def _quiet_interrupts() -> Iterator[None]:
    """Ctrl-C ends at once, as elsewhere: Spark's own handler talks to Java first, and logs that it cannot.

    PySpark's clean-up may make another error of the interrupt; it is one all the same.
    """
    seen = []

    def interrupted(number: int, frame: object) -> None:
        seen.append(number)
        logging.disable(logging.CRITICAL)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # which alone receives signals
        yield
        return
    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    except Exception:
        if seen:
            raise KeyboardInterrupt from None
        raise
    finally:
        logging.disable(logging.NOTSET)
        signal.signal(signal.SIGINT, before)


def _reach(master: str) -> None:
    """Look whether a standalone master is there, for Spark would try for a minute. Errors: UsageError."""
    if not master.startswith("spark://"):
        return
    tried = []
    for place in master.removeprefix("spark://").split(","):
        host, colon, port = place.rpartition(":")
        if not (colon and host and port.isdigit()):
            raise UsageError(f"cannot read the master {master}; write --master spark://HOST:PORT")
        try:
            with socket.create_connection((host, int(port)), timeout=REACH):
                return
        except OSError as error:
            tried.append(f"{place}: {error.strerror or error}")
    raise UsageError(
        f"no Spark master answers at {master} ({'; '.join(tried)}); start it, or name one that runs"
    )


def _wait_for_executors(context: Any, say: Say) -> None:
    """Let the executors of a cluster arrive, as their number decides how many partitions there are."""
    from rota.explore.spark.session import is_local

    if not is_local(context.master):
        there, since, end = 0, time.monotonic(), time.monotonic() + PATIENCE
        while (now := time.monotonic()) < end and (not there or now - since < QUIET):
            seen = context._jsc.sc().getExecutorMemoryStatus().size() - 1  # the driver is one of them
            there, since = seen, since if seen == there else now
            time.sleep(0.1)
        if not there:
            say(
                f"Spark has no executor after {PATIENCE:.0f} s, and is waited for: has {context.master} "
                "workers with cores and memory to spare?"
            )
    say(f"Spark {context.version} on {context.master}: {context.defaultParallelism} tasks at a time")


@contextmanager
def _errors_in_a_line() -> Iterator[None]:
    """Errors of the engine as UsageError; what Spark itself gave up, in one line."""
    from rota.explore.spark.answers import ExecutorsLost
    from rota.explore.spark.engine import NotShippable, NotSupported
    from rota.explore.spark.session import MissingJava
    from rota.explore.spark.worker.surroundings import NotRebuilt

    try:
        yield
    except (NotShippable, NotSupported, MissingJava, MissingExtra, memory.NoMemory) as error:
        raise UsageError(str(error)) from error
    except ExecutorsLost as error:
        raise UsageError(str(error), UNDECIDED) from error
    except NotRebuilt as error:
        raise UsageError(str(error).replace("in py_files", "with --py-files")) from error
    except Exception as error:
        if not type(error).__module__.startswith(("py4j", "pyspark")):
            raise
        remedy = "see its web interface and the logs of its workers"
        raise UsageError(f"Spark gave up ({cause(error)}); {remedy}", UNDECIDED) from error


def cause(error: Exception) -> str:
    """What an error of Spark says first; of one from Java not the stack."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    from_java = [line.removeprefix(": ") for line in lines if line.startswith(": ")]
    text = one_line((from_java or lines or [type(error).__name__])[0])
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _once(say: Say) -> Say:
    said: set[str] = set()

    def unless_said(line: str) -> None:
        if line not in said:
            said.add(line)
            say(line)

    return unless_said
