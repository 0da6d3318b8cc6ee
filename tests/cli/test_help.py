"""Help teaches: options in named sections, examples that work, verbs by task."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from subprocess import CompletedProcess

import click
import pytest
from click.testing import CliRunner

from harness.thinned import but
from rota.cli import main as cli
from rota.cli import tasks
from rota.cli.errors import MEANINGS
from rota.cli.verb import OTHER, Example, Verb

Rota = Callable[..., "CompletedProcess[bytes]"]

GROUP = click.Context(cli.main, info_name="rota")


def verbs() -> Iterator[Verb]:
    """Those that teach."""
    for name in cli.COMMANDS:
        command = cli.main.get_command(GROUP, name)
        if isinstance(command, Verb):
            yield command


VERBS = {verb.name: verb for verb in verbs()}

EXAMPLES = [*cli.EXAMPLES, *(example for verb in VERBS.values() for example in verb.examples)]

QUICK = [example for example in EXAMPLES if example.code is not None]

COMMAND = attrgetter("command")


def told(*arguments: str) -> str:
    """What is printed."""
    outcome = CliRunner().invoke(cli.main, [*arguments])
    assert outcome.exit_code == 0, outcome.output
    return outcome.stdout


def misplaced(verb: Verb) -> list[str]:
    """Options in no section of their own, and names in sections that no option has."""
    options = [one for one in verb.get_params(GROUP) if isinstance(one, click.Option)]
    there = {name for one in options for name in (*one.opts, *one.secondary_opts)}
    named = [name for names in verb.sections.values() for name in names]
    lost = [one.opts[0] for one in options if verb.section_of(one) == OTHER and "--help" not in one.opts]
    return [*lost, *(name for name in named if name not in there), *{n for n in named if named.count(n) > 1}]


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_every_option_is_in_a_section(verb: Verb) -> None:
    assert misplaced(verb) == []


def test_an_option_without_a_section_and_a_section_without_its_option_are_found() -> None:
    option = click.Option(["--new"])
    assert misplaced(Verb("planted", params=[option])) == ["--new"]
    assert misplaced(Verb("planted", params=[option], sections={"What": ("--new", "--gone")})) == ["--gone"]


def test_sections_come_in_their_order_and_then_examples() -> None:
    lines = told("check", "--help").splitlines()
    headings = [line[:-1] for line in lines if re.fullmatch(r"[A-Z][\w ]*:", line)]
    assert headings == [*VERBS["check"].sections, OTHER, "Examples"]
    assert "  rota check" in lines
    assert lines[-1] == "Exit codes and environment variables: `rota --help`."


def parsed(example: Example) -> click.Context:
    """An example's words, understood but not done. Errors: those of click, and UsageError."""
    program, verb, *words = shlex.split(example.command)
    assert program == "rota"
    command = cli.main.get_command(GROUP, verb)
    assert command is not None, verb
    return command.make_context(verb, words, parent=GROUP)


@pytest.mark.parametrize("example", EXAMPLES, ids=COMMAND)
def test_examples_are_understood(example: Example) -> None:
    assert parsed(example).params is not None


@pytest.mark.parametrize("command", ["rota check --scoop tiny", "rota check tiny", "rota serve --port x"])
def test_a_wrong_example_is_found(command: str) -> None:
    with pytest.raises(click.ClickException):
        parsed(Example(command, "Planted."))


SECONDS = {
    "rota check --liveness --configuration core",
    "rota check --property weakness.unused-id-holds-up",
    "rota check --scope tiny --mutant barrier-ignores-pending --configuration rejoin",
    "rota check --scope tiny --reach 'coordinator.group.state == \"Stable\"'",
    "rota conform --embedded heartbeat",
    "rota design server-side --configuration two",
    "rota design watchers",
    "rota prove voting.vote-is-unique -v",
    "rota rules --matrix",
    "rota rules consumer",
    "rota rules timers",
}
"""Examples that take some; of each of these verbs another is played always, or its tests play such calls."""


