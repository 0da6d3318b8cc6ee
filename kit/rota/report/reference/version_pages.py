"""The table of versions: what each version of each request brings, and the profiles side by side."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cache

from rota.report.reference.markdown import codes, link, links, opening, table
from rota.spec import PROFILES, RULES, Profile
from rota.spec import versions as door
from rota.wire.schema import Api, Field, Versions, all_apis

PLAIN = {"name", "title", "versions", "omitted"}
"""Fields of a profile that are no switches."""


ABOUT = """A profile is a line of brokers. The rules speak the newest version of each request and read a
profile's switches; what older versions say and can say is translated at the door
(`model/rota/spec/versions.py`)."""


def apis() -> list[str]:
    """The requests that a profile advertises, in the profiles' order."""
    return list(dict.fromkeys(name for profile in PROFILES.values() for name, _ in profile.versions))


def lines() -> Iterator[str]:
    """The page."""
    yield from opening("Versions and profiles", ABOUT)
    yield from table(
        ("profile", "brokers", "not modelled"),
        ((one.name, one.title, "; ".join(one.omitted)) for one in PROFILES.values()),
    )
    yield from ("", "## advertised versions", "")
    yield from table(
        ("request", *PROFILES),
        ((link(api), *(_range(one, api) for one in PROFILES.values())) for api in apis()),
    )
    yield from _switches()
    for api in apis():
        yield from _api(api)


def _range(profile: Profile, api: str) -> str:
    first, last = dict(profile.versions).get(api, (0, -1))
    return f"{first} to {last}" if last > first else str(first) if first == last else "none"


# ---- switches


def _switches() -> Iterator[str]:
    meanings = switch_meanings()
    read = read_by()
    for title, names in meanings.items():
        yield from ("", f"## {_heading(title)}", "", f"{title}.", "")
        yield from table(
            ("switch", "what it decides", *PROFILES, "rules that read it"),
            (
                (
                    f"`{name}`",
                    words,
                    *(_value(getattr(one, name)) for one in PROFILES.values()),
                    _readers(read, name),
                )
                for name, words in names.items()
            ),
        )


def _heading(title: str) -> str:
    return "switches: " + title.partition(" (")[0].rstrip(":").lower()


def _readers(read: Mapping[str, list[str]], name: str) -> str:
    """The rules that read a switch, each with its source."""
    return "; ".join(f"{link(slug, 'rules.md')} ({RULES[slug].source})" for slug in read.get(name, ()))


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "; ".join(
            " ".join(_value(item) if i else f"v{item}+" for i, item in enumerate(pair)) for pair in value
        )
    return str(getattr(value, "name", value))


@cache
def switch_meanings() -> Mapping[str, Mapping[str, str]]:
    """Heading -> switch -> what it decides, as the docstring of `Profile` says.

    Errors: AssertionError for a switch that it does not name, or a name that is no switch.
    """
    found: dict[str, dict[str, str]] = {}
    title = ""
    for block in re.split(r"\n(?=- )|\n\n", inspect.cleandoc(Profile.__doc__ or "")):
        if not block.startswith("- "):
            continue_with = block.strip().splitlines()
            title = " ".join(continue_with)
            continue
        names, _, words = block[2:].partition(": ")
        for name in names.split(", "):
            found.setdefault(title.rstrip(":"), {})[name] = " ".join(words.split())
    named = [name for some in found.values() for name in some]
    switches = [one.name for one in fields(Profile) if one.name not in PLAIN]
    assert sorted(named) == sorted(switches), set(named) ^ set(switches)
    return found


@cache
def read_by() -> Mapping[str, list[str]]:
    """Switch -> the rules whose code reads it, itself or by a function of its module."""
    found: dict[str, list[str]] = defaultdict(list)
    for slug, rule in RULES.items():
        for name in sorted(_reads(inspect.unwrap(rule.function), frozenset())):
            found[name].append(slug)
    return found


