"""`rota doctor`: what is installed, what each extra adds, and a tiny computation with each."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

import click

from rota.cli.errors import HOLDS, VIOLATED, UsageError
from rota.cli.extras import EXTRAS, Extra

JAVA_NEEDED = 17
"""The oldest major version of Java that Spark 4 runs on."""

JAVA_REMEDY = (
    "install it (Debian: apt-get install openjdk-17-jre-headless) and put java on PATH or set JAVA_HOME"
)


class Unfit(Exception):
    """A part that is there but does not work, or is not there; the message names the cause."""


@dataclass(frozen=True)
class Finding:
    """One part. state: ok, absent or broken; detail: versions or the cause; remedy: a command or ''."""

    name: str
    adds: str
    state: str
    detail: str
    remedy: str = ""


def find_java() -> tuple[int, str]:
    """Major version of the Java that Spark would start, and its version text.

    Like Spark: JAVA_HOME first, then PATH. Errors: Unfit when there is none, it does not answer, or it
    is too old.
    """
    home = os.environ.get("JAVA_HOME")
    path = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if path is None:
        raise Unfit("no java found")
    try:
        answer = subprocess.run([path, "-version"], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise Unfit(f"{path} -version does not run ({type(error).__name__})") from None
    text = parse_java(answer.stderr + answer.stdout)
    if text is None:
        raise Unfit(f"{path} -version names no version")
    if (major := java_major(text)) < JAVA_NEEDED:
        raise Unfit(f"{path} is Java {text}, Spark needs {JAVA_NEEDED} or later")
    return major, text


def parse_java(output: str) -> str | None:
    """The version text in what `java -version` prints, None if there is none."""
    found = re.search(r'version "([^"]+)"', output)
    return found[1] if found else None


def java_major(text: str) -> int:
    """Major version of a version text: 17 of 17.0.15, 8 of 1.8.0_402 (the numbering until Java 8)."""
    numbers = [int(part) for part in re.findall(r"\d+", text)]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def _try_numpy() -> None:
    if import_module("numpy").arange(4).sum() != 6:
        raise Unfit("numpy adds wrongly")


def _try_spark() -> None:
    import_module("pyspark.sql")
    find_java()


def _try_z3() -> None:
    z3 = import_module("z3")
    solver = z3.Solver()
    x = z3.Int("x")
    solver.add(x != x)
    if solver.check() != z3.unsat:
        raise Unfit("z3 does not prove x = x")


def _try_confluent_kafka() -> None:
    client = import_module("confluent_kafka")
    if not client.libversion()[0]:
        raise Unfit("librdkafka names no version")


def _try_test() -> None:
    for _, module in _extra("test").packages:
        import_module(module)


def _extra(name: str) -> Extra:
    return next(extra for extra in EXTRAS if extra.name == name)


SELF_TESTS: dict[str, Callable[[], None]] = {
    "fast": _try_numpy,
    "spark": _try_spark,
    "proofs": _try_z3,
    "targets": _try_confluent_kafka,
    "test": _try_test,
}
"""Extra → a computation that raises when the extra does not work."""


def examine(extra: Extra) -> Finding:
    """Look for the packages of an extra and run its self-test."""
    found, missing = [], []
    for distribution, _ in extra.packages:
        try:
            found.append(f"{distribution} {version(distribution)}")
        except PackageNotFoundError:
            missing.append(distribution)
    if missing:
        return Finding(extra.name, extra.adds, "absent", f"no {', '.join(missing)}", extra.install)
    try:
        SELF_TESTS[extra.name]()
    except Unfit as cause:
        remedy = JAVA_REMEDY if extra.name == "spark" else extra.install
        return Finding(extra.name, extra.adds, "broken", str(cause), remedy)
    except Exception as error:  # a broken installation may raise anything; the verdict is the same
        cause_text = f"{type(error).__name__}: {error}"
        return Finding(extra.name, extra.adds, "broken", cause_text, f"{extra.install} --force-reinstall")
    return Finding(extra.name, extra.adds, "ok", ", ".join(found))


def examine_java() -> Finding:
    """The Java that Spark would start."""
    try:
        return Finding("java", "what Spark runs on", "ok", find_java()[1])
    except Unfit as cause:
        return Finding("java", "what Spark runs on", "absent", str(cause), JAVA_REMEDY)


def _as_json(findings: list[Finding], verdict: str) -> str:
    return json.dumps(
        {
            "schema": 1,
            "verdict": verdict,
            "rota": version("rota"),
            "python": platform.python_version(),
            "parts": [vars(finding) for finding in findings],
        },
        indent=2,
    )


def _print_text(findings: list[Finding], verdict: str) -> None:
    click.echo(f"rota {version('rota')}, Python {platform.python_version()} ({sys.executable})")
    for finding in findings:
        click.echo(f"{finding.state:<7} {finding.name:<8} {finding.detail}: {finding.adds}")
        if finding.remedy:
            click.echo(f"{'':<16} {finding.remedy}")
    click.echo(f"{verdict}: " + ("every part that is installed works" if verdict == "ok" else "see above"))


@click.command()
@click.option("--require", type=click.Choice(["java"]), help="Only look for this; exit 2 if it is not there.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.pass_context
def doctor(ctx: click.Context, require: str | None, as_json: bool) -> None:
    """What is installed, what each extra adds, and a self-test of each.

    Exit 1 when something that is installed does not work; what is not installed is no fault.
    """
    if require == "java":
        try:
            major, text = find_java()
        except Unfit as cause:
            raise UsageError(f"{cause}; Spark needs Java {JAVA_NEEDED} or later: {JAVA_REMEDY}") from None
        report = {"schema": 1, "verdict": "ok", "java": text}
        click.echo(json.dumps(report) if as_json else f"java {text}: fit for Spark (major version {major})")
        return
    findings = [*(examine(extra) for extra in EXTRAS), examine_java()]
    verdict = "broken" if any(finding.state == "broken" for finding in findings) else "ok"
    if as_json:
        click.echo(_as_json(findings, verdict))
    else:
        _print_text(findings, verdict)
    ctx.exit(HOLDS if verdict == "ok" else VIOLATED)
