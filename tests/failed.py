"""What failed in pytest's JUnit files: printed last, for who reads a log from its end.

It is called with the names of the files; after --count it prints one line instead, how many tests passed,
failed and were skipped in all of them, and exits 1 if one failed. A file that is not there counts as failed.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

LINES = 25
"""Lines shown of each failure, from its end."""

KINDS = {"failure": "failed", "error": "failed", "skipped": "skipped"}
"""What an element within a test says became of it."""


def failures(report: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each test of a JUnit file that failed, or whose fixtures did."""
    for case in ElementTree.parse(report).iter("testcase"):
        for kind in ("failure", "error"):
            for found in case.findall(kind):
                yield f"{case.get('classname')}::{case.get('name')}", found.text or found.get("message") or ""


def counts(reports: list[Path]) -> Counter[str]:
    """How many tests passed, failed and were skipped; one that failed and was skipped has failed."""
    found: Counter[str] = Counter()
    for report in reports:
        if not report.exists():
            print(f"{report}: not written, counted as a failure")
            found["failed"] += 1
            continue
        for case in ElementTree.parse(report).iter("testcase"):
            became = {KINDS.get(element.tag) for element in case}
            found["failed" if "failed" in became else "skipped" if "skipped" in became else "passed"] += 1
    return found


def main(reports: list[Path]) -> None:
    """Print what failed."""
    for report in reports:
        if not report.exists():
            print(f"{report}: not written, so pytest ended before its end")
            continue
        for name, text in failures(report):
            print(f"\nFAILED {name}")
            print("\n".join(text.splitlines()[-LINES:]))


def count(reports: list[Path]) -> int:
    """Print the numbers; the exit code."""
    found = counts(reports)
    print(", ".join(f"{found[what]} {what}" for what in ("passed", "failed", "skipped")))
    return int(found["failed"] > 0)


if __name__ == "__main__":
    if sys.argv[1] == "--count":
        sys.exit(count([Path(name) for name in sys.argv[2:]]))
    main([Path(name) for name in sys.argv[1:]])
