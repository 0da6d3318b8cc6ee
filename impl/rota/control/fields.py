"""Fields of what is asked: their types and bounds. What is wrong is told with what would be right."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
}
"""A type of JSON Schema → the types of Python that its values have; true and false are of none of them."""


class BadRequestError(ValueError):
    """What is asked cannot be read; the text says why, and what can."""


@dataclass(frozen=True)
class Field:
    """A field. kind: of TYPES; choices: the texts that it may be; least, most: bounds of a number."""

    name: str
    kind: str
    about: str
    required: bool = False
    default: Any = None
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """The field in JSON Schema."""
        bounds = {"minimum": self.least, "maximum": self.most, "default": self.default}
        said = {name: value for name, value in bounds.items() if value is not None}
        choices = {"enum": list(self.choices)} if self.choices else {}
        return {"type": self.kind, "description": self.about, **said, **choices}

    def check(self, value: Any) -> None:
        """Errors: BadRequestError for a value that it cannot have."""
        fits = isinstance(value, TYPES[self.kind]) and not isinstance(value, bool)
        if not fits:
            raise BadRequestError(f"{self.name}: {value!r} is no {self.kind}; {self.about}")
        if self.choices and value not in self.choices:
            raise BadRequestError(f"{self.name}: {_unknown(value, self.choices)}")
        if self.kind == "string":
            return
        low, high = self.least, self.most
        if (
            not math.isfinite(value)
            or (low is not None and value < low)
            or (high is not None and value > high)
        ):
            raise BadRequestError(f"{self.name}: {value:g} is out of bounds; give {low:,g} to {high:,g}")


def checked(fields: Sequence[Field], said: Mapping[str, Any]) -> dict[str, Any]:
    """What is said, null as if it were not, and the defaults of what is not. Errors: BadRequestError."""
    known = {field.name: field for field in fields}
    given = {name: value for name, value in said.items() if value is not None}
    for name, value in given.items():
        if name not in known:
            raise BadRequestError(
                _unknown(name, tuple(known)) if known else f"{name!r}: nothing is asked here"
            )
        known[name].check(value)
    missing = [field for field in fields if field.required and field.name not in given]
    if missing:
        raise BadRequestError(f"{missing[0].name} is missing: {missing[0].about}")
    return {field.name: given.get(field.name, field.default) for field in fields}


def _unknown(name: str, there: Sequence[str]) -> str:
    near = get_close_matches(str(name), there, n=1)
    meant = f"did you mean {near[0]}? " if near else ""
    return f"{name!r} is not known; {meant}there are {', '.join(there)}"
