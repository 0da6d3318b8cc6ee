"""A cluster of Spark on this machine: two executors of one core each, processes of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rota.explore.spark import session


@contextmanager
def cluster(*modules: Any, **settings: str) -> Iterator[Any]:
    """A context. modules: that workers are sent; settings: further ones of Spark, with _ for dots."""
    with pytest.MonkeyPatch.context() as patch:
        quiet = session._quiet
        more = {name.replace("_", "."): value for name, value in settings.items()}
        patch.setattr(session, "_quiet", lambda *given: {**quiet(*given), **more})
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", session.LOOPBACK)
        with session.spark_context("local-cluster[2,1,1024]", [one.__file__ for one in modules]) as running:
            running.setLogLevel("OFF")
            yield running


def bare(folder: Path, packages: tuple[str, ...] = ()) -> str:
    """A Python that has Spark's own modules and these packages, no others and no rota. Returns its path."""
    site = next(Path(place) for place in sys.path if place.endswith("site-packages"))
    (folder / "packages").mkdir(parents=True)
    for name in packages:
        for path in (*site.glob(name), *site.glob(f"{name}.libs")):
            (folder / "packages" / path.name).symlink_to(path)
    python = folder / "python"
    words = f'PYTHONPATH="$PYTHONPATH:{folder}/packages" exec {sys.executable} -S "$@"'
    python.write_text(f"#!/bin/sh\n{words}\n", encoding="utf-8")
    python.chmod(0o755)
    return str(python)
