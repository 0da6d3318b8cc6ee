"""What shells complete: names of scopes, mutants, properties, rules, cases, targets; files of traces.

Each function takes what click gives to `shell_complete` of an option. What it needs is imported when it is
called: a completion that takes half a second is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path

import click
from click.shell_completion import CompletionItem

Items = list[CompletionItem[str]]
Completing = Callable[[click.Context, click.Parameter, str], Items]
Source = Callable[[click.Context, str], "Mapping[str, str] | Iterable[str]"]

LONGEST = 90
"""Characters of what is said of a name at most: shells show it beside the name."""


def completing(source: Source) -> Completing:
    """From names, or names with what each is, to the items of those that begin as what is typed."""

    @wraps(source)
    def items(ctx: click.Context, _: click.Parameter, incomplete: str) -> Items:
        try:
            names = source(ctx, incomplete)
        except Exception:  # a shell would show an error in the midst of what is being typed
            return []
        told = names if isinstance(names, Mapping) else dict.fromkeys(names, "")
        return [_item(name, words) for name, words in told.items() if name.startswith(incomplete)]

    return items


def _item(name: str, words: str) -> CompletionItem[str]:
    line = " ".join(words.split())
    return CompletionItem(name, help=line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…")


@completing
def verbs(ctx: click.Context, _: str) -> Mapping[str, str]:
    """Those of `rota`."""
    from rota.cli.tasks import TASKS

    return {verb: words for section in TASKS.values() for verb, words in section.items()}


@completing
def scopes(ctx: click.Context, _: str) -> Mapping[str, str]:
    """Suites of configurations."""
    from rota.scopes import load, names

    return {name: load(name).about for name in names()}


@completing
def profiles(ctx: click.Context, _: str) -> Iterable[str]:
    """Lines of brokers that the spec models."""
    from rota.spec import PROFILES

    return tuple(PROFILES)


@completing
def judged_profiles(ctx: click.Context, _: str) -> Iterable[str]:
    """Lines of brokers that the conformance cases know."""
    from rota.conformance.profiles import JUDGED

    return JUDGED


@completing
def engines(ctx: click.Context, _: str) -> Iterable[str]:
    """Ways to explore."""
    from rota.cli.choices import ENGINES

    return ENGINES


@completing
def protocols(ctx: click.Context, _: str) -> Iterable[str]:
    """Protocols of groups."""
    from rota.cli.choices import PROTOCOLS

    return PROTOCOLS


@completing
def configurations(ctx: click.Context, _: str) -> Mapping[str, str]:
    """Those of the scope, or of the design, that is named already, for the profile."""
    if design := _design(ctx):
        from rota.designs import suites

        return {one.name: one.cause for one in suites.load(design).configurations}
    from rota.scopes import OF_CONSUMER, consumer, load

    found, scope = {}, ctx.params.get("scope") or "small"
    if _speaks(ctx, "consumer") and scope in OF_CONSUMER:
        found = {one.name: one.about for one in consumer(scope).configurations}
    if not _speaks_classic(ctx):
        return found
    profile, there = ctx.params["profile"], load(_scope(ctx)).configurations
    return found | {one.name: one.about for one in there if one.is_for(profile)}


def _speaks(ctx: click.Context, protocol: str) -> bool:
    """Whether the words before name this protocol, or none."""
    return "protocol" in ctx.params and ctx.params["protocol"] in (None, protocol)


def _speaks_classic(ctx: click.Context) -> bool:
    """The same of the classic protocol, which verbs without that option speak."""
    return "protocol" not in ctx.params or _speaks(ctx, "classic")


def _design(ctx: click.Context) -> str | None:
    """The design that the words before name; None for the classic protocol.

    While the value of an option is missing, which is what is being typed, click has arguments unread.
    """
    if "design" not in {one.name for one in ctx.command.params}:
        return None
    return ctx.params.get("design") or next(iter(ctx.args), None)


def _scope(ctx: click.Context) -> str:
    """The scope that the words before mean."""
    usual = "endless" if ctx.params.get("liveness") else "small"
    return str(ctx.params.get("scope") or usual)


@completing
def mutants(ctx: click.Context, _: str) -> Mapping[str, str]:
    """Bugs that can be planted."""
    if design := _design(ctx):
        from rota.mutants.designs import BUGS

        return {name: bug.meaning for name, bug in BUGS[design].items()}
    from rota.mutants import every_mutant
    from rota.mutants.consumer import BUGS as CONSUMER_BUGS

    some = (*every_mutant().values(),) if _speaks_classic(ctx) else ()
    others = (*CONSUMER_BUGS.values(),) if _speaks(ctx, "consumer") else ()
    return {one.name: one.meaning for one in (*some, *others)}


@completing
def properties(ctx: click.Context, _: str) -> Mapping[str, str]:
    """What is judged in the scope that is named already, and the known weaknesses of the profile."""
    from rota.explore.result import DEADLOCK
    from rota.invariants import classic, endless, known_weaknesses
    from rota.kernel import Kind
    from rota.mutants.consumer import meanings
    from rota.scopes import load

    others = meanings() if _speaks(ctx, "consumer") else {}
    if not _speaks_classic(ctx):
        return others
    profile, found = ctx.params["profile"], {**others, DEADLOCK: "no end but those that are declared"}
    for configuration in load(_scope(ctx)).configurations:
        if configuration.is_for(profile):
            settings = configuration.settings_for(profile)
            found |= {one.name: one.meaning for one in classic(settings) if one.kind is not Kind.TERMINAL}
            found |= {one.name: one.meaning for one in endless(settings)}
    return {**found, **{one.name: one.sentence.meaning for one in known_weaknesses(profile)}}


@completing
def designs(ctx: click.Context, _: str) -> Iterable[str]:
    """The older designs."""
    from rota.cli.choices import ALL
    from rota.designs import suites

    return *suites.DESIGNS, ALL


@completing
def rules(ctx: click.Context, _: str) -> Mapping[str, str]:
    """Rules of the spec, and its parts, of both protocols."""
    from rota.conformance.rules import BY_NAME, CONSUMER, part_of_consumer

    names = (part_of_consumer(name) or rule.part for name, rule in BY_NAME.items())
    parts = dict.fromkeys(names, "all rules of this part")
    whole = {CONSUMER: "all rules of the consumer protocol"}
    return {**whole, **parts, **{name: rule.title for name, rule in BY_NAME.items()}}


@completing
def cases(ctx: click.Context, _: str) -> Mapping[str, str]:
    """Conformance cases, their families, the rules that they are about, and parts."""
    from rota.conformance.catalogue import all_scripts
    from rota.conformance.dialogues.script import Case

    scripts = all_scripts()
    parts = dict.fromkeys((one.part for one in scripts), "all cases of this part")
    subjects = dict.fromkeys((one.subject for one in scripts), "all cases of this rule")
    families = {one.family: one.sentence for one in scripts if isinstance(one, Case) and one.family}
    return {**parts, **subjects, **families, **{one.id: one.sentence for one in scripts}}


@completing
def targets(ctx: click.Context, _: str) -> Mapping[str, str]:
    """What can be judged by name."""
    from rota.conformance.targets.kafka_jars import RELEASES
    from rota.conformance.targets.names import FOREIGN

    return {
        "rota": "rota's own server",
        **dict.fromkeys(RELEASES, "Apache Kafka, started here; needs Java and Maven"),
        "librdkafka-mock": "the mock broker of librdkafka",
        **{name: program.about for name, program in FOREIGN.items()},
        "localhost:9092": "a broker that runs there",
        "cmd:": "a command with {port}, which starts a broker",
    }


@completing
def obligations(ctx: click.Context, incomplete: str) -> Mapping[str, str]:
    """What `rota prove` selects: families, and within the family that is typed groups and obligations."""
    from rota.proofs import FAMILIES

    family = next((one for one in FAMILIES if incomplete.startswith(f"{one.name}.")), None)
    if family is None:
        return {one.name: one.about for one in FAMILIES}
    sentences = {one.name: one.statement for one in family.obligations()}
    groups = dict.fromkeys((".".join(name.split(".")[:2]) for name in sentences), "")
    return {**groups, **family.sentences(), **(sentences if incomplete.count(".") > 1 else {})}


@completing
def settings_of_brokers(ctx: click.Context, _: str) -> Iterable[str]:
    """What `rota serve` can be told."""
    from rota.server import KNOWN

    return [f"{name}=" for name in KNOWN]


@completing
def spark_masters(ctx: click.Context, _: str) -> Iterable[str]:
    """How the names of Spark masters begin."""
    return ["local[2]", "local[*]", "spark://", "yarn", "k8s://"]


@completing
def kinds_of_report(ctx: click.Context, _: str) -> Iterable[str]:
    """What `--report` begins with."""
    from rota.report.files import KINDS

    return [f"{kind}=" for kind in KINDS]


@completing
def pages_of_accounts(ctx: click.Context, _: str) -> Iterable[str]:
    """What `--report` of an account begins with."""
    return ["html="]


def traces(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Items:
    """Files of traces below what is typed, and folders on the way to others."""
    folder = Path(incomplete) if incomplete.endswith("/") else Path(incomplete).parent
    before = incomplete[: len(incomplete) - len(incomplete.rpartition("/")[2])]
    try:
        there = sorted(folder.iterdir())
    except OSError:
        return []
    seen = [one for one in there if not one.name.startswith(".")]
    names = [f"{before}{one.name}" for one in seen if one.suffix == ".jsonl"]
    names += [f"{before}{one.name}/" for one in seen if one.is_dir()]
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
