"""A plugin of pytest that prints events as `bench.libraries.playing` reads them. It needs nothing of rota."""

from __future__ import annotations

import json
import os
from typing import Any

_OUT = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
"""Standard output as it is before pytest captures it: what is named by `-p` is imported earlier."""


def _say(action: str, test: str, output: str = "") -> None:
    _OUT.write(f"\n{json.dumps({'Action': action, 'Test': test, 'Output': output})}\n")


def pytest_runtest_logstart(nodeid: str, location: Any) -> None:
    """A test begins."""
    _say("run", nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    """A test's set-up, itself or its end is over; whichever does not pass says how the test ended."""
    if report.when == "call" or not report.passed:
        how = "skip" if report.skipped else "pass" if report.passed else "fail"
        _say(how, report.nodeid, f"{report.nodeid}: {how}\n{report.longreprtext}\n" if report.failed else "")


def pytest_itemcollected(item: Any) -> None:
    """A test is there."""
    _say("there", item.nodeid)