@pytest.mark.parametrize("example", but(SECONDS, QUICK, name=COMMAND), ids=COMMAND)
def test_quick_examples_do_what_they_say(example: Example, rota: Rota) -> None:
    outcome = rota(*shlex.split(example.command)[1:])
    assert outcome.returncode == example.code, outcome.stderr.decode()
    assert outcome.stdout


def test_verbs_are_listed_by_task_and_none_is_forgotten() -> None:
    listed = [verb for verbs in tasks.TASKS.values() for verb in verbs]
    assert sorted(listed) == sorted(cli.COMMANDS)
    text = told("--help")
    for task, words in tasks.TASKS.items():
        section = text.partition(f"\n{task}:\n")[2].partition("\n\n")[0]
        assert [line.split()[0] for line in section.splitlines()] == list(words)


def test_exit_codes_and_environment_variables_are_in_one_place() -> None:
    text = told("--help")
    for code, words in MEANINGS.items():
        assert re.search(rf"^  {code} +{re.escape(words)}$", text, re.MULTILINE)
    sources = "".join(
        path.read_text(encoding="utf-8") for path in Path(cli.__file__).parents[1].rglob("*.py")
    )
    for name in cli.ENVIRONMENT:
        assert re.search(rf"^  {name} ", text, re.MULTILINE)
        assert sources.count(f'"{name}"') > 1 or name in ("TMPDIR",), f"nothing asks for {name}"


def test_defaults_are_shown() -> None:
    assert "[default: kafka-4.x]" in told("check", "--help")
    assert "[default: rota-out]" in told("conform", "--help")
    assert "[default: 200; x>=1]" in told("simulate", "--help")


@pytest.mark.parametrize("verb", ["check", "trace", "help"])
def test_help_may_be_asked_for_in_both_ways(verb: str) -> None:
    assert told("help", verb) == told(verb, "--help")


def test_help_of_nothing_is_that_of_all() -> None:
    assert told("help") == told("--help")


def test_help_has_escapes_on_no_pipe(rota: Rota) -> None:
    assert b"\x1b" not in rota("check", "--help").stdout


# ---- what is spelt nearly so


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("chekc", "did you mean check?"),
        ("help simulat", "did you mean simulate?"),
        ("check --scoep tiny", "did you mean --scope"),
        ("check --scope tiyn", "did you mean tiny?"),
        ("check --configuration rejion", "did you mean rejoin?"),
        ("check --mutant barrier-ignores-pendin", "did you mean barrier-ignores-pending?"),
        ("check --property weakness.unused-id-hold-up", "did you mean weakness.unused-id-holds-up?"),
        ("check --profile kafka-4", "did you mean kafka-4.x?"),
        ("check --engine fats", "did you mean fast?"),
        ("check small", "did you mean --scope small?"),
        ("check rejoin", "did you mean --configuration rejoin?"),
        ("check barrier-ignores-pending", "did you mean --mutant barrier-ignores-pending?"),
        ("design watcher", "did you mean watchers?"),
        ("design watchers --mutant notifies-on", "did you mean notifies-one?"),
        ("rules join.leadr", "did you mean join.leader?"),
        ("conform --show sync.unknown-membr.stranger", "did you mean sync.unknown-member.stranger?"),
        ("conform --embedded heartbeet", "did you mean heartbeat?"),
        ("conform --target kafka-4.4.1", "did you mean kafka-4.4.0?"),
        ("conform --embedded --profile kafka-3.y", "did you mean kafka-3.x?"),
        ("conform --embedded --report jsno=x", "did you mean json?"),
        ("prove votign", "did you mean voting?"),
        ("serve --set group.max.sizes=3", "did you mean group.max.size?"),
        ("serve --profile rotta", "did you mean rota?"),
        ("completion bsh", "did you mean bash?"),
    ],
)
def test_a_name_that_is_spelt_nearly_so_is_named(words: str, hint: str) -> None:
    outcome = CliRunner().invoke(cli.main, words.split())
    assert outcome.exit_code in (2, 5)
    assert hint in outcome.stderr
    assert outcome.stderr.count("\n") == 1
