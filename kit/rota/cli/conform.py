"""`rota conform`: judge a group coordinator over the wire."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from rota.cli.conform_diff import show_differences
from rota.cli.conform_list import print_scripts
from rota.cli.conform_target import SETTINGS_HELP, one_target, see_whether_it_is_there, two_targets
from rota.cli.errors import HOLDS, INTERRUPTED, NOTHING, UNDECIDED, USAGE, VIOLATED, UsageError
from rota.cli.keeping import keep, try_files
from rota.cli.streams import ascii_json
from rota.conformance.catalogue import UnknownCase, all_cases, all_scripts, select
from rota.conformance.dialogues.script import Case
from rota.conformance.results import CaseResult
from rota.conformance.runner import Options, divide, exit_code, find_unreadable, play_all
from rota.conformance.targets.target import Target, TargetError
from rota.report import events
from rota.report.files import ReportError, default_reports, file_report, parse_report
from rota.report.identity import identified
from rota.report.json_report import JsonReport
from rota.report.text import TextReport

PROFILE = "kafka-4.x"
"""The behaviour that the cases are written from."""

_VERDICTS = {HOLDS: events.CONFORMS, VIOLATED: events.VIOLATED, UNDECIDED: events.UNDECIDED}


@click.command("conform")
@click.argument("selectors", nargs=-1, metavar="[IDS, RULES OR PARTS]...")
@click.option("--target", help="HOST:PORT, rota, kafka-4.4.0, librdkafka-mock, or cmd:COMMAND with {port}.")
@click.option("--embedded", is_flag=True, help="Judge rota's own server; the same as --target rota.")
@click.option("--diff", nargs=2, metavar="A B", help="Play cases and probes on two targets and compare.")
@click.option("--list", "listing", is_flag=True, help="List cases and probes, and stop.")
@click.option("--show", metavar="ID", help="Show one case or probe, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON object.")
@click.option("--quiet", is_flag=True, help="Print only the verdict.")
@click.option("--report", "reports", multiple=True, metavar="KIND=PATH", help="json, junit or md.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("rota-out"), help="Folder for reports.")
@click.option("--seed", type=int, help="Order of the cases and names of the groups; drawn if not given.")
@click.option("--timeout", type=click.FloatRange(min=0.1), default=10.0, help="Seconds to wait for answers.")
@click.option("--slow", is_flag=True, help="Also play cases that take more than a minute.")
@click.option("--known", multiple=True, metavar="ID", help="A case whose deviation is known; repeatable.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=SETTINGS_HELP)
@click.pass_context
def conform(
    ctx: click.Context,
    selectors: tuple[str, ...],
    target: str | None,
    embedded: bool,
    diff: tuple[str, str] | None,
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
    5 if no case is selected, else 0. With --diff 1 if the targets differ, 3 if that cannot be decided.
    """
    try:
        if listing or show:
            print_scripts(select(all_scripts(), selectors), show)
            return
        options = Options(_seed(seed), timeout, slow, _known(known))
        if diff is not None:
            for option, given in (("--report", reports), ("--known", known)):
                if given:
                    raise UsageError(f"{option} is for judging one target; leave it out with --diff")
            targets = two_targets(diff, target, embedded, settings)
            scripts = select(all_scripts(), selectors)
            ctx.exit(show_differences(scripts, targets, options, out, as_json, quiet))
        cases = select(all_cases(), selectors)
        judged = one_target(target, embedded, settings)
        chosen = [parse_report(text) for text in reports] or default_reports(judged.name, out)
        try_files([path for _, path in chosen], "choose another path")
    except (UnknownCase, ReportError) as error:
        raise UsageError(str(error)) from error
    except TargetError as error:
        raise UsageError(str(error), USAGE if error.there else UNDECIDED) from error
    files: dict[Path, str] = {}
    readers: list[events.Reader] = [JsonReport(_print) if as_json else TextReport(click.echo, quiet)]
    readers += [file_report(kind, path, files) for kind, path in chosen]
    with closing(judged):
        code = _judge(cases, judged, options, readers, [path for _, path in chosen])
        code = keep(files, code)
    ctx.exit(code)


def _print(text: str) -> None:
    click.echo(ascii_json(text), nl=False)


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
    see_whether_it_is_there(target)
    began = time.monotonic()
    results: list[CaseResult] = []
    interrupted = False
    identity = identified(__name__, (), (), _settings(cases, target, options))
    _emit(readers, events.RunStarted(target.name, PROFILE, options.seed, len(playable), identity))
    unreadable = find_unreadable(target, options.patience)
    try:
        for result in play_all(playable, target, options, unreadable):
            results.append(result)
            _emit(readers, events.CaseFinished(result))
    except KeyboardInterrupt:
        interrupted = True
    code = INTERRUPTED if interrupted else exit_code(results)
    verdict = events.INTERRUPTED if interrupted else _VERDICTS[code]
    _emit(readers, events.RunFinished(verdict, skipped, unreadable, time.monotonic() - began, paths))
    return code


def _settings(cases: Sequence[Case], target: Target, options: Options) -> dict[str, Any]:
    """What was asked for."""
    return {
        "target": target.name,
        "profile": PROFILE,
        "seed": options.seed,
        "patience": options.patience,
        "slow": options.slow,
        "known": sorted(options.known),
        "cases": len(cases),
    }


def _emit(readers: Sequence[events.Reader], event: events.Event) -> None:
    for reader in readers:
        reader.on(event)
