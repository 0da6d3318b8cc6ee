"""Values of requests and answers as a case says them: ids and the group by what they are in a dialogue."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rota.generate.plan import GROUP

_REFERENCE = re.compile(r"<(\d+)>")
_NONE: Mapping[str, str] = {}


class NotACase(Exception):
    """The failure cannot be written as a case; the message says why."""


def expression(value: Any, fields: Mapping[str, str] = _NONE) -> str:
    """A value as Python says it in a case. fields: those, by name, that are said by an expression."""
    if isinstance(value, dict):
        said = {name: fields.get(name) or expression(each, fields) for name, each in value.items()}
        return "{" + ", ".join(f"{expression(name)}: {each}" for name, each in said.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(expression(each, fields) for each in value) + "]"
    if value == GROUP:
        return "d.group_id"
    if isinstance(value, str) and (reference := _REFERENCE.fullmatch(value)):
        return f"walk.id_of({reference[1]})"
    if isinstance(value, str) and GROUP in value:
        return f"walk.named({value.replace(GROUP, '*')!r})"
    return repr(value)


def keywords(wanted: Mapping[str, Any]) -> str:
    """What is expected, as keyword arguments."""
    return ", ".join(f"{name}={expression(value)}" for name, value in wanted.items())
