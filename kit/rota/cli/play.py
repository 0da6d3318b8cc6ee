"""`rota play`: step through a system by hand, on a page in the browser."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import click

from rota import scopes
from rota.cli import completing
from rota.cli.check_plan import plan, recognised
from rota.cli.check_system import build_foreign, parse_settings, resolve
from rota.cli.errors import UsageError
from rota.cli.options import PROFILE, SETTING, Selection, takes
from rota.cli.trace_file import load, reproduce
from rota.cli.verb import Example, Verb
from rota.designs import suites
from rota.kernel import System, SystemRef
from rota.mutants import designs as mutants
from rota.mutants import every_mutant
from rota.play import PlayError, Session
from rota.play.desk import Desk
from rota.play.server import PlayServer
from rota.report.check_model import Plan
from rota.trace import Origin, ReplayError, Trace

SCOPE = "tiny"
"""Where a configuration is looked for if no scope is named: its states can be drawn."""


@dataclass(frozen=True)
class Asked:
    """What is played, as it was asked for; None: not given."""

    configuration: str | None = None
    scope: str | None = None
    profile: str = "kafka-4.x"
    mutant: str | None = None
    system: str | None = None
    settings: tuple[str, ...] = ()

    @property
    def selection(self) -> Selection:
        """The same for a plan."""
        named = (self.configuration,) if self.configuration is not None else ()
        return Selection(self.scope, named, self.profile, self.mutant, self.system, self.settings)


@dataclass(frozen=True)
class Serving:
    """How the page is served. design: one of the older ones; begin: a trace to begin with."""

    design: str | None = None
    begin: Path | None = None
    port: int = 0
    browser: bool = True
    idle: float = 30.0


SELECTION = (
    click.option("--configuration", metavar="NAME", shell_complete=completing.configurations,
                 help="A small world.  [default: core]"),
    click.option("--scope", metavar="SCOPE", shell_complete=completing.scopes,
                 help="Where it is; else it is looked for in all of them."),
    PROFILE,
    click.option("--mutant", metavar="NAME", shell_complete=completing.mutants,
                 help="With this bug, in the configuration in which it shows if none is named."),
    click.option("--system", metavar="MODULE:NAME", help="What this function returns, a kernel System."),
    SETTING,
)  # fmt: skip
"""Options of the same names as those of `rota check`, but for one configuration."""


SERVING = (
    click.option("--design", metavar="|".join(suites.DESIGNS), shell_complete=completing.designs,
                 help="One of the older designs."),
    click.option("--trace", "begin", type=click.Path(path_type=Path), metavar="FILE",
                 shell_complete=completing.traces,
                 help="Begin at the end of this trace, in the system that it came from."),
    click.option("--port", type=click.IntRange(0, 65535), metavar="N", default=0,
                 help="Port on 127.0.0.1; 0: any."),
    click.option("--browser/--no-browser", default=True, help="Open the page, or only say where it is."),
    click.option("--idle", type=click.FloatRange(min=0, min_open=True), default=30.0,
                 metavar="MINUTES", help="End after so long without a question."),
)  # fmt: skip
"""The options of `Serving`."""

SECTIONS = {
    "What to step through": ("--configuration", "--scope", "--profile", "--mutant", "--design", "--system",
                             "--set", "--trace"),
    "How the page is served": ("--port", "--browser", "--idle"),
}  # fmt: skip

EXAMPLES = (
    Example("rota play", "Two clients that join: choose what happens next."),
    Example("rota play --mutant barrier-ignores-pending", "A world with a bug: can you make it show?"),
    Example("rota play --trace rota-out/trace-deadlock.jsonl", "Begin where a counterexample ends."),
    Example("rota play --system mymodule:system --no-browser", "A system of your own; only say the address."),
)


@dataclass(frozen=True)
class Chosen:
    """What is played. named: what it is called in traces; facts: about it; begin: at the end of this run."""

    system: System
    named: Origin
    facts: Mapping[str, str]
    begin: Session | None = None


@click.command(cls=Verb, sections=SECTIONS, examples=EXAMPLES)
@takes("asked", Asked, *SELECTION)
@takes("serving", Serving, *SERVING)
def play(asked: Asked, serving: Serving) -> None:
    """Step through a system by hand, on a page in the browser.

    Choose what happens next, go back, see why something is not possible, jump to a state, walk at random,
    save the run as a trace, look at the state graph. Without options it is two clients that join.

    The page is served on 127.0.0.1 only. The server ends when the page is closed.
    """
    chosen = _chosen(asked.selection, serving)
    try:
        session = chosen.begin or Session.of(chosen.system)
        desk = Desk(session, chosen.named, chosen.facts)
        desk.look()
    except PlayError as error:
        raise UsageError(f"{error}; correct the system") from None
    try:
        server = PlayServer(desk, serving.port)
    except OSError as error:
        cause = f"cannot listen on port {serving.port} of 127.0.0.1: {error.strerror}"
        raise UsageError(f"{cause}; choose another --port, or 0 for any") from None
    click.echo(f"{chosen.system.name}: " + ", ".join(f"{name} {text}" for name, text in chosen.facts.items()))
    click.echo(server.address)
    click.echo(f"Ctrl-C ends it; so does closing the page, or {serving.idle:g} minutes without a question.")
    if serving.browser and not _opened(server.address):
        click.echo("No browser was found; open the address in yours.")
    click.echo(f"ended: {server.until_over(serving.idle * 60)}")


def _opened(address: str) -> bool:
    """Open the page, unless all there is runs in this terminal."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if type(browser) is webbrowser.GenericBrowser:
        return False
    return browser.open(address)


