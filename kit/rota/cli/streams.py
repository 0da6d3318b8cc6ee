"""Standard output and standard error, as a terminal, a pipe and a file can take what is printed.

What they cannot take changes no verdict: characters that their encoding lacks are replaced, what nobody reads
or no disk can hold is dropped, and what is lost is known in the end.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import re
import sys
from typing import TextIO

OURS = r"\x1b\[(?:[01]|3[1-6])m|\r\x1b\[K"
"""Sequences that rota itself sends: colours, and to the start of the line and erase it."""

HIDDEN = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
"""Characters that move a cursor, change a terminal or the order of the text, or are none."""

_SPECIAL = re.compile(f"{OURS}|{HIDDEN}")

_BEYOND = re.compile("[^\x00-\x7f]")

PLAIN = {"→": ">", "←": "<", "…": "~", "×": "x", "·": ".", "–": "-", "—": "-", "²": "^2"}
"""What stands for a character where the encoding lacks it, of the same width so that columns stay aligned."""

GONE = (errno.EPIPE, errno.EIO)
"""Nobody reads any more: the other end of a pipe was closed, or the terminal is no more."""


class Stream(io.TextIOWrapper):
    """A standard stream that never fails.

    Parameters: raw, the stream as Python made it. charset: what it can hold; failed: why something that was
    printed is lost, None if nothing is, or nobody wanted it.
    """

    def __init__(self, raw: io.TextIOWrapper) -> None:
        self.charset = codecs.lookup(raw.encoding).name
        self.failed: OSError | None = None
        self._raw = raw  # which closes what it writes to when nobody holds it any more
        super().__init__(
            raw.buffer,
            # ASCII is written as UTF-8, of which it is part: click takes an ASCII stream for a mistake
            encoding="utf-8" if self.charset == "ascii" else self.charset,
            errors="backslashreplace",
            line_buffering=raw.line_buffering,
            write_through=raw.write_through,
        )

    def write(self, text: str, /) -> int:
        """As that of every text stream; what could not be written is dropped."""
        try:
            super().write(fitted(text, self.charset))
        except OSError as error:
            self._lose(error)
        return len(text)

    def flush(self) -> None:
        """As that of every text stream."""
        try:
            super().flush()
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        """From now on everything goes nowhere, also what waits in buffers."""
        if error.errno not in GONE:
            self.failed = error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def fitted(text: str, charset: str) -> str:
    """The text without what a terminal would obey, and without characters that the charset lacks.

    Both become what JSON and Python read back: a backslash, `u` and four digits.
    """
    text = _SPECIAL.sub(lambda found: found[0] if len(found[0]) > 1 else escaped(found[0]), text)
    if text.isascii() or _holds(charset, text):
        return text
    return "".join(one if _holds(charset, one) else PLAIN.get(one) or escaped(one) for one in text)


def ascii_json(text: str) -> str:
    """JSON of the same meaning that every stream can hold."""
    return _BEYOND.sub(lambda found: escaped(found[0]), text)


def escaped(character: str) -> str:
    """A character as JSON writes it, beyond 16 bits as two."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _holds(charset: str, text: str) -> bool:
    try:
        text.encode(charset)
    except UnicodeEncodeError:
        return False
    return True


def prepare() -> None:
    """Make the standard streams such. One that was closed when the process began is read by nobody."""
    for number, mode in ((0, "r"), (1, "w"), (2, "w")):
        try:
            os.fstat(number)
        except OSError:  # else the next file that is opened would take its place
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
        name = ("stdin", "stdout", "stderr")[number]
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
        if mode == "w":
            setattr(sys, name, _made(getattr(sys, name)))


def _made(stream: TextIO) -> TextIO:
    return Stream(stream) if isinstance(stream, io.TextIOWrapper) else stream


def lost() -> str | None:
    """Why what was printed on standard output is lost; None if nothing is."""
    sys.stdout.flush()
    failed = sys.stdout.failed if isinstance(sys.stdout, Stream) else None
    return None if failed is None else failed.strerror or str(failed)
