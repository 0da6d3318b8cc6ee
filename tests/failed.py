"""What failed in pytest's JUnit files: printed last, for who reads a log from its end.

It is called with the names of the files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

LINES = 25
"""Lines shown of each failure, from its end."""


def failures(report: Path) -> Iterator[tuple[str, str]]:
    """Name and text of each test of a JUnit file that failed, or whose fixtures did."""
    for case in ElementTree.parse(report).iter("testcase"):
        for kind in ("failure", "error"):
            for found in case.findall(kind):
                yield f"{case.get('classname')}::{case.get('name')}", found.text or found.get("message") or ""


def main(reports: list[Path]) -> None:
    for report in reports:
        if not report.exists():
            print(f"{report}: not written, so pytest ended before its end")
            continue
        for name, text in failures(report):
            print(f"\nFAILED {name}")
            print("\n".join(text.splitlines()[-LINES:]))


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]])
