"""`rota check`: explore every configuration of a scope; counts, properties, the shortest violation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import click

from rota.cli import check_spark, check_workers, resuming
from rota.cli.check_plan import option_of, sizes_of
from rota.cli.check_protocols import bugs_of, plan
from rota.cli.check_spark import SPARK, SparkOptions
from rota.cli.checking import Checking
from rota.cli.errors import UsageError, unforeseen
from rota.cli.mutants import list_mutants
from rota.cli.options import ENGINE, MAX_STATES, SELECTION, WHAT, Search, Selection, takes
from rota.cli.reporting import EXIT_CODES, REPORTING, Reporting
from rota.cli.verb import REPORTING as HOW_TO_REPORT
from rota.cli.verb import Example, Verb
from rota.explore import CheckpointError, MissingExtra, engines
from rota.explore.purity import Impure
from rota.explore.result import EngineLimit
from rota.report import check_text
from rota.report.check_json import report_of
from rota.report.check_model import Plan, Report
from rota.report.check_progress import Explorations
from rota.report.identity import PACKAGES, identified
from rota.trace import ExpressionError

REPORT = "check.json"

SEARCH = (
    ENGINE,
    click.option("--liveness", is_flag=True,
                 help="Judge what must happen in the end, on endless runs of small configurations."),
    MAX_STATES,
    click.option("--workers", type=click.IntRange(min=1), metavar="N",
                 help="Processes that explore, or threads for one configuration.  [default: 1 for "
                      "small scopes, else the cores, "
                      f"{check_workers.MOST} at most]"),
    click.option("--keep-going", is_flag=True,
                 help="Explore all to the end, and list every property that breaks."),
    click.option("--symmetry", is_flag=True,
                 help="One state of each orbit, if machines are interchangeable. Engine fast."),
    click.option("--fingerprints", is_flag=True,
                 help="Tell states apart by 64 bits; prints the odds of missing one. Engine fast."),
    click.option("--memory", type=click.IntRange(min=1), metavar="MIB",
                 help="Memory; states beyond it go to disk. Fast: for states, about. Spark: of "
                      "all processes, kept; see docs/spark.md."),
    click.option("--checkpoint", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
                 help="Keep on disk what is known after each level. Fast and Spark."),
    click.option("--resume", is_flag=True,
                 help="Go on with what --checkpoint has; exit 2 if that is nothing."),
    click.option("--resume-if-any", is_flag=True,
                 help="Go on with what --checkpoint has, or begin if that is nothing."),
    click.option("--reach", metavar="EXPR",
                 help="In place of judging: the shortest run to a state of which this is true, such as "
                      "'coordinator.group.state == \"Stable\"'; see docs/your-own-system.md."),
    click.option("--no-cache", is_flag=True,
                 help="Neither use tables of earlier runs nor keep any. Fast and numpy use them; the "
                      "answer is the same."),
)  # fmt: skip
"""The options of `Search`."""

MOVED = {
    **dict.fromkeys(
        ("--simulate", "--runs", "--seconds", "--depth", "--seed"), "random walks are `rota simulate`"
    ),
    "--design": "the older designs are `rota design NAME`",
}
"""Options that other verbs have, and what is said of them."""


SECTIONS = {
    "What to explore": WHAT,
    "What to judge": ("--property", "--strict", "--liveness", "--reach"),
    "How to explore": ("--engine", "--workers", "--max-states", "--keep-going", "--memory", "--symmetry",
                       "--fingerprints", "--no-cache"),
    "Going on where an earlier search ended": ("--checkpoint", "--resume", "--resume-if-any"),
    "On Spark": ("--master", "--partitions", "--verdict-only", "--by-level", "--py-files"),
    "What to report": ("--list-mutants", "--stats", *HOW_TO_REPORT),
}  # fmt: skip

EXAMPLES = (
    Example("rota check", "Every configuration of the scope small; a minute or two."),
    Example("rota check --scope tiny --mutant barrier-ignores-pending --configuration rejoin",
            "Plant a bug and see it found: the shortest run to it, which is kept as a trace.", code=1),
    Example("rota check --property weakness.unused-id-holds-up",
            "Show the run of a weakness that Kafka's brokers are known to have.", code=1),
    Example("rota check --protocol consumer", "The consumer protocol (KIP-848) alone."),
    Example("rota check --liveness --configuration core", "Judge what must happen in the end.", code=0),
    Example("""rota check --scope tiny --reach 'coordinator.group.state == "Stable"'""",
            "Look for the shortest run to such a state.", code=0),
    Example("rota check --scope standard --workers 4 --checkpoint search --resume-if-any",
            "Hours of work that may be interrupted: the same call goes on with it."),
    Example("rota check --system mymodule:system --set members=2",
            "A system of your own; docs/your-own-system.md shows how it is written."),
)  # fmt: skip


class CheckCommand(Verb):
    """Names the verb that has an option which `rota check` has not, and the option of a stray name."""

    def __init__(self, *arguments: Any, **further: Any) -> None:
        super().__init__(*arguments, **further)
        self.context_settings = {**self.context_settings, "allow_extra_args": True}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's. Errors: UsageError."""
        try:
            stray = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            _refuse(error)
        if stray and not ctx.resilient_parsing:
            hint = f"did you mean {option} {stray[0]}?" if (option := option_of(stray[0])) else _TO_OPTIONS
            raise UsageError(f"`rota check` takes options, and no argument {stray[0]!r}; {hint}")
        return stray


_TO_OPTIONS = "see `rota check --help`"


def _refuse(error: click.NoSuchOption) -> NoReturn:
    if error.option_name not in MOVED:
        raise error
    verb = MOVED[error.option_name]
    raise UsageError(f"`rota check` has no {error.option_name}; {verb}") from error


