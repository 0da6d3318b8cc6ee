"""A page for every verb of the command line, from the command itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from rota.cli.main import COMMANDS, main
from rota.report.reference.markdown import table
from rota.report.site.writing import plain, prose, toctree


def pages() -> Iterator[tuple[str, str]]:
    """(path below the reference, text) of each verb, and their index."""
    context = click.Context(main, info_name="rota")
    verbs = {verb: command for verb in COMMANDS if (command := main.get_command(context, verb))}
    for verb, command in verbs.items():
        yield f"cli/{verb}.md", "\n".join(_verb(verb, command, context))
    yield "cli/index.md", "\n".join(_index(verbs))


def _index(verbs: dict[str, click.Command]) -> Iterator[str]:
    yield from ("# Command line", "")
    yield from prose(_words(main))
    yield from table(
        ("verb", "does"),
        ((f"[rota {verb}]({verb}.md)", plain(one.get_short_help_str(200))) for verb, one in verbs.items()),
    )
    yield ""
    yield from toctree(verbs, hidden="")


def _verb(verb: str, command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, info_name=verb, parent=parent)
    yield from (f"# rota {verb}", "")
    yield from prose(_words(command))
    usage = " ".join(["rota", verb, *command.collect_usage_pieces(context)])
    yield from ("```text", usage, "```", "", "## Options", "")
    rows = (one.get_help_record(context) for one in command.get_params(context))
    yield from table(
        ("option", "what it does"), ((f"`{row[0]}`", plain(" ".join(row[1].split()))) for row in rows if row)
    )
    yield from ("", "## As the terminal shows it", "", f"`rota {verb} --help`:", "")
    yield from ("```text", *command.get_help(context).splitlines(), "```", "")


def _words(command: click.Command) -> str:
    """The docstring without click's mark of paragraphs that are not wrapped, and what follows a form feed."""
    text = inspect.cleandoc(command.help or "").partition("\f")[0]
    return re.sub(r"\x08\n", "", text)
