"""The libraries' own suites: where they are fetched from, what they want of a broker, how they are run.

Each package is the registry's, by its version, in the cache; nothing of it is kept here. What is changed in
it is said by `edits`: a suite that wants three replicas gets one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.libraries import debian
from bench.libraries.playing import Place
from bench.libraries.reach import reaching

from rota.conformance.cache_folder import cache_folder
from rota.conformance.targets.made_once import NotMade, made_once, run_tool

GO_REMEDY = ("install Go 1.26 or later and put go on PATH", "connect to the network; it is needed this once")
PIP_REMEDY = ("install pip", "connect to the network; it is needed this once")
KAFKA = "4.4.0"
"""The version of Kafka that the suites are told; rota says by its APIs and features that it is like it."""

HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Suite:
    """The tests of a library.

    host, port: where the suite looks for a broker, which says that it is there; no port: any, told by
    `{address}` in `environment`. settings: of the broker, by Kafka's names. silence: seconds without a word
    after which a test counts as failed. proxied: it drives a toxiproxy between itself and the broker.
    """

    name: str
    version: str
    about: str
    make: Callable[[Path], Path]
    tests: Callable[[Place], Sequence[str]]
    command: Callable[[Sequence[str]], Sequence[str]]
    folder_of_tests: str = "."
    host: str = "127.0.0.1"
    port: int | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    silence: float = 120.0
    proxied: bool = False

    def fetched(self) -> Path:
        """The folder of the suite, fetched and built if it is not there. Errors: NotMade, NoHome."""
        return made_once(cache_folder() / "libraries" / f"{self.name}-{self.version}", self.make)


def _go(*words: str, folder: Path) -> str:
    """What a command of Go prints. Errors: NotMade."""
    completed = run_tool(("go", *words), folder, GO_REMEDY)
    if completed.returncode != 0:
        raise NotMade(f"go {words[0]}: {completed.stderr.strip()[-500:]}", GO_REMEDY[1])
    return completed.stdout


def _module(
    path: str, version: str, package: str, tags: str = "", edits: Sequence[tuple[str, str, str]] = ()
) -> Callable[[Path], Path]:
    """How a Go module's tests are made: from the module proxy, with these edits (file, old, new)."""

    def make(folder: Path) -> Path:
        told = json.loads(_go("mod", "download", "-json", f"{path}@{version}", folder=folder))
        made = folder / "module"
        shutil.copytree(told["Dir"], made, copy_function=shutil.copyfile)
        for each in (made, *made.rglob("*")):
            each.chmod(0o755 if each.is_dir() else 0o644)
        for name, old, new in edits:
            text = (made / name).read_text(encoding="utf-8")
            if old not in text:
                raise NotMade(f"{path} {version}: {name} has no {old!r} any more", "look for what it has")
            (made / name).write_text(text.replace(old, new), encoding="utf-8")
        _go("test", "-mod=mod", f"-tags={tags}", "-c", "-o", "suite.test", package, folder=made)
        return made

    return make


def _reaching(marker: str, files: str) -> Callable[[Place], Sequence[str]]:
    """The tests in these files that reach this text."""
    return lambda place: reaching(place.folder.glob(files), marker)


def _compiled(names: Sequence[str]) -> Sequence[str]:
    """Tests of a Go package, from the folder of the package; the binary is the module's."""
    chosen = f"-test.run=^({'|'.join(names)})$"
    test = ("../../suite.test", "-test.v=test2json", chosen, "-test.timeout=30m")
    return ("go", "tool", "test2json", "-t", *test)


def _at_the_root(names: Sequence[str]) -> Sequence[str]:
    return [word.replace("../../", "./") for word in _compiled(names)]


_SERVICE = """class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port

    def open(self):
        pass

    def close(self):
        pass


class SpawnedService:
    pass
"""
"""What kafka-python's tests import and the archive does not have, for a broker that is there already."""


