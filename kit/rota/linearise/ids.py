"""Member ids that are not known yet: a name stands for each until an answer shows it.

The spec is given ids (`Call.fresh_id`), and no rule depends on what they look like: maps are in their order,
but whoever is chosen from one is chosen in as many steps as there are. So an id may be exchanged later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from rota.kernel import FrozenMap
from rota.kernel.structs import Frozen, parts_of
from rota.spec import Call, JoinGroupRequest

T = TypeVar("T")

MARK = "\x00id of request "
"""How such a name begins; no id on the wire does."""


def unknown_id(number: int) -> str:
    """The name of the id that a request is given."""
    return f"{MARK}{number}"


def is_unknown(text: object) -> bool:
    """Whether a text is such a name."""
    return isinstance(text, str) and text.startswith(MARK)


def renamed(value: T, names: Mapping[str, str]) -> T:
    """A value with ids exchanged wherever they stand in it."""
    found: Any = _renamed(value, names)
    return found  # type: ignore[no-any-return]


def texts_in(*values: Any) -> Iterator[str]:
    """Every text that stands somewhere in values."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Frozen):
            yield from texts_in(*parts_of(value))
        elif isinstance(value, FrozenMap):
            yield from texts_in(*value, *value.values())
        elif isinstance(value, tuple | frozenset):
            yield from texts_in(*value)


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, Frozen):
        return type(value)(*(_renamed(part, names) for part in parts_of(value)))
    if isinstance(value, FrozenMap):
        return FrozenMap((_renamed(key, names), _renamed(part, names)) for key, part in value.items())
    if isinstance(value, tuple):
        return tuple(_renamed(part, names) for part in value)
    if isinstance(value, frozenset):
        return frozenset(_renamed(part, names) for part in value)
    return value


def asks_for_an_id(call: Call) -> bool:
    """Whether whoever asks has no id yet and is given one."""
    return isinstance(call.request, JoinGroupRequest) and not call.request.member_id
