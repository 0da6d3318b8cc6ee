"""What failed in pytest's JUnit files: printed last, for who reads a log from its end.

It is called with the names of the files; after --count it prints one line instead, how many tests passed,
failed and were skipped in all of them, and exits 1 if one failed. A file that is not there counts as failed.
What failed beside the others and passed alone (`alone`) is told in a line of its own, and counted apart.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from alone import BAD, cases, has_failed, name_of, passed_alone

LINES = 25
"""Lines shown of each failure, from its end."""

WIDTH = 200
"""Characters shown of why a test failed that passed alone."""


def failures(report: Path) -> Iterator[tuple[str, ElementTree.Element]]:
    """Name of each test of a JUnit file that failed, or whose fixtures did, and what is told of that."""
    for case in cases([report]):
        for kind in BAD:
            for found in case.findall(kind):
                yield name_of(case), found


def counts(reports: list[Path]) -> Counter[str]:
    """How many tests passed, failed and were skipped; one that failed and was skipped has failed."""
    found: Counter[str] = Counter()
    alone = passed_alone(reports)
    for report in reports:
        found["failed"] += not report.exists()
        found.update(_became(case, alone) for case in cases([report]))
    return found


def _became(case: ElementTree.Element, alone: frozenset[str]) -> str:
    if has_failed(case):
        return "alone" if name_of(case) in alone else "failed"
    return "passed" if case.find("skipped") is None else "skipped"


def main(reports: list[Path]) -> None:
    """Print what failed, and what did so only beside the others."""
    alone = passed_alone(reports)
    for report in reports:
        if not report.exists():
            print(f"{report}: not written, so pytest ended before its end")
            continue
        for name, found in failures(report):
            why, text = found.get("message") or "", found.text or ""
            if name in alone:
                first = (why or text).partition("\n")[0][:WIDTH]
                print(f"\npassed alone: {name} (failed beside the others: {first})")
                continue
            print(f"\nFAILED {name}")
            print("\n".join((text or why).splitlines()[-LINES:]))


def count(reports: list[Path]) -> int:
    """Print the numbers; the exit code."""
    for report in reports:
        if not report.exists():
            print(f"{report}: not written, counted as a failure")
    found = counts(reports)
    only = f" ({found['alone']} of them only alone)" if found["alone"] else ""
    passed = found["passed"] + found["alone"]
    print(f"{passed} passed{only}, {found['failed']} failed, {found['skipped']} skipped")
    return int(found["failed"] > 0)


if __name__ == "__main__":
    if sys.argv[1] == "--count":
        sys.exit(count([Path(name) for name in sys.argv[2:]]))
    main([Path(name) for name in sys.argv[1:]])
