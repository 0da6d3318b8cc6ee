"""The group `rota`: verbs by name from a table, each imported when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import click
from click.shell_completion import CompletionItem

from rota.cli import compiled_code, interrupts, streams
from rota.cli.errors import INTERNAL, MEANINGS, USAGE, UsageError, run, say
from rota.cli.tasks import TASKS
from rota.cli.verb import Context, Example, write_examples, write_sections

COMMANDS = {
    "check": "rota.cli.check:check",
    "simulate": "rota.cli.simulate:simulate",
    "design": "rota.cli.design:design",
    "play": "rota.cli.play:play",
    "conform": "rota.cli.conform:conform",
    "prove": "rota.cli.prove:prove",
    "explain": "rota.cli.explain:explain",
    "validate": "rota.cli.validate:validate",
    "serve": "rota.cli.serve:serve",
    "record": "rota.cli.record:record",
    "rules": "rota.cli.rules:rules",
    "trace": "rota.cli.trace:trace",
    "doctor": "rota.cli.doctor:doctor",
    "completion": "rota.cli.completion:completion",
    "help": "rota.cli.help:show_help",
}
"""Verb → MODULE:NAME of its click command."""

EXAMPLES = (
    Example("rota check", "Explore the small worlds of the protocol; about a minute."),
    Example("rota check --scope tiny --mutant barrier-ignores-pending",
            "Plant a bug and see it found, with the shortest run to it."),
    Example("rota conform --target localhost:9092", "Judge a broker that runs there."),
)  # fmt: skip

ENVIRONMENT = {
    "ROTA_CACHE": "Folder of what is kept between runs.  [default: ~/.cache/rota]",
    "ROTA_TABLES": "Another folder for the tables of earlier runs; off: neither use nor keep any.",
    "ROTA_DEBUG": "1: errors come with their traceback.",
    "NO_COLOR": "Anything: no colours, and nothing emphasised.",
    "JAVA_HOME": "The Java that Spark and Apache Kafka are started with.",
    "NUMBA_CACHE_DIR": "Folder for compiled code.  [default: in rota's own folder]",
    "TMPDIR": "Folder for what goes to disk while a verb runs.",
}
"""Environment variable → what it is for."""


class LazyGroup(click.Group):
    """A group that imports a verb when it is needed and maps every exception to a line and an exit code."""

    context_class = Context

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb. Errors: UsageError when its module is not part of this installation."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        try:
            command = getattr(import_module(module), name)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
            raise UsageError(
                f"`rota {cmd_name}` is not part of this installation ({module} is missing); reinstall rota",
                INTERNAL,
            ) from None
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's. Errors: NoSuchCommand with the verbs that are spelt nearly so."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(error.command_name, possibilities=COMMANDS, ctx=ctx) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Verbs, with what they are for, and options; nothing is imported for it."""
        verbs = {verb: about for section in TASKS.values() for verb, about in section.items()}
        found = [CompletionItem(verb, help=verbs[verb]) for verb in verbs if verb.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs by task, and what holds for all of them; examples first, for whoever is new."""
        with formatter.section("Examples"):
            write_examples(formatter, EXAMPLES)
        tasks = {
            task: [(verb, _about(verb, words)) for verb, words in verbs.items()]
            for task, verbs in TASKS.items()
        }
        records = (option.get_help_record(ctx) for option in self.get_params(ctx))
        options = {"Options": [record for record in records if record]}
        codes = {"Exit codes": [(str(code), words) for code, words in MEANINGS.items()]}
        for sections in (tasks, options, codes, {"Environment": list(ENVIRONMENT.items())}):
            write_sections(formatter, sections)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the verb; keep interrupts and closed pipes from click's own exit codes."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except (BrokenPipeError, KeyboardInterrupt) as leaving:
            raise _Leaving(leaving) from None
        return result

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """As click's, but ending with the exit codes of `rota.cli.errors`."""

        def plain() -> Any:
            try:
                return super(LazyGroup, self).main(args, prog_name, complete_var, False, **extra)
            except _Leaving as leaving:
                raise leaving.cause from None

        if not standalone_mode:
            return plain()
        code = run(plain)
        interrupts.deaf()
        sys.exit(code)


def _about(verb: str, words: str) -> str:
    """What a verb is for, where it can be imported."""
    there = find_spec(COMMANDS[verb].partition(":")[0])
    return words if there else "(not installed; see `rota doctor`)"


class _Leaving(Exception):
    """Carries an interrupt or a closed pipe past click, which would make exit 1 of either."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__()
        self.cause = cause


@click.group("rota", cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rota", prog_name="rota", message="%(prog)s %(version)s")
def main() -> None:
    """Kafka's consumer-group rebalance protocol: explore it, prove it, judge a coordinator against it.

    `rota VERB --help` tells what a verb takes, with examples.
    """


def entry() -> None:
    """The command, when all of it is imported (`rota.__main__`)."""
    streams.prepare()
    interrupts.listen()
    try:
        os.getcwd()
    except OSError as error:
        say(f"the current directory: {error.strerror}; it was deleted, or is not yours to see: cd to another")
        sys.exit(USAGE)
    compiled_code.find_a_place()
    main(prog_name="rota")


if __name__ == "__main__":
    entry()
