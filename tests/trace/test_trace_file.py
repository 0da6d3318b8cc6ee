"""Trace files: round trip, determinism, and what a broken one says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

TOYS = str(Path(__file__).parents[1] / "systems")

from ticket_office import office  # noqa: E402

from rota.explore.reference import explore  # noqa: E402
from rota.trace import Origin, Trace, TraceFileError, dumps, read, record  # noqa: E402

FAULTS = ("tickets.differ", "office.counts-up", "deadlock")


def found(fault: str) -> Trace:
    system = office(fault=fault)
    violation = explore(system).violation
    assert violation is not None
    return record(system, violation.name, violation.start, violation.path)


@pytest.fixture
def lines() -> list[str]:
    return dumps(found("tickets.differ")).splitlines()


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_written_is_read(fault: str) -> None:
    trace = found(fault)
    assert read(dumps(trace)) == trace


def test_nested_settings_come_back_as_tuples_and_dicts() -> None:
    origin = Origin(
        "m:f", {"protocols": (("range",), ("range", "sticky")), "budget": {"crash": 1}}, mutant="x"
    )
    trace = replace(found("deadlock"), origin=origin)
    assert read(dumps(trace)).origin == origin


def test_settings_that_json_cannot_express_are_refused() -> None:
    trace = replace(found("deadlock"), origin=Origin("m:f", {"bad": b"bytes"}))
    with pytest.raises(TypeError, match="bytes"):
        dumps(trace)


def test_every_process_writes_the_same_bytes() -> None:
    program = (
        "from ticket_office import office\n"
        "from rota.explore.reference import explore\n"
        "from rota.trace import dumps, record\n"
        "system = office(3, 'tickets.differ')\n"
        "found = explore(system).violation\n"
        "print(dumps(record(system, found.name, found.start, found.path)), end='')\n"
    )
    told = []
    for seed in ("1", "2"):
        path = os.pathsep.join([TOYS, *sys.path])
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        told.append(subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, check=True))
    assert told[0].stdout == told[1].stdout != b""


def test_each_line_is_an_object_and_the_header_counts_the_steps(lines: list[str]) -> None:
    header, *steps = map(json.loads, lines)
    assert (header["schema"], header["what"], header["steps"]) == (3, "rota-trace", len(steps))
    assert [step["step"] for step in steps] == [1, 2]


@pytest.mark.parametrize(
    ("change", "line", "cause"),
    [
        (lambda ls: [], 1, "empty"),
        (lambda ls: ["not json", *ls[1:]], 1, "not JSON"),
        (lambda ls: ["[]", *ls[1:]], 1, "object"),
        (lambda ls: ["{}", *ls[1:]], 1, "header"),
        (lambda ls: [ls[0].replace('"schema":3', '"schema":99'), *ls[1:]], 1, "another version"),
        (lambda ls: [ls[0].replace('"schema":3', '"schema":true'), *ls[1:]], 1, "schema"),
        (lambda ls: [ls[0].replace('"meaning"', '"moaning"'), *ls[1:]], 1, "'meaning' is missing"),
        (lambda ls: [ls[0], ls[1][:-9], ls[2]], 2, "not JSON"),
        (lambda ls: ls[:2], 2, "after 1 of the 2 steps"),
        (lambda ls: [ls[0], ls[2]], 2, "step 2 where step 1 is due"),
        (lambda ls: [*ls, ls[2]], 4, "step 2 where step 3 is due"),
        (lambda ls: [ls[0], ls[1].replace('"local_steps":[', '"local_steps":[7,'), ls[2]], 2, "object"),
        (lambda ls: [ls[0], ls[1].replace('"hashes":[', '"hashes":["0",'), ls[2]], 2, "4 hashes"),
        (lambda ls: [ls[0], ls[1].replace('"hashes":[', '"hashes":[0,'), ls[2]], 2, "no text"),
        (lambda ls: ["[" * 100_000, *ls[1:]], 1, "not JSON"),
    ],
)
def test_a_broken_file_names_the_line(lines: list[str], change, line: int, cause: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TraceFileError, match=cause) as caught:
        read("\n".join(change(lines)))
    assert caught.value.line == line
