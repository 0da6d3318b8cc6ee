"""Runs tests of librdkafka one after the other and prints events as `bench.libraries.playing` reads them.

    ROTA_BOOTSTRAP=HOST:PORT python rdkafka_events.py TEST…

In the folder of its test-runner. It needs nothing of rota.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

STATES = {"PASSED": "pass", "SKIPPED": "skip"}


def _say(action: str, test: str, output: str = "") -> None:
    print(json.dumps({"Action": action, "Test": test, "Output": output}), flush=True)


def _played(test: str, folder: Path) -> tuple[str, str]:
    """How the test ended, and what it printed."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    asked = {"TESTS": test[:4], "TEST_REPORT": str(report), "RDKAFKA_TEST_CONF": str(folder / "test.conf")}
    asked["LD_LIBRARY_PATH"] = os.pathsep.join(("../src", "../src-cpp"))
    run = subprocess.run(
        ("./test-runner", "-p1", "-L", "-Q"),
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        errors="replace",
    )
    try:
        told = json.loads(report.read_text(encoding="utf-8"))["tests"][test]["state"]
    except (OSError, ValueError, KeyError):
        told = "ended its process"
    return STATES.get(told, "fail"), (run.stdout + run.stderr)[-20_000:]


def main(bootstrap: str, tests: list[str]) -> None:
    """Play them all."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test.conf").write_text(
            f"metadata.broker.list={bootstrap}\ntest.topic.random=true\n", encoding="utf-8"
        )
        for test in tests:
            _say("run", test)
            how, said = _played(test, Path(folder))
            _say(how, test, f"=== {test}: {how}\n{said}\n" if how == "fail" else "")


if __name__ == "__main__":
    main(os.environ["ROTA_BOOTSTRAP"], sys.argv[1:])