def _chosen(selection: Selection, serving: Serving) -> Chosen:
    """The system. Errors: UsageError for whatever is not known or does not go together."""
    if serving.begin is not None:
        return _of_trace(serving.begin, selection, serving)
    if serving.design is not None:
        return _of_design(serving.design, selection)
    if selection.system is not None:
        return _foreign(selection.system, selection)
    return _of_plan(plan(_with_scope(selection)), selection)


def _alone(option: str, others: Mapping[str, object]) -> None:
    """Errors: UsageError for an option that does not go with another."""
    wrong = next((name for name, given in others.items() if given), None)
    if wrong:
        raise UsageError(f"{wrong} does not go with {option}; leave one of them out")


def _with_scope(selection: Selection) -> Selection:
    """The selection with the scope that has its configuration. Errors: UsageError."""
    if selection.scope is not None:
        return selection
    if not selection.configurations:  # a mutant's is the one in which it dies, wherever that is
        return selection if selection.mutant else replace(selection, scope=SCOPE)
    homes = {
        one.name: scope for scope in reversed(scopes.names()) for one in scopes.load(scope).configurations
    }
    return replace(selection, scope=homes[recognised("configuration", selection.configurations[0], homes)])


def _of_plan(made: Plan, selection: Selection) -> Chosen:
    """The first configuration of a plan."""
    job = made.jobs[0]
    assert job.scope is not None
    configuration = scopes.load(job.scope).configuration(job.name)
    facts = {"configuration": f"{job.name} ({job.scope})", "profile": selection.profile}
    if selection.mutant:
        facts["mutant"] = f"{selection.mutant}: {every_mutant()[selection.mutant].meaning}"
    facts["about"] = configuration.about
    if job.size and not selection.mutant:
        facts["states"] = f"{job.size:,}"
    named = Origin(
        scope=job.scope, configuration=job.name, profile=selection.profile, mutant=selection.mutant
    )
    return Chosen(job.build(), named, facts)


def _foreign(name: str, selection: Selection) -> Chosen:
    """A system from outside of rota; it may be without properties still."""
    _alone("--system", {"--mutant": selection.mutant, "--configuration": selection.configurations,
                        "--scope": selection.scope})  # fmt: skip
    made = build_foreign(name, resolve(name), parse_settings(selection.settings))
    if not made.machines:
        raise UsageError(f"system {made.name} has no machines; give it one at least")
    return Chosen(made, Origin(configuration=name.partition(":")[2]), {"from": name})


def _of_design(design: str, selection: Selection) -> Chosen:
    """One of the older designs: a configuration of it, that in which a mutant dies, or the first."""
    recognised("design", design, suites.DESIGNS)
    _alone("--design", {"--scope": selection.scope, "--system": selection.system})
    there, bug = {one.name: one for one in suites.load(design).configurations}, selection.mutant
    if bug is not None:
        recognised("mutant", bug, mutants.BUGS[design])
    name = next(
        iter(selection.configurations), mutants.BUGS[design][bug].configuration if bug else next(iter(there))
    )
    one = there[recognised(f"configuration of {design} called", name, there)]
    settings = {**one.settings, **parse_settings(selection.settings)}
    try:
        made = mutants.system(design, settings, bug) if bug else suites.system(design, settings)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise UsageError(f"cannot build a world of {design} ({error}); check --set") from error
    facts = {"design": design, "configuration": name, **({"mutant": bug} if bug else {}), "about": one.about}
    return Chosen(made, Origin(configuration=name, mutant=bug), facts)


def _of_trace(path: Path, selection: Selection, serving: Serving) -> Chosen:
    """The system that a trace came from, at the end of its run."""
    others = {"--design": serving.design, "--configuration": selection.configurations,
              "--scope": selection.scope, "--mutant": selection.mutant,
              "--set": selection.settings}  # fmt: skip
    _alone("--trace", others)
    trace = load(path)
    try:
        run = reproduce(trace, selection.system)
    except ReplayError as error:
        raise UsageError(f"{path} cannot be followed ({error}); let `rota check` write it again") from None
    system = _without_search(trace)
    begin = Session(system, run.states[0], run.path, len(run.path))
    facts = {"trace": path.name, "property": trace.property_name, "configuration": trace.origin.configuration,
             "profile": trace.origin.profile, "mutant": trace.origin.mutant}  # fmt: skip
    named = Origin(scope=trace.origin.scope, configuration=trace.origin.configuration,
                   profile=trace.origin.profile, mutant=trace.origin.mutant)  # fmt: skip
    return Chosen(system, named, {name: text for name, text in facts.items() if text}, begin)


def _without_search(trace: Trace) -> System:
    """The system of a trace with what it claims by itself, not what was searched for in it."""
    factory = trace.origin.factory
    assert factory is not None, "its run was followed"
    ref = SystemRef(factory, tuple(trace.origin.settings.items()))
    made = ref.build()
    return made if made.ref else replace(made, ref=ref)
