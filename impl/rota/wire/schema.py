"""Schema tables: their notation, and the APIs they describe.

One text file per API in `schemas/`. The first line is `NAME KEY versions RANGE flexible RANGE kafka-4.x
RANGE` (or `flexible none`): all versions that ever were, those with flexible encoding, those that a broker of
that profile advertises. Then follow the sections `request` and `response` with one field a line, members of
a structure indented by two:

    NAME TYPE [RANGE] [null RANGE] [tag N] [= DEFAULT]

RANGE is `3`, `3-5` or `3+` and means the versions that have the field (without: all that have its parent),
after `null` those in which it may be null. TYPE is a fixed type of `FIXED`, `uuid`, `string`, `bytes`,
`[]TYPE` (an array), `[]` (an array of structures, whose members follow) or `{}` (one structure; where it may
be null, a byte in front tells).
`tag N` makes it an optional tagged field (KIP-482). DEFAULT is a number, `true`, `false` or `null`; without
it zero, false or empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from uuid import UUID

from rota.wire.errors import WireError

FIXED = {
    "bool": "?", "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "uint32": "I", "int64": "q",
    "float64": "d",
}  # fmt: skip
"""Types of fixed size and their codes in the standard module `struct` (big-endian on the wire)."""

Default = int | bool | str | bytes | UUID | tuple[()] | None


@dataclass(frozen=True)
class Versions:
    """A closed range of versions; empty if `last` is below `first`."""

    first: int
    last: int

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last


ALL = Versions(0, 32767)
NONE = Versions(0, -1)


@dataclass(frozen=True)
class Field:
    """One field of a message or of a structure in it.

    `type` is the type of the value or, where `array` is true, of the elements ("struct" for structures with
    `fields`). `default` is what a body without the field means, () for arrays and structures, whose members
    have their own (`source.absent` gives it as a body has it); `tag` is None for ordinary fields.
    """

    name: str
    type: str
    array: bool
    versions: Versions
    nullable: Versions
    tag: int | None
    default: Default
    fields: tuple[Field, ...]


@dataclass(frozen=True, eq=False)
class Api:
    """One API: its number, its versions, those with flexible encoding, and both messages' fields.

    `versions` (and `min_version`, `max_version`) are what the codec reads and writes, which is more than any
    broker serves; `advertised` has a profile's range by its name. Compared by identity, so that compiled
    programs are found by it at once.
    """

    name: str
    key: int
    versions: Versions
    flexible: Versions
    request: tuple[Field, ...] = field(repr=False)
    response: tuple[Field, ...] = field(repr=False)
    advertised: Mapping[str, Versions] = field(repr=False)

    @property
    def min_version(self) -> int:
        return self.versions.first

    @property
    def max_version(self) -> int:
        return self.versions.last


def api(name_or_key: str | int) -> Api:
    """The API of that name or number. Errors: WireError for one that the tables do not have."""
    try:
        return apis()[name_or_key]
    except KeyError:
        known = ", ".join(sorted(item.name for item in all_apis()))
        raise WireError(f"no API {name_or_key!r} in the tables; there are: {known}") from None


def advertised(profile: str = "kafka-4.x") -> dict[str, tuple[int, int]]:
    """What a broker of the profile names in ApiVersions: API -> (first, last), for the APIs of the tables.

    For a server's own table of what it serves, and for a kit's expectations of a broker: `min_version` and
    `max_version` of an API are the codec's and include versions that Kafka 4.0 removed (KIP-896).

    "kafka-4.x" is what a running Kafka 4.4.0 says. Two things to know of it: it names Produce from 0 on for
    the sake of librdkafka, yet closes the connection on 0 to 2 (KAFKA-18659). And ApiVersions 5 comes with a
    duty (KIP-1242): cluster_id and node_id of a request are given both or neither (else INVALID_REQUEST, 42),
    and if they name another cluster or node the answer is REBOOTSTRAP_REQUIRED (129).

    Errors: WireError for a profile that the tables do not have.
    """
    found = {item.name: item.advertised[profile] for item in all_apis() if profile in item.advertised}
    if not found:
        raise WireError(f"no profile {profile!r} in the tables; there is: kafka-4.x")
    return {name: (versions.first, versions.last) for name, versions in found.items()}


@cache
def membership_apis() -> tuple[Api, ...]:
    """The APIs of the group protocol and those that lead to it, by number."""
    return tuple(item for item in all_apis() if item.name in _GROUP_PROTOCOL)


@cache
def all_apis() -> tuple[Api, ...]:
    """Every API of the tables, by number."""
    folder = files(__package__) / "schemas"
    texts = (item.read_text(encoding="utf-8") for item in folder.iterdir() if item.name.endswith(".txt"))
    return tuple(sorted((parse(text) for text in texts), key=lambda item: item.key))


@cache
def apis() -> Mapping[str | int, Api]:
    """Every API of the tables, both by name and by number."""
    table: dict[str | int, Api] = {}
    for item in all_apis():
        table[item.name] = table[item.key] = item
    return table


def parse(text: str) -> Api:
    """The API that a table describes. Errors: WireError naming the line that does not follow the notation."""
    lines = [line for line in text.splitlines() if line.strip()]
    name, key, *clauses = lines[0].split()
    ranges = dict(zip(clauses[::2], clauses[1::2], strict=True))
    sections: dict[str, list[str]] = {"request": [], "response": []}
    current: list[str] = []
    for line in lines[1:]:
        if line in sections:
            current = sections[line]
        else:
            current.append(line)
    request, response = (parse_fields(sections[kind]) for kind in ("request", "response"))
    versions, flexible = (_versions(ranges.pop(clause)) for clause in ("versions", "flexible"))
    advertised = {profile: _versions(word) for profile, word in ranges.items()}
    return Api(name, int(key), versions, flexible, request, response, advertised)


def parse_fields(lines: Iterable[str]) -> tuple[Field, ...]:
    """The fields that the lines of one section describe. Errors: as for `parse`."""
    return _fields(iter(lines), 0, [])[0]


def _fields(lines: Iterator[str], indent: int, ahead: list[str]) -> tuple[tuple[Field, ...], list[str]]:
    """The fields at this indentation, and the line read too far (as a list of at most one)."""
    found: list[Field] = []
    line = ahead[0] if ahead else next(lines, "")
    while line and len(line) - len(line.lstrip()) == indent:
        words = line.split()
        inner: tuple[Field, ...] = ()
        following = next(lines, "")
        if words[1] in _STRUCTURES:
            inner, rest = _fields(lines, indent + 2, [following])
            following = rest[0] if rest else ""
        found.append(_field(words, inner))
        line = following
    return tuple(found), [line] if line else []


def _field(words: list[str], inner: tuple[Field, ...]) -> Field:
    name, kind, *rest = words
    array = kind.startswith("[]")
    base = "struct" if kind in _STRUCTURES else kind.removeprefix("[]")
    versions = _versions(rest.pop(0)) if rest and rest[0][0].isdigit() else ALL
    clauses = dict(zip(rest[::2], rest[1::2], strict=False))
    understood = len(rest) % 2 == 0 and clauses.keys() <= _CLAUSES and (kind != "{}" or _one(clauses))
    if not (understood and name.isidentifier() and (inner or base in FIXED or base in _EMPTY)):
        raise WireError(f"schema table: cannot read the line {' '.join(words)!r}")
    return Field(
        name=name,
        type=base,
        array=array,
        versions=versions,
        nullable=_versions(clauses["null"]) if "null" in clauses else NONE,
        tag=int(clauses["tag"]) if "tag" in clauses else None,
        default=_default(clauses.get("="), "[]" if array else base),
        fields=inner,
    )


_EMPTY: Mapping[str, Default] = {"string": "", "bytes": b"", "uuid": UUID(int=0), "bool": False}
_STRUCTURES = {"[]", "{}"}
_CLAUSES = {"null", "tag", "="}
_GROUP_PROTOCOL = {
    "ApiVersions", "Metadata", "FindCoordinator", "JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup",
}  # fmt: skip


def _one(clauses: Mapping[str, str]) -> bool:
    """Whether one structure may have these clauses: a tag, or null, which then is its default."""
    return clauses.keys() <= {"tag"} or (clauses.keys() == {"null", "="} and clauses["="] == "null")


def _default(word: str | None, kind: str) -> Default:
    if word is None:
        return () if kind in ("[]", "struct") else _EMPTY.get(kind, 0)
    named: Mapping[str, Default] = {"null": None, "true": True, "false": False}
    return named[word] if word in named else int(word)


def _versions(word: str) -> Versions:
    if word == "none":
        return NONE
    first, dash, last = word.rstrip("+").partition("-")
    if word.endswith("+"):
        return Versions(int(first), ALL.last)
    return Versions(int(first), int(last) if dash else int(first))
