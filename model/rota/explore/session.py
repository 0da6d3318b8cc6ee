"""A Spark context for one machine: loopback only, quiet, workers with this very Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rota.explore.archive import write
from rota.explore.engines import MissingExtra

MASTER = "local[2,4]"
"""Two tasks at a time and four tries for each; `local[2]` would fail the run when a worker is killed."""

JAVA = 17
"""The oldest major version of Java that Spark 4 runs on."""

LOGGING = """\
rootLogger.level = error
logger.shell.name = org.apache.spark.repl.Main
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


@contextmanager
def spark_context(master: str = MASTER, py_files: Sequence[str] = ()) -> Iterator[Any]:
    """A SparkContext that is stopped at the end.

    Parameters: master, as Spark writes it; py_files, modules and archives for the workers beside rota's
    own archive. Errors: MissingExtra without pyspark, MissingJava without Java 17 or later.
    """
    if find_spec("pyspark") is None:
        raise MissingExtra('engine spark needs pyspark; pip install "rota[spark]"')
    _find_java()
    from pyspark import SparkConf, SparkContext

    with TemporaryDirectory(prefix="rota-spark-") as folder:
        logging = Path(folder, "log4j2.properties")
        logging.write_text(LOGGING, encoding="utf-8")
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        settings = {
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            # a second attempt beside the first would write the same files
            "spark.speculation": "false",
            "spark.local.dir": folder,
            "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={logging.as_uri()}",
        }
        conf = SparkConf().setMaster(master).setAppName("rota").setAll(list(settings.items()))
        context = SparkContext(conf=conf)
        try:
            for file in (write(Path(folder, "packages.zip")), *py_files):
                context.addPyFile(str(file))
            yield context
        finally:
            context.stop()


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
