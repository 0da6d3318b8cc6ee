"""A Spark context: on this machine alone unless told otherwise, quiet; and what its workers have."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType
from typing import Any
from uuid import uuid4

from rota.explore.result import MissingExtra
from rota.explore.spark.archive import digest, write
from rota.explore.spark.memory import JAVA_OPTIONS

LOOPBACK = "127.0.0.1"

MASTER = f"local[{len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()},4]"
"""As many tasks at a time as there are cores, and four tries for each: `local[2]` would fail the run when a
worker is killed."""

STAY = {"spark.locality.wait": "600s", "spark.shuffle.reduceLocality.enabled": "false"}
"""Settings that keep a task on the host that has its partition's files, for elsewhere they would have to be
restored: it waits so long for a core there, and is not drawn to where most was sent from."""

PLAIN = 15
"""How many times slower workers without numba are, about: time of processors for the first 110,737 states of
KGROUP (N=3, G=2, L=2, C=0, E=1). The fewer the states the smaller it is: 5 for `fault` of scope small."""

JAVA = 17
"""The oldest major version of Java that Spark 4 runs on."""

_SHIPPED: list[TemporaryDirectory[str]] = []
"""Folders with archives that were sent. Executors fetch them as they begin, so they stay as long as we do."""

LOGGING = """\
rootLogger.level = error
logger.shell.name = org.apache.spark.api.python.PythonGatewayServer
logger.shell.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n%ex{1}
"""


class MissingJava(ValueError):
    """There is no Java that Spark can run on."""


@dataclass(frozen=True)
class Cluster:
    """What is known of the workers. compiled: all have numba; lasting: executors may be lost one by one."""

    compiled: bool
    lasting: bool


@contextmanager
def spark_context(
    master: str | None = None, py_files: Sequence[str] = (), *, ui: bool = False, memory: int | None = None
) -> Iterator[Any]:
    """A SparkContext that is stopped at the end.

    Parameters: master, as Spark writes it, None for what `spark-submit` says, else MASTER; py_files, modules
    and archives for the workers; ui, whether Spark's web interface is served; memory, bytes for the heap of
    Spark's own process, which has `memory.JAVA_BESIDE` beside it then. Errors: MissingExtra without pyspark,
    MissingJava without Java 17 or later.
    """
    if find_spec("pyspark") is None:
        raise MissingExtra('engine spark needs pyspark; pip install "rota[spark]"')
    _find_java()
    from pyspark import SparkConf, SparkContext

    submitted, chosen = is_submitted(), chosen_master(master)
    with TemporaryDirectory(prefix="rota-spark-") as folder:
        conf = SparkConf().setAppName("rota").set("spark.ui.showConsoleProgress", "false")
        if chosen:
            conf.setMaster(chosen)
        if not submitted:
            conf.setAll(_quiet(Path(folder), ui, memory).items())
        if chosen and is_local(chosen):
            os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
            os.environ["SPARK_LOCAL_IP"] = LOOPBACK
            conf.set("spark.driver.host", LOOPBACK).set("spark.driver.bindAddress", LOOPBACK)
        else:
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            for name, value in STAY.items():
                conf.setIfMissing(name, value)
        context = SparkContext(conf=conf)
        try:
            for file in py_files:
                context.addPyFile(str(file))
            yield context
        finally:
            context.stop()


def _quiet(folder: Path, ui: bool, memory: int | None) -> dict[str, str]:
    """Settings of a context that is not `spark-submit`'s: files in a folder of its own, little said."""
    logging = folder / "log4j2.properties"
    logging.write_text(LOGGING, encoding="utf-8")
    settings = {
        "spark.ui.enabled": str(ui).lower(),
        "spark.local.dir": str(folder),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logging.as_uri()}",
    }
    if memory is not None:
        settings["spark.driver.memory"] = f"{memory >> 20}m"
        settings["spark.driver.extraJavaOptions"] += f" {JAVA_OPTIONS}"
    return settings


def is_submitted() -> bool:
    """Whether this driver was started by `spark-submit`, with a Java process that is there already."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def is_local(master: str) -> bool:
    """Whether all of Spark is in one process (`local-cluster` is not)."""
    return master == "local" or master.startswith("local[")


def chosen_master(asked: str | None) -> str | None:
    """Where a context will run, as Spark writes it; None for what `spark-submit` says."""
    return asked or (None if is_submitted() else MASTER)


def tasks_of(master: str) -> int | None:
    """How many tasks run at a time, where the master's name tells it."""
    found = re.match(r"local(?:\[(\d+)\b|$)", master)
    return int(found[1] or 1) if found else None


def look_at(context: Any, say: Callable[[str], None]) -> Cluster:
    """Find out what the workers have, and send them rota where they have not this very one.

    say: is told of Spark's web interface, and of workers that have no numba.
    """
    asked = ship(context, say)
    lasting = not is_local(context.master)
    compiled = all(asked.map(portable(_has_numba)).collect())
    if not compiled:
        say(f"the workers have no numba: plain Python, about {PLAIN} times slower; install rota[fast] there")
    return Cluster(compiled, lasting)


def ship(context: Any, say: Callable[[str], None]) -> Any:
    """Send workers rota where they have not this very one. Returns numbers on all of them.

    say: is told of Spark's web interface.
    """
    if context.uiWebUrl:
        say(f"Spark's web interface: {context.uiWebUrl}")
    slots = context.defaultParallelism
    asked = context.parallelize(range(2 * slots), 2 * slots)
    if not is_local(context.master) and set(asked.map(portable(_which_rota)).collect()) != {digest()}:
        _SHIPPED.append(TemporaryDirectory(prefix="rota-archive-"))
        context.addPyFile(str(write(Path(_SHIPPED[-1].name, f"rota-{uuid4().hex[:12]}.zip"))))
    return asked


def _has_numba(_: int) -> bool:
    """In a worker. Imports stand within."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in ("numba", "numpy"))


def _which_rota(_: int) -> str:
    """In a worker: what its rota is made of, '' if there is none. Imports stand within.

    What was imported for that is forgotten: the process lives on, and is to find what it may be sent.
    """
    import sys

    before = set(sys.modules)
    try:
        from rota.explore.spark.archive import digest
    except ImportError:
        return ""
    found = digest()
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "rota":
            del sys.modules[name]
    return found


def portable(function: Any) -> Any:
    """A function that travels as code, to workers that cannot import it."""
    return FunctionType(function.__code__, {"__builtins__": __builtins__, "__name__": "__main__"})


def _find_java() -> None:
    """Look where Spark looks: JAVA_HOME, then PATH. Errors: MissingJava."""
    home = os.environ.get("JAVA_HOME")
    path = os.path.join(home, "bin", "java") if home else shutil.which("java")
    remedy = f"install Java {JAVA} or later and put it on PATH or set JAVA_HOME"
    if path is None:
        raise MissingJava(f"engine spark needs Java, and there is none; {remedy}")
    try:
        answer = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise MissingJava(f"{path} does not run ({type(error).__name__}); {remedy}") from None
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    if version is None or int(version[1]) < JAVA:
        found = version[1] if version else "of unknown version"
        raise MissingJava(f"{path} is Java {found}, too old for Spark; {remedy}")
