"""The examples of docs/in-your-tests.md run as they stand, as its page says, on the rota of this environment.

`make test-clients`. The one in Python is run with all other commands of the docs.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.clients.libraries import LIBRARIES
from rota.conformance.targets.kafka_jars import RELEASES, NoJars, fetched

pytestmark = pytest.mark.clients

PAGE = Path(__file__).parents[2] / "docs" / "in-your-tests.md"
COMMANDS = {
    "go": (
        "go mod init billing",
        f"go get github.com/twmb/franz-go/pkg/kgo@{LIBRARIES['franz-go'].version}",
        "go test ./...",
    ),
    "javascript": (f"npm install kafkajs@{LIBRARIES['kafkajs'].version}", "node --test"),
    "java": ("javac -cp 'libs/*' BillingTest.java", "java -cp 'libs/*:.' BillingTest"),
}


def laid_out(language, text, folder):
    """The file of that language from the page, and jars for Java."""
    ((name, source),) = re.findall(rf"^```{language} file=(\S+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (folder / name).write_text(source, encoding="utf-8")
    if language == "java":
        try:
            (folder / "libs").symlink_to(fetched(RELEASES["kafka-4.4.0"]).resolve())
        except NoJars as cause:
            pytest.skip(str(cause))


def ran(commands, folder):
    """What the last of the commands left; those before it succeed."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    for command in commands:
        run = subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env={**os.environ, "PATH": path, "GOFLAGS": ""},
            capture_output=True,
            text=True,
            timeout=300,
        )
        if command != commands[-1]:
            assert run.returncode == 0, run.stdout + run.stderr
    return run


@pytest.mark.parametrize("language", COMMANDS)
def test_an_example_passes(language, tmp_path):
    commands, text = COMMANDS[language], PAGE.read_text(encoding="utf-8")
    assert all(command in text for command in commands), "the page says other commands"
    if shutil.which(commands[0].split()[0]) is None:
        pytest.skip(f"no {commands[0].split()[0]}")
    laid_out(language, text, tmp_path)
    run = ran(commands, tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("language", COMMANDS)
def test_an_example_fails_where_offsets_are_not_committed(language, tmp_path):
    commands, text = COMMANDS[language], PAGE.read_text(encoding="utf-8")
    if shutil.which(commands[0].split()[0]) is None:
        pytest.skip(f"no {commands[0].split()[0]}")
    for commit in (
        "consumer.CommitRecords(within, order)",
        "await consumer.commitOffsets(",
        "consumer.commitSync()",
    ):
        assert commit in text
    forgetful = (
        text.replace("consumer.CommitRecords(within, order)", "within.Err()")
        .replace("await consumer.commitOffsets(", "void (")
        .replace("consumer.commitSync()", "consumer.assignment()")
    )
    laid_out(language, forgetful, tmp_path)
    assert ran(commands, tmp_path).returncode == 1
