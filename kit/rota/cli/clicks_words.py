"""What click says of a mistake, in rota's form: the cause, then what to do about it."""

from __future__ import annotations

import re

import click

VALUES = (
    (r"Directory '(.*)' is a file", "{option} {0} is a file; name a folder"),
    (r"File '(.*)' is a directory", "{option} {0} is a folder; name a file"),
    (r"(?:File|Path|Directory) '(.*)' does not exist", "{option}: there is no {0}; check the path"),
    (r"'(.*)' is not a valid integer(?: range)?", "{option} takes a whole number, not {0!r}"),
    (r"'(.*)' is not a valid float(?: range)?", "{option} takes a number, not {0!r}"),
    (r"(.*) is not in the range (.*)", "{option} cannot be {0}; give a number in the range {1}"),
)
"""What click says of a value, and what is said instead."""


def cause_of(error: click.ClickException) -> str:
    """The cause, and where click knows enough the remedy, without a full stop."""
    if isinstance(error, click.NoSuchOption | click.NoSuchCommand) and error.possibilities:
        return f"{_begun_small(error.message)}; did you mean {' or '.join(error.possibilities)}?"
    if isinstance(error, click.BadParameter) and error.param is not None:
        option = (
            error.param.opts[0] if isinstance(error.param, click.Option) else error.param.human_readable_name
        )
        for pattern, words in VALUES:
            if found := re.fullmatch(pattern, error.message.rstrip(".")):
                return words.format(*found.groups(), option=option)
    return _begun_small(error.format_message())


def _begun_small(text: str) -> str:
    line = " ".join(text.split()).rstrip(".")
    return f"{line[:1].lower()}{line[1:]}"
