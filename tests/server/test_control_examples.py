"""The examples of the control port on the page about the server run as they stand, where their tools are."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rota.control.http import ControlPort
from rota.server import controlled

PAGE = Path(__file__).parents[2] / "docs" / "serving.md"

EXAMPLES = {
    "python": ((sys.executable,), "ask.py", ("Heartbeat", "error", 2)),
    "javascript": (("node",), "ask.mjs", ("SyncGroup", "drop", 1)),
    "go": (("go", "run"), "ask.go", ("OffsetCommit", "delay", 1)),
    "java": (("java",), "Ask.java", ("JoinGroup", "cut", 1)),
}
"""Language → what runs a file, what that is called, and what is planned then: API, fault, how many times."""

SLOW = ("go", "java")
"""Those that compile first."""


def example(language):
    """The block of that language in the part about faults."""
    _, _, part = PAGE.read_text(encoding="utf-8").partition("## Faults from any language")
    (found,) = re.findall(rf"^```{language}\b[^\n]*\n(.*?)^```$", part.partition("\n## ")[0], re.M | re.S)
    return found


@pytest.mark.parametrize(
    "language", [pytest.param(one, marks=pytest.mark.long) if one in SLOW else one for one in EXAMPLES]
)
def test_an_example_plans_a_fault(language, tmp_path):
    command, name, planned = EXAMPLES[language]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not there")
    with controlled() as broker:
        port = ControlPort(broker._controls, broker._loop)
        try:
            (tmp_path / name).write_text(example(language).replace("9093", str(port.port)))
            run = subprocess.run(
                (*command, name), cwd=tmp_path, capture_output=True, text=True, timeout=120,
                env={**os.environ, "GOFLAGS": "-mod=mod", "GO111MODULE": "off"},
            )  # fmt: skip
            assert (run.returncode, "left" in run.stdout) == (0, True), run.stderr
            (one,) = broker._controls.faults.planned
            assert (one.api, one.fault.kind, one.left) == planned
        finally:
            port.stop()
