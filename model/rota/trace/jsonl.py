"""Traces as JSON lines: a header, then one line per step. Same trace, same bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from rota.trace.model import SCHEMA, Component, Decisive, LocalStep, Origin, Sight, Step, Trace
from rota.trace.render import Difference

T = TypeVar("T")

WHAT = "rota-trace"
"""What the header says that the file is."""


class TraceFileError(ValueError):
    """A file that is not a whole trace. line: where, from 1; cause: what is wrong there."""

    def __init__(self, line: int, cause: str) -> None:
        super().__init__(f"line {line}: {cause}")
        self.line, self.cause = line, cause


def dumps(trace: Trace) -> str:
    """The file's text. Errors: TypeError for settings that JSON cannot express."""
    origin = trace.origin
    header = {
        "schema": SCHEMA,
        "what": WHAT,
        "property": trace.property_name,
        "kind": trace.kind,
        "meaning": trace.meaning,
        "source": trace.source,
        "guards": trace.guards,
        "system": trace.system,
        "factory": origin.factory,
        "settings": _plain(origin.settings),
        "scope": origin.scope,
        "configuration": origin.configuration,
        "profile": origin.profile,
        "mutant": origin.mutant,
        "steps": len(trace.steps),
        "start": [vars(component) for component in trace.start],
        "why": [vars(sight) for sight in trace.why],
    }
    if origin.reach is not None:
        header |= {"reach": origin.reach}
    if trace.decisive:
        header |= {"decisive": [vars(one) for one in trace.decisive]}
    if trace.cycle is not None:
        header |= {"cycle": trace.cycle, "assumed": trace.assumed}
    return "".join(_line(one) for one in (header, *(_step_out(step) for step in trace.steps)))


