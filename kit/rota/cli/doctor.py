"""`rota doctor`: what is installed, what each extra adds, and a tiny computation with each."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

import click

from rota.cli.errors import HOLDS, VIOLATED, UsageError
from rota.cli.extras import EXTRAS, Extra
from rota.cli.kept_tables import tables_folder
from rota.cli.verb import Example, Verb
from rota.conformance.cache_folder import cache_folder
from rota.conformance.targets.foreign import Foreign
from rota.conformance.targets.java import JAVA_REMEDY, NoJava, find_java
from rota.conformance.targets.kafka_jars import RELEASES, libraries, missing
from rota.conformance.targets.names import FOREIGN
from rota.explore.cache.folder import clear
from rota.report.format import coloured
from rota.report.table import Column, Table, names

JAVA_NEEDED = 17
"""The oldest major version of Java that Spark 4 runs on."""


STATES = {"ok": "holds", "absent": "undecided", "broken": "violated"}
"""State of a part -> the verdict whose colour it has."""


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


def _try_numpy() -> None:
    if import_module("numpy").arange(4).sum() != 6:
        raise Unfit("numpy adds wrongly")


def _try_spark() -> None:
    import_module("pyspark.sql")
    find_java(JAVA_NEEDED, "Spark")


def _try_z3() -> None:
    z3 = import_module("z3")
    solver = z3.Solver()
    x = z3.Int("x")
    solver.add(x != x)
    if solver.check() != z3.unsat:
        raise Unfit("z3 does not prove x = x")


def _try_networkx() -> None:
    ring = import_module("networkx").DiGraph([(1, 2), (2, 1), (2, 3)])
    if len(list(import_module("networkx").strongly_connected_components(ring))) != 2:
        raise Unfit("networkx takes a cycle for something else")


def _try_confluent_kafka() -> None:
    client = import_module("confluent_kafka")
    if not client.libversion()[0]:
        raise Unfit("librdkafka names no version")


def _try_dpkt() -> None:
    tcp = import_module("dpkt").tcp
    if tcp.TCP(bytes(tcp.TCP(sport=1, dport=2, data=b"x"))).data != b"x":
        raise Unfit("dpkt does not read what it has written")


def _try_cramjam() -> None:
    library = import_module("cramjam")
    for codec in (library.lz4, library.zstd):
        if bytes(codec.decompress(codec.compress(b"x"))) != b"x":
            raise Unfit("cramjam does not read what it has written")


def _try_test() -> None:
    for _, module in _extra("test").packages:
        import_module(module)


def _extra(name: str) -> Extra:
    return next(extra for extra in EXTRAS if extra.name == name)


SELF_TESTS: dict[str, Callable[[], None]] = {
    "fast": _try_numpy,
    "spark": _try_spark,
    "proofs": _try_z3,
    "liveness": _try_networkx,
    "targets": _try_confluent_kafka,
    "capture": _try_dpkt,
    "compression": _try_cramjam,
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
    except (Unfit, NoJava) as cause:
        remedy = JAVA_REMEDY if extra.name == "spark" else extra.install
        return Finding(extra.name, extra.adds, "broken", str(cause), remedy)
    except Exception as error:  # a broken installation may raise anything; the verdict is the same
        cause_text = f"{type(error).__name__}: {error}"
        return Finding(extra.name, extra.adds, "broken", cause_text, f"{extra.install} --force-reinstall")
    return Finding(extra.name, extra.adds, "ok", ", ".join(found))


def examine_java() -> Finding:
    """The Java that Spark would start."""
    try:
        return Finding("java", "what Spark runs on", "ok", find_java(JAVA_NEEDED, "Spark").text)
    except NoJava as cause:
        return Finding("java", "what Spark runs on", "absent", str(cause), JAVA_REMEDY)


def examine_kafka() -> Finding:
    """Whether Apache Kafka can be started as a target: its jars, or Maven to fetch them, and Java."""
    adds = "rota conform --target " + ", ".join(RELEASES)
    reasons = {name: missing(release) for name, release in RELEASES.items()}
    for reason in reasons.values():
        if reason is not None:
            return Finding("kafka", adds, "absent", *reason)
    here = [name for name, release in RELEASES.items() if libraries(release).is_dir()]
    state = f"jars of {', '.join(here)}" if here else "no jars yet, mvn fetches them when they are needed"
    return Finding("kafka", adds, "ok", f"{state} in {cache_folder()}")


def examine_foreign(program: Foreign) -> Finding:
    """Whether the coordinator of somebody else can be started as a target: made before, or the tool to."""
    adds = f"rota conform --target {program.name}"
    if (cause := program.missing()) is not None:
        return Finding(program.name, adds, "absent", *cause)
    here = program.folder.is_dir()
    state = (
        f"{program.version} in {program.folder}"
        if here
        else f"{program.tool.command} makes it when it is needed"
    )
    return Finding(program.name, adds, "ok", state)


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
    part, about = names("part", (one.name for one in findings)), "what is there: what it adds"
    table = Table([Column("state", 6, left=True, gap=0), part, Column(about, left=True, gap=2, words=True)])
    click.echo(table.head())
    for finding in findings:
        state, words = coloured(finding.state, STATES[finding.state]), f"{finding.detail}: {finding.adds}"
        click.echo(table.row({"state": state, "part": finding.name, about: words}))
        if finding.remedy:
            click.echo(f"{'':<{6 + 2 + part.width + 2}}{finding.remedy}")
    click.echo(
        f"{coloured(verdict, STATES[verdict])}: "
        + ("every part that is installed works" if verdict == "ok" else "see above")
    )


def _clear_cache(as_json: bool) -> None:
    folder = tables_folder()
    try:
        count, size = clear(folder) if folder else (0, 0)
    except OSError as error:
        raise UsageError(f"{folder} cannot be cleared ({error}); delete it") from None
    report = {"schema": 1, "verdict": "ok", "folder": folder and str(folder), "files": count, "bytes": size}
    told = f"cleared: {count} files, {size:,} bytes in {folder}" if folder else "tables are not kept here"
    click.echo(json.dumps(report) if as_json else told)


SECTIONS = {"What to do": ("--require", "--clear-cache"), "What to report": ("--json",)}

EXAMPLES = (
    Example("rota doctor", "Is this installation whole? A remedy for what is not."),
    Example("rota doctor --require java", "For scripts: exit 2 if Spark would find no Java."),
)


@click.command(cls=Verb, sections=SECTIONS, examples=EXAMPLES)
@click.option("--require", type=click.Choice(["java"]), help="Only look for this; exit 2 if it is not there.")
@click.option("--clear-cache", is_flag=True, help="Only throw away the tables that earlier runs have kept.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.pass_context
def doctor(ctx: click.Context, require: str | None, clear_cache: bool, as_json: bool) -> None:
    """What is installed, what each extra adds, and a self-test of each.

    Exit 1 when something that is installed does not work; what is not installed is no fault.
    """
    if require == "java":
        try:
            java = find_java(JAVA_NEEDED, "Spark")
        except NoJava as cause:
            raise UsageError(f"{cause}; Spark needs Java {JAVA_NEEDED} or later: {JAVA_REMEDY}") from None
        report = {"schema": 1, "verdict": "ok", "java": java.text}
        fit = f"java {java.text}: fit for Spark (major version {java.major})"
        click.echo(json.dumps(report) if as_json else fit)
        return
    if clear_cache:
        _clear_cache(as_json)
        return
    findings = [*(examine(extra) for extra in EXTRAS), examine_java(), examine_kafka()]
    findings += map(examine_foreign, FOREIGN.values())
    verdict = "broken" if any(finding.state == "broken" for finding in findings) else "ok"
    if as_json:
        click.echo(_as_json(findings, verdict))
    else:
        _print_text(findings, verdict)
    ctx.exit(HOLDS if verdict == "ok" else VIOLATED)