def _sdist(package: str, version: str) -> Callable[[Path], Path]:
    """How the tests in a source distribution are made."""

    def make(folder: Path) -> Path:
        words = ("download", "--quiet", "--no-deps", "--no-binary", package, f"{package}=={version}")
        completed = run_tool((sys.executable, "-m", "pip", *words), folder, PIP_REMEDY)
        archives = list(folder.glob("*.tar.gz"))
        if completed.returncode != 0 or not archives:
            raise NotMade(f"pip download: {completed.stderr.strip()[-500:]}", PIP_REMEDY[1])
        with tarfile.open(archives[0]) as archive:
            archive.extractall(folder, filter="data")
        made = next(each for each in folder.iterdir() if each.is_dir())
        (made / "test" / "__init__.py").touch()
        (made / "test" / "service.py").write_text(_SERVICE, encoding="utf-8")
        return made

    return make


_PLUGINS = ("-p", "pytest_events", "-p", "no:rota", "-p", "no:cacheprovider")
_PYTEST = (sys.executable, "-m", "pytest", "-q", "--tb=short", "-c", os.devnull, "--rootdir=.", *_PLUGINS)


def _collected(place: Place) -> Sequence[str]:
    """The tests that pytest finds."""
    told = subprocess.run(
        (*_PYTEST, "--collect-only", "test/integration"),
        cwd=place.folder,
        env={**os.environ, **place.environment},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return re.findall(r'^\{"Action": "there", "Test": "([^"]*)"', told, re.MULTILINE)


SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            name="franz-go",
            version="v1.22.3",
            about="`pkg/kgo` of github.com/twmb/franz-go",
            make=_module("github.com/twmb/franz-go", "v1.22.3", "./pkg/kgo"),
            tests=_reaching("KGO_SEEDS", "*_test.go"),
            command=_compiled,
            folder_of_tests="pkg/kgo",
            settings={"group.initial.rebalance.delay.ms": 0, "transaction.max.timeout.ms": 900000},
            environment={
                "KGO_SEEDS": "{address}",
                "KGO_TEST_RF": "1",
                "KGO_TEST_RECORDS": "20000",
                "KGO_TEST_UNSAFE": "1",
                "KGO_LOG_LEVEL": "none",
            },
            silence=180,
        ),
        Suite(
            name="kafka-go",
            version="v0.4.51",
            about="github.com/segmentio/kafka-go",
            make=_module("github.com/segmentio/kafka-go", "v0.4.51", "."),
            tests=_reaching("localhost:9092", "*_test.go"),
            command=_at_the_root,
            host="localhost",
            port=9092,
            settings={"group.initial.rebalance.delay.ms": 0, "message.max.bytes": 200000000},
            environment={"KAFKA_VERSION": KAFKA},
        ),
        Suite(
            name="sarama",
            version="v1.61.1",
            about="`functional_*_test.go` of github.com/IBM/sarama, with one replica in place of three",
            make=_module(
                "github.com/IBM/sarama",
                "v1.61.1",
                ".",
                tags="functional",
                edits=[("functional_test.go", "ReplicationFactor: 3", "ReplicationFactor: 1")],
            ),
            tests=_reaching("FunctionalTestEnv", "*functional*_test.go"),
            command=_at_the_root,
            port=29091,
            settings={"group.initial.rebalance.delay.ms": 0, "auto.create.topics.enable": "false"},
            environment={"KAFKA_VERSION": KAFKA, "TOXIPROXY_ADDR": "http://127.0.0.1:8474"},
            silence=240,
            proxied=True,
        ),
        Suite(
            name="kafka-python",
            version="3.0.12",
            about="`test/integration` of the source distribution",
            make=_sdist("kafka-python", "3.0.12"),
            tests=_collected,
            command=lambda names: (*_PYTEST, *names),
            settings={"num.partitions": 4, "group.initial.rebalance.delay.ms": 0},
            environment={
                "KAFKA_VERSION": KAFKA,
                "KAFKA_URI": "kafka://{address}",
                "KAFKA_ROOT": ".",
                "PYTHONPATH": f".:{HERE}",
            },
        ),
        Suite(
            name="librdkafka",
            version=debian.VERSION,
            about="`tests` of Debian's source package, in its quick mode, without those that need no broker",
            make=debian.made,
            tests=debian.tests,
            command=debian.command,
            folder_of_tests="tests",
            settings={"num.partitions": 4, "group.initial.rebalance.delay.ms": 0},
            environment={"ROTA_BOOTSTRAP": "{address}", "TEST_KAFKA_VERSION": KAFKA},
            silence=180,
        ),
    )
}
