"""`rota conform`: judge a group coordinator over the wire."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import click

from rota.cli import completing
from rota.cli.conform_known import KNOWN_OPTIONS, KnownFailures, KnownOptions, selectors_in
from rota.cli.errors import UNDECIDED, USAGE, UsageError, nearly
from rota.cli.keeping import keep, try_files
from rota.cli.options import takes
from rota.cli.verb import REPORTING, Example, Verb
from rota.conformance.catalogue import UnknownCase, all_cases, all_scripts, select
from rota.conformance.profiles import JUDGED, usual_profile
from rota.conformance.switches import spec_profile
from rota.conformance.targets.target import DEFAULTS, TargetError
from rota.report.files import KINDS, ReportError, default_reports, file_report, parse_report

PATIENCE = 10.0
"""Seconds that are waited for an answer if nothing is said."""

WALKING = 60.0
"""Seconds for which --generate walks if nothing is said."""

SECTIONS = {
    "What to judge": (
        "--target",
        "--embedded",
        "--diff",
        "--matrix",
        "--clients",
        "--generate",
        "--replay",
        "--as",
        "--set",
        "--command-config",
    ),
    "What it is held to": ("--profile", "--known", "--write-known", "--strict"),
    "How to play": ("--seed", "--seconds", "--groups", "--protocol", "--timeout", "--slow"),
    "What to report": ("--report", *REPORTING),
    "What there is to play": ("--list", "--show"),
}

EXAMPLES = (
    Example("rota conform --target localhost:9092", "Judge a broker that runs there by all cases."),
    Example("rota conform --embedded heartbeat", "Judge rota's own server by the cases of one part.", code=0),
    Example("rota conform --target 'cmd:./broker --port {port}' --report html=report.html",
            "Start a broker for each case; a page with the dialogue of each deviation."),
    Example("rota conform --target localhost:9092 --write-known known.toml",
            "Keep what fails today; with --known known.toml only news fail from then on."),
    Example("rota conform --diff rota localhost:9092 join", "Play the cases of joining on two and compare."),
    Example("rota conform --diff main.json mine.json --report md=changes.md",
            "What fails in one JSON report and did not in the other."),
    Example("rota conform --matrix kafka.json mine.json --report html=both.html",
            "One page of several JSON reports."),
    Example("rota conform --clients --target localhost:9092 librdkafka",
            "Let groups of librdkafka consumers work with it, with crashes and rebalances."),
    Example("rota conform --generate --target localhost:9092 --seconds 60",
            "Walk on it with requests that nobody wrote, held to all that the spec allows."),
    Example("rota conform --show sync.unknown-member.stranger", "What one case asks, and why.", code=0),
)  # fmt: skip


BOTH = ("classic", "consumer")
"""The protocols of groups."""


@click.command("conform", cls=Verb, sections=SECTIONS, examples=EXAMPLES)
@click.argument("selectors", nargs=-1, metavar="[IDS, RULES, PARTS OR FILES]...",
                shell_complete=completing.cases)  # fmt: skip
@click.option("--target", metavar="TARGET", shell_complete=completing.targets,
              help="HOST:PORT, cmd:COMMAND with {port}, or a name such as rota, kafka-4.4.0.")  # fmt: skip
@click.option("--embedded", is_flag=True, help="Judge rota's own server; the same as --target rota.")
@click.option("--diff", nargs=2, metavar="A B", shell_complete=completing.targets,
              help="Compare two targets, or two JSON reports on targets.")  # fmt: skip
@click.option("--matrix", is_flag=True, help="The arguments are JSON reports: show them side by side.")
@click.option("--clients", "by_clients", is_flag=True,
              help="Judge by what real consumers see, of the libraries that are installed.")  # fmt: skip
@click.option("--generate", is_flag=True,
              help="Judge by walks drawn from the seed: right and wrong requests in odd orders.")  # fmt: skip
@click.option("--replay", metavar="ID", help="Play a failure that --generate has kept again.")
@click.option("--as", "form", type=click.Choice(["case"]),
              help="Write the failure that --replay names as a case, for review.")  # fmt: skip
@click.option("--list", "listing", is_flag=True, help="List cases and probes, and stop.")
@click.option("--show", metavar="ID", shell_complete=completing.cases,
              help="Show one case or probe, and stop.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON object.")
@click.option("--quiet", is_flag=True, help="Print only the verdict.")
@click.option("--report", "reports", multiple=True, metavar="KIND=PATH",
              shell_complete=completing.kinds_of_report,
              help=f"{' or '.join(KINDS)}; repeatable.")  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), default=Path("rota-out"), help="Folder for reports.")
@click.option("--seed", type=int, metavar="N",
              help="Order of the cases and names of the groups; drawn if not given.")  # fmt: skip
@click.option("--seconds", type=click.FloatRange(min=1), metavar="N",
              help="How long --generate walks.  [default: 60]")  # fmt: skip
@click.option("--groups", type=click.IntRange(min=1), metavar="N",
              help="Groups that --generate walks on at once.  [default: 50]")  # fmt: skip
@click.option("--protocol", type=click.Choice(BOTH),
              help="Groups that --generate walks on.  [default: both, where a target has them]")  # fmt: skip
@click.option("--timeout", type=click.FloatRange(min=0.1), metavar="SECONDS", default=PATIENCE,
              help="To wait for answers.")  # fmt: skip
@click.option("--slow", is_flag=True, help="Also play cases that take more than a minute.")
@click.option("--profile", metavar="|".join(JUDGED), shell_complete=completing.judged_profiles,
              help="Line of brokers.  [default: that of a target with a name, else kafka-4.x]")  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE",
              help="What a broker at HOST:PORT runs with, if not Kafka's default: " + ", ".join(DEFAULTS)
)  # fmt: skip
@click.option("--command-config", "config", type=click.Path(path_type=Path), metavar="FILE",
              help="TLS and SASL of a listener at HOST:PORT, by Kafka's client properties.")  # fmt: skip
@takes("knowing", KnownOptions, *KNOWN_OPTIONS)
@click.pass_context
def conform(
    ctx: click.Context,
    selectors: tuple[str, ...],
    target: str | None,
    embedded: bool,
    diff: tuple[str, str] | None,
    matrix: bool,
    by_clients: bool,
    generate: bool,
    replay: str | None,
    form: str | None,
    listing: bool,
    show: str | None,
    as_json: bool,
    quiet: bool,
    reports: tuple[str, ...],
    out: Path,
    seed: int | None,
    seconds: float | None,
    groups: int | None,
    protocol: str | None,
    timeout: float,
    slow: bool,
    profile: str | None,
    settings: tuple[str, ...],
    config: Path | None,
    knowing: KnownOptions,
) -> None:
    """Judge a group coordinator: play dialogues with it and hold its answers against Kafka's rules.

    Exit code 1 if a MUST case fails that is not known to, or the target dies; 3 if a case is undecided, or no
    Kafka broker is there; 5 if no case is selected; else 0. With --diff 1 if the targets differ, 3 if that
    cannot be decided. With --diff of two JSON reports 1 if anything fails that did not, 3 if anything is
    undecided that was not. With --generate 1 if a walk fails, 3 if more than 1 % of the walks are undecided.
    """
    # what plays takes half a second to import: help and completion go without
    from rota.cli.conform_clients import print_scenarios, show_clients
    from rota.cli.conform_diff import show_differences
    from rota.cli.conform_generate import Asked, protocols_of, write_case
    from rota.cli.conform_list import print_scripts
    from rota.cli.conform_reports import are_reports, show_changes, show_matrix
    from rota.cli.conform_run import Run
    from rota.cli.conform_target import one_target, two_targets
    from rota.conformance.runner import Options
    from rota.generate.walks import AT_ONCE

    try:
        _one_of(
            {
                "--matrix": matrix,
                "--diff": diff is not None,
                "--clients": by_clients,
                "--generate": generate,
                "--replay": replay is not None,
                "--list": listing and not by_clients,
                "--show": show is not None,
            }
        )
        _only_of_walks(generate, {"--seconds": seconds, "--groups": groups, "--protocol": protocol})
        if matrix:
            ctx.exit(show_matrix(selectors, reports, as_json, quiet))
        selected = selectors_in(selectors)
        if by_clients and listing:
            print_scenarios()
            return
        if listing or show:
            print_scripts(select(all_scripts(), selected), show)
            return
        if profile not in (None, *JUDGED):
            cause = f"cases do not say what is right for {profile}"
            raise UsageError(f"{cause}; {nearly(profile, JUDGED)}there are {', '.join(JUDGED)}")
        if diff is not None and are_reports(diff):
            _refuse("--diff", {"--profile": profile, **_given_of(knowing)})
            scripts = select(all_scripts(), selected)
            ctx.exit(show_changes(diff, scripts, bool(selected), reports, as_json, quiet))
        known = KnownFailures(knowing)
        options = Options(_seed(seed), timeout, slow, known.of_run)
        given = _given_again(settings, config, timeout, slow)
        if diff is not None:
            _refuse("--diff", {"--report": reports, "--profile": profile, **_given_of(knowing)})
            targets = two_targets(diff, target, embedded, settings, config)
            scripts = select(all_scripts(), selected)
            ctx.exit(show_differences(scripts, targets, options, given, out, as_json, quiet))
        if by_clients:
            others = {"--command-config": config, "--slow": slow, "--seed": seed is not None}
            _refuse("--clients", {**others, **_given_of(knowing)})
            judged = one_target(target, embedded, settings, profile=profile)
            asked = [parse_report(text) for text in reports]
            ctx.exit(show_clients(judged, selected, timeout, out, asked, as_json, quiet))
        if form is not None and replay is None:
            raise UsageError("--as case is for a failure that was kept; name it with --replay ID")
        if form is not None and replay is not None:
            ctx.exit(write_case(out, replay))
        if generate or replay:
            where = "--generate" if generate else "--replay"
            others = {"--slow": slow, "a selection of cases": bool(selected)}
            _refuse(where, {**others, **_given_of(knowing)})
            judged = one_target(target, embedded, settings, config, profile)
            asked = [parse_report(text) for text in reports]
            line = profile or usual_profile(judged.name)
            walks = Asked(
                judged,
                spec_profile(line).name,
                options.seed,
                seconds or WALKING,
                groups or AT_ONCE,
                timeout,
                out,
                asked,
                as_json,
                quiet,
                given,
                protocols_of(line, protocol),
            )
            ctx.exit(walks.walk() if replay is None else walks.replay(replay))
        cases = select(all_cases(), selected)
        judged = one_target(target, embedded, settings, config, profile)
        chosen = [parse_report(text) for text in reports] or default_reports(judged.name, out)
        try_files([path for _, path in chosen], "choose another path")
    except (UnknownCase, ReportError) as error:
        raise UsageError(str(error)) from error
    except TargetError as error:
        raise UsageError(str(error), USAGE if error.there else UNDECIDED) from error
    files: dict[Path, str] = {}
    readers = [file_report(kind, path, files) for kind, path in chosen]
    paths = [path for _, path in chosen]
    expected = profile or usual_profile(judged.name)
    run = Run(judged, expected, options, knowing.strict, as_json, quiet, readers, paths, given)
    with closing(judged):
        code, results = run.judge(cases)
        code = known.write(results, keep(files, code), quiet)
    ctx.exit(code)


def _given_again(settings: Sequence[str], config: Path | None, timeout: float, slow: bool) -> list[str]:
    """Of the options those without which a case would not be played as it was, word by word."""
    given = [word for setting in settings for word in ("--set", setting)]
    given += [] if config is None else ["--command-config", str(config)]
    given += [] if timeout == PATIENCE else ["--timeout", f"{timeout:g}"]
    return [*given, *(["--slow"] if slow else [])]


def _given_of(knowing: KnownOptions) -> dict[str, object]:
    """The options about known failures, by name."""
    return {"--known": knowing.known, "--write-known": knowing.write_known, "--strict": knowing.strict}


def _one_of(modes: Mapping[str, bool]) -> None:
    """What is to be done is one thing. Errors: UsageError, for a second one."""
    first, *others = [name for name, given in modes.items() if given] or [""]
    if others:
        raise UsageError(f"{first} and {others[0]} are two things to do; leave one of them out")


def _only_of_walks(generate: bool, options: Mapping[str, object]) -> None:
    """What says how walks are drawn. Errors: UsageError, where none are."""
    for name, given in options.items():
        if given is not None and not generate:
            raise UsageError(f"{name} is for --generate, which draws walks; leave it out, or add --generate")


def _refuse(where: str, options: Mapping[str, object]) -> None:
    """Options that are for judging one target by its cases. Errors: UsageError, for one that is given."""
    for option, given in options.items():
        if given:
            raise UsageError(f"{option} is for judging one target; leave it out with {where}")


def _seed(seed: int | None) -> int:
    return random.SystemRandom().randrange(1_000_000) if seed is None else seed
