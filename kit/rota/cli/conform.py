"""`rota conform`: judge a group coordinator over the wire."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click

from rota.cli.errors import HOLDS, INTERRUPTED, NOTHING, UNDECIDED, USAGE, VIOLATED, UsageError
from rota.conformance.model import INITIAL_DELAY, Case, CaseResult, span
from rota.conformance.process import NotStarted
from rota.conformance.registry import UnknownCase, all_cases, select
from rota.conformance.runner import Options, divide, exit_code, find_unread, play_all
from rota.conformance.targets import Target, TargetError, parse_target
from rota.report import events
from rota.report.check_text import wrapped
from rota.report.files import ReportError, default_reports, file_report, parse_report
from rota.report.json_report import JsonReport
from rota.report.text import TextReport
from rota.spec import RULES

PROFILE = "kafka-4.x"
"""The behaviour that the cases are written from."""

_VERDICTS = {HOLDS: events.CONFORMS, VIOLATED: events.VIOLATED, UNDECIDED: events.UNDECIDED}


@click.command("conform")
@click.argument("selectors", nargs=-1, metavar="[IDS, RULES OR PARTS]...")
@click.option("--target", help="HOST:PORT, rota, librdkafka-mock, or cmd:COMMAND with {port}.")
@click.option("--embedded", is_flag=True, help="Judge rota's own server; the same as --target rota.")
@click.option("--list", "listing", is_flag=True, help="List the cases and stop.")
@click.option("--show", metavar="ID", help="Show one case and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON object.")
@click.option("--quiet", is_flag=True, help="Print only the verdict.")
@click.option("--report", "reports", multiple=True, metavar="KIND=PATH", help="json, junit or md.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("rota-out"), help="Folder for reports.")
@click.option("--seed", type=int, help="Order of the cases and names of the groups; drawn if not given.")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=10.0, help="Seconds to wait for answers.")
@click.option("--slow", is_flag=True, help="Also play cases that take more than a minute.")
@click.option("--known", multiple=True, metavar="ID", help="A case whose deviation is known; repeatable.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=f"Its {INITIAL_DELAY}.")
@click.pass_context
def conform(
    ctx: click.Context,
    selectors: tuple[str, ...],
    target: str | None,
    embedded: bool,
    listing: bool,
    show: str | None,
    as_json: bool,
    quiet: bool,
    reports: tuple[str, ...],
    out: Path,
    seed: int | None,
    timeout: float,
    slow: bool,
    known: tuple[str, ...],
    settings: tuple[str, ...],
) -> None:
    """Judge a group coordinator: play dialogues with it and hold its answers against Kafka's rules.

    Exit code 1 if a MUST case fails or the target dies, 3 if a case is undecided or the target is not there,
    5 if no case is selected, else 0.
    """
    try:
        cases = select(all_cases(), selectors)
        if listing or show:
            _tell(cases, show)
            return
        judged = _target(target, embedded, settings)
        chosen = [parse_report(text) for text in reports] or default_reports(judged.name, out)
        options = Options(_seed(seed), timeout, slow, _known(known))
        readers: list[events.Reader] = [file_report(kind, path) for kind, path in chosen]
    except (UnknownCase, ReportError) as error:
        raise UsageError(str(error)) from error
    except TargetError as error:
        raise UsageError(str(error), USAGE if error.there else UNDECIDED) from error
    readers.append(
        JsonReport(lambda text: click.echo(text, nl=False)) if as_json else TextReport(click.echo, quiet)
    )
    with closing(judged):
        code = _judge(cases, judged, options, readers, [path for _, path in chosen])
    ctx.exit(code)


def _target(target: str | None, embedded: bool, settings: Sequence[str]) -> Target:
    if embedded and target not in (None, "rota"):
        raise UsageError(f"--embedded and --target {target} name two targets; give one of them")
    if target is None and not embedded:
        raise UsageError("no target; give --target HOST:PORT, or --embedded for rota's own server")
    return parse_target(target or "rota", dict(map(_setting, settings)))


def _setting(text: str) -> tuple[str, int]:
    key, _, value = text.partition("=")
    if key != INITIAL_DELAY or not value.isdigit():
        raise UsageError(f"cannot read the setting {text!r}; write {INITIAL_DELAY}=MILLISECONDS")
    return key, int(value)


def _known(selectors: Sequence[str]) -> frozenset[str]:
    return frozenset(case.id for case in select(all_cases(), selectors)) if selectors else frozenset()


def _seed(seed: int | None) -> int:
    return random.SystemRandom().randrange(1_000_000) if seed is None else seed


def _judge(
    cases: Sequence[Case],
    target: Target,
    options: Options,
    readers: Sequence[events.Reader],
    paths: Sequence[Path],
) -> int:
    """Play the cases and feed the readers; the exit code."""
    playable, skipped = divide(cases, target, options)
    if not playable:
        raise UsageError(f"no case to play: {skipped[0].case.id} {skipped[0].why}", NOTHING)
    _see_whether_it_is_there(target)
    began = time.monotonic()
    results: list[CaseResult] = []
    interrupted = False
    _emit(readers, events.RunStarted(target.name, PROFILE, options.seed, len(playable)))
    unread = find_unread(target, options.patience)
    try:
        for result in play_all(playable, target, options, unread):
            results.append(result)
            _emit(readers, events.CaseFinished(result))
    except KeyboardInterrupt:
        interrupted = True
    code = INTERRUPTED if interrupted else exit_code(results)
    verdict = events.INTERRUPTED if interrupted else _VERDICTS[code]
    _emit(readers, events.RunFinished(verdict, skipped, unread, time.monotonic() - began, paths))
    return code


def _see_whether_it_is_there(target: Target) -> None:
    """One line instead of a hundred undecided cases where nothing can be judged."""
    try:
        running = target.start({})
    except NotStarted as error:
        cause = f"target {target.name} does not start: {error}"
        raise UsageError(f"{cause}; {error.remedy}", UNDECIDED) from error
    try:
        if running.post_mortem(0) is not None:
            address = ":".join(map(str, running.address))
            remedy = "start the target or give another address"
            raise UsageError(f"nothing listens at {address}; {remedy}", UNDECIDED)
    finally:
        running.stop()


def _emit(readers: Sequence[events.Reader], event: events.Event) -> None:
    for reader in readers:
        reader.on(event)


def _tell(cases: Sequence[Case], show: str | None) -> None:
    """The catalogue, or one case of it."""
    if show is None:
        for case in cases:
            click.echo(f"{case.id:<48} {case.level.value}")
            click.echo(f"    {case.requirement}")
        return
    for case in select(cases, [show]):
        needs = ", ".join(f"{api} v{span(*versions)}" for api, versions in case.needs.items())
        click.echo(f"{case.id} ({case.level.value})")
        for name, words in (
            ("requirement", case.requirement),
            ("rule", f"{case.rule}: {RULES[case.rule].title}" if case.rule in RULES else case.rule),
            ("source", case.source),
            ("needs", needs or "any version"),
            ("takes", f"about {case.seconds:g} s"),
        ):
            click.echo(wrapped(f"  {name:<12} ", words))
