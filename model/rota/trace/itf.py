"""A trace in the Informal Trace Format of Apalache and Quint: states as JSON, a variable for each machine.

Source: Apalache ADR-015. A dataclass is a variant, its name the tag and its fields a record; what is None is
the variant `Nothing`; bytes and enumerations are texts. Variables have the names of machines, though some are
no identifiers of TLA+.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from rota.trace.model import Step, Trace
from rota.trace.render import render
from rota.trace.replay import Run
from rota.trace.words import change, title, verdict

FORMAT = "https://apalache.informal.systems/docs/adr/015adr-trace.html"


def itf(trace: Trace, run: Run | None = None) -> str:
    """The text of the file.

    Parameters: trace; run, its states. Without it values are what the trace says of them, as texts that are
    equal where the values are.
    """
    values = [[_unread(text) for text in texts] for texts in _texts(trace)]
    if run is not None:
        values = [[expression(value) for value in state] for state in run.states]
    about = {
        "format": "ITF",
        "format-description": FORMAT,
        "description": f"{trace.system}: {title(trace)} {verdict(trace)}. {trace.meaning}",
    }
    states = [
        {"#meta": meta, **dict(zip(trace.machines, each, strict=True))}
        for meta, each in zip(_metas(trace), values, strict=True)
    ]
    content: dict[str, Any] = {"#meta": about, "vars": trace.machines, "states": states}
    if trace.cycle is not None:
        content["loop"] = len(trace.steps) - trace.cycle
        content["states"] = states[: len(states) - bool(trace.cycle)]  # the last one is where the loop begins
    return json.dumps(content, indent=1) + "\n"


def _metas(trace: Trace) -> Iterator[Mapping[str, Any]]:
    """What is said of each state beside its values: the step that leads there."""
    yield {"index": 0}
    for step in trace.steps:
        yield {"index": step.index, "action": step.label, "rules": step.rules}


def expression(value: Any) -> Any:
    """A value as JSON, by the format's rules."""
    if value is None:
        return {"tag": "Nothing", "value": {}}
    if isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return render(value)
    if isinstance(value, int):
        return {"#bigint": str(value)}
    if isinstance(value, str):
        return value
    if isinstance(value, frozenset):
        return {"#set": [expression(item) for item in sorted(value, key=render)]}
    if isinstance(value, Mapping):
        return {"#map": [[expression(key), expression(item)] for key, item in value.items()]}
    if is_dataclass(value):
        record = {one.name: expression(getattr(value, one.name)) for one in fields(value)}
        return {"tag": type(value).__name__, "value": record}
    if isinstance(value, tuple):
        return {"#tup": [expression(item) for item in value]}
    return render(value) if isinstance(value, bytes) else _unread(render(value))


def _unread(text: str) -> Any:
    return {"#unserializable": text}


def _texts(trace: Trace) -> Iterator[Sequence[str]]:
    """What the trace says of each machine in each state."""
    known = {(one.machine, one.hash): one.value for one in trace.start}
    yield [one.value for one in trace.start]
    for step in trace.steps:
        changes = _changes(step)
        there = list(zip(trace.machines, step.hashes, strict=True))
        for machine, code in there:
            known.setdefault((machine, code), f"after step {step.index}: {changes.get(machine, '')}")
        yield [known[one] for one in there]


def _changes(step: Step) -> Mapping[str, str]:
    """Machine -> what changed in it."""
    told: dict[str, str] = {}
    for one in step.differences:
        said = " ".join(filter(None, (one.path, change(one))))
        told[one.machine] = "; ".join(filter(None, (told.get(one.machine), said)))
    return told
