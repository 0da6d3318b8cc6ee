"""The engines by name. Each is imported when chosen, so that a missing extra only hurts its user."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

from rota.explore.result import Limits, MissingExtra, Progress, Result
from rota.kernel import System


class Engine(Protocol):
    """What every engine is: a function from a system to its result."""

    def __call__(
        self, system: System, limits: Limits | None = None, *, progress: Progress | None = None
    ) -> Result:
        """Visit every reachable state; see `Result`."""
        ...


class UnknownEngine(ValueError):
    """No engine has that name."""


ENGINES: dict[str, str] = {
    "reference": "rota.explore.reference",
    "fast": "rota.explore.fast.engine",
    "numpy": "rota.explore.fast.numpy_search",
    "spark": "rota.explore.spark.engine",
}
"""Name -> module whose `explore` is the engine."""

LASSO = "lasso"
"""The search for lassos: it judges a system's sentences about endless runs, and nothing else."""

NEEDS: dict[str, tuple[tuple[str, str], ...]] = {
    "fast": (("numpy", "fast"),),
    "numpy": (("numpy", "fast"),),
    "spark": (("pyspark", "spark"), ("numpy", "spark")),
    LASSO: (("networkx", "liveness"),),
}
"""Name -> (module, extra of rota that brings it). The search for lassos needs it only where numba is not."""


def choose(name: str) -> Engine:
    """The engine called `name`; `auto` is the fast one where numpy is there and the reference otherwise.

    `LASSO` is one too, for endless runs. Errors: UnknownEngine, MissingExtra.
    """
    if name == "auto":
        name = "fast" if find_spec("numpy") else "reference"
    modules = {**ENGINES, LASSO: "rota.explore.liveness.engine"}
    if name not in modules:
        raise UnknownEngine(f"there is no engine {name}; there are auto, {', '.join(ENGINES)}")
    compiled = name == LASSO and find_spec("numba")
    for module, extra in () if compiled else NEEDS.get(name, ()):
        if find_spec(module) is None:
            raise MissingExtra(f'engine {name} needs {module}; pip install "rota[{extra}]"')
    engine: Engine = import_module(modules[name]).explore
    return engine