def _line(content: Mapping[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")) + "\n"


def _step_out(step: Step) -> dict[str, Any]:
    return {
        "step": step.index,
        "label": step.label,
        "local_steps": [vars(local_step) for local_step in step.local_steps],
        "differences": [vars(change) for change in step.differences],
        "hashes": step.hashes,
    }


def _plain(value: Any) -> Any:
    """Settings as JSON: maps become objects, tuples arrays."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"a setting cannot be written as JSON: {value!r}")


def read(text: str) -> Trace:
    """The trace in a file's text. Errors: TraceFileError with the line."""
    lines = text.rstrip("\n").split("\n")  # not splitlines, which also splits inside of JSON strings
    if lines == [""]:
        raise TraceFileError(1, "the file is empty")
    trace, announced = _header(_Object(1, lines[0]))
    steps = [_step_in(_Object(number, line), len(trace.start)) for number, line in enumerate(lines[1:], 2)]
    for position, step in enumerate(steps, 1):
        if step.index != position:
            raise TraceFileError(position + 1, f"this is step {step.index} where step {position} is due")
    if len(steps) != announced:
        raise TraceFileError(
            len(lines), f"the file ends after {len(steps)} of the {announced} steps that it announces"
        )
    return Trace(**{**vars(trace), "steps": tuple(steps)})


class _Object:
    """A JSON object of the file with its line, which checks the types of what is taken out of it."""

    def __init__(self, line: int, content: str | dict[str, Any]) -> None:
        self.line = line
        if isinstance(content, str):
            try:
                content = json.loads(content)
            except (ValueError, RecursionError) as error:
                raise TraceFileError(line, f"this is not JSON ({_cause(error)})") from None
        if not isinstance(content, dict):
            raise TraceFileError(line, "a JSON object is due here")
        self.content = content

    def take(self, key: str, *kinds: type) -> Any:
        """The value of a key. Errors: TraceFileError where it is missing or of another type."""
        if key not in self.content:
            raise TraceFileError(self.line, f"{key!r} is missing")
        value = self.content[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise TraceFileError(self.line, f"{key!r} is {json.dumps(value)[:40]}, which cannot be")
        return value

    def text(self, key: str) -> str:
        """A string."""
        return str(self.take(key, str))

    def optional(self, key: str) -> str | None:
        """A string or null."""
        value = self.take(key, str, type(None))
        return None if value is None else str(value)

    def texts(self, key: str) -> tuple[str, ...]:
        """An array of strings."""
        values = self.take(key, list)
        if not all(isinstance(value, str) for value in values):
            raise TraceFileError(self.line, f"{key!r} holds something that is no text")
        return tuple(values)

    def each(self, key: str, make: Callable[[_Object], T]) -> tuple[T, ...]:
        """An array of objects, each made into something."""
        return tuple(make(_Object(self.line, item)) for item in self.take(key, list))


def _cause(error: Exception) -> str:
    return error.msg if isinstance(error, json.JSONDecodeError) else type(error).__name__


def _header(given: _Object) -> tuple[Trace, int]:
    if given.content.get("what") != WHAT:
        raise TraceFileError(1, f'the header of a trace is due here, with "what": "{WHAT}"')
    if given.take("schema", int) != SCHEMA:
        found = given.content["schema"]
        raise TraceFileError(1, f"schema {found} was written by another version; this one reads {SCHEMA}")
    origin = Origin(
        factory=given.optional("factory"),
        settings={key: _frozen(value) for key, value in given.take("settings", dict).items()},
        scope=given.optional("scope"),
        configuration=given.optional("configuration"),
        profile=given.optional("profile"),
        mutant=given.optional("mutant"),
        reach=given.optional("reach") if "reach" in given.content else None,
    )
    trace = Trace(
        system=given.text("system"),
        origin=origin,
        property_name=given.text("property"),
        kind=given.text("kind"),
        meaning=given.text("meaning"),
        source=given.text("source"),
        guards=given.texts("guards"),
        start=given.each("start", _component),
        steps=(),
        why=given.each("why", _sight),
        cycle=given.take("cycle", int) if "cycle" in given.content else None,
        assumed=given.texts("assumed") if "cycle" in given.content else (),
        decisive=given.each("decisive", _decisive) if "decisive" in given.content else (),
    )
    if not trace.start:
        raise TraceFileError(1, "the start state has no machine")
    announced = given.take("steps", int)
    if trace.cycle is not None and not 0 <= trace.cycle <= announced:
        raise TraceFileError(1, f"{trace.cycle} of {announced} steps cannot be repeated")
    return trace, announced


def _frozen(value: Any) -> Any:
    """Settings as factories take them: arrays become tuples."""
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return value


def _component(given: _Object) -> Component:
    return Component(given.text("machine"), given.text("value"), given.text("hash"))


def _sight(given: _Object) -> Sight:
    return Sight(
        given.take("choice", int), given.text("machine"), given.optional("before"), given.text("after")
    )


def _decisive(given: _Object) -> Decisive:
    parts = given.take("parts", list)
    if not all(isinstance(one, list) and [type(text) for text in one] == [str, str] for one in parts):
        raise TraceFileError(given.line, "'parts' holds something that is no machine with a path")
    return Decisive(given.take("step", int), tuple((machine, path) for machine, path in parts))


def _step_in(given: _Object, machines: int) -> Step:
    hashes = given.texts("hashes")
    if len(hashes) != machines:
        raise TraceFileError(given.line, f"there are {len(hashes)} hashes for {machines} machines")
    return Step(
        index=given.take("step", int),
        label=given.text("label"),
        local_steps=given.each("local_steps", _local_step),
        differences=given.each("differences", _difference),
        hashes=hashes,
    )


def _local_step(given: _Object) -> LocalStep:
    return LocalStep(
        machine=given.text("machine"),
        sender=given.optional("sender"),
        message=given.optional("message"),
        label=given.text("label"),
        rules=given.texts("rules"),
    )


def _difference(given: _Object) -> Difference:
    return Difference(given.text("machine"), given.text("path"), given.optional("old"), given.optional("new"))
