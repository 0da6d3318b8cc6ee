"""What others install: two packages beside rota, in a container that nobody runs as root; and their job."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

from rota.cli.conform import conform

ROOT = Path(__file__).parents[1]

EXTRAS = [
    "numpy",
    "numba",
    "llvmlite",
    "z3",
    "pyspark",
    "networkx",
    "matplotlib",
    "confluent_kafka",
    "dpkt",
    "cramjam",
    "kafka",
    "pytest",
    "hypothesis",
]

WITHOUT_EXTRAS = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split(","):
            raise ModuleNotFoundError(f"{name} is not installed here", name=name)

sys.meta_path.insert(0, Missing())
from rota.cli.main import main
main(["conform", "--embedded", "--quiet", "heartbeat.alive.stable"])
"""


def test_conform_works_without_any_extra(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, ",".join(EXTRAS)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("conforms: rota against profile rota")


def test_the_lock_has_what_is_needed_and_the_versions_of_the_other_locks() -> None:
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    pinned = re.findall(r"^([\w-]+)==(\S+)", (ROOT / "locks/conform.txt").read_text(), re.MULTILINE)
    assert {name for name, _ in pinned} == {re.split(r"[<>=]", one)[0] for one in needed}
    run = (ROOT / "locks/run.txt").read_text()
    assert all(f"\n{name}=={version} " in f"\n{run}" for name, version in pinned)


def test_the_job_to_copy_calls_rota_as_it_is() -> None:
    page = (ROOT / "docs/judge-in-ci.md").read_text()
    (job,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (command,) = re.findall(r"rota conform (.*?)\n\s*- ", job, re.DOTALL)
    options = {option for one in conform.params for option in one.opts}
    words = [word for word in shlex.split(command) if word.startswith("--")]
    assert len(words) > 3
    assert set(words) <= options


def test_the_container_runs_as_a_user_and_with_this_lock_alone() -> None:
    text = (ROOT / "Containerfile").read_text()
    _, build, installed, broker, final = re.split(r"(?m)^FROM ", text)
    assert "USER rota" in installed.splitlines()
    assert "USER" not in broker + final
    assert all(each.startswith("installed") for each in (broker, final))
    assert 'ENTRYPOINT ["rota"]' in final
    assert re.findall(r"locks/(\S+)", installed) == ["conform.txt"]
    assert "--no-deps" in installed
    for path in re.findall(r"locks/\S+\.txt", build + installed):
        assert (ROOT / path).is_file(), path


def test_the_container_of_a_broker_tells_clients_where_it_is() -> None:
    """Its own words, at another port of the loopback interface."""
    text = (ROOT / "Containerfile").read_text()
    (broker,) = re.findall(r"(?s)^FROM installed AS broker\n(.*?)^FROM", text, re.MULTILINE)
    words = [
        word for _, said in re.findall(r"(?m)^(ENTRYPOINT|CMD) (.*)$", broker) for word in json.loads(said)
    ]
    assert "PLAINTEXT://0.0.0.0:9092" in words
    here = [word.replace("0.0.0.0:9092", "127.0.0.1:0") for word in words]
    process = subprocess.Popen([sys.executable, "-m", *here], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "listening on localhost:9092\n"
    finally:
        process.terminate()
        assert process.wait(timeout=30) == 0
