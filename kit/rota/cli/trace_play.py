"""`rota trace FILE --play`: a dialogue that is written, as the spec has it now."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path

from rota.cli.check_plan import recognised
from rota.cli.errors import HOLDS, VIOLATED, UsageError
from rota.cli.trace_file import content
from rota.report.format import coloured, counted
from rota.spec import PROFILES
from rota.stage.playing import Played, play
from rota.stage.reading import DialogueError, Script, read
from rota.trace.text import printable

EDIT = "correct the file, or let `rota trace --as dialogue` write one"


def played(path: Path, profile: str | None) -> tuple[list[str], int]:
    """The dialogue in a file as the spec has it, as lines, and the exit code: 1 where the file has it
    otherwise. Errors: UsageError with the line and the cause."""
    if profile is not None:
        recognised("profile", profile, PROFILES)
    written = content(path, "dialogue", EDIT)
    try:
        script = read(written)
        found = play(script, profile)
    except DialogueError as error:
        raise UsageError(f"{path} line {error.line}: {error.cause}") from None
    differing = [*_marked(written, found.text)]
    changed = [line for line in differing if not line.startswith("  ")]
    where = f"under {profile or script.profile}"
    if not changed and not found.omitted:
        steps = counted(len(script.blocks), "step")
        return [*_shown(differing), "", f"{coloured('same', 'holds')}: {steps} {where}"], HOLDS
    return [*_shown(differing), *_omitted(found), "", _verdict(script, found, changed, where)], VIOLATED


def _marked(written: str, now: str) -> Iterator[str]:
    """Each line behind two characters: `- ` only in the file, `+ ` only on the spec, blanks in both."""
    old, new = written.splitlines(), now.splitlines()
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from (f"  {line}" for line in new[c:d])
        else:
            yield from (f"- {line}" for line in old[a:b])
            yield from (f"+ {line}" for line in new[c:d])


def _shown(lines: list[str]) -> Iterator[str]:
    return (printable(line).rstrip() for line in lines)


def _omitted(found: Played) -> Iterator[str]:
    if found.omitted:
        yield ""
    yield from (f"line {line} is not possible: {cause}" for line, cause in found.omitted)


def _verdict(script: Script, found: Played, changed: list[str], where: str) -> str:
    lost = sum(line.startswith("- ") for line in changed)
    parts = [f"{counted(lost, 'line')} of the file", f"{counted(len(changed) - lost, 'line')} {where}"]
    if found.omitted:
        parts.append(f"{counted(len(found.omitted), 'input')} not possible")
    return f"{coloured('differs', 'violated')}: {', '.join(parts)}, in {counted(len(script.blocks), 'step')}"
