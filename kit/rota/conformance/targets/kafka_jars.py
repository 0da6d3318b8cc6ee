"""Apache Kafka from Maven Central: which releases, where their jars are kept, how they come there."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from xml.sax.saxutils import escape

from rota.conformance.cache_folder import CACHE, NoHome, cache_folder
from rota.conformance.targets.java import JAVA_REMEDY, NoJava, find_java
from rota.conformance.targets.made_once import NotMade, made_once, run_tool

MAVEN_REMEDY = "install Maven (Debian: apt-get install maven)"


class NoJars(NotMade):
    """Kafka's jars cannot be had."""


@dataclass(frozen=True)
class Release:
    """A version of Kafka that can be started from its jars.

    `logging` is the artifact (group:name:version) that its log lines go through, `log_file` name and text of
    that one's configuration and `log_flag` the JVM's flag for it. `settings` are those without which it would
    not be the broker that is meant.
    """

    version: str
    java: int
    logging: str
    log_file: tuple[str, str]
    log_flag: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """How the target is called."""
        return f"kafka-{self.version}"


_LOG4J_2 = (
    "log4j2.properties",
    "rootLogger.level = error\nrootLogger.appenderRef.x.ref = console\n"
    "appender.x.type = Console\nappender.x.name = console\n"
    "appender.x.layout.type = PatternLayout\nappender.x.layout.pattern = %m %throwable{short.message}%n\n",
)
_LOG4J_2_BINDING = "org.apache.logging.log4j:log4j-slf4j-impl:2.24.3"
_LOG4J_2_FLAG = "-Dlog4j2.configurationFile=log4j2.properties"
_LOG4J_1 = (
    "log4j.properties",
    "log4j.rootLogger=ERROR, x\nlog4j.appender.x=org.apache.log4j.ConsoleAppender\n"
    "log4j.appender.x.layout=org.apache.log4j.PatternLayout\nlog4j.appender.x.layout.ConversionPattern=%m%n\n",
)
_RELOAD4J = "org.slf4j:slf4j-reload4j:1.7.36"
_LOG4J_1_FLAG = "-Dlog4j.configuration=file:log4j.properties"

RELEASES = {
    release.name: release
    for release in (
        Release(
            "4.4.0",
            java=17,
            logging=_LOG4J_2_BINDING,
            log_file=_LOG4J_2,
            log_flag=_LOG4J_2_FLAG,
        ),
        # The first line that has the coordinator in Java alone.
        Release(
            "4.0.2",
            java=17,
            logging=_LOG4J_2_BINDING,
            log_file=_LOG4J_2,
            log_flag=_LOG4J_2_FLAG,
        ),
        # The last line that has the coordinator in Scala, which has to be asked for.
        Release(
            "3.9.2",
            java=11,
            logging=_RELOAD4J,
            log_file=_LOG4J_1,
            log_flag=_LOG4J_1_FLAG,
            settings={
                "group.coordinator.new.enable": "false",
                "group.coordinator.rebalance.protocols": "classic",
            },
        ),
        Release("3.4.1", java=11, logging=_RELOAD4J, log_file=_LOG4J_1, log_flag=_LOG4J_1_FLAG),
    )
}
"""Name of the target -> release."""


def libraries(release: Release) -> Path:
    """The folder of the release's jars, which is there only if it is whole."""
    return cache_folder() / release.name / "libs"


def missing(release: Release) -> tuple[str, str] | None:
    """What stands in the way of starting the release here, as cause and remedy; None if nothing is known to.

    Without the jars it takes Maven to fetch them; whether the network is there is not tried.
    """
    try:
        find_java(release.java, f"Kafka {release.version}")
        here = libraries(release).is_dir()
    except NoJava as cause:
        return str(cause), JAVA_REMEDY
    except NoHome as cause:
        return f"{cause}, to keep its jars in", f"name a folder in {CACHE}"
    if not here and shutil.which("mvn") is None:
        return "no mvn found, and its jars are not in the cache", MAVEN_REMEDY
    return None


def fetched(release: Release) -> Path:
    """The folder of the release's jars, after fetching them if they are not there. Errors: NoJars."""
    libs = libraries(release)
    if libs.is_dir():
        return libs
    if (cause := missing(release)) is not None:
        raise NoJars(*cause)
    size = "about 45 MB, once"
    print(f"rota: fetching Kafka {release.version} from Maven Central ({size})", file=sys.stderr, flush=True)
    try:
        return made_once(libs, partial(_maven, release))
    except NotMade as error:
        raise NoJars(str(error), error.remedy) from error


def _maven(release: Release, folder: Path) -> Path:
    """Have Maven copy the jars into a folder below this one. Errors: NotMade."""
    (folder / "pom.xml").write_text(_pom(release), encoding="utf-8")
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
    command = ["mvn", "--batch-mode", "--quiet", goal, "-DincludeScope=runtime", "-DoutputDirectory=libs"]
    remedy = f"connect to the network, or copy its jars into {libraries(release)}"
    completed = run_tool(command, folder, (MAVEN_REMEDY, remedy))
    if completed.returncode != 0 or not any((folder / "libs").glob("kafka_2.13-*.jar")):
        errors = [line for line in (completed.stdout + completed.stderr).splitlines() if "ERROR" in line]
        said = (
            errors[0].replace("[ERROR]", "").strip()[:300] if errors else f"exit code {completed.returncode}"
        )
        raise NotMade(f"mvn cannot fetch its jars: {said}", remedy)
    return folder / "libs"


def _pom(release: Release) -> str:
    """Kafka's server with what it needs at run time.

    Release 4.4.0 names kafka-tools-api, which is not in the repository; only console tools use it.
    """
    group, name, version = release.logging.split(":")
    return f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>rota</groupId>
  <artifactId>{escape(release.name)}</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>{release.version}</version>
      <exclusions>
        <exclusion><groupId>org.apache.kafka</groupId><artifactId>kafka-tools-api</artifactId></exclusion>
      </exclusions>
    </dependency>
    <dependency>
      <groupId>{group}</groupId>
      <artifactId>{name}</artifactId>
      <version>{version}</version>
    </dependency>
  </dependencies>
</project>
"""
