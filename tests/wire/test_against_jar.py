"""The tables say what the message definitions in Kafka's own kafka-clients jar say, where there is one.

ROTA_KAFKA_CLIENTS names the jar of version 4.4.0; without it these tests are skipped.
"""

import json
import os
import re
from dataclasses import replace
from zipfile import ZipFile

import pytest

from rota.wire import all_apis, api
from rota.wire.consumer import ASSIGNMENT, LAST, SUBSCRIPTION
from rota.wire.schema import Versions
from rota.wire.source import absent

JAR = os.environ.get("ROTA_KAFKA_CLIENTS", "")
FOREVER = 32_767
LEFT_OUT = {"ApiVersions": {5}}
"""Versions of Kafka 4.4.0 that the tables lack, since rota's server would advertise them unserved."""

needs_jar = pytest.mark.skipif(not JAR, reason="ROTA_KAFKA_CLIENTS does not name a kafka-clients jar")


def definition(name):
    with ZipFile(JAR) as jar:
        text = jar.read(f"common/message/{name}.json").decode()
    return json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))


def span(text):
    """The first and the last version of "none", "3", "3-5" or "3+"."""
    if text == "none":
        return 0, -1
    first, _, last = text.partition("-")
    return (int(first[:-1]), FOREVER) if first.endswith("+") else (int(first), int(last or first))


def covers(text, version):
    first, last = span(text)
    return first <= version <= last


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def number(default):
    """The value of a default in the definitions, which is a string, mostly."""
    named = {"null": None, "true": True, "false": False, "": ""}
    return named[default] if default in named else int(str(default), 0)


def theirs(fields, version, structures):
    rows = []
    for each in fields:
        if not covers(each["versions"], version):
            continue
        kind = each["type"].removeprefix("[]")
        members = each.get("fields") or structures.get(kind, ())
        plain = "struct" if members else {"records": "bytes"}.get(kind, kind)
        null = covers(each.get("nullableVersions", "none"), version)
        tag = each["tag"] if covers(each.get("taggedVersions", "none"), version) else None
        default = number(each["default"]) if "default" in each else ...
        inner = theirs(members, version, structures)
        rows.append((snake(each["name"]), plain, each["type"].startswith("[]"), null, tag, default, inner))
    return rows


def ours(fields, version, like):
    """Our fields as rows; where the definition names no default (`like`), ours is none to compare."""
    rows = []
    defaults = {name: (default, inner) for name, _, _, _, _, default, inner in like}
    for field in fields:
        if version not in field.versions:
            continue
        named, inner = defaults.get(field.name, (..., ()))
        default = named if named is ... else absent(field, version)
        null, members = version in field.nullable, ours(field.fields, version, inner)
        rows.append((field.name, field.type, field.array, null, field.tag, default, members))
    return rows


def differences(name, fields, versions):
    found = definition(name)
    structures = {each["name"]: each["fields"] for each in found.get("commonStructs", ())}
    wrong = []
    for version in versions:
        like = theirs(found["fields"], version, structures)
        if ours(fields, version, like) != like:
            wrong.append((name, version, ours(fields, version, like), like))
    return wrong


@needs_jar
@pytest.mark.parametrize("kind", ["request", "response"])
@pytest.mark.parametrize("name", [item.name for item in all_apis()])
def test_tables_say_what_the_definitions_say(name, kind):
    found, message = api(name), f"{name}{kind.capitalize()}"
    said = definition(message)
    first, last = span(said["validVersions"])
    versions = range(found.min_version, found.max_version + 1)
    assert {*versions} | LEFT_OUT.get(name, set()) == {*range(first, last + 1)}
    assert said["apiKey"] == found.key
    first, last = span(said["flexibleVersions"])
    assert (first, last) == (found.flexible.first, found.flexible.last)
    assert differences(message, getattr(found, kind), versions) == []


@needs_jar
@pytest.mark.parametrize(("name", "fields"), [("Subscription", SUBSCRIPTION), ("Assignment", ASSIGNMENT)])
def test_embedded_messages_say_what_the_definitions_say(name, fields):
    name = f"ConsumerProtocol{name}"
    assert span(definition(name)["validVersions"]) == (0, LAST)
    assert span(definition(name)["flexibleVersions"]) == (0, -1)
    assert differences(name, fields, range(LAST + 1)) == []


SLIPS = {
    "type": {"type": "bytes"},
    "array": {"array": True},
    "null": {"nullable": Versions(8, 10)},
    "version": {"versions": Versions(6, 10)},
    "default": {"default": ""},
    "tag": {"tag": 0},
    "name": {"name": "instance_id"},
}


@needs_jar
@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_found(slip):
    fields = list(api("OffsetCommit").request)
    at = [field.name for field in fields].index("group_instance_id")
    assert differences("OffsetCommitRequest", fields, range(2, 11)) == []
    fields[at] = replace(fields[at], **SLIPS[slip])
    assert differences("OffsetCommitRequest", fields, range(2, 11))
