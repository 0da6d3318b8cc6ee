"""Which tests are run once more, alone, since they failed beside the others, and what of them passed then.

Tests wait for sockets and for real brokers, beside a full load. Who passes only alone is told and counted: it
is a defect of that test, and one to be mended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree

REPORT = "tests-alone.xml"
"""The JUnit file of those that ran alone, beside the first ones, which stay as they are."""

MOST = 5
"""If more fail, none is run again: that is no accident."""

BAD = ("failure", "error")
"""Elements of tests that failed, and of those whose fixtures did."""


def name_of(case: ElementTree.Element) -> str:
    """A test's name, as it is printed."""
    return f"{case.get('classname')}::{case.get('name')}"


def has_failed(case: ElementTree.Element) -> bool:
    """Whether this became of a test."""
    return any(case.find(kind) is not None for kind in BAD)


def cases(reports: Iterable[Path]) -> Iterator[ElementTree.Element]:
    """The tests of those JUnit files that are there."""
    for report in reports:
        if report.exists():
            yield from ElementTree.parse(report).iter("testcase")


def to_run_again(reports: Iterable[Path]) -> tuple[str, ...]:
    """What pytest calls the tests that failed; nothing if there are too many."""
    failed = dict.fromkeys(name_of(case) for case in cases(reports) if has_failed(case))
    return tuple(_node(name) for name in failed) if len(failed) <= MOST else ()


def passed_alone(reports: list[Path]) -> frozenset[str]:
    """The names of tests that failed beside the others and passed alone."""
    again = list(cases({report.parent / REPORT for report in reports}))
    failed = {name_of(case) for case in again if has_failed(case) or case.find("skipped") is not None}
    return frozenset(name_of(case) for case in again) - failed


def _node(name: str) -> str:
    module, _, test = name.partition("::")
    return f"{module.replace('.', '/')}.py::{test}"