@click.command(cls=CheckCommand, sections=SECTIONS, examples=EXAMPLES)
@takes("selection", Selection, *SELECTION)
@takes("search", Search, *SEARCH)
@takes("spark", SparkOptions, *SPARK)
@click.option("--list-mutants", "only_list", is_flag=True,
              help="Name the bugs that can be planted; explore nothing.")  # fmt: skip
@click.option("--stats", is_flag=True, help="Also what the engine counts of its own work.")
@takes("reporting", Reporting, *REPORTING)
@click.pass_context
def check(
    ctx: click.Context,
    /,
    selection: Selection,
    search: Search,
    spark: SparkOptions,
    only_list: bool,
    stats: bool,
    reporting: Reporting,
) -> None:
    """Explore the protocol exhaustively: every configuration of a scope, every interleaving.

    What is known to be weak in a profile's brokers must be found anew, and is listed; to see the run of such
    a weakness name it: --property weakness.unused-id-holds-up.

    With --liveness: every endless run that is fair (what remains possible is done in the end, but for
    faults), in configurations of up to 100,000 states or --max-states; the default scope is then endless.

    Once something is violated, all go on to where a shorter violation could be, and no further: what is shown
    is the shortest of all configurations, the first of several.

    What is too large to be explored: `rota simulate`. The older designs: `rota design`.

    With --reach: the shortest run to a state that EXPR describes; exit 0 if there is one, 1 if there is none.

    Exit 0 if everything holds, 1 if something is violated, a witness is not reached or a count differs
    from the pinned one, 3 if a bound ended the search or a property found nothing to judge.
    """
    if only_list:
        list_mutants(bugs_of(selection.protocol), reporting.as_json)
        return
    on_spark = check_spark.on_spark(search, spark)
    what, limits = plan(selection, search), search.limits
    _fits(what, search)
    if on_spark:
        what, limits = check_spark.fitted(what, limits, on_spark)
    reporting.try_out(REPORT)
    explorations = Explorations(reporting.live_line(), "check", sizes_of(what, limits.max_states))
    checking = Checking(what, limits, reporting.out, reporting.say, explorations, search.workers, on_spark,
                        search.keep_going)  # fmt: skip
    cut = _worked(checking, partial(resuming.tell, what, limits, search, explorations.line.note))
    report = _identified(checking, selection, search, spark)
    content = report_of(report)
    if cut is None or checking.found:
        verdict = check_text.verdict_line(report, reporting.quiet)
        reporting.conclude(REPORT, content, check_text.lines(report, stats), verdict)
    code = reporting.keep(REPORT, content, checking.found, EXIT_CODES[report.verdict])
    if isinstance(cut, OSError | MemoryError) and checking.found:
        unforeseen(cut)  # what is violated stays so, whatever could not be explored
    elif cut is not None:
        raise cut
    ctx.exit(code)


def _worked(checking: Checking, tell: Callable[[], None]) -> BaseException | None:
    """Explore; what cut it short, if anything did: what was found is kept. Errors: those before it began."""
    try:
        tell()
        checking.work()
    except BaseException as error:
        cut = error
        if isinstance(error, CheckpointError | MissingExtra | ExpressionError | Impure | EngineLimit):
            cut = UsageError(str(error))
            cut.__cause__ = error
        if not checking.started:
            raise cut from cut.__cause__
        return cut
    return None


def _identified(checking: Checking, selection: Selection, search: Search, spark: SparkOptions) -> Report:
    """What is known by now, and what it rests on."""
    report = checking.report()
    used = [name for engine in report.engine.split("+") for name in PACKAGES.get(engine, ())]
    asked = ("engine", "liveness", "max_states", "symmetry", "fingerprints", "keep_going", "reach")
    settings = {
        **asdict(selection),
        **{name: getattr(search, name) for name in asked},
        "scope": checking.plan.scope,
        "verdict_only": spark.verdict_only,
    }
    return replace(report, identity=identified(__name__, checking.systems, used, settings))


def _fits(what: Plan, search: Search) -> None:
    """Errors: UsageError for options that do not go together, or not with the engine."""
    if search.resume and search.resume_if_any:
        raise UsageError("--resume and --resume-if-any: say one of them")
    resume = "--resume-if-any" if search.resume_if_any else "--resume"
    if search.limits.resume and search.checkpoint is None:
        raise UsageError(f"{resume} needs the folder to go on with; name it: --checkpoint DIR")
    if search.keep_going and (search.checkpoint or search.engine == check_spark.ENGINE):
        other = "--checkpoint" if search.checkpoint else "--engine spark"
        raise UsageError(f"--keep-going does not go with {other}, which is one search; leave it out")
    on_disk = {"--memory": search.memory, "--checkpoint": search.checkpoint}
    _fits_reach(what, search)
    of_fast = {"--symmetry": search.symmetry, "--fingerprints": search.fingerprints, **on_disk}
    for name, given in of_fast.items():
        if given and what.engine == engines.LASSO:
            raise UsageError(f"{name} is not for endless runs; leave it out")
        on_spark = what.engine == check_spark.ENGINE and name in on_disk
        if given and not on_spark and what.engine not in ("auto", "fast"):
            raise UsageError(f"{name} is not for engine {what.engine}; use --engine fast")


def _fits_reach(what: Plan, search: Search) -> None:
    """Errors: UsageError for options that say what to judge, or visit other states."""
    asked = {"--property": what.only, "--liveness": search.liveness, "--keep-going": search.keep_going,
             "--symmetry": search.symmetry}  # fmt: skip
    for name, given in asked.items():
        if search.reach and given:
            raise UsageError(f"{name} does not go with --reach, which looks for one state; leave it out")
