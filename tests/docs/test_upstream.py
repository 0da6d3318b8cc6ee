"""The pages for Apache Kafka: each has a script that finds its bug where it is and not where it is mended."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.kept_server import KeptServer
from rota.conformance.dialogues.script import Signal
from rota.server import running

FOLDER = Path(__file__).parents[2] / "docs" / "upstream"
SCRIPT = FOLDER / "reproduce.py"
MENDED = ("removed-while-syncing", "given-back-id")
"""What rota's server has of these where it is Kafka to the letter, and not where it is rota."""


def played(name: str, address: str, never: float) -> str:
    """The last line of a script, which was played with a broker. never: seconds."""
    command = [sys.executable, str(SCRIPT), name, address, "--never", str(never)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    said = run.stdout.splitlines()
    assert run.returncode in (0, 1), run.stderr
    assert run.returncode == (0 if said[-1] == "reproduced" else 1)
    return said[-1]


def test_every_page_is_listed_and_names_a_script() -> None:
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    pages = {path.name for path in FOLDER.glob("*.md")} - {"README.md"}
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", listed)) == pages
    for page in pages:
        text = (FOLDER / page).read_text(encoding="utf-8")
        assert f"python3 reproduce.py {page.removesuffix('.md')} " in text
        for part in ("What happens", "To reproduce", "Cause", "Who is harmed", "A mend"):
            assert f"\n## {part}\n" in text, (page, part)


@pytest.mark.parametrize(
    ("address", "said"), [("127.0.0.1:1", "does not go on: "), ("localhost", "write HOST:PORT")]
)
def test_a_script_says_where_no_broker_is(address: str, said: str) -> None:
    """And ends with neither of the exit codes that are about the bug."""
    command = [sys.executable, str(SCRIPT), "given-back-id", address]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, said in run.stderr, "Traceback" in run.stderr) == (2, True, False), run.stderr


@pytest.mark.parametrize("name", MENDED)
def test_a_script_finds_what_kafka_does(name: str) -> None:
    with running({"group.initial.rebalance.delay.ms": 0}, profile="kafka-4.x") as address:
        assert played(name, address, never=0.5) == "reproduced"


@pytest.mark.parametrize("name", MENDED)
def test_a_script_does_not_find_what_is_mended(name: str) -> None:
    with running({"group.initial.rebalance.delay.ms": 0}, profile="rota") as address:
        assert played(name, address, never=60) == "not reproduced"


class Forgetful(KeptServer):
    """It loses what it has stored when it is restarted, as a Kafka does that cannot read it."""

    keeps = False


@pytest.mark.parametrize(("kind", "said"), [(KeptServer, "not reproduced"), (Forgetful, "reproduced")])
def test_a_script_finds_what_is_lost_with_a_restart(kind: type[KeptServer], said: str) -> None:
    server = kind({"group.initial.rebalance.delay.ms": 0})
    host, port = server.address
    command = [
        sys.executable,
        "-u",
        str(SCRIPT),
        "unreadable-subscription",
        f"{host}:{port}",
        "--never",
        "20",
    ]
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as script:
            assert script.stdout is not None
            for line in script.stdout:
                if line == "restart the broker now\n":
                    server.end(server.address, Signal.TERM)
                    server.start_again()
                last = line
    finally:
        server.stop()
    assert (last, script.returncode) == (f"{said}\n", 0 if said == "reproduced" else 1)
