"""A verb whose help teaches: what it does, its options in named sections, and calls that work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from rota.report.format import emphasised, width

REPORTING = ("--json", "--quiet", "--out")
"""What most verbs have under "What to report"."""

NAMES = 26
"""Columns of a name that has its words beside it; longer ones have them below."""

Rows = list[tuple[str, str]]

OTHER = "Help"
"""The section of what a verb names in none of its own."""

FURTHER = "Exit codes and environment variables: `rota --help`."


@dataclass(frozen=True)
class Example:
    """A call as it is typed, and what it does.

    code: its exit code, where it takes a few seconds at most and needs nothing that may not be there; None
    where nobody should wait for it in passing.
    """

    command: str
    does: str
    code: int | None = None


class Formatter(click.HelpFormatter):
    """Help as wide as reports are, its headings emphasised as theirs."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__(width=width())

    def write_heading(self, heading: str) -> None:
        """The heading of a section."""
        self.write(f"{'':>{self.current_indent}}{emphasised(f'{heading}:')}\n")


class Context(click.Context):
    """A context that writes help with `Formatter`."""

    formatter_class = Formatter


class Verb(click.Command):
    """A command with sections of options and examples.

    Parameters beside click's: sections, title -> options as they are typed; examples.
    """

    context_class = Context

    def __init__(
        self,
        *arguments: Any,
        sections: Mapping[str, Sequence[str]] | None = None,
        examples: Sequence[Example] = (),
        **further: Any,
    ) -> None:
        super().__init__(*arguments, **further)
        self.sections, self.examples = dict(sections or {}), tuple(examples)
        for option in self.params:
            if isinstance(option, click.Option) and option.show_default is None:
                option.show_default = True

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's. Errors: of click, each of which knows whose help it is to point to."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx if error.cmd else ctx
            raise

    def section_of(self, option: click.Parameter) -> str:
        """The title of the section that an option is in."""
        titles = (title for title, names in self.sections.items() if set(names) & set(option.opts))
        return next(titles, OTHER)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options, section by section in the verb's order."""
        sections: dict[str, Rows] = {title: [] for title in (*self.sections, OTHER)}
        for option in self.get_params(ctx):
            if isinstance(option, click.Option) and (record := option.get_help_record(ctx)):
                sections[self.section_of(option)].append(record)
        write_sections(formatter, sections)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What the verb itself has to add, the examples, and where the rest is told."""
        super().format_epilog(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                write_examples(formatter, self.examples)
        formatter.write_paragraph()
        formatter.write_text(FURTHER)


def write_sections(formatter: click.HelpFormatter, sections: Mapping[str, Rows]) -> None:
    """Names and words, section by section; the words of all sections begin below each other."""
    width = min(NAMES, max((len(name) for rows in sections.values() for name, _ in rows), default=0))
    for title, rows in sections.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", words) for name, words in rows], NAMES)


def write_examples(formatter: click.HelpFormatter, examples: Iterable[Example]) -> None:
    """Calls as they are typed, on lines of their own, and below each what it does."""
    for example in examples:
        formatter.write(f"{'':>{formatter.current_indent}}{example.command}\n")
        with formatter.indentation(), formatter.indentation():
            formatter.write_text(example.does)
