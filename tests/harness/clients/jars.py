"""Kafka Streams and Kafka Connect: their jars, from Maven, kept in the cache."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from rota.conformance.cache_folder import cache_folder
from rota.conformance.targets.made_once import NotMade, made_once, run_tool

STREAMS = ("org.apache.kafka:kafka-streams:4.4.0",)
CONNECT = ("org.apache.kafka:connect-runtime:4.3.1", "org.apache.kafka:connect-file:4.3.1")
"""The newest version whose file connector Maven Central has."""
LOGGING = "org.slf4j:slf4j-nop:1.7.36"
REMEDIES = ("install Maven and put mvn on PATH", "connect to the network; it is needed this once")
_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"


def jars(name: str, artifacts: tuple[str, ...]) -> str:
    """The class path of these artifacts, each with what it needs. Errors: NotMade."""
    folder = cache_folder() / "clients" / f"{name}-{artifacts[0].rpartition(':')[2]}"
    return f"{made_once(folder, partial(_maven, artifacts)).resolve()}/*"


def _maven(artifacts: tuple[str, ...], folder: Path) -> Path:
    (folder / "pom.xml").write_text(_pom((*artifacts, LOGGING)), encoding="utf-8")
    command = ["mvn", "--batch-mode", "--quiet", _GOAL, "-DincludeScope=runtime", "-DoutputDirectory=libs"]
    completed = run_tool(command, folder, REMEDIES)
    if completed.returncode != 0 or not any((folder / "libs").glob("*.jar")):
        raise NotMade(f"mvn cannot fetch the jars: {completed.stdout[-500:]}", REMEDIES[1])
    return folder / "libs"


def _pom(wanted: tuple[str, ...]) -> str:
    """A project that needs these.

    Releases name kafka-tools-api, which is not in the repository; and one logger is enough.
    """
    without = "".join(
        f"<exclusion><groupId>{group}</groupId><artifactId>{name}</artifactId></exclusion>"
        for group, name in (("org.apache.kafka", "kafka-tools-api"), ("ch.qos.reload4j", "reload4j"))
    )
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>"
        f"<exclusions>{without}</exclusions></dependency>"
        for group, name, version in (each.split(":") for each in wanted)
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>rota</groupId><artifactId>clients</artifactId><version>1</version>"
        f"<dependencies>{dependencies}</dependencies></project>"
    )
