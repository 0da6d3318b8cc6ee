"""The group `rota`: verbs by name from a table, each imported when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from rota.cli import compiled_code, interrupts, streams
from rota.cli.errors import INTERNAL, USAGE, UsageError, run, say

COMMANDS = {
    "check": "rota.cli.check:check",
    "simulate": "rota.cli.simulate:simulate",
    "design": "rota.cli.design:design",
    "conform": "rota.cli.conform:conform",
    "prove": "rota.cli.prove:prove",
    "play": "rota.cli.play:play",
    "serve": "rota.cli.serve:serve",
    "rules": "rota.cli.rules:rules",
    "trace": "rota.cli.trace:trace",
    "doctor": "rota.cli.doctor:doctor",
}
"""Verb → MODULE:NAME of its click command."""


class LazyGroup(click.Group):
    """A group that imports a verb when it is needed and maps every exception to a line and an exit code."""

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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs with their one-line help; one that cannot be imported does not spoil the list."""
        rows = []
        for verb in self.list_commands(ctx):
            try:
                command = self.get_command(ctx, verb)
                rows.append((verb, command.get_short_help_str(66) if command else ""))
            except (ImportError, UsageError):
                rows.append((verb, "(not installed; see `rota doctor`)"))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

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


class _Leaving(Exception):
    """Carries an interrupt or a closed pipe past click, which would make exit 1 of either."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__()
        self.cause = cause


@click.group("rota", cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rota", prog_name="rota", message="%(prog)s %(version)s")
def main() -> None:
    """Kafka's consumer-group rebalance protocol: explore it, prove it, judge a coordinator against it.

    Exit codes: 0 holds or conforms, 1 violated, 2 usage or configuration, or all is well but a report
    could not be written, 3 undecided, 4 internal error, 5 nothing selected, 130 interrupted.
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
