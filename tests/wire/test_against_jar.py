"""The tables say what the message definitions in Kafka's own kafka-clients jars say.

They are the jars of the kit's Kafka targets, which Maven fetches once; ROTA_KAFKA_CLIENTS names another one.
Kafka 4.x no longer has the versions that it removed; those are in the jar of 3.9.2.
"""

import json
import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import pytest

from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched
from rota.wire import advertised, all_apis, api
from rota.wire.consumer import ASSIGNMENT, LAST, SUBSCRIPTION
from rota.wire.schema import Versions
from rota.wire.source import absent

NAMED = os.environ.get("ROTA_KAFKA_CLIENTS")
JARS = [Path(NAMED).name] if NAMED else ["kafka-4.4.0", "kafka-3.9.2"]
"""The newest first."""

FOREVER = 32_767
RENAMED = {"TxnOffsetCommitRequest": {"generation_id": "generation_id_or_member_epoch"}}
"""Message -> names that 4.4.0 has changed; the bytes are the same."""

SINCE = {"ListConfigResources": (4, 1)}
"""The release in which an API got its name (KIP-1142)."""


@cache
def jar_of(target):
    """The kafka-clients jar of a Kafka target and an empty text, or None and why it cannot be had."""
    try:
        return fetched(RELEASES[target]) / f"kafka-clients-{RELEASES[target].version}.jar", ""
    except NoJars as cause:
        return None, f"{target}: {cause}; {cause.remedy}, or name a kafka-clients jar in ROTA_KAFKA_CLIENTS"


@pytest.fixture(scope="session", params=JARS)
def jar(request):
    """A kafka-clients jar; of a target it is fetched, so that no run has to come before this one."""
    if NAMED:
        return Path(NAMED)
    path, cause = jar_of(request.param)
    return path or pytest.skip(cause)


@cache
def opened(jar):
    """Its list of contents is long: it is read once."""
    return ZipFile(jar)


@cache
def release(jar):
    properties = opened(jar).read("kafka/kafka-version.properties").decode()
    return tuple(map(int, re.search(r"^version=(\d+)\.(\d+)", properties, re.MULTILINE).groups()))


def definition(jar, name):
    text = opened(jar).read(f"common/message/{name}.json").decode()
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
    text = str(default).lower()
    return named[text] if text in named else int(text, 0)


def theirs(fields, version, structures, renamed):
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
        inner = theirs(members, version, structures, renamed)
        name = renamed.get(snake(each["name"]), snake(each["name"]))
        rows.append((name, plain, each["type"].startswith("[]"), null, tag, default, inner))
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


def differences(jar, name, fields, versions):
    found = definition(jar, name)
    structures = {each["name"]: each["fields"] for each in found.get("commonStructs", ())}
    wrong = []
    for version in versions:
        like = theirs(found["fields"], version, structures, RENAMED.get(name, {}))
        if ours(fields, version, like) != like:
            wrong.append((name, version, ours(fields, version, like), like))
    return wrong


@pytest.mark.parametrize("kind", ["request", "response"])
@pytest.mark.parametrize("name", [item.name for item in all_apis()])
def test_tables_say_what_the_definitions_say(name, kind, jar):
    found, message = api(name), f"{name}{kind.capitalize()}"
    if release(jar) < SINCE.get(name, (0, 0)):
        pytest.skip(f"{name} came later, or is called otherwise there")
    said = definition(jar, message)
    first, last = span(said["validVersions"])
    assert found.min_version <= first
    assert last <= found.max_version
    if release(jar) == (4, 4):
        assert last == found.max_version
    if release(jar) < (4, 0):
        assert first == found.min_version
    assert said["apiKey"] == found.key
    assert span(said["flexibleVersions"]) == (found.flexible.first, found.flexible.last)
    assert differences(jar, message, getattr(found, kind), range(first, last + 1)) == []


@pytest.mark.parametrize(("name", "fields"), [("Subscription", SUBSCRIPTION), ("Assignment", ASSIGNMENT)])
def test_embedded_messages_say_what_the_definitions_say(name, fields, jar):
    name = f"ConsumerProtocol{name}"
    assert span(definition(jar, name)["validVersions"]) == (0, LAST)
    assert span(definition(jar, name)["flexibleVersions"]) == (0, -1)
    assert differences(jar, name, fields, range(LAST + 1)) == []


@pytest.mark.parametrize("jar", JARS[:1], indirect=True)
def test_a_broker_advertises_what_the_definitions_call_stable(jar):
    """Except for Produce, which it names from 0 on for librdkafka's sake (KAFKA-18659)."""
    if release(jar) != (4, 4):
        pytest.skip("the table is that of 4.4.0")
    for name, (first, last) in advertised().items():
        said = definition(jar, f"{name}Request")
        lowest, highest = span(said["validVersions"])
        assert last == highest - said.get("latestVersionUnstable", False), name
        assert first == (0 if name == "Produce" else lowest), name


SLIPS = {
    "type": {"type": "bytes"},
    "array": {"array": True},
    "null": {"nullable": Versions(8, 10)},
    "version": {"versions": Versions(6, 10)},
    "default": {"default": ""},
    "tag": {"tag": 0},
    "name": {"name": "instance_id"},
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_found(slip, jar):
    fields = list(api("OffsetCommit").request)
    at = [field.name for field in fields].index("group_instance_id")
    assert differences(jar, "OffsetCommitRequest", fields, range(2, 10)) == []
    fields[at] = replace(fields[at], **SLIPS[slip])
    assert differences(jar, "OffsetCommitRequest", fields, range(2, 10))