def _reads(function: object, seen: frozenset[str]) -> set[str]:
    """The switches that a function reads as `….profile.NAME`, itself or by functions that it names."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))  # type: ignore[arg-type]
    names = {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and _of_profile(node.value)
    }
    for called in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - seen:
        other = getattr(function, "__globals__", {}).get(called)
        if inspect.isfunction(other) and other.__module__.startswith("rota.spec"):
            names |= _reads(other, seen | {called})
    return names


def _of_profile(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "profile") or (
        isinstance(node, ast.Name) and node.id == "profile"
    )


# ---- one request


def _api(api: str) -> Iterator[str]:
    schema = next((one for one in all_apis() if one.name == api), None)
    first, last = _extent(api)
    said, ruled = _said(api), _ruled(api)
    yield from ("", f"## {api}", "")
    rows = []
    for version in range(first, last + 1):
        words = [*_fields(schema, version, first), *said.get(version, ())]
        words += [f"rules: {links(ruled[version], 'rules.md')}"] if version in ruled else []
        who = ", ".join(name for name, one in PROFILES.items() if _serves(one, api, version))
        changes = ". ".join(word.rstrip(".") for word in words)
        rows.append(
            (str(version), who or "none", changes or ("the first" if version == first else "the same"))
        )
    yield from table(("version", "served by", "what it brings"), rows)


def _fields(schema: Api | None, version: int, first: int) -> Iterator[str]:
    """What a version changes in the bytes."""
    if schema is None:
        return
    if version == max(first, schema.flexible.first):
        yield "flexible encoding (KIP-482)"
    if version > first:
        yield from _changes("request", schema.request, version)
        yield from _changes("answer", schema.response, version)


def _extent(api: str) -> tuple[int, int]:
    """The versions of a request that any profile serves, first to last."""
    ranges = [dict(one.versions)[api] for one in PROFILES.values() if api in dict(one.versions)]
    return min(first for first, _ in ranges), max(last for _, last in ranges)


def _serves(profile: Profile, api: str, version: int) -> bool:
    first, last = dict(profile.versions).get(api, (0, -1))
    return first <= version <= last


def _changes(what: str, some: Iterable[Field], version: int) -> Iterator[str]:
    """Fields that a message has for the first time in a version, or no more."""
    begun = codes(name for name, one in _flat(some) if one.first == version)
    gone = codes(name for name, one in _flat(some) if one.last == version - 1)
    if begun or gone:
        yield f"{what}: " + ", ".join([*([begun] if begun else []), *([f"no more {gone}"] if gone else [])])


def _flat(some: Iterable[Field], where: str = "") -> Iterator[tuple[str, Versions]]:
    """Fields by their paths; members of a structure that is as old as they are do not count by themselves."""
    for one in some:
        yield f"{where}{one.name}", one.versions
        for path, inner in _flat(one.fields, f"{where}{one.name}."):
            within = inner.first == one.versions.first and inner.last == one.versions.last
            if not within and inner.first > one.versions.first:
                yield path, inner


@cache
def _all_rules() -> Mapping[str, Mapping[int, tuple[str, ...]]]:
    """Request -> version -> the rules that are there from this version on."""
    found: dict[str, dict[int, tuple[str, ...]]] = defaultdict(dict)
    for slug, rule in RULES.items():
        for api, version in re.findall(r"([A-Z]\w+) v(\d+)", rule.since):
            found[api][int(version)] = (*found[api].get(int(version), ()), slug)
    return found


def _ruled(api: str) -> Mapping[int, tuple[str, ...]]:
    return _all_rules().get(api, {})


def _said(api: str) -> Mapping[int, list[str]]:
    """Version -> sentences about it in the docstrings of `rota.spec.versions`."""
    found: dict[int, list[str]] = defaultdict(list)
    for function in vars(door).values():
        if not inspect.isfunction(function) or function.__module__ != door.__name__:
            continue
        text = " ".join(inspect.cleandoc(function.__doc__ or "").split())
        for sentence in re.split(r"(?<=\.) (?=[A-Z])", text):
            if re.match(rf"{api}\b", sentence) and (version := re.search(r"\bv(\d+)", sentence)):
                found[int(version[1])].append(sentence)
    return found
