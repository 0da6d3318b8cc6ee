"""A page for every verb of the command line, from the command itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from rota.cli.main import COMMANDS, main
from rota.cli.verb import Example, Verb
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
    yield from ("```text", usage, "```", "")
    yield from _options(command, context)
    if isinstance(command, Verb) and command.examples:
        yield from ("## Examples", "")
        for example in command.examples:
            yield from _example(example)


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    """A table for each section of its help."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for option in command.get_params(context):
        if record := option.get_help_record(context):
            title = command.section_of(option) if isinstance(command, Verb) else "Options"
            words = " ".join(record[1].split())
            sections.setdefault(title, []).append((f"`{record[0]}`", plain(words)))
    order = [*command.sections, *sections] if isinstance(command, Verb) else sections
    for title in dict.fromkeys(order):
        if title in sections:
            yield from (f"## {title}", "", *table(("option", "what it does"), sections[title]), "")


def _example(example: Example) -> Iterator[str]:
    """A call with its mark: tests of the help run those that have an exit code."""
    mark = "elsewhere (no test waits for it)" if example.code is None else "quick"
    code = f"   # exit {example.code}" if example.code else ""
    yield from (plain(example.does), "", f"```sh {mark}", f"{example.command}{code}", "```", "")


def _words(command: click.Command) -> str:
    """The docstring without click's mark of paragraphs that are not wrapped, and what follows a form feed."""
    text = inspect.cleandoc(command.help or "").partition("\f")[0]
    return re.sub(r"\x08\n", "", text)
