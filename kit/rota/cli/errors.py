"""From exceptions to what a user sees: one line on stderr, `rota: <cause>; <remedy>`, and an exit code."""

from __future__ import annotations

import errno
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from difflib import get_close_matches
from typing import IO, Any

import click

from rota.cli import interrupts, streams
from rota.cli.clicks_words import cause_of
from rota.cli.extras import extra_for

HOLDS, VIOLATED, USAGE, UNDECIDED, INTERNAL, NOTHING, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
"""The exit codes of every verb. USAGE too where nothing speaks against what was judged, and a report, or what
was printed, could not be written; no other verdict gives way to that."""

MEANINGS = {
    HOLDS: "It holds, or conforms; or what was asked for is done.",
    VIOLATED: "Violated, or two things differ that should not.",
    USAGE: "Usage or configuration; or all is well, but a report could not be written.",
    UNDECIDED: "Undecided: a bound ended the search, or nothing answers that could be judged.",
    INTERNAL: "Internal error: please report it.",
    NOTHING: "Nothing is selected.",
    INTERRUPTED: "Interrupted; what was found until then is kept.",
}
"""What an exit code says, whatever the verb."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
SCARCE = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
"""Errors of the machine, not of rota: no room on a disk; no more files, memory or processes."""


class UsageError(click.ClickException):
    """An error that the user can mend.

    Parameters: message, cause and remedy in one line, without the leading `rota:`; exit_code, 2 for
    usage and configuration, 3 for a target that is not there, 5 for nothing selected.
    """

    def __init__(self, message: str, exit_code: int = USAGE) -> None:
        super().__init__(one_line(message))
        self.exit_code = exit_code  # type: ignore[misc]  # click declares it per class, reads it per instance

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line; click calls this when a verb runs outside of the group."""
        click.echo(f"rota: {self.message}", file=file or sys.stderr)


def one_line(text: str) -> str:
    """The text with every run of white space made one blank."""
    return " ".join(text.split())


def nearly(name: str, there: Iterable[str]) -> str:
    """'did you mean X? ', where a name is spelt nearly as one of those there are; '' where none is."""
    near = get_close_matches(name, list(there), n=1)
    return f"did you mean {near[0]}? " if near else ""


def run(call: Callable[[], object]) -> int:
    """Call and turn whatever is raised into its line on stderr and its exit code.

    Returns the exit code: what the call returned if that is an int, else 0.
    """
    try:
        result = call()
        sys.stdout.flush()
    except SystemExit as leaving:
        return _printed(_exit_status(leaving))
    except (KeyboardInterrupt, click.Abort) as interrupt:
        interrupts.deaf()
        say(f"interrupted {interrupt}")
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return UNDECIDED
    except click.exceptions.NoArgsIsHelpError as bare:
        bare.show()
        return USAGE
    except click.ClickException as error:
        say(error.message if isinstance(error, UsageError) else _from_click(error))
        return error.exit_code
    except Exception as error:
        return unforeseen(error)
    return _printed(result if isinstance(result, int) else HOLDS)


def _printed(code: int) -> int:
    """The exit code: 2 where nothing speaks against what was judged, but nobody could see all of it."""
    cause = streams.lost()
    if cause is None:
        return code
    say(f"cannot write standard output: {cause}; make room where it goes, then run this again")
    return USAGE if code == HOLDS else code


def unforeseen(error: Exception) -> int:
    """Say what no verb made a UsageError of; its exit code."""
    if os.environ.get("ROTA_DEBUG") == "1":
        traceback.print_exception(error)
    if isinstance(error, ModuleNotFoundError) and error.name and (extra := extra_for(error.name)):
        say(f"the package {error.name.partition('.')[0]} is not installed; install it: {extra.install}")
        return USAGE
    if isinstance(error, OSError) and (code := _of_the_machine(error)):
        return code
    if isinstance(error, MemoryError):
        say("out of memory; choose a smaller scope or a tighter bound")
        return UNDECIDED
    say(f"internal error: {type(error).__name__}: {error}; set ROTA_DEBUG=1 for the traceback and report it")
    return INTERNAL


def _of_the_machine(error: OSError) -> int | None:
    """Say what the machine refused, if that is what it was; the exit code."""
    where = f"{error.filename}: " if error.filename is not None else ""
    if error.errno in FULL:
        say(f"{where}{error.strerror}; make room, or name a folder elsewhere: --out, --checkpoint, $TMPDIR")
        return UNDECIDED
    if error.errno in SCARCE:
        say(f"{where}{error.strerror}; raise this limit, or ask for fewer --workers")
        return UNDECIDED
    if "temporary directory" in str(error):  # tempfile's words; it names no file
        say(f"{error.strerror}; set TMPDIR to a folder that can be written to")
        return USAGE
    if error.filename is not None:
        say(f"cannot use {error.filename}: {error.strerror}; check the path and its permissions")
        return USAGE
    return None


def _from_click(error: click.ClickException) -> str:
    """click's sentences in the form of ours."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "rota"
    cause = cause_of(error)
    between = " " if cause.endswith("?") else "; "
    return f"{cause}{between}{_nearest_choice(error)}see `{command} --help`"


def _nearest_choice(error: click.ClickException) -> str:
    """What was meant, where click refused a value because it is none of a few."""
    kind = error.param.type if isinstance(error, click.BadParameter) and error.param else None
    given = re.match("'(.*?)' is not", error.message)
    return nearly(given[1], map(str, kind.choices)) if isinstance(kind, click.Choice) and given else ""


def _exit_status(leaving: SystemExit) -> int:
    if leaving.code is None:
        return HOLDS
    if isinstance(leaving.code, int):
        return leaving.code
    say(str(leaving.code))
    return USAGE


def say(text: str) -> None:
    """A line on stderr."""
    with suppress(OSError):  # nobody reads stderr any more: nothing left to say
        click.echo(f"rota: {one_line(text)}", file=sys.stderr)


def _silence_stdout() -> None:
    """Point stdout nowhere, so that the interpreter's last flush does not complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
