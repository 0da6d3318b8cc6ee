"""Bugs planted in rota's own coordinator core: at least one for each rule of the spec.

A bug is a piece of a function's source and what stands there instead. It is planted by compiling the function
anew and exchanging its code object, so that whoever has imported the function runs the bug too.
"""

from __future__ import annotations

import inspect
import textwrap
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from types import FunctionType

TABLES = ("core_bugs.toml", "offset_bugs.toml")
CONSUMER_TABLES = ("consumer_bugs.toml",)

BESIDE_MEMBERS = ("hosting.", "offsets.", "transactions.", "admin.", "expiry.")
"""Rules of the spec, by the beginning of their slugs, that are about no group's members."""


class StaleBugError(Exception):
    """A bug does not fit the coordinator's source any more; the message says which and why."""


@dataclass(frozen=True)
class CoreBug:
    """A planted bug of the coordinator.

    rule: the slug of the rule that it breaks; name; meaning: the mistake in one sentence; function: where,
    as "module:name" or "module:Class.name" (a property's getter too); old, new: the text that is exchanged,
    which the function has exactly once; dialogue: what notices it where the lockstep machine does not (its
    rule is none of the machine's, or the spec leaves it open), as "file::function" of its own tests; mended:
    whether it breaks a mend, so that only a coordinator that has it shows the bug.
    """

    rule: str
    name: str
    meaning: str
    function: str
    old: str
    new: str
    dialogue: str = ""
    mended: bool = False


@cache
def core_bugs() -> Mapping[str, CoreBug]:
    """All planted bugs by name, in the order of the rules."""
    return _read(TABLES)


@cache
def consumer_bugs() -> Mapping[str, CoreBug]:
    """Those of the consumer protocol, whose rules stand in a table of their own, by name."""
    return _read(CONSUMER_TABLES)


def _read(tables: Iterable[str]) -> Mapping[str, CoreBug]:
    texts = ((files("rota.mutants") / name).read_text(encoding="utf-8") for name in tables)
    bugs = [CoreBug(**entry) for text in texts for entry in tomllib.loads(text)["bug"]]
    return {bug.name: bug for bug in bugs}


def bugs_of_the_lockstep() -> Mapping[str, CoreBug]:
    """Those of members, which the lockstep machine has to find; but those that a dialogue is named for."""
    bugs = core_bugs().items()
    return {name: bug for name, bug in bugs if not (bug.dialogue or bug.rule.startswith(BESIDE_MEMBERS))}


def bugs_of_everything() -> Mapping[str, CoreBug]:
    """Those that the machine of everything has to find: of what a coordinator keeps beside members."""
    bugs = core_bugs().items()
    return {name: bug for name, bug in bugs if not bug.dialogue and bug.rule.startswith(BESIDE_MEMBERS)}


def bugs_of_dialogues() -> Mapping[str, CoreBug]:
    """Those that a dialogue has to notice."""
    return {name: bug for name, bug in core_bugs().items() if bug.dialogue}


@contextmanager
def planted(bug: CoreBug) -> Iterator[None]:
    """The coordinator has this bug while the block runs, wherever it is used in this process.

    Errors: StaleBugError if the function is gone or does not have the old text exactly once.
    """
    function = _function(bug)
    sound = function.__code__
    function.__code__ = _changed(bug, function).__code__
    try:
        yield
    finally:
        function.__code__ = sound


def place(bug: CoreBug) -> str:
    """The function in which a bug is planted, as "module:name", where it is defined."""
    function = _function(bug)
    return f"{function.__module__}:{function.__qualname__}"


def _function(bug: CoreBug) -> FunctionType:
    module, _, path = bug.function.partition(":")
    found = import_module(module)
    for name in path.split("."):
        if not hasattr(found, name):
            raise StaleBugError(f"{bug.name}: there is no {bug.function}")
        found = getattr(found, name)
    found = found.fget if isinstance(found, property) else found
    if not isinstance(found, FunctionType):
        raise StaleBugError(f"{bug.name}: {bug.function} is not a function")
    return found


def _changed(bug: CoreBug, function: FunctionType) -> FunctionType:
    source = textwrap.dedent(inspect.getsource(function))
    times = source.count(bug.old)
    if times != 1:
        raise StaleBugError(f"{bug.name}: {bug.function} has the old text {times} times, not once")
    names: dict[str, object] = {}
    begins = "async def " if inspect.iscoroutinefunction(function) else "def "
    changed = source[source.index(begins) :].replace(bug.old, bug.new)
    exec(compile(changed, f"<{bug.name}>", "exec", dont_inherit=True), dict(vars(_module(bug))), names)
    made = names[function.__name__]
    if not isinstance(made, FunctionType) or made.__code__.co_freevars != function.__code__.co_freevars:
        raise StaleBugError(f"{bug.name}: {bug.function} cannot be exchanged")
    return made


def _module(bug: CoreBug) -> object:
    return import_module(bug.function.partition(":")[0])
